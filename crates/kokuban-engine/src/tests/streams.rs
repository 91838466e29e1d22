//! Cursors, the past, and the hand-off between memory and journal.

use super::*;
use crate::{Gap, PastError};

/// Follows until `last` and checks that every revision comes once and in order.
async fn follow_all(board: Arc<BoardHandle>, after: u64, last: u64) -> u64 {
    let mut cursor = board.follow(Revision(after));
    let mut expected = after + 1;
    while expected <= last {
        for logged in cursor.next().await.expect("a whole log") {
            assert_eq!(logged.revision().0, expected);
            expected += 1;
        }
    }
    assert_eq!(cursor.position(), Revision(last));
    expected - 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn followers_miss_nothing_whether_they_come_early_or_late() {
    let bench = Bench::with(small_snapshots()).await;
    let board = bench.board().await;
    let last = 3_001;
    let early: Vec<_> = (0..3).map(|_| tokio::spawn(follow_all(Arc::clone(&board), 0, last))).collect();
    let mut late = Vec::new();
    for n in 0..3_000_u64 {
        bench.ask(ask("ra", put(&format!("k{}", n % 50), json!(n), n / 50))).await.expect("accepted");
        if n % 500 == 250 {
            let head = board.published().board.revision().0;
            late.push(tokio::spawn(follow_all(Arc::clone(&board), 0, last)));
            late.push(tokio::spawn(follow_all(Arc::clone(&board), head - 1, last)));
            late.push(tokio::spawn(follow_all(Arc::clone(&board), head.saturating_sub(520), last)));
        }
    }
    for follower in early.into_iter().chain(late) {
        assert_eq!(soon(follower).await.unwrap(), last);
    }
}

#[tokio::test]
async fn a_cursor_waits_until_there_is_something() {
    let bench = Bench::new().await;
    let board = bench.board().await;
    let mut cursor = board.follow(Revision(1));
    let mut next = tokio::spawn(async move { cursor.next().await.map(|commits| commits.len()) });
    settle().await;
    assert!(futures::FutureExt::now_or_never(&mut next).is_none());
    bench.put("a", json!(1), 0).await;
    assert_eq!(soon(next).await.unwrap(), Ok(1));
}

#[tokio::test]
async fn the_journal_that_cannot_be_read_is_no_gap() {
    let bench = Bench::new().await;
    bench.put("a", json!(1), 0).await;
    let bench = bench.restarted().await;
    let board = bench.board().await;
    let mut cursor = board.follow(Revision(0));
    bench.journal.next_read(kokuban_journal::Error::Refused(kokuban_journal::Refusal::Io { detail: String::new() }));
    assert_eq!(cursor.take().await.expect_err("no journal"), Gap::Unavailable);
    assert_eq!(cursor.take().await.expect("a log").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_past_is_what_was_there_then() {
    let bench = Bench::with(small_snapshots()).await;
    let board = bench.board().await;
    let mut then = vec![state(&board.published().board)];
    for n in 0..300_u64 {
        let command = if n % 7 == 3 { acquire("k0", 100_000 + n) } else { put(&format!("k{n}"), json!(n), 0) };
        if bench.ask(ask("ra", command)).await.is_ok() {
            then.push(state(&board.published().board));
        }
    }
    for (index, expected) in then.iter().enumerate() {
        let revision = Revision(index as u64 + 1);
        if index % 13 == 0 || index + 1 == then.len() {
            assert_eq!(state(&soon(board.at(revision)).await.expect("a past")), *expected, "{revision}");
        }
    }
    let future = board.at(Revision(then.len() as u64 + 1)).await;
    assert_eq!(future.expect_err("not yet"), PastError::Future);
    assert!(!soon(board.at(Revision(0))).await.expect("the beginning").exists());
}

#[tokio::test]
async fn history_comes_newest_first_in_pages_to_its_end() {
    let bench = Bench::new().await;
    for n in 0..25 {
        bench.put(&format!("k{n}"), json!(n), 0).await;
    }
    let board = bench.board().await;
    let mut before = Revision(u64::MAX);
    let mut seen = Vec::new();
    loop {
        let page = board.history(before, 10).await.expect("a history");
        assert!(page.commits.len() <= 10);
        seen.extend(page.commits.iter().map(|logged| logged.revision().0));
        if page.end {
            break;
        }
        before = Revision(*seen.last().expect("a page"));
    }
    assert_eq!(seen, (1..=26).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_slow_reader_holds_a_bounded_part_of_the_log() {
    let bench = Bench::new().await;
    for n in 0..20 {
        bench.put(&format!("k{n}"), text(20_000), 0).await;
    }
    let board = bench.board().await;
    let mut cursor = board.follow(Revision(0));
    while cursor.position() < Revision(21) {
        let page = cursor.take().await.expect("a log");
        assert!(page.len() == 1 || page.iter().map(|logged| logged.bytes).sum::<usize>() <= 64 * 1_024);
    }
}
