//! Snapshots, retention, erasure.

use bytes::Bytes;
use kokuban_core::ids::{ChainHash, Revision};

use super::{Author, Subject, board};
use crate::{Append, Error, Head, NewRecord, ReadLimit, Rewrite, Snapshot};

fn snapshot(head: Head, chunks: &[&str]) -> Snapshot {
    Snapshot { head, chunks: chunks.iter().map(|chunk| Bytes::copy_from_slice(chunk.as_bytes())).collect() }
}

/// The item as it will be found.
fn records(item: &Append) -> Vec<NewRecord> {
    item.commits.clone()
}

async fn first_revision(subject: &Subject) -> Revision {
    let page = subject.journal.read(board("b"), Revision::ZERO, ReadLimit::records(1)).await;
    page.expect("a page")[0].revision
}

pub async fn a_snapshot_shortens_the_load(mut subject: Subject) {
    let mut author = Author::of("b");
    let head = subject.land(author.append_n(10)).await;
    let tail = author.append_n(5);
    let expected = records(&tail);
    subject.land(tail).await;
    let taken = snapshot(head, &["state ", "at ten"]);
    subject.journal.put_snapshot(board("b"), taken.clone()).await.expect("stored");
    for _ in 0..2 {
        let loaded = subject.load("b").await;
        assert_eq!((loaded.snapshot, loaded.tail), (Some(taken.clone()), expected.clone()));
        assert_eq!((Some(loaded.head), loaded.oldest), (author.head, Revision(1)));
        let info = subject.journal.info(board("b")).await.expect("known").expect("there");
        assert_eq!(info.snapshot, Some(Revision(10)));
        subject.reopen().await;
    }
    // History is as it was.
    assert_eq!(first_revision(&subject).await, Revision(1));
    // A snapshot of the newest record leaves no tail.
    let newest = author.head.expect("written");
    subject.journal.put_snapshot(board("b"), snapshot(newest, &["all"])).await.expect("stored");
    subject.reopen().await;
    let loaded = subject.load("b").await;
    assert_eq!((loaded.head, loaded.tail), (newest, vec![]));
}

pub async fn an_older_snapshot_does_not_replace_a_newer_one(subject: Subject) {
    let mut author = Author::of("b");
    let old = subject.land(author.append_n(1)).await;
    let new = subject.land(author.append_n(1)).await;
    for (head, text) in [(new, "new"), (old, "old"), (new, "again")] {
        subject.journal.put_snapshot(board("b"), snapshot(head, &[text])).await.expect("accepted");
    }
    assert_eq!(subject.load("b").await.snapshot, Some(snapshot(new, &["new"])));
}

pub async fn a_snapshot_of_another_history_is_refused(subject: Subject) {
    let mut author = Author::of("b");
    let head = subject.land(author.append_n(2)).await;
    let other = Head { chain: ChainHash([1; 16]), ..head };
    let ahead = Head { revision: Revision(3), ..head };
    for head in [other, ahead] {
        let refused = subject.journal.put_snapshot(board("b"), snapshot(head, &["x"])).await;
        assert_eq!(refused, Err(Error::ChainDiffers { revision: head.revision }));
    }
    assert_eq!(subject.load("b").await.snapshot, None);
}

pub async fn a_snapshot_keeps_its_chunks(mut subject: Subject) {
    let mut author = Author::of("b");
    let max = subject.journal.caps().chunk_bytes_max;
    for round in 1..=3_u8 {
        let head = subject.land(author.append_n(1)).await;
        let mut chunks: Vec<Bytes> = (0..300_u16).map(|i| Bytes::from(vec![round; usize::from(i)])).collect();
        chunks.push(Bytes::from(vec![round; max]));
        let taken = Snapshot { head, chunks };
        subject.journal.put_snapshot(board("b"), taken.clone()).await.expect("stored");
        assert!(subject.load("b").await.snapshot.as_ref() == Some(&taken));
        subject.reopen().await;
        assert!(subject.load("b").await.snapshot == Some(taken));
    }
    let head = author.head.expect("written");
    let large = Snapshot { head, chunks: vec![Bytes::from(vec![0; max + 1])] };
    let refused = subject.journal.put_snapshot(board("b"), large).await;
    assert_eq!(refused, Err(Error::Refused(crate::Refusal::TooLarge { bytes: max + 1, max })));
    let newer = subject.land(author.append_n(1)).await;
    subject.journal.put_snapshot(board("b"), snapshot(newer, &[])).await.expect("an empty state is one");
    assert_eq!(subject.load("b").await.snapshot, Some(snapshot(newer, &[])));
}

pub async fn pruning_keeps_the_newest_record_and_the_tail(mut subject: Subject) {
    let mut author = Author::of("b");
    let head = subject.land(author.append_n(10)).await;
    let other = records(&{
        let item = Author::of("other").append_n(30);
        subject.land(item.clone()).await;
        item
    });
    subject.land(author.append_n(5)).await;
    let prune = |below| subject.journal.prune(board("b"), Revision(below));
    // Without a snapshot the records are all there is.
    assert_eq!(prune(100).await, Ok(0));
    subject.journal.put_snapshot(board("b"), snapshot(head, &["ten"])).await.expect("stored");
    assert_eq!(prune(1).await, Ok(0));
    assert_eq!(prune(4).await, Ok(3));
    assert_eq!(first_revision(&subject).await, Revision(4));
    assert_eq!(prune(1000).await, Ok(7));
    for _ in 0..2 {
        let loaded = subject.load("b").await;
        assert_eq!((loaded.oldest, loaded.tail.len()), (Revision(11), 5));
        assert_eq!(first_revision(&subject).await, Revision(11));
        let back = subject.journal.read_back(board("b"), Revision(100), ReadLimit::records(100)).await;
        assert_eq!(back.expect("a page").len(), 5);
        assert_eq!(subject.load("other").await.tail, other);
        subject.reopen().await;
    }
    let newest = author.head.expect("written");
    subject.journal.put_snapshot(board("b"), snapshot(newest, &["all"])).await.expect("stored");
    assert_eq!(subject.journal.prune(board("b"), Revision(1000)).await, Ok(4));
    assert_eq!(first_revision(&subject).await, Revision(15));
}

