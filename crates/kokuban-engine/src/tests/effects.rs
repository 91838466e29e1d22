//! Snapshots, values that leave the log, pruning.

use futures::future::join_all;

use super::*;
use crate::{Gap, PastError};

fn erase(value: &Value) -> Request {
    ask("root", Command::Erase { sha256: payload(value).sha256, reason: SmolStr::new_static("asked") })
}

async fn snapshot_revision(bench: &Bench) -> u64 {
    let info = bench.journal.inner().info(b()).await.expect("readable").expect("a board");
    info.snapshot.map_or(0, |revision| revision.0)
}

/// Waits until no upkeep is on its way.
async fn rested(bench: &Bench) {
    let board = bench.board().await;
    until(|| !board.extent().snapshotting).await;
}

/// Makes sure that a snapshot was taken after all that was written before.
async fn snapshotted(bench: &Bench) {
    rested(bench).await;
    let before = bench.revision().await;
    while snapshot_revision(bench).await < before {
        bench.put(&format!("filler-{}", bench.revision().await), text(1_000), 0).await;
        rested(bench).await;
    }
}

async fn stored(bench: &Bench, what: &str) -> bool {
    let loaded = bench.journal.inner().load(b()).await.expect("readable").expect("a board");
    let chunks = loaded.snapshot.into_iter().flat_map(|snapshot| snapshot.chunks);
    let bodies = bench.records().await.into_iter().map(|record| record.body);
    let holds = |bytes: &bytes::Bytes| bytes.windows(what.len()).any(|part| part == what.as_bytes());
    chunks.chain(bodies).any(|bytes| holds(&bytes))
}

#[tokio::test]
async fn a_snapshot_is_taken_when_the_tail_is_long_and_a_restart_uses_it() {
    let bench = Bench::with(small_snapshots()).await;
    bench.put("a", json!(1), 0).await;
    rested(&bench).await;
    assert_eq!(snapshot_revision(&bench).await, 0);
    for n in 0..100 {
        bench.put(&format!("k{n}"), text(500), 0).await;
    }
    snapshotted(&bench).await;
    bench.put("z", json!(1), 0).await;
    let before = state(&bench.board().await.published().board);
    let bench = bench.restarted().await;
    assert_eq!(state(&bench.board().await.published().board), before);
    assert!(bench.board().await.quarantine().is_none());
}

#[tokio::test]
async fn a_snapshot_that_fails_is_tried_again_later_and_harms_nobody() {
    let bench = Bench::with(small_snapshots()).await;
    soon(join_all((0..100).map(|n| bench.ask(ask("ra", put(&format!("k{n}"), text(500), 0)))))).await;
    rested(&bench).await;
    assert!(bench.engine.stats().snapshots >= 1);
}

#[tokio::test]
async fn values_of_scratch_leave_the_log_after_a_snapshot_and_the_chain_still_holds() {
    let bench = Bench::with(small_snapshots()).await;
    for n in 0..100 {
        let draft = json!(format!("secret-draft-{n}-{}", "x".repeat(200)));
        bench.ask(ask("ra", scratch("ra/draft", draft))).await.expect("accepted");
        bench.put(&format!("k{n}"), text(200), 0).await;
    }
    snapshotted(&bench).await;
    let at = snapshot_revision(&bench).await;
    let records = bench.records().await;
    let drafts = |record: &kokuban_journal::Record| record.body.windows(12).any(|part| part == b"secret-draft");
    assert!(!records.iter().filter(|record| record.revision.0 <= at).any(drafts));
    let before = state(&bench.board().await.published().board);
    let bench = bench.restarted().await;
    assert!(bench.board().await.quarantine().is_none());
    assert_eq!(state(&bench.board().await.published().board), before, "the current draft is there");
    let mut cursor = bench.board().await.follow(Revision(0));
    while cursor.position().0 < bench.revision().await {
        assert!(!cursor.take().await.expect("a log that verifies").is_empty());
    }
}

#[tokio::test]
async fn values_of_scratch_that_a_crash_kept_leave_at_the_next_snapshot() {
    let bench = Bench::with(small_snapshots()).await;
    for n in 0..5 {
        bench.ask(ask("ra", scratch("ra/draft", json!(format!("secret-draft-{n}"))))).await.expect("accepted");
    }
    // A crash between the snapshot and what follows it.
    let published = bench.board().await.published();
    let head = kokuban_journal::Head { revision: published.board.revision(), chain: published.chain };
    let bytes = state(&published.board);
    let chunks = vec![bytes::Bytes::copy_from_slice(&Sha256::of(&bytes).0), bytes];
    bench.journal.inner().put_snapshot(b(), kokuban_journal::Snapshot { head, chunks }).await.expect("stored");
    assert!(stored(&bench, "secret-draft-0").await);
    let bench = bench.restarted_at(now_ms(), small_snapshots()).await;
    for n in 0..100 {
        bench.put(&format!("k{n}"), text(200), 0).await;
    }
    snapshotted(&bench).await;
    for n in 0..4 {
        assert!(!stored(&bench, &format!("secret-draft-{n}")).await);
    }
}

