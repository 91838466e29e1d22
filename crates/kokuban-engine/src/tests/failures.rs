//! What storage can do to a board.

use futures::future::join_all;
use kokuban_core::command::{Transact, TransactItem};
use kokuban_journal::Refusal;
use kokuban_journal::faults::Fault;

use super::*;

fn full() -> Fault {
    Fault::Refused(Refusal::StorageFull)
}

fn io() -> kokuban_journal::Error {
    kokuban_journal::Error::Refused(Refusal::Io { detail: "as planned".to_owned() })
}

#[tokio::test]
async fn a_full_disk_fails_what_was_to_be_recorded_and_the_rest_is_judged_again() {
    let bench = Bench::new().await;
    bench.journal.hold();
    bench.journal.next_append(full());
    let recorded = bench.asking(ask("ra", put("a", json!(1), 0)));
    // Judged on a state in which `a` is there, which never came to be.
    let refused = bench.asking(ask("ra", put("a", json!(2), 0)));
    let unchanged = bench.asking(ask("ra", put("a", json!(1), 1)));
    let dry = bench.asking(Request { dry_run: true, ..ask("ra", put("c", json!(1), 0)) });
    soon(bench.journal.n_appends(2)).await;
    let on_top = bench.asking(ask("ra", put("d", json!(1), 0)));
    soon(bench.journal.n_appends(3)).await;
    bench.journal.release();
    let recorded = soon(recorded).await.unwrap();
    assert!(matches!(recorded, Err(Error::StorageFull)), "{recorded:?}");
    // It was refused only because of a write that was not recorded: judged again, it is the first.
    assert_eq!(receipt(soon(refused).await.unwrap().unwrap()).version, Version(1));
    let unchanged = receipt(soon(unchanged).await.unwrap().unwrap());
    assert_eq!((unchanged.outcome, unchanged.version), (kokuban_core::reply::Outcome::Updated, Version(2)));
    assert!(soon(dry).await.unwrap().expect("a dry run").reply.is_some());
    soon(on_top).await.unwrap().expect("accepted in the end");
    assert_eq!(bench.value("a").await, Some(json!(1)));
    assert_eq!((bench.value("c").await, bench.value("d").await), (None, Some(json!(1))));
    assert_eq!(bench.put("e", json!(1), 0).await.version, Version(1));
    assert_eq!(bench.records().await.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_does_not_keep_a_board_with_overdue_leases_busy() {
    let bench = Bench::new().await;
    bench.put("a", json!(1), 0).await;
    bench.ask(ask("ra", acquire("a", 500))).await.expect("a lease");
    (0..100).for_each(|_| bench.journal.next_append(full()));
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let tries = 100 - bench.journal.planned();
    assert!((2..=12).contains(&tries), "{tries}");
    // Reads go on, and so do writes that the storage takes again.
    assert_eq!(bench.value("a").await, Some(json!(1)));
    let refused = bench.ask(ask("ra", put("b", json!(1), 0))).await;
    assert!(matches!(refused, Err(Error::StorageFull)), "{refused:?}");
    while bench.journal.planned() > 0 {
        let _ = bench.ask(ask("ra", put("b", json!(1), 0))).await;
    }
    bench.put("c", json!(1), 0).await;
    assert_eq!(bench.board().await.published().board.n_leases(), 0);
    assert_eq!(bench.engine.stats().boards_quarantined, 0);
}

#[tokio::test]
async fn an_append_that_landed_without_a_word_is_answered_as_the_success_it_was() {
    let bench = Bench::new().await;
    bench.journal.next_append(Fault::UnknownLanded);
    assert_eq!(bench.put("a", json!(1), 0).await.version, Version(1));
    assert_eq!(bench.put("a", json!(2), 1).await.version, Version(2));
    assert_eq!(bench.records().await.len(), 3);
    assert_eq!(bench.engine.stats().retries, 0);
}

#[tokio::test]
async fn an_append_that_was_lost_without_a_word_is_decided_again_with_one_effect() {
    let bench = Bench::new().await;
    bench.journal.hold();
    bench.journal.next_append(Fault::UnknownLost);
    let first = bench.asking(ask("ra", put("a", json!(1), 0)));
    soon(bench.journal.n_appends(2)).await;
    let on_top = bench.asking(ask("ra", put("a", json!(2), 1)));
    soon(bench.journal.n_appends(3)).await;
    bench.journal.release();
    assert_eq!(receipt(soon(first).await.unwrap().unwrap()).version, Version(1));
    assert_eq!(receipt(soon(on_top).await.unwrap().unwrap()).version, Version(2));
    assert_eq!(bench.records().await.len(), 3);
    assert_eq!(bench.value("a").await, Some(json!(2)));
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_stays_unknown_is_called_so_and_the_board_goes_on_once_it_is_known() {
    let bench = Bench::new().await;
    bench.journal.hold();
    bench.journal.next_append(Fault::UnknownLanded);
    (0..40).for_each(|_| bench.journal.next_resolve(io()));
    let in_doubt = bench.asking(ask("ra", put("a", json!(1), 0)));
    soon(bench.journal.n_appends(2)).await;
    let on_top = bench.asking(ask("ra", put("b", json!(1), 0)));
    soon(bench.journal.n_appends(3)).await;
    let undecided = bench.asking(ask("ra", put("c", json!(1), 0)));
    settle().await;
    bench.journal.release();
    let in_doubt = soon(in_doubt).await.unwrap();
    assert!(matches!(in_doubt, Err(Error::OutcomeUnknown)), "{in_doubt:?}");
    let on_top = soon(on_top).await.unwrap();
    assert!(matches!(on_top, Err(Error::OutcomeUnknown)), "{on_top:?}");
    let undecided = soon(undecided).await.unwrap();
    assert!(matches!(undecided, Err(Error::Unavailable)), "{undecided:?}");
    assert_eq!((bench.revision().await, bench.value("a").await), (1, None), "reads go on, at what is known");
    let mut refused = 0;
    while let Err(error) = bench.ask(ask("ra", put("d", json!(1), 0))).await {
        assert!(matches!(error, Error::Unavailable), "{error:?}");
        refused += 1;
        assert!(refused < 100, "the journal has known for long");
    }
    assert!(refused > 0 && bench.engine.quarantined().is_empty());
    let bench = bench.restarted().await;
    assert_eq!((bench.value("a").await, bench.value("b").await), (Some(json!(1)), Some(json!(1))));
    bench.put("d", json!(2), 1).await;
}

#[tokio::test]
async fn a_journal_that_cannot_say_at_first_is_asked_again() {
    let bench = Bench::new().await;
    bench.journal.next_append(Fault::UnknownLanded);
    bench.journal.next_resolve(io());
    bench.journal.next_resolve(io());
    assert_eq!(bench.put("a", json!(1), 0).await.version, Version(1));
    assert_eq!(bench.records().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn after_eight_conflicts_a_write_is_given_up() {
    let bench = Bench::new().await;
    (0..9).for_each(|_| bench.journal.next_append(Fault::Conflict));
    let given_up = bench.ask(ask("ra", put("a", json!(1), 0))).await;
    assert!(matches!(given_up, Err(Error::Overloaded)), "{given_up:?}");
    assert_eq!(bench.journal.planned(), 0);
    bench.put("a", json!(1), 0).await;
}

/// Two servers over one journal.
async fn pair() -> (Bench, Bench) {
    let one = Bench::new().await;
    let journal = Faulty::over(Arc::clone(one.journal.inner()));
    let engine = Engine::start(Arc::new(journal.clone()), Options::default()).await.expect("a journal");
    (one, Bench { journal, engine })
}

#[tokio::test]
async fn what_another_server_wrote_is_caught_up_with_before_a_write_is_judged() {
    let (one, two) = pair().await;
    two.board().await;
    one.put("a", json!("one"), 0).await;
    // Server two has not seen it.
    assert_eq!(two.value("a").await, None);
    let mut cursor = two.board().await.follow(Revision(1));
    let stale = rejection(two.ask(ask("ta", put("a", json!("two"), 0))).await);
    assert!(matches!(stale, Rejection::VersionConflict { actual: Some(Version(1)), .. }), "{stale:?}");
    assert_eq!(two.value("a").await, Some(json!("one")));
    assert_eq!(soon(cursor.next()).await.expect("a log")[0].revision(), Revision(2));
    two.put("a", json!("two"), 1).await;
    one.put("b", json!(1), 0).await;
    assert_eq!(one.value("a").await, Some(json!("two")));
    let known = state(&one.board().await.published().board);
    assert_eq!(known, state(&one.restarted().await.board().await.published().board));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_servers_over_one_journal_lose_no_update() {
    let (one, two) = pair().await;
    let writers = (0..8).map(|n| {
        let engine = Arc::clone(if n % 2 == 0 { &one.engine } else { &two.engine });
        tokio::spawn(super::batches::increments(engine, format!("w{n}"), 25))
    });
    let mut versions: Vec<u64> = soon(join_all(writers)).await.into_iter().flat_map(|done| done.unwrap()).collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=200).collect::<Vec<_>>());
    assert!(one.engine.stats().retries + two.engine.stats().retries > 0);
    // Whoever wrote last, a restart finds the sum.
    drop(two);
    let one = one.restarted().await;
    assert_eq!(one.value("n").await, Some(json!(200)));
}

#[tokio::test]
async fn a_commit_too_large_for_the_journal_is_refused_alone() {
    let bench = Bench::new().await;
    let items = (0..80).map(|n| TransactItem::Write(Box::new(write(id(&format!("k{n}")), &text(250_000), 0))));
    let large = Command::Transact(Transact { checks: Vec::new(), items: items.collect() });
    let (before, large, after) = futures::join!(
        bench.ask(ask("ra", put("a", json!(1), 0))),
        bench.ask(ask("ra", large)),
        bench.ask(ask("ra", put("b", json!(1), 0))),
    );
    before.expect("accepted");
    let large = rejection(large);
    assert!(matches!(large, Rejection::LimitReached { limit: "commit_bytes_max", .. }), "{large:?}");
    after.expect("accepted");
}
