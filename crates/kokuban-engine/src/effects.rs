//! What follows a commit: snapshots, values that leave the log, pruning.
//!
//! Invariant: effects read commits after they were published and never hold up a writer. Losing one in a crash loses
//! nothing acknowledged; it is made up for at the next snapshot or start.
//! Not known here: rules.

use std::sync::Arc;

use kokuban_core::board::{Board, KEYS_MAX, Snapshot};
use kokuban_core::event::{Commit, Event};
use kokuban_core::ids::{Revision, Sha256};
use kokuban_core::record;
use kokuban_journal::{Error, Head, ReadLimit, Rewrite};

use crate::handle::BoardHandle;
use crate::logged::Logged;
use crate::stats::Counters;

/// A snapshot is due when the records since the last one exceed this, or a quarter of the state.
const TAIL_BYTES_MIN: usize = 64 * 1_024;
/// Records looked at in one go while values leave the log.
const REWRITE_PAGE: usize = 500;

/// Called by the sequencer for every durable batch.
pub(crate) fn after_commits(handle: &Arc<BoardHandle>, commits: &[Arc<Logged>]) {
    let bytes: usize = commits.iter().map(|logged| logged.bytes).sum();
    let state = usize::try_from(handle.published.borrow().board.bytes()).unwrap_or(usize::MAX);
    let mut extent = handle.extent();
    if extent.oldest == Revision::ZERO {
        extent.oldest = Revision(1);
    }
    extent.tail_bytes += bytes;
    if extent.snapshotting || extent.tail_bytes <= TAIL_BYTES_MIN.max(state / 4) {
        return;
    }
    extent.snapshotting = true;
    drop(extent);
    let handle = Arc::clone(handle);
    tokio::spawn(async move {
        if let Err(error) = snapshot(&handle).await {
            tracing::warn!(board = %handle.name, %error, "a snapshot could not be stored; the log stays longer");
        }
        handle.extent().snapshotting = false;
    });
}

async fn snapshot(handle: &Arc<BoardHandle>) -> Result<(), Error> {
    let published = handle.published();
    let before = *handle.extent();
    let head = Head { revision: published.board.revision(), chain: published.chain };
    let chunk_bytes_max = handle.shared.journal.caps().chunk_bytes_max;
    let board = published.board.clone();
    let chunks = tokio::task::spawn_blocking(move || encode(&board, chunk_bytes_max))
        .await
        .map_err(|_| Error::Open("encoding a snapshot panicked".to_owned()))?;
    handle.shared.journal.put_snapshot(handle.name.clone(), kokuban_journal::Snapshot { head, chunks }).await?;
    Counters::add(&handle.shared.counters.snapshots, 1);
    {
        let mut extent = handle.extent();
        extent.snapshot = head.revision;
        extent.tail_bytes = extent.tail_bytes.saturating_sub(before.tail_bytes);
    }
    let scratch = has_scratch(&published.board).then(|| published.board.clone());
    if let Some(board) = scratch {
        let leaves = move |commit: &Commit, sha256: Sha256| is_scratch_value(&board, commit, sha256);
        drop_values(handle, before.snapshot, head.revision, &leaves).await?;
    }
    prune(handle, &published.board, head.revision).await
}

fn encode(board: &Board, chunk_bytes_max: usize) -> Vec<bytes::Bytes> {
    let mut rest = record::encode(&Snapshot::of(board)).bytes;
    let mut chunks = Vec::new();
    while rest.len() > chunk_bytes_max {
        chunks.push(rest.split_to(chunk_bytes_max));
    }
    chunks.push(rest);
    chunks
}

fn has_scratch(board: &Board) -> bool {
    board.life().is_some_and(|life| life.blueprint.zones.keys().any(|zone| board.is_scratch(zone)))
}

/// Whether the commit wrote this value only into scratch tables.
fn is_scratch_value(board: &Board, commit: &Commit, sha256: Sha256) -> bool {
    let mut writes = commit.events.iter().filter_map(|event| match event {
        Event::EntryWritten(written) if written.value.sha256 == sha256 => Some(board.is_scratch(&written.id.zone)),
        _ => None,
    });
    let first = writes.next();
    first == Some(true) && writes.all(|scratch| scratch)
}

/// Takes the values that `leaves` names out of the records in `(after, until]`. Answers how many records had some.
async fn drop_values(
    handle: &BoardHandle,
    after: Revision,
    until: Revision,
    leaves: &(dyn Fn(&Commit, Sha256) -> bool + Send + Sync),
) -> Result<u64, Error> {
    let journal = &handle.shared.journal;
    let mut at = after;
    let mut n = 0;
    while at < until {
        let records = journal.read(handle.name.clone(), at, ReadLimit::records(REWRITE_PAGE)).await?;
        let Some(last) = records.last() else { break };
        at = last.revision;
        let mut rewrites = Vec::new();
        for stored in records.iter().filter(|stored| stored.revision <= until) {
            let without = record::without_values(&stored.body, leaves).map_err(|damage| Error::Damaged {
                board: handle.name.clone(),
                revision: Some(stored.revision),
                detail: damage.to_string(),
            })?;
            if let Some(body) = without {
                n += 1;
                rewrites.push(Rewrite { revision: stored.revision, chain: stored.chain, body });
            }
        }
        if !rewrites.is_empty() {
            journal.rewrite(handle.name.clone(), rewrites).await?;
        }
    }
    Ok(n)
}

/// Takes every value with this hash out of the log and out of memory. Answers how many records had it.
pub(crate) async fn erase(handle: &BoardHandle, sha256: Sha256) -> Result<u64, Error> {
    let until = handle.published().board.revision();
    let after = Revision(handle.extent().oldest.0.saturating_sub(1));
    let n = drop_values(handle, after, until, &move |_, found| found == sha256).await?;
    handle.published.send_modify(|published| *published = Arc::new(published.without_tail()));
    Ok(n)
}

/// Drops what the board's retention no longer keeps, but nothing that a repeated request still needs.
async fn prune(handle: &BoardHandle, board: &Board, snapshot: Revision) -> Result<(), Error> {
    let Some(keep) = board.life().and_then(|life| life.blueprint.retention.revisions) else { return Ok(()) };
    let keep = keep.max(KEYS_MAX as u64);
    let below = Revision(board.revision().0.saturating_sub(keep) + 1).min(snapshot);
    if below <= handle.extent().oldest {
        return Ok(());
    }
    handle.shared.journal.prune(handle.name.clone(), below).await?;
    let info = handle.shared.journal.info(handle.name.clone()).await?;
    if let Some(info) = info {
        handle.extent().oldest = info.oldest;
    }
    Ok(())
}