#[tokio::test]
async fn an_erased_value_is_nowhere_any_more() {
    let bench = Bench::with(small_snapshots()).await;
    let secret = json!("a-secret-that-was-never-meant-to-be-here");
    bench.put("a", secret.clone(), 0).await;
    for n in 0..60 {
        bench.put(&format!("k{n}"), text(500), 0).await;
    }
    snapshotted(&bench).await;
    assert!(stored(&bench, "never-meant").await);
    let refused = rejection(bench.ask(erase(&secret)).await);
    assert!(matches!(refused, Rejection::StillCurrent { .. }), "{refused:?}");
    bench.put("a", json!("harmless"), 1).await;
    bench.put("b", secret.clone(), 0).await;
    bench.put("b", json!("harmless"), 1).await;
    assert!(stored(&bench, "never-meant").await);
    let erased = bench.ask(erase(&secret)).await.expect("erased");
    assert_eq!(erased.reply, Some(Reply::Erased { values: 2 }));
    assert!(!stored(&bench, "never-meant").await);
    let board = bench.board().await;
    let mut cursor = board.follow(Revision(0));
    while cursor.position() < board.published().board.revision() {
        for logged in cursor.take().await.expect("a log that verifies") {
            assert!(!format!("{:?}", logged.commit).contains("never-meant"));
        }
    }
    let before = state(&board.published().board);
    drop((cursor, board));
    let bench = bench.restarted().await;
    assert_eq!(state(&bench.board().await.published().board), before);
    assert!(bench.board().await.quarantine().is_none());
}

#[tokio::test]
async fn an_erasure_that_a_crash_cut_short_is_made_up_for() {
    let bench = Bench::new().await;
    let secret = json!("a-secret-that-was-never-meant-to-be-here");
    bench.put("a", secret.clone(), 0).await;
    bench.put("a", json!("harmless"), 1).await;
    // Past the engine: the commit is made, and nothing follows it.
    bench.board().await.submit(erase(&secret)).await.expect("committed");
    assert!(stored(&bench, "never-meant").await);
    let bench = bench.restarted().await;
    bench.board().await;
    rested(&bench).await;
    assert!(!stored(&bench, "never-meant").await);
    assert_eq!(snapshot_revision(&bench).await, 4, "so that the next load need not do it again");
}

#[tokio::test]
async fn an_erasure_that_failed_is_done_before_the_next_snapshot() {
    let bench = Bench::with(small_snapshots()).await;
    let secret = json!("a-secret-that-was-never-meant-to-be-here");
    bench.put("a", secret.clone(), 0).await;
    bench.put("a", json!("harmless"), 1).await;
    bench.journal.next_read(kokuban_journal::Error::Refused(kokuban_journal::Refusal::Io { detail: String::new() }));
    let failed = bench.ask(erase(&secret)).await;
    assert!(matches!(failed, Err(Error::Unavailable)), "{failed:?}");
    assert!(stored(&bench, "never-meant").await);
    for n in 0..60 {
        bench.put(&format!("k{n}"), text(500), 0).await;
    }
    snapshotted(&bench).await;
    assert!(!stored(&bench, "never-meant").await);
}

fn keeps(revisions: u64) -> Arc<Blueprint> {
    let blueprint = json!({
        "name": "short", "schema_version": 1,
        "zones": {"working": {"access": "public"}},
        "retention": {"revisions": revisions},
    });
    Arc::new(Blueprint::from_value(&blueprint).expect("a blueprint"))
}

#[tokio::test]
async fn retention_prunes_what_is_old_and_says_so() {
    let bench = Bench::of(small_snapshots(), keeps(20)).await;
    let board = bench.board().await;
    let mut old = board.follow(Revision(0));
    for n in 0..700_u64 {
        bench.put("a", json!([n, "x".repeat(100)]), n).await;
    }
    snapshotted(&bench).await;
    let oldest = board.oldest();
    assert!(oldest > Revision(0), "{oldest}");
    assert!(bench.revision().await - oldest.0 >= 20);
    assert_eq!(bench.records().await[0].revision, oldest.next());
    assert_eq!(old.take().await.expect_err("gone"), Gap::Compacted);
    assert!(!board.follow(oldest).take().await.expect("the first that is there").is_empty());
    assert_eq!(board.at(Revision(1)).await.expect_err("gone"), PastError::Compacted);
    let page = board.history(oldest.next().next(), 10).await.expect("a history");
    assert_eq!((page.commits.len(), page.end), (1, true));
    let before = state(&board.published().board);
    drop((old, board));
    let bench = bench.restarted().await;
    assert_eq!(state(&bench.board().await.published().board), before);
}

#[tokio::test]
async fn retention_keeps_what_a_repeat_still_needs() {
    let bench = Bench::of(small_snapshots(), keeps(20)).await;
    bench.put("z", json!(1), 0).await;
    let request = || keyed("k", "f", ask("ra", put("b", json!(1), 0)));
    let original = bench.ask(request()).await.expect("accepted");
    for n in 0..700_u64 {
        bench.put("a", json!([n, "x".repeat(100)]), n).await;
    }
    snapshotted(&bench).await;
    assert_eq!(bench.records().await[0].revision, Revision(3));
    assert_eq!(bench.ask(request()).await.expect("replayed").reply, original.reply);
}
