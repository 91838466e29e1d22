//! What an append promises.

use kokuban_core::ids::{BoardTime, ChainHash, Revision};

use super::{Author, Subject, board};
use crate::{Append, CommitId, Error, Head, Outcome, Refusal, Resolved};

pub async fn an_append_follows_the_newest_record_in_revision_and_chain(subject: Subject) {
    let mut author = Author::of("b");
    let first = subject.land(author.append_n(1)).await;
    let before = author.clone();
    let second = subject.land(author.append_n(1)).await;

    // The revision is right, the past is not.
    let mut stranger = before.rival();
    stranger.head = Some(Head { revision: second.revision, chain: ChainHash([9; 16]) });
    assert_eq!(subject.append(vec![stranger.append_n(1)]).await, [Outcome::Conflict(Some(second))]);
    // The past is right, but it is over.
    let mut late = before.rival();
    assert_eq!(late.head, Some(first));
    assert_eq!(subject.append(vec![late.append_n(1)]).await, [Outcome::Conflict(Some(second))]);
    assert_eq!(subject.load("b").await.head, second);
    subject.land(author.append_n(1)).await;
}

pub async fn a_board_begins_once(subject: Subject) {
    let mut ahead = Author::of("b");
    ahead.commit("never appended");
    assert_eq!(subject.append(vec![ahead.append_n(1)]).await, [Outcome::Conflict(None)]);
    assert_eq!(subject.journal.info(board("b")).await, Ok(None));
    let head = subject.land(Author::of("b").append_n(1)).await;
    assert_eq!(subject.append(vec![Author::of("b").append_n(1)]).await, [Outcome::Conflict(Some(head))]);
}

pub async fn commits_of_one_append_land_together_or_not_at_all(subject: Subject) {
    let mut author = Author::of("b");
    let item = author.append_n(50);
    let records = item.commits.clone();
    subject.land(item).await;
    let loaded = subject.load("b").await;
    assert_eq!(loaded.tail, records);
    assert_eq!(loaded.oldest, Revision(1));

    let mut late = Author::of("b").rival();
    let refused = subject.append(vec![late.append_n(50)]).await;
    assert_eq!(refused, [Outcome::Conflict(author.head)]);
    assert_eq!(subject.load("b").await, loaded);
}

pub async fn items_of_a_group_stand_by_themselves(subject: Subject) {
    let (mut a, mut b, mut c) = (Author::of("a"), Author::of("b"), Author::of("c"));
    subject.land(b.append_n(1)).await;
    let stale = b.head;
    subject.land(b.append_n(1)).await;
    let late = Append { expected: stale, ..b.rival().append_n(1) };
    let outcomes = subject.append(vec![a.append_n(2), late, c.append_n(1)]).await;
    let landed = |author: &Author| Outcome::Appended(author.head.expect("written"));
    assert_eq!(outcomes, [landed(&a), Outcome::Conflict(b.head), landed(&c)]);
    assert_eq!(subject.load("a").await.tail.len(), 2);
    assert_eq!(subject.append(vec![]).await, []);
}

pub async fn items_of_one_board_in_a_group_follow_each_other(subject: Subject) {
    let mut author = Author::of("b");
    let first = author.append_n(2);
    let rival = Author::of("b").rival().append_n(1);
    let after_first = author.head;
    let second = author.append_n(1);
    let outcomes = subject.append(vec![first, rival, second]).await;
    let appended = |head: Option<Head>| Outcome::Appended(head.expect("written"));
    assert_eq!(outcomes, [appended(after_first), Outcome::Conflict(after_first), appended(author.head)]);
    assert_eq!(subject.load("b").await.tail.len(), 3);
}

pub async fn appends_handed_over_without_waiting_keep_their_order(subject: Subject) {
    let mut author = Author::of("b");
    let mut answers = Vec::new();
    for _ in 0..200 {
        let item = author.append_n(1);
        let head = item.commits[0].head();
        answers.push((head, subject.journal.append(vec![item])));
    }
    // The last answer is not given before the first is due.
    let (last, answer) = answers.pop().expect("two hundred");
    assert_eq!(answer.await, [Outcome::Appended(last)]);
    assert_eq!(subject.load("b").await.tail.len(), 200);
    for (head, answer) in answers {
        assert_eq!(answer.await, [Outcome::Appended(head)]);
    }
}