pub async fn a_pruned_board_goes_on(mut subject: Subject) {
    let mut author = Author::of("b");
    for _ in 0..3 {
        let head = subject.land(author.append_n(700)).await;
        subject.journal.put_snapshot(board("b"), snapshot(head, &["state"])).await.expect("stored");
        subject.journal.prune(board("b"), head.revision).await.expect("pruned");
        subject.reopen().await;
        let loaded = subject.load("b").await;
        assert_eq!((loaded.head, loaded.oldest, loaded.tail.len()), (head, head.revision, 0));
        assert_eq!(subject.append(vec![Author::of("b").append_n(1)]).await, [crate::Outcome::Conflict(Some(head))]);
    }
}

pub async fn a_rewritten_body_keeps_its_place_in_the_chain(mut subject: Subject) {
    let mut author = Author::of("b");
    let item = author.append((0..100).map(|i| format!("body {i}")));
    let mut expected = records(&item);
    subject.land(item).await;
    let rewrites: Vec<Rewrite> = (0..100)
        .step_by(3)
        .map(|i| Rewrite { revision: Revision(i + 1), chain: expected[at(i)].chain, body: format!("new {i}").into() })
        .collect();
    for (i, rewrite) in (0..100).step_by(3).zip(&rewrites) {
        expected[at(i)].body = rewrite.body.clone();
    }
    subject.journal.rewrite(board("b"), rewrites).await.expect("rewritten");
    for _ in 0..2 {
        assert_eq!(subject.load("b").await.tail, expected);
        subject.reopen().await;
    }
    let again = Rewrite { revision: Revision(2), chain: expected[1].chain, body: Bytes::new() };
    subject.journal.rewrite(board("b"), vec![again]).await.expect("rewritten");
    assert!(subject.load("b").await.tail[1].body.is_empty());
    subject.journal.rewrite(board("b"), vec![]).await.expect("nothing to do");
}

fn at(i: u64) -> usize {
    usize::try_from(i).expect("small")
}

pub async fn a_rewrite_of_another_history_is_refused(subject: Subject) {
    let mut author = Author::of("b");
    let item = author.append_n(3);
    let expected = records(&item);
    subject.land(item).await;
    let rewrite = |revision: u64, chain| Rewrite { revision: Revision(revision), chain, body: "x".into() };
    for (revision, chain) in [(2, ChainHash([3; 16])), (2, expected[0].chain), (4, expected[2].chain)] {
        let refused = subject.journal.rewrite(board("b"), vec![rewrite(revision, chain)]).await;
        assert_eq!(refused, Err(Error::ChainDiffers { revision: Revision(revision) }));
    }
    assert_eq!(subject.load("b").await.tail, expected);
}

pub async fn upkeep_of_an_absent_board_says_so(subject: Subject) {
    let head = Head { revision: Revision(1), chain: ChainHash::GENESIS };
    let journal = &subject.journal;
    assert_eq!(journal.put_snapshot(board("b"), snapshot(head, &["x"])).await, Err(Error::NoBoard));
    assert_eq!(journal.prune(board("b"), Revision(1)).await, Err(Error::NoBoard));
    let rewrite = Rewrite { revision: Revision(1), chain: head.chain, body: "x".into() };
    assert_eq!(journal.rewrite(board("b"), vec![rewrite]).await, Err(Error::NoBoard));
}

pub async fn a_snapshot_is_read_in_parts(subject: Subject) {
    let journal = &subject.journal;
    assert_eq!(journal.read_snapshot(board("b"), 0, 100).await, Err(Error::NoBoard));
    let mut author = Author::of("b");
    let head = subject.land(author.append_n(1)).await;
    assert_eq!(journal.read_snapshot(board("b"), 0, 100).await, Ok(None));
    let chunks: Vec<Bytes> = (0..10_u8).map(|i| Bytes::from(vec![i; 40])).collect();
    journal.put_snapshot(board("b"), Snapshot { head, chunks: chunks.clone() }).await.expect("stored");
    let part = async |first, bytes_max| {
        let part = journal.read_snapshot(board("b"), first, bytes_max).await.expect("it reads").expect("there");
        assert_eq!((part.head, part.n_chunks), (head, 10));
        part.chunks
    };
    assert_eq!(part(0, 100).await, chunks[..2]);
    assert_eq!(part(2, 1).await, chunks[2..3], "at least one");
    assert_eq!(part(3, 1 << 20).await, chunks[3..]);
    assert_eq!(part(10, 100).await, Vec::<Bytes>::new());
    let newer = subject.land(author.append_n(1)).await;
    journal.put_snapshot(board("b"), snapshot(newer, &["new"])).await.expect("stored");
    let part = journal.read_snapshot(board("b"), 3, 100).await.expect("it reads").expect("there");
    assert_eq!((part.head, part.n_chunks), (newer, 1), "another one has taken its place");
    assert!(part.chunks.is_empty());
}
