//! A disk that is full or fails: refused clearly, nothing guessed, and writes resume.

use std::sync::atomic::Ordering::Relaxed;

use super::*;
use crate::sqlite::sabotage::Broken;
use crate::{Refusal, Resolved};

fn is_io(outcomes: &[Outcome]) -> bool {
    matches!(outcomes, [Outcome::Refused(Refusal::Io { .. })])
}

#[tokio::test]
async fn a_full_disk_refuses_appends_and_they_resume_when_there_is_room() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut author = Author::of("b");
    land(&journal, &mut author, 3).await;
    journal.inner.sabotage.pages_max.store(1, Relaxed);
    let full = loop {
        let before = author.clone();
        let item = author.append([vec![1; 2000]]);
        match &journal.append(vec![item]).await[..] {
            [Outcome::Appended(_)] => {}
            [Outcome::Refused(Refusal::StorageFull)] => break before,
            other => panic!("{other:?}"),
        }
    };
    let mut author = full;
    assert!(!journal.health().writable);
    assert_eq!(journal.health().last_error.as_deref(), Some("the storage is full"));
    // Reads go on, and what is refused changes nothing.
    let head = journal.load(author.board.clone()).await.unwrap().unwrap().head;
    assert_eq!(Some(head), author.head);
    let conflict = author.rival();
    let stale = Author { head: None, ..conflict }.append_n(1);
    assert_eq!(journal.append(vec![stale]).await, [Outcome::Conflict(author.head)]);

    journal.inner.sabotage.pages_max.store(0, Relaxed);
    land(&journal, &mut author, 2).await;
    assert!(journal.health().writable);
    let image = left_by_a_kill(dir.path());
    let again = open(image.path()).unwrap();
    assert_eq!(again.load(author.board.clone()).await.unwrap().unwrap().head, author.head.unwrap());
}

#[tokio::test]
async fn a_disk_full_in_the_log_itself_is_told_as_such() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut author = Author::of("b");
    land(&journal, &mut author, 1).await;
    for renewals in [0, 1] {
        journal.inner.sabotage.renewals.store(renewals, Relaxed);
        journal.inner.sabotage.next_commit(Broken::Full);
        let item = author.clone().append_n(1);
        assert_eq!(journal.append(vec![item]).await, [Outcome::Refused(Refusal::StorageFull)]);
    }
    settle(&journal, &author).await;
    land(&journal, &mut author, 1).await;
    assert_eq!(n_records(&journal, &author).await, 2);
}

#[tokio::test]
async fn a_full_disk_stays_the_reason_while_something_is_in_the_way_of_renewing_the_log() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut author = Author::of("b");
    land(&journal, &mut author, 1).await;
    journal.inner.sabotage.blocked_renewals.store(3, Relaxed);
    journal.inner.sabotage.next_commit(Broken::Full);
    for _ in 0..3 {
        let item = author.clone().append_n(1);
        assert_eq!(journal.append(vec![item]).await, [Outcome::Refused(Refusal::StorageFull)]);
    }
    settle(&journal, &author).await;
    land(&journal, &mut author, 1).await;
}

/// Asks until the log is renewed.
async fn settle(journal: &Sqlite, author: &Author) {
    let ask = || journal.resolve(author.board.clone(), author.head, 1.into());
    for _ in 0..10 {
        if ask().await.is_ok() {
            return;
        }
    }
    panic!("the log is never renewed");
}

#[tokio::test]
async fn a_failed_sync_is_settled_at_once_when_the_disk_answers_again() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut author = Author::of("b");
    land(&journal, &mut author, 1).await;
    // Nothing is in the log.
    journal.inner.sabotage.next_commit(Broken::Before);
    let outcomes = journal.append(vec![author.clone().append_n(2)]).await;
    assert!(is_io(&outcomes), "{outcomes:?}");
    // All is in the log, and the new generation of it says so durably.
    journal.inner.sabotage.next_commit(Broken::After);
    land(&journal, &mut author, 2).await;
    land(&journal, &mut author, 1).await;
    assert!(journal.health().writable);
    assert!(journal.health().last_error.is_some());
    assert_eq!(journal.stats().failures, 2);
    let image = left_by_a_kill(dir.path());
    assert_eq!(n_records(&open(image.path()).unwrap(), &author).await, 4);
}

#[tokio::test]
async fn a_failed_sync_on_a_failing_disk_is_unknown_until_it_is_resolved() {
    for (broken, landed) in [(Broken::Before, false), (Broken::After, true)] {
        let dir = temp_dir();
        let journal = open(dir.path()).unwrap();
        let mut author = Author::of("b");
        land(&journal, &mut author, 1).await;
        let before = author.head;
        journal.inner.sabotage.renewals.store(3, Relaxed);
        journal.inner.sabotage.next_commit(broken);
        let item = author.append_n(2);
        let id = item.commits[1].commit_id;
        let rival = Author::of("new").append_n(1);
        // Conflicts with what may or may not be there.
        let stale = Author::of("b").rival().append_n(1);
        let outcomes = journal.append(vec![item, rival, stale]).await;
        assert_eq!(outcomes, [Outcome::Unknown, Outcome::Unknown, Outcome::Unknown]);
        assert!(!journal.health().writable);
        // Nothing else is written or guessed meanwhile.
        let outcomes = journal.append(vec![author.clone().append_n(1)]).await;
        assert!(is_io(&outcomes), "{outcomes:?}");
        let resolve = || journal.resolve(author.board.clone(), before, id);
        assert!(matches!(resolve().await, Err(Error::Refused(Refusal::Io { .. }))));
        settle(&journal, &author).await;
        let expected = if landed { Resolved::Appended(author.head.unwrap()) } else { Resolved::Absent };
        assert_eq!(resolve().await, Ok(expected));
        let mut author = if landed { author } else { Author { head: before, ..author } };
        land(&journal, &mut author, 1).await;
        let n_boards = usize::from(landed) + 1;
        assert_eq!(journal.list(None, 10).await.unwrap().len(), n_boards);
        let image = left_by_a_kill(dir.path());
        assert_eq!(n_records(&open(image.path()).unwrap(), &author).await, if landed { 4 } else { 2 });
    }
}

#[tokio::test]
async fn what_follows_a_lost_append_is_lost_with_it() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut author = Author::of("b");
    journal.inner.sabotage.next_commit(Broken::Before);
    let first = author.append_n(1);
    let second = author.append_n(1);
    let rival = Author::of("b").rival().append_n(1);
    let outcomes = journal.append(vec![first, second, rival]).await;
    assert!(outcomes.iter().all(|outcome| is_io(std::slice::from_ref(outcome))), "{outcomes:?}");
    assert_eq!(journal.load(author.board.clone()).await, Ok(None));
    assert_eq!(journal.append(vec![author.append_n(1)]).await, [Outcome::Conflict(None)]);
}
