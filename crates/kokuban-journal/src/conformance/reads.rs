//! What is found again.

use std::collections::BTreeSet;

use kokuban_core::ids::{BoardTime, Revision, Timestamp};

use super::{Author, Subject, board};
use crate::{BoardInfo, Error, NewRecord, Outcome, ReadLimit};

fn revisions(records: &[NewRecord]) -> Vec<u64> {
    records.iter().map(|record| record.revision.0).collect()
}

pub async fn what_was_appended_is_found_again(mut subject: Subject) {
    let mut authors: Vec<Author> = (0..5).map(|i| Author::of(&format!("b{i}"))).collect();
    let mut written: Vec<Vec<NewRecord>> = vec![Vec::new(); 5];
    for round in 0..3 {
        for turn in 0..40 {
            let group: Vec<_> = authors.iter_mut().map(|author| author.append_n(1 + turn % 3)).collect();
            group.iter().zip(&mut written).for_each(|(item, all)| all.extend(item.commits.iter().cloned()));
            assert!(subject.append(group).await.iter().all(|outcome| matches!(outcome, Outcome::Appended(_))));
        }
        subject.reopen().await;
        for (author, all) in authors.iter().zip(&written) {
            let loaded = subject.load(author.board.as_str()).await;
            assert_eq!(&loaded.tail, all, "round {round}");
            assert_eq!(Some(loaded.head), author.head);
            assert_eq!((loaded.snapshot, loaded.oldest), (None, Revision(1)));
        }
    }
}

pub async fn an_absent_board_is_not_an_error_to_load(subject: Subject) {
    let journal = &subject.journal;
    assert_eq!(journal.load(board("b")).await, Ok(None));
    assert_eq!(journal.info(board("b")).await, Ok(None));
    assert_eq!(journal.list(None, 10).await, Ok(vec![]));
    assert_eq!(journal.read(board("b"), Revision::ZERO, ReadLimit::records(1)).await, Err(Error::NoBoard));
}

pub async fn records_are_read_in_pages_both_ways(mut subject: Subject) {
    let (mut author, mut other) = (Author::of("b"), Author::of("other"));
    for n in 1..=20 {
        assert_eq!(subject.append(vec![author.append_n(5), other.append_n(n % 3 + 1)]).await.len(), 2);
    }
    for _ in 0..2 {
        let mut up = Vec::new();
        while up.len() < 100 {
            let after = Revision(up.last().copied().unwrap_or(0));
            let page = subject.journal.read(board("b"), after, ReadLimit::records(7)).await.expect("a page");
            assert!((1..=7).contains(&page.len()));
            up.extend(revisions(&page));
        }
        assert_eq!(up, (1..=100).collect::<Vec<_>>());
        let end = subject.journal.read(board("b"), Revision(100), ReadLimit::records(7)).await;
        assert_eq!(end, Ok(vec![]));

        let mut down = Vec::new();
        while down.len() < 100 {
            let before = Revision(down.last().copied().unwrap_or(u64::MAX));
            let page = subject.journal.read_back(board("b"), before, ReadLimit::records(7)).await.expect("a page");
            assert!((1..=7).contains(&page.len()));
            down.extend(revisions(&page));
        }
        assert_eq!(down, (1..=100).rev().collect::<Vec<_>>());
        assert_eq!(subject.journal.read_back(board("b"), Revision(1), ReadLimit::records(7)).await, Ok(vec![]));
        subject.reopen().await;
    }
}

pub async fn a_page_ends_at_its_bytes_but_is_never_empty(subject: Subject) {
    let mut author = Author::of("b");
    subject.land(author.append((0..10).map(|_| vec![7; 1000]))).await;
    let read = |body_bytes| {
        let limit = ReadLimit { records: 100, body_bytes };
        let journal = subject.journal.clone();
        async move { journal.read(board("b"), Revision(2), limit).await.expect("a page").len() }
    };
    assert_eq!((read(3500).await, read(1).await, read(1 << 20).await), (3, 1, 8));
    let none = ReadLimit { records: 0, body_bytes: 1 };
    assert_eq!(subject.journal.read(board("b"), Revision(2), none).await, Ok(vec![]));
}

pub async fn boards_are_listed_by_name_in_any_script(mut subject: Subject) {
    let names = ["Z", "a", "a.b", "a1", "éa", "зет", "हिन्दी", "意向", "意向国家", "𠮷"];
    for name in names.iter().rev() {
        subject.land(Author::of(name).append_n(1)).await;
    }
    for _ in 0..2 {
        let mut listed: Vec<String> = Vec::new();
        loop {
            let after = listed.last().map(|name| board(name));
            let page = subject.journal.list(after, 3).await.expect("a page");
            if page.is_empty() {
                break;
            }
            listed.extend(page.into_iter().map(|info| info.board.to_string()));
        }
        assert_eq!(listed, names);
        subject.reopen().await;
    }
}

