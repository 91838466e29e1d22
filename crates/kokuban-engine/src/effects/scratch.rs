//! Values of scratch tables leave the log once a snapshot covers them.
//!
//! Invariant: no record that may hold one is ever taken for clean: where nothing is known, after a load, the log itself
//! is asked.
//! Not known here: when a snapshot is taken, and how records are rewritten.

use kokuban_core::board::Board;
use kokuban_core::event::{Commit, EntryWritten, Event};
use kokuban_core::ids::{Revision, Sha256};
use kokuban_core::record;
use kokuban_journal::{Error, ReadLimit};

use super::{REWRITE_PAGE, damaged, drop_values};
use crate::handle::BoardHandle;

/// Pages looked at after a start for values that a crash kept from leaving.
const MAKE_UP_PAGES_MAX: usize = 20;

/// Which records may still hold a value of a scratch table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScratchInLog {
    /// None before it. `None`: a crash may have come between a snapshot and what follows it.
    first: Option<Revision>,
    /// None after it.
    last: Revision,
}

impl ScratchInLog {
    /// Of a board that was just loaded.
    pub(crate) fn unknown(head: Revision) -> Self {
        Self { first: None, last: head }
    }

    /// A commit was made that may have written such a value.
    pub(super) fn note(&mut self, board: &Board, commit: &Commit) {
        if written(commit).any(|written| board.is_scratch(&written.id.zone)) {
            if self.first.is_some_and(|first| first > self.last) {
                self.first = Some(commit.revision);
            }
            self.last = commit.revision;
        }
    }

    /// All up to `revision` have left.
    fn left_until(&mut self, revision: Revision) {
        self.first = Some(revision.next());
    }
}

/// Takes the values of scratch that the snapshot of `board` covers out of the log.
pub(super) async fn leave(handle: &BoardHandle, board: &Board, previous_snapshot: Revision) -> Result<(), Error> {
    let head = board.revision();
    let ScratchInLog { first, last } = handle.extent().scratch;
    if has_scratch(board) && first.is_none_or(|first| first <= last) {
        let after = match first {
            Some(first) => Revision(first.0.saturating_sub(1)),
            None => left_until(handle, board, previous_snapshot).await?,
        };
        let rules = board.clone();
        let leaves = move |commit: &Commit, sha256: Sha256| is_scratch_value(&rules, commit, sha256);
        drop_values(handle, after, last.min(head), &leaves).await?;
    }
    handle.extent().scratch.left_until(head);
    Ok(())
}

/// Up to where the values of scratch have left the log for certain. They leave in order, so a record before the
/// snapshot that lost one shows that all before it did.
async fn left_until(handle: &BoardHandle, board: &Board, snapshot: Revision) -> Result<Revision, Error> {
    let mut before = snapshot.next();
    for _ in 0..MAKE_UP_PAGES_MAX {
        let limit = ReadLimit::records(REWRITE_PAGE);
        let records = handle.shared.journal.read_back(handle.name.clone(), before, limit).await?;
        let Some(oldest) = records.last() else { break };
        before = oldest.revision;
        for stored in records {
            let commit =
                record::decode::<Commit>(&stored.body).map_err(|damage| damaged(handle, stored.revision, &damage))?;
            if lost_one(board, &commit.content) {
                return Ok(stored.revision);
            }
        }
    }
    Ok(Revision(before.0.saturating_sub(1)))
}

fn lost_one(board: &Board, commit: &Commit) -> bool {
    written(commit).any(|written| written.value.json.is_none() && board.is_scratch(&written.id.zone))
}

fn has_scratch(board: &Board) -> bool {
    board.life().is_some_and(|life| life.blueprint.zones.keys().any(|zone| board.is_scratch(zone)))
}

/// Whether the commit wrote this value only into scratch tables.
fn is_scratch_value(board: &Board, commit: &Commit, sha256: Sha256) -> bool {
    let mut writes = written(commit).filter(|written| written.value.sha256 == sha256).peekable();
    writes.peek().is_some() && writes.all(|written| board.is_scratch(&written.id.zone))
}

fn written(commit: &Commit) -> impl Iterator<Item = &EntryWritten> {
    commit
        .events
        .iter()
        .filter_map(|event| if let Event::EntryWritten(written) = event { Some(&**written) } else { None })
}