pub async fn of_many_rivals_one_wins_each_revision(subject: Subject) {
    let mut head = None;
    for _ in 0..10 {
        let rivals = (0..32_u8).map(|life| {
            let mut rival = Author { life, head, ..Author::of("b") };
            let append = subject.journal.append(vec![rival.append_n(1)]);
            tokio::spawn(async move { (rival.head, append.await) })
        });
        let mut winners = Vec::new();
        for rival in rivals.collect::<Vec<_>>() {
            let (own, outcomes) = rival.await.expect("no panic");
            match outcomes.as_slice() {
                [Outcome::Appended(head)] => {
                    assert_eq!(Some(*head), own);
                    winners.push(*head);
                }
                [Outcome::Conflict(_)] => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?}");
        head = Some(winners[0]);
    }
    assert_eq!(subject.load("b").await.tail.len(), 10);
}

pub async fn an_append_that_cannot_be_stored_says_why(subject: Subject) {
    let item = |change: &dyn Fn(&mut Append)| {
        let mut item = Author::of("b").append_n(2);
        change(&mut item);
        item
    };
    for malformed in [
        item(&|item| item.commits.clear()),
        item(&|item| item.commits.swap(0, 1)),
        item(&|item| item.commits[0].revision = Revision(0)),
        item(&|item| item.commits[1].revision = Revision(u64::MAX)),
        item(&|item| item.commits[1].deadline = Some(BoardTime(u64::MAX))),
    ] {
        let outcomes = subject.append(vec![malformed]).await;
        assert!(matches!(outcomes[..], [Outcome::Refused(Refusal::Malformed { .. })]), "{outcomes:?}");
    }
    let max = subject.journal.caps().record_bytes_max;
    let outcomes = subject.append(vec![Author::of("b").append([vec![0; max + 1]])]).await;
    assert_eq!(outcomes, [Outcome::Refused(Refusal::TooLarge { bytes: max + 1, max })]);
    assert_eq!(subject.journal.info(board("b")).await, Ok(None));
}

pub async fn the_fate_of_an_append_is_found_by_its_commit_id(subject: Subject) {
    let mut author = Author::of("b");
    let nobody = CommitId::from(7);
    assert_eq!(subject.journal.resolve(board("b"), None, nobody).await, Ok(Resolved::Absent));
    let first = subject.land(author.append_n(1)).await;
    let item = author.append_n(3);
    let ids: Vec<CommitId> = item.commits.iter().map(|commit| commit.commit_id).collect();
    let heads: Vec<Head> = item.commits.iter().map(crate::NewRecord::head).collect();
    let resolve = |expected, id| subject.journal.resolve(board("b"), expected, id);
    assert_eq!(resolve(Some(first), ids[2]).await, Ok(Resolved::Absent));
    subject.land(item).await;
    for (id, head) in ids.into_iter().zip(&heads) {
        assert_eq!(resolve(Some(first), id).await, Ok(Resolved::Appended(*head)));
    }
    assert_eq!(resolve(Some(first), nobody).await, Ok(Resolved::Conflict(heads[2])));
    assert_eq!(resolve(None, nobody).await, Ok(Resolved::Conflict(heads[2])));
    assert_eq!(resolve(Some(heads[2]), nobody).await, Ok(Resolved::Absent));
}

pub async fn a_closed_journal_refuses(subject: Subject) {
    let mut author = Author::of("b");
    let waiting = subject.journal.append(vec![author.append_n(1)]);
    subject.journal.close().await.expect("it closes");
    assert_eq!(waiting.await, [Outcome::Appended(author.head.expect("written"))]);
    assert_eq!(subject.append(vec![author.append_n(1)]).await, [Outcome::Refused(Refusal::Closed)]);
    let closed = Error::Refused(Refusal::Closed);
    assert_eq!(subject.journal.load(board("b")).await, Err(closed.clone()));
    assert_eq!(subject.journal.list(None, 1).await, Err(closed.clone()));
    assert_eq!(subject.journal.prune(board("b"), Revision(1)).await, Err(closed));
    assert!(!subject.journal.health().writable);
    subject.journal.close().await.expect("again");
}
