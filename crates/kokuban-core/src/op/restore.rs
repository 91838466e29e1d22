//! Bringing a board back from a backup.
//!
//! Invariant: whatever was given after the backup and lost, no revision, version, tag or token of it is given again,
//! and no lease of then works. The gap in the revisions stands in the chain like every other commit.
//! Not known here: how far the lost revisions went, and where a backup comes from.

use bytes::Bytes;
use smol_str::SmolStr;

use crate::board::Board;
use crate::command::{Command, Context, Decision, decide, floor_of};
use crate::event::{BoardRestored, Event};
use crate::ids::{BoardTime, ChainHash, Epoch, Revision, Timestamp};
use crate::record;

/// Decided on the board as the backup holds it. Work off what has run out (`Tick`) after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restore {
    /// When the backup was taken.
    pub taken: Timestamp,
    /// No higher revision was given before the data was lost.
    pub past: Revision,
}

impl Restore {
    pub(crate) fn revision(self, board: &Board) -> Revision {
        self.past.max(board.revision()).next()
    }

    /// What the log of a board gets when it is restored: the commit that says so, then the ends of its leases. `epoch`
    /// is a fresh one; `at` is the wall clock, and `now` the same for the board.
    #[must_use]
    pub fn additions(self, board: &Board, chain: ChainHash, now: BoardTime, at: Timestamp, epoch: Epoch) -> Additions {
        let context = Context {
            now: now.max(board.time()),
            at,
            actor: None,
            request_id: SmolStr::new_static("kokuban-restore"),
            trace_id: None,
            repeat: None,
            fresh_epoch: epoch,
            base: Revision::ZERO,
            create_with: None,
        };
        Additions { next: Some(Command::Restore(self)), board: board.clone(), chain, context }
    }

    pub(crate) fn events(self, revision: Revision) -> Vec<Event> {
        vec![Event::BoardRestored(BoardRestored { taken: self.taken, floor: floor_of(revision) })]
    }
}

/// The commits of a restore, one after the other.
#[derive(Debug)]
pub struct Additions {
    next: Option<Command>,
    board: Board,
    chain: ChainHash,
    context: Context,
}

/// A commit as it is to be recorded.
#[derive(Debug, Clone)]
pub struct Addition {
    pub revision: Revision,
    pub chain: ChainHash,
    pub at: Timestamp,
    pub board_time: BoardTime,
    pub deadline: Option<BoardTime>,
    pub body: Bytes,
}

impl Iterator for Additions {
    type Item = Addition;

    fn next(&mut self) -> Option<Addition> {
        let command = self.next.take()?;
        let Ok(Decision::Commit { mut commit, .. }) = decide(&self.board, &command, &self.context) else { return None };
        self.board = self.board.advance(&mut commit).expect("a commit applies to the board it was decided on");
        let encoded = record::encode(&commit);
        self.chain = encoded.chain_after(self.chain);
        let overdue = self.board.overdue(self.context.now).next().is_some();
        self.next = overdue.then_some(Command::Tick);
        Some(Addition {
            revision: commit.revision,
            chain: self.chain,
            at: commit.at,
            board_time: commit.board_time,
            deadline: self.board.next_deadline(),
            body: encoded.bytes,
        })
    }
}

#[cfg(test)]
mod tests;
