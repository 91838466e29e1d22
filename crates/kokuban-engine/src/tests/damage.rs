//! Records that are not what they were.

use bytes::Bytes;
use kokuban_journal::{Record, Rewrite};

use super::*;

/// Changes the stored bytes of a record.
async fn damage(bench: &Bench, revision: u64, flip: impl Fn(&mut [u8])) {
    let stored: Vec<Record> = bench.records().await;
    let record = stored.iter().find(|record| record.revision.0 == revision).expect("a record");
    let mut body = record.body.to_vec();
    flip(&mut body);
    let rewrite = Rewrite { revision: record.revision, chain: record.chain, body: body.into() };
    bench.journal.inner().rewrite(b(), vec![rewrite]).await.expect("rewritten");
}

fn in_value(body: &mut [u8]) {
    let at = body.len() - 2;
    body[at] ^= 1;
}

/// Keeps the JSON of the head well-formed: only its meaning changes.
fn in_head(body: &mut [u8]) {
    let at = body.windows(6).position(|part| part == b"\"test\"").expect("the request id");
    body[at + 1] ^= 1;
}

async fn three_writes() -> Bench {
    let bench = Bench::new().await;
    for n in 0..3 {
        bench.put(&format!("k{n}"), json!([n, "value"]), 0).await;
    }
    let other = Request { ..ask("lin", create(builtin("default").expect("built in"))) };
    soon(bench.engine.submit(&name("other"), other)).await.expect("another board");
    bench
}

async fn is_set_aside_at(bench: &Bench, revision: u64, keys: [bool; 3]) {
    let board = bench.board().await;
    let damage = board.quarantine().expect("damage");
    assert_eq!(damage.revision, Some(Revision(revision)), "{}", damage.detail);
    for (n, there) in keys.into_iter().enumerate() {
        assert_eq!(bench.value(&format!("k{n}")).await.is_some(), there, "k{n}");
    }
    let refused = bench.ask(ask("ra", put("new", json!(1), 0))).await;
    assert!(matches!(refused, Err(Error::Quarantined { revision: Some(_), .. })), "{refused:?}");
    assert_eq!(bench.engine.quarantined(), [b()]);
    let served = soon(bench.engine.submit(&name("other"), ask("ra", put("a", json!(1), 0)))).await;
    served.expect("other boards serve");
}

#[tokio::test]
async fn a_flipped_bit_in_a_value_sets_the_board_aside_at_its_revision() {
    let bench = three_writes().await;
    damage(&bench, 3, in_value).await;
    let bench = bench.restarted().await;
    is_set_aside_at(&bench, 3, [true, false, false]).await;
}

#[tokio::test]
async fn a_changed_head_sets_the_board_aside_although_it_can_be_read() {
    let bench = three_writes().await;
    damage(&bench, 4, in_head).await;
    let bench = bench.restarted().await;
    is_set_aside_at(&bench, 4, [true, true, false]).await;
}

#[tokio::test]
async fn damage_behind_the_tail_is_met_by_whoever_reads_there() {
    let bench = three_writes().await;
    damage(&bench, 3, in_head).await;
    let board = bench.board().await;
    // In memory all is well.
    assert_eq!(board.follow(Revision(0)).take().await.expect("the tail").len(), 4);
    let history = board.history(Revision(u64::MAX), 10).await;
    assert!(matches!(history, Err(crate::PastError::Damaged { revision: Revision(3), .. })), "{history:?}");
    let newest = board.history(Revision(u64::MAX), 1).await.expect("one that is whole");
    assert_eq!(newest.commits[0].revision(), Revision(4));
    let past = board.at(Revision(3)).await;
    assert!(matches!(past, Err(crate::PastError::Damaged { revision: Revision(3), .. })), "{past:?}");
    bench.put("k3", json!(1), 0).await;
}

async fn snapshot_with(bench: &Bench, flip: impl Fn(&mut [u8])) {
    let published = bench.board().await.published();
    let head = kokuban_journal::Head { revision: published.board.revision(), chain: published.chain };
    let bytes = state(&published.board);
    let hash = Bytes::copy_from_slice(&Sha256::of(&bytes).0);
    let mut bytes = bytes.to_vec();
    flip(&mut bytes);
    let chunks = vec![hash, bytes.into()];
    bench.journal.inner().put_snapshot(b(), kokuban_journal::Snapshot { head, chunks }).await.expect("stored");
}

#[tokio::test]
async fn a_snapshot_in_chunks_is_put_together_again() {
    let bench = three_writes().await;
    snapshot_with(&bench, |_| {}).await;
    let before = state(&bench.board().await.published().board);
    let bench = bench.restarted().await;
    assert!(bench.board().await.quarantine().is_none());
    assert_eq!(state(&bench.board().await.published().board), before);
}

#[tokio::test]
async fn a_damaged_snapshot_sets_the_board_aside_and_the_log_is_read_instead() {
    let bench = three_writes().await;
    // The revision of the board: the JSON stays well-formed, and no chain covers it.
    snapshot_with(&bench, |bytes| {
        let at = bytes.windows(11).position(|part| part == b"\"revision\":").expect("a revision");
        bytes[at + 11] = b'7';
    })
    .await;
    let before = state(&bench.board().await.published().board);
    let bench = bench.restarted().await;
    is_set_aside_at(&bench, 4, [true, true, true]).await;
    assert_eq!(state(&bench.board().await.published().board), before);
}

#[tokio::test]
async fn a_first_record_that_is_damaged_leaves_nothing_to_read() {
    let bench = three_writes().await;
    damage(&bench, 1, in_head).await;
    let bench = bench.restarted().await;
    let board = bench.engine.board(&b()).await;
    assert!(matches!(board, Err(Error::Quarantined { revision: Some(Revision(1)), .. })), "{board:?}");
    let refused = bench.ask(ask("ra", create(builtin("default").expect("built in")))).await;
    assert!(matches!(refused, Err(Error::Quarantined { .. })), "{refused:?}");
    assert_eq!(bench.engine.quarantined(), [b()]);
}

#[tokio::test(start_paused = true)]
async fn a_board_of_which_nothing_can_be_read_stays_in_sight() {
    let bench = three_writes().await.restarted().await;
    let detail = "a page is damaged".to_owned();
    bench.journal.next_read(kokuban_journal::Error::Damaged { board: b(), revision: None, detail });
    let board = bench.engine.board(&b()).await;
    assert!(matches!(board, Err(Error::Quarantined { .. })), "{board:?}");
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    assert_eq!((bench.engine.quarantined(), bench.engine.stats().boards_quarantined), (vec![b()], 1));
    let refused = bench.ask(ask("ra", put("a", json!(1), 1))).await;
    assert!(matches!(refused, Err(Error::Quarantined { .. })), "{refused:?}");
}
