//! Many writers, one order.

use std::collections::BTreeSet;

use futures::future::join_all;

use super::*;
use crate::sequencer::batch::{BREAKS, PANICS};

/// Adds one to a counter until it wins; gives the version that it made.
async fn increment(engine: &Engine, agent: &str) -> u64 {
    loop {
        let board = engine.board(&b()).await.expect("readable").expect("a board").published().board.clone();
        let entry = board.entry(&id("n"));
        let old = entry.and_then(|entry| entry.value()?.to_value().as_u64()).unwrap_or(0);
        let version = entry.map_or(0, |entry| entry.version.0);
        match engine.submit(&b(), ask(agent, put("n", json!(old + 1), version))).await {
            Ok(answer) => return receipt(answer).version.0,
            Err(Error::Refused { refusal, .. }) => {
                assert!(matches!(refusal.first(), Rejection::VersionConflict { .. }), "{refusal:?}");
            }
            Err(Error::Overloaded) => {}
            Err(other) => panic!("{other}"),
        }
        tokio::task::yield_now().await;
    }
}

pub(super) async fn increments(engine: Arc<Engine>, agent: String, n: usize) -> Vec<u64> {
    let mut versions = Vec::new();
    for _ in 0..n {
        versions.push(increment(&engine, &agent).await);
    }
    versions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_writers_exactly_one_makes_each_version() {
    let bench = Bench::new().await;
    let writers = (0..16).map(|n| tokio::spawn(increments(Arc::clone(&bench.engine), format!("w{n}"), 10)));
    let versions: Vec<u64> = soon(join_all(writers)).await.into_iter().flat_map(|done| done.unwrap()).collect();
    assert_eq!(versions.iter().copied().collect::<BTreeSet<_>>(), (1..=160).collect());
    assert_eq!(versions.len(), 160);
    assert_eq!(bench.value("n").await, Some(json!(160)));
    assert_eq!(bench.engine.stats().retries, 0);
}

#[tokio::test]
async fn what_waits_while_one_append_syncs_shares_the_next() {
    let bench = Bench::new().await;
    bench.journal.hold();
    let first = bench.asking(ask("ra", put("first", json!(0), 0)));
    soon(bench.journal.n_appends(2)).await;
    let rest: Vec<_> = (0..20).map(|n| bench.asking(ask("ra", put(&format!("k{n}"), json!(n), 0)))).collect();
    soon(bench.journal.n_appends(3)).await;
    bench.journal.release();
    soon(first).await.unwrap().expect("accepted");
    let mut revisions = BTreeSet::new();
    for write in rest {
        revisions.insert(soon(write).await.unwrap().expect("accepted").position.expect("a position").revision.0);
    }
    assert_eq!(revisions, (3..=22).collect());
    assert_eq!((bench.engine.stats().batches, bench.engine.stats().commits), (3, 22));
}

#[tokio::test]
async fn a_batch_is_bounded_in_bytes() {
    let bench = Bench::new().await;
    // Each value is below the limit of one; together they exceed what one batch takes.
    let value = text(200_000);
    let requests = (0..60).map(|n| bench.ask(ask("ra", put(&format!("k{n}"), value.clone(), 0))));
    for answer in soon(join_all(requests)).await {
        answer.expect("accepted");
    }
    assert!(bench.engine.stats().batches >= 4, "{:?}", bench.engine.stats());
    assert_eq!(bench.revision().await, 61);
}

#[tokio::test]
async fn a_full_mailbox_refuses_and_nothing_happened() {
    let options = Options { mailbox_requests_max: 3, batch_requests_max: 1, ..Options::default() };
    let bench = Bench::with(options).await;
    bench.journal.hold();
    let mut taken = Vec::new();
    for n in 0..5 {
        taken.push(bench.asking(ask("ra", put(&format!("k{n}"), json!(n), 0))));
        settle().await;
    }
    let over = bench.ask(ask("ra", put("over", json!(0), 0))).await;
    assert!(matches!(over, Err(Error::Overloaded)), "{over:?}");
    bench.journal.release();
    for write in taken {
        soon(write).await.unwrap().expect("accepted");
    }
    assert_eq!(bench.value("over").await, None);
}

#[tokio::test]
async fn a_full_mailbox_is_also_one_with_too_many_bytes() {
    let bench = Bench::new().await;
    bench.journal.hold();
    let large = || {
        bench.asking(ask(
            "ra",
            Command::Transact(kokuban_core::command::Transact {
                checks: Vec::new(),
                items: (0..80)
                    .map(|n| {
                        let write = write(id(&format!("k{n}")), &text(250_000), 0);
                        kokuban_core::command::TransactItem::Write(Box::new(write))
                    })
                    .collect(),
            }),
        ))
    };
    // 20 MB each: the first is decided (and refused, being too large for a commit), and fills the way with others.
    let first = bench.asking(ask("ra", put("a", json!(0), 0)));
    soon(bench.journal.n_appends(2)).await;
    let second = bench.asking(ask("ra", put("b", json!(0), 0)));
    soon(bench.journal.n_appends(3)).await;
    let fit: Vec<_> = (0..3).map(|_| large()).collect();
    settle().await;
    let over = soon(large()).await.unwrap();
    assert!(matches!(over, Err(Error::Overloaded)), "{over:?}");
    bench.journal.release();
    for write in [first, second] {
        soon(write).await.unwrap().expect("accepted");
    }
    for refused in fit {
        let refused = rejection(soon(refused).await.unwrap());
        assert!(matches!(refused, Rejection::LimitReached { limit: "commit_bytes_max", .. }), "{refused:?}");
    }
}

#[tokio::test]
async fn a_panic_in_a_decision_hurts_one_request() {
    let bench = Bench::new().await;
    let panics = Request { request_id: SmolStr::new_static(PANICS), ..ask("ra", put("b", json!(1), 0)) };
    let (before, broken, after) = futures::join!(
        bench.ask(ask("ra", put("a", json!(1), 0))),
        bench.ask(panics),
        bench.ask(ask("ra", put("c", json!(1), 0))),
    );
    assert_eq!(before.expect("accepted").position.expect("a position").revision, Revision(2));
    assert!(matches!(broken, Err(Error::Internal)), "{broken:?}");
    assert_eq!(after.expect("accepted").position.expect("a position").revision, Revision(3));
    assert_eq!(bench.value("b").await, None);
    assert_eq!(bench.engine.stats().panics, 1);
}

#[tokio::test]
async fn a_panic_elsewhere_sets_the_board_aside_and_answers_everybody() {
    let bench = Bench::new().await;
    let breaks = Request { request_id: SmolStr::new_static(BREAKS), ..ask("ra", put("b", json!(1), 0)) };
    let (broken, later) = futures::join!(bench.ask(breaks), bench.ask(ask("ra", put("c", json!(1), 0))));
    assert!(matches!(broken, Err(Error::OutcomeUnknown)), "{broken:?}");
    assert!(matches!(later, Err(Error::OutcomeUnknown)), "{later:?}");
    let next = bench.ask(ask("ra", put("d", json!(1), 0))).await;
    assert!(matches!(next, Err(Error::Quarantined { .. })), "{next:?}");
    assert_eq!(bench.engine.quarantined(), [b()]);
    assert_eq!(bench.revision().await, 1);
    soon(bench.engine.close(Duration::from_secs(1))).await;
}