pub async fn deadlines_and_times_are_those_of_the_newest_record(mut subject: Subject) {
    let mut author = Author::of("b");
    let mut item = author.append_n(2);
    item.commits[0].deadline = Some(BoardTime(500));
    item.commits[1].deadline = Some(BoardTime(700));
    item.commits[1].board_time = BoardTime(123);
    item.commits[1].at = Timestamp(-5);
    let head = subject.land(item).await;
    let mut later = author.append_n(1);
    let other = Author::of("c").append_n(1);
    subject.land(other).await;
    let info = BoardInfo {
        board: board("b"),
        head,
        oldest: Revision(1),
        snapshot: None,
        deadline: Some(BoardTime(700)),
        board_time: BoardTime(123),
        at: Timestamp(-5),
    };
    for _ in 0..2 {
        assert_eq!(subject.journal.info(board("b")).await, Ok(Some(info.clone())));
        assert_eq!(subject.journal.list(None, 1).await, Ok(vec![info.clone()]));
        assert_eq!(subject.load("b").await.tail[0].deadline, Some(BoardTime(500)));
        subject.reopen().await;
    }
    later.commits[0].deadline = None;
    subject.land(later).await;
    subject.reopen().await;
    let info = subject.journal.info(board("b")).await.expect("known").expect("there");
    assert_eq!((info.deadline, info.head.revision), (None, Revision(3)));
}

pub async fn large_bodies_come_back_whole(mut subject: Subject) {
    let mut author = Author::of("b");
    let body: Vec<u8> = (0..1 << 20).map(|i: u32| i.to_le_bytes()[usize::from(i.is_multiple_of(7))]).collect();
    subject.land(author.append([body.clone(), vec![], body[1..].to_vec()])).await;
    subject.reopen().await;
    let tail = subject.load("b").await.tail;
    assert!(tail[0].body == body && tail[1].body.is_empty() && tail[2].body == body[1..]);
}

pub async fn a_thousand_boards_keep_their_records_apart(mut subject: Subject) {
    let mut authors: Vec<Author> = (0..1000).map(|i| Author::of(&format!("b{i:04}"))).collect();
    for _ in 0..4 {
        let group = authors.iter_mut().map(|author| author.append_n(2)).collect();
        assert!(subject.append(group).await.iter().all(|outcome| matches!(outcome, Outcome::Appended(_))));
    }
    subject.reopen().await;
    assert_eq!(subject.journal.stats().boards, 1000);
    let names: BTreeSet<_> =
        subject.journal.list(None, 2000).await.expect("listed").into_iter().map(|info| info.board).collect();
    assert_eq!(names.len(), 1000);
    for author in authors.iter().step_by(97) {
        let loaded = subject.load(author.board.as_str()).await;
        assert_eq!((Some(loaded.head), loaded.tail.len()), (author.head, 8));
    }
}

pub async fn reads_see_only_whole_appends_while_others_write(subject: Subject) {
    let mut author = Author::of("b");
    subject.land(author.append_n(4)).await;
    let journal = subject.journal.clone();
    let reads = tokio::spawn(async move {
        let mut seen = 0;
        while seen < 400 {
            let loaded = journal.load(board("b")).await.expect("it loads").expect("there");
            let n = loaded.tail.len();
            assert_eq!(n % 4, 0, "a part of an append was seen");
            assert!(n >= seen, "a read went back");
            assert!(revisions(&loaded.tail).iter().zip(1..).all(|(revision, i)| *revision == i));
            seen = n;
            tokio::task::yield_now().await;
        }
    });
    for _ in 0..99 {
        subject.land(author.append_n(4)).await;
    }
    reads.await.expect("the reads were right");
}

pub async fn revisions_may_leave_a_gap(mut subject: Subject) {
    let (mut author, mut other) = (Author::of("b"), Author::of("other"));
    let mut expected = Vec::new();
    for to in [5, 1 << 20, 1 << 40] {
        for item in [author.leap(to), author.append_n(3)] {
            expected.extend(revisions(&item.commits));
            subject.land(item).await;
            subject.land(other.append_n(2)).await;
        }
    }
    for _ in 0..2 {
        let loaded = subject.load("b").await;
        assert_eq!((revisions(&loaded.tail), loaded.oldest), (expected.clone(), Revision(5)));
        let after = subject.journal.read(board("b"), Revision(1 << 30), ReadLimit::records(2)).await.expect("a page");
        assert_eq!(revisions(&after), [1 << 40, (1 << 40) + 1], "the first one behind the gap");
        let back = subject.journal.read_back(board("b"), Revision(1 << 40), ReadLimit::records(2)).await;
        assert_eq!(revisions(&back.expect("a page")), [(1 << 20) + 3, (1 << 20) + 2]);
        subject.reopen().await;
    }
    let snapshot = crate::Snapshot { head: author.head.expect("written"), chunks: vec!["state".into()] };
    subject.journal.put_snapshot(board("b"), snapshot).await.expect("stored");
    assert_eq!(subject.journal.prune(board("b"), Revision(1 << 30)).await, Ok(8));
    assert_eq!(subject.load("b").await.oldest, Revision(1 << 40));
}
