//! Nothing is seen or answered before it is durable.

use std::sync::Mutex;

use super::*;

#[tokio::test]
async fn what_is_not_durable_is_not_answered_not_read_and_not_streamed() {
    let bench = Bench::new().await;
    let board = bench.board().await;
    let mut cursor = board.follow(Revision(1));
    bench.journal.hold();
    let write = bench.asking(ask("ra", put("a", json!(1), 0)));
    soon(bench.journal.n_appends(2)).await;
    settle().await;
    assert!(!write.is_finished());
    assert_eq!(bench.revision().await, 1);
    assert_eq!(cursor.take().await.expect("a log").len(), 0);
    assert_eq!(board.history(Revision(u64::MAX), 10).await.expect("a history").commits.len(), 1);
    bench.journal.release();
    assert_eq!(receipt(soon(write).await.unwrap().unwrap()).version, Version(1));
    assert_eq!(cursor.take().await.expect("a log").len(), 1);
    assert_eq!(bench.revision().await, 2);
}

#[tokio::test]
async fn what_was_decided_on_top_waits_for_what_it_rests_on_and_comes_out_in_order() {
    let bench = Bench::new().await;
    bench.journal.hold();
    let order = Arc::new(Mutex::new(Vec::new()));
    let tell = |what: &'static str, request| {
        let (engine, order) = (Arc::clone(&bench.engine), Arc::clone(&order));
        tokio::spawn(async move {
            let result = engine.submit(&b(), request).await;
            order.lock().unwrap().push(what);
            result
        })
    };
    let written = tell("written", ask("ra", put("a", json!(1), 0)));
    soon(bench.journal.n_appends(2)).await;
    let refused = tell("refused", ask("ra", put("a", json!(2), 7)));
    let unchanged = tell("unchanged", ask("ra", put("a", json!(1), 1)));
    let next = tell("next", ask("ra", put("a", json!(2), 1)));
    settle().await;
    assert_eq!(*order.lock().unwrap(), Vec::<&str>::new());
    bench.journal.release();
    soon(written).await.unwrap().expect("an accepted write");
    let refused = soon(refused).await.unwrap();
    let Err(Error::Refused { refusal, position, .. }) = refused else { panic!("{refused:?}") };
    assert!(matches!(refusal.first(), Rejection::VersionConflict { actual: Some(Version(1)), .. }), "{refusal:?}");
    assert_eq!(position.expect("a position").revision, Revision(2));
    let unchanged = receipt(soon(unchanged).await.unwrap().unwrap());
    assert_eq!(unchanged.outcome, kokuban_core::reply::Outcome::Unchanged);
    assert_eq!(receipt(soon(next).await.unwrap().unwrap()).version, Version(2));
    assert_eq!(*order.lock().unwrap(), ["written", "refused", "unchanged", "next"]);
}

#[tokio::test]
async fn at_most_two_batches_are_ahead_of_the_published_state() {
    let bench = Bench::new().await;
    bench.journal.hold();
    let mut writes = Vec::new();
    for n in 0..6_usize {
        writes.push(bench.asking(ask("ra", put(&format!("k{n}"), json!(n), 0))));
        settle().await;
    }
    // The board was created by the first append.
    soon(bench.journal.n_appends(3)).await;
    assert_eq!(bench.engine.stats().batches, 3);
    bench.journal.release();
    for write in writes {
        soon(write).await.unwrap().expect("an accepted write");
    }
    // What came while two were ahead went together.
    assert_eq!(bench.engine.stats().batches, 4);
    assert_eq!(bench.revision().await, 7);
}
