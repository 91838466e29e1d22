//! What follows a commit: snapshots, values that leave the log, pruning. `scratch` knows which values leave by
//! themselves.
//!
//! Invariant: effects read commits after they were published and never hold up a writer. Losing one in a crash loses
//! nothing acknowledged; erasures are made up for when the board is loaded, the rest at its next snapshot.
//! Not known here: rules.

pub(crate) mod scratch;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kokuban_core::board::Board;
use kokuban_core::event::{Commit, Event};
use kokuban_core::ids::{Revision, Sha256};
use kokuban_core::record;
use kokuban_journal::{Error, Head, ReadLimit, Rewrite};
use tokio::time::Instant;

use crate::handle::BoardHandle;
use crate::logged::Logged;
use crate::stats::Counters;

/// Records looked at in one go while values leave the log.
const REWRITE_PAGE: usize = 500;
/// Pause after a snapshot failed.
const REST: Duration = Duration::from_secs(5);

/// Called by the sequencer for every durable batch.
pub(crate) fn after_commits(handle: &Arc<BoardHandle>, commits: &[Arc<Logged>]) {
    let bytes: usize = commits.iter().map(|logged| logged.bytes).sum();
    let options = &handle.shared.options;
    let published = handle.published();
    let share = published.board.bytes().saturating_mul(options.snapshot_percent_min) / 100;
    let due = options.snapshot_bytes_min.max(usize::try_from(share).unwrap_or(usize::MAX));
    let mut extent = handle.extent();
    commits.iter().for_each(|logged| extent.scratch.note(&published.board, &logged.commit));
    if extent.oldest == Revision::ZERO {
        extent.oldest = Revision(1);
    }
    extent.tail_bytes += bytes;
    extent.erasures.extend(commits.iter().flat_map(|logged| erased_by(&logged.commit)));
    let rests = extent.rest_until.is_some_and(|until| Instant::now() < until);
    if extent.snapshotting || extent.tail_bytes <= due || rests || handle.shared.copies.is_copied(&handle.name) {
        return;
    }
    extent.snapshotting = true;
    drop(extent);
    let handle = Arc::clone(handle);
    tokio::spawn(async move {
        if let Err(error) = work_off(&handle).await {
            tracing::warn!(board = %handle.name, %error, "a snapshot could not be stored; the log stays longer");
            handle.extent().rest_until = Some(Instant::now() + REST);
        }
        handle.extent().snapshotting = false;
    });
}

/// The values that a commit says are erased.
pub(crate) fn erased_by(commit: &Commit) -> impl Iterator<Item = Sha256> {
    commit.events.iter().filter_map(|event| if let Event::Erased { sha256, .. } = event { Some(*sha256) } else { None })
}

/// After a load: the erasures that a crash left half done. There are hardly ever any.
pub(crate) fn make_up(handle: &Arc<BoardHandle>) {
    if handle.quarantine().is_some() || handle.extent().erasures.is_empty() {
        return;
    }
    handle.extent().snapshotting = true;
    let handle = Arc::clone(handle);
    tokio::spawn(async move {
        if let Err(error) = work_off(&handle).await {
            tracing::error!(board = %handle.name, %error, "an erasure could not be made up for; the next snapshot will");
        }
        handle.extent().snapshotting = false;
    });
}

/// Takes every value with this hash out of the log, the snapshot and memory. Answers how many records had it.
pub(crate) async fn erase(handle: &BoardHandle, sha256: Sha256) -> Result<u64, Error> {
    let _turn = handle.upkeep.lock().await;
    let n = erase_from_log(handle, sha256).await?;
    // The stored snapshot may be of a time at which the value stood in an entry.
    snapshot(handle).await?;
    Ok(n)
}

async fn work_off(handle: &BoardHandle) -> Result<(), Error> {
    let _turn = handle.upkeep.lock().await;
    if handle.shared.copies.is_copied(&handle.name) {
        return Ok(());
    }
    // A load learns of erasures from the commits after the snapshot: none may be pending when one is stored.
    let pending = handle.extent().erasures.clone();
    for sha256 in pending {
        erase_from_log(handle, sha256).await?;
    }
    snapshot(handle).await
}

async fn erase_from_log(handle: &BoardHandle, sha256: Sha256) -> Result<u64, Error> {
    let until = handle.published().board.revision();
    let after = Revision(handle.extent().oldest.0.saturating_sub(1));
    let n = drop_values(handle, after, until, &move |_, found| found == sha256).await?;
    handle.published.send_modify(|published| *published = Arc::new(published.without_tail()));
    handle.extent().erasures.retain(|pending| *pending != sha256);
    Ok(n)
}

async fn snapshot(handle: &BoardHandle) -> Result<(), Error> {
    let published = handle.published();
    let before = handle.extent().clone();
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
        extent.rest_until = None;
    }
    scratch::leave(handle, &published.board, before.snapshot).await?;
    prune(handle, &published.board, head.revision).await
}

fn damaged(handle: &BoardHandle, revision: Revision, damage: &record::Damage) -> Error {
    Error::Damaged { board: handle.name.clone(), revision: Some(revision), detail: damage.to_string() }
}

/// A stored snapshot begins with a hash of the rest: no chain of hashes covers it.
fn encode(board: &Board, chunk_bytes_max: usize) -> Vec<Bytes> {
    record::to_chunks(&board.to_snapshot(), chunk_bytes_max)
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
            let without = record::without_values(&stored.body, leaves)
                .map_err(|damage| damaged(handle, stored.revision, &damage))?;
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

/// Drops what the board's retention no longer keeps, but nothing that a repeated request still needs.
async fn prune(handle: &BoardHandle, board: &Board, snapshot: Revision) -> Result<(), Error> {
    let Some(keep) = board.life().and_then(|life| life.blueprint.retention.revisions) else { return Ok(()) };
    let kept_from = Revision(board.revision().0.saturating_sub(keep) + 1);
    let below = kept_from.min(snapshot).min(board.oldest_key().unwrap_or(snapshot));
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
