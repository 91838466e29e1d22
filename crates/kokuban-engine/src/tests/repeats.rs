//! The same key and request: one effect and one answer.

use futures::future::join_all;
use kokuban_core::entry::LeaseEnd;

use super::*;

fn first() -> Request {
    keyed("k", "f", ask("ra", put("a", json!({"n": 1}), 0)))
}

/// The answer of a repeat is that of the first, but for being one.
async fn repeats(bench: &Bench, request: Request, original: &Answer) {
    let again = bench.ask(request).await.expect("the stored answer");
    assert!(again.replayed);
    assert_eq!((&again.reply, again.position), (&original.reply, original.position));
}

#[tokio::test(start_paused = true)]
async fn a_repeat_is_answered_from_memory_from_the_journal_and_after_a_restart() {
    let bench = Bench::new().await;
    let original = bench.ask(first()).await.expect("accepted");
    assert!(!original.replayed);
    assert!(matches!(&original.reply, Some(Reply::Receipt(receipt)) if receipt.value.is_some()));
    repeats(&bench, first(), &original).await;
    bench.put("a", json!(2), 1).await;
    tokio::time::sleep(Duration::from_secs(400)).await;
    assert_eq!(bench.engine.stats().boards_loaded, 0);
    repeats(&bench, first(), &original).await;
    let bench = bench.restarted().await;
    repeats(&bench, first(), &original).await;
    assert_eq!(bench.records().await.len(), 3);
    assert_eq!(bench.engine.stats().replays, 1);
}

#[tokio::test]
async fn a_repeat_is_found_behind_a_tail_that_moved_on() {
    let bench = Bench::new().await;
    let original = bench.ask(first()).await.expect("accepted");
    soon(join_all((0..600).map(|n| bench.ask(ask("ra", put(&format!("k{n}"), json!(n), 0)))))).await;
    assert!(bench.board().await.published().commit(Revision(2)).is_none(), "the tail has moved on");
    repeats(&bench, first(), &original).await;
}

#[tokio::test]
async fn a_write_that_changed_nothing_is_remembered_with_its_value() {
    let bench = Bench::new().await;
    bench.put("a", json!({"n": 1}), 0).await;
    let unchanged = || keyed("k", "f", ask("ra", put("a", json!({"n": 1}), 1)));
    let original = bench.ask(unchanged()).await.expect("accepted");
    assert_eq!(bench.revision().await, 3, "a revision without changes");
    repeats(&bench, unchanged(), &original).await;
}

#[tokio::test]
async fn the_same_key_for_another_request_is_a_mistake() {
    let bench = Bench::new().await;
    bench.ask(first()).await.expect("accepted");
    let other = keyed("k", "other", ask("ra", put("a", json!(2), 1)));
    assert_eq!(rejection(bench.ask(other).await), Rejection::IdempotencyMismatch);
    // The key belongs to its caller.
    let others = keyed("k", "other", ask("ta", put("a", json!(2), 1)));
    bench.ask(others).await.expect("accepted");
}

#[tokio::test]
async fn two_at_the_same_time_have_one_effect() {
    let bench = Bench::new().await;
    bench.journal.hold();
    let one = bench.asking(first());
    soon(bench.journal.n_appends(2)).await;
    let two = bench.asking(first());
    settle().await;
    assert!(!two.is_finished(), "a repeat waits for the first");
    bench.journal.release();
    let one = soon(one).await.unwrap().expect("accepted");
    let two = soon(two).await.unwrap().expect("accepted");
    assert_eq!((one.replayed, two.replayed), (false, true));
    assert_eq!((&one.reply, one.position), (&two.reply, two.position));
    let (three, four) = futures::join!(
        bench.ask(keyed("l", "f", ask("ra", put("b", json!(1), 0)))),
        bench.ask(keyed("l", "f", ask("ra", put("b", json!(1), 0)))),
    );
    assert_eq!(three.expect("accepted").reply, four.expect("accepted").reply);
    assert_eq!(bench.records().await.len(), 3);
}

#[tokio::test]
async fn a_repeat_of_what_was_not_recorded_is_judged_anew() {
    let bench = Bench::new().await;
    bench.journal.hold();
    bench.journal.next_append(kokuban_journal::faults::Fault::Refused(kokuban_journal::Refusal::StorageFull));
    let one = bench.asking(first());
    soon(bench.journal.n_appends(2)).await;
    let two = bench.asking(first());
    settle().await;
    bench.journal.release();
    let one = soon(one).await.unwrap();
    assert!(matches!(one, Err(Error::StorageFull)), "{one:?}");
    assert!(!soon(two).await.unwrap().expect("accepted").replayed);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_replayed_only_while_it_lives() {
    let bench = Bench::new().await;
    bench.put("a", json!(1), 0).await;
    let request = || keyed("k", "f", ask("ra", acquire("a", 10_000)));
    let original = bench.ask(request()).await.expect("a lease");
    repeats(&bench, request(), &original).await;
    tokio::time::sleep(Duration::from_millis(10_200)).await;
    let lost = rejection(bench.ask(request()).await);
    let Rejection::LeaseLost { token: lost, reason, held_by } = lost else { panic!("{lost:?}") };
    assert_eq!((lost, reason, held_by), (token(&original), LeaseEnd::Expired, None));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ran_out_while_its_repeat_waited_is_not_handed_out() {
    let bench = Bench::new().await;
    bench.put("a", json!(1), 0).await;
    let request = || keyed("k", "f", ask("ra", acquire("a", 10_000)));
    bench.ask(request()).await.expect("a lease");
    bench.journal.hold();
    let held = bench.asking(ask("ta", put("z", json!(1), 0)));
    soon(bench.journal.n_appends(4)).await;
    let repeat = bench.asking(request());
    tokio::time::sleep(Duration::from_secs(11)).await;
    bench.journal.release();
    soon(held).await.unwrap().expect("accepted");
    let lost = rejection(soon(repeat).await.unwrap());
    assert!(matches!(lost, Rejection::LeaseLost { reason: LeaseEnd::Expired, .. }), "{lost:?}");
}

#[tokio::test]
async fn a_dry_run_neither_remembers_nor_replays_a_key() {
    let bench = Bench::new().await;
    let dry = || Request { dry_run: true, ..first() };
    assert!(!bench.ask(dry()).await.expect("a dry run").replayed);
    bench.ask(first()).await.expect("accepted");
    let judged = rejection(bench.ask(dry()).await);
    assert!(matches!(judged, Rejection::VersionConflict { .. }), "{judged:?}");
}

#[tokio::test]
async fn a_lease_that_went_with_its_board_is_not_handed_out() {
    let bench = Bench::new().await;
    bench.put("a", json!(1), 0).await;
    let mut again = keyed("k", "f", ask("ra", acquire("a", 10_000)));
    again.create_with = kokuban_core::blueprint::builtin("default");
    bench.ask(again.clone()).await.expect("a lease");
    bench.ask(ask("root", Command::DeleteBoard)).await.expect("deleted");
    let lost = rejection(bench.ask(again).await);
    assert!(matches!(lost, Rejection::LeaseLost { reason: LeaseEnd::Deleted, .. }), "{lost:?}");
}
