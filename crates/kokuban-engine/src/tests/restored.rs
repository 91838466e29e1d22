//! Boards that were brought back from a backup: behind a gap in their log everything goes on.

use kokuban_core::command::Restore;
use kokuban_core::entry::LeaseEnd;
use kokuban_core::ids::{Epoch, Timestamp};
use kokuban_journal::{Append, CommitId, Head, NewRecord};

use super::*;
use crate::PastError;

const PAST: u64 = 1 << 20;

/// What a restore adds to the log of the board `b`.
async fn restore(bench: &Bench) {
    let published = bench.board().await.published();
    let (board, chain) = (&published.board, published.chain);
    let restore = Restore { taken: Timestamp(0), past: Revision(PAST) };
    let now = board.time().plus_ms(1);
    let added = restore.additions(board, chain, now, Timestamp(1), Epoch(4711));
    let commits = added.map(|added| NewRecord {
        revision: added.revision,
        chain: added.chain,
        commit_id: CommitId::from(u128::from(added.revision.0)),
        at: added.at,
        board_time: added.board_time,
        deadline: added.deadline,
        body: added.body,
    });
    let expected = Some(Head { revision: board.revision(), chain });
    let item = Append { board: b(), expected, commits: commits.collect() };
    let outcomes = bench.journal.inner().append(vec![item]).await;
    assert!(matches!(outcomes[..], [kokuban_journal::Outcome::Appended(_)]), "{outcomes:?}");
}

async fn restored() -> Bench {
    let bench = Bench::new().await;
    for n in 0..5 {
        bench.put(&format!("k{n}"), json!(n), 0).await;
    }
    restore(&bench).await;
    bench.restarted().await
}

#[tokio::test]
async fn a_restored_board_is_loaded_written_and_loaded_again() {
    let bench = restored().await;
    assert!(bench.board().await.quarantine().is_none());
    assert_eq!(bench.revision().await, PAST + 1);
    let receipt = bench.put("k0", json!("new"), 1).await;
    assert_eq!(receipt.version.0, PAST + 1);
    let before = state(&bench.board().await.published().board);
    let bench = bench.restarted().await;
    assert_eq!(state(&bench.board().await.published().board), before);
}

#[tokio::test]
async fn followers_step_over_the_gap_from_memory_and_from_the_journal() {
    let bench = restored().await;
    bench.put("k0", json!("new"), 1).await;
    let board = bench.board().await;
    for after in [0, 3, 6, 7, PAST, PAST + 1] {
        let mut cursor = board.follow(Revision(after));
        let mut seen = Vec::new();
        while cursor.position() < Revision(PAST + 2) {
            seen.extend(soon(cursor.next()).await.expect("no commit is missing").iter().map(|l| l.revision().0));
        }
        let all = (1..=6).chain(PAST + 1..=PAST + 2);
        assert_eq!(seen, all.filter(|revision| *revision > after).collect::<Vec<_>>(), "after {after}");
    }
}

#[tokio::test]
async fn the_past_is_there_on_both_sides_of_the_gap_and_not_within() {
    let bench = restored().await;
    bench.put("k0", json!("new"), 1).await;
    let board = bench.board().await;
    let at = async |revision: u64| soon(board.at(Revision(revision))).await.map(|board| board.n_entries());
    assert_eq!((at(3).await, at(6).await), (Ok(2), Ok(5)));
    for lost in [7, 1_000, PAST] {
        assert_eq!(at(lost).await, Err(PastError::Compacted), "{lost}");
    }
    assert_eq!((at(PAST + 1).await, at(PAST + 2).await), (Ok(5), Ok(5)));
    assert_eq!(at(PAST + 3).await, Err(PastError::Future));
    let history = soon(board.history(Revision(u64::MAX), 100)).await.expect("a history");
    assert_eq!(history.commits.len(), 8);
    assert!(history.end);
    let id = id("k3");
    let made = soon(board.revision_of(&id, Version(1))).await.expect("a history");
    assert_eq!(made, Some(Revision(5)));
}

#[tokio::test]
async fn a_repeat_that_was_answered_before_is_answered_so_and_a_lease_of_it_has_ended() {
    let bench = Bench::new().await;
    let written = || keyed("k", "f", ask("ra", put("a", json!(1), 0)));
    let leased = || keyed("l", "f", ask("ra", acquire("a", 60_000)));
    let original = bench.ask(written()).await.expect("accepted");
    bench.ask(leased()).await.expect("a lease");
    restore(&bench).await;
    let bench = bench.restarted().await;
    let again = bench.ask(written()).await.expect("known");
    assert_eq!((again.replayed, again.reply, again.position), (true, original.reply, original.position));
    let lost = rejection(bench.ask(leased()).await);
    assert!(matches!(lost, Rejection::LeaseLost { reason: LeaseEnd::Expired, held_by: None, .. }), "{lost:?}");
}
