//! Bringing a board back from a backup.
//!
//! Invariant: whatever was given after the backup and lost, no revision, version, tag or token of it is given again,
//! and no lease of then works. The gap in the revisions stands in the chain like every other commit.
//! Not known here: how far the lost revisions went, and where a backup comes from.

use crate::board::Board;
use crate::command::floor_of;
use crate::event::{BoardRestored, Event};
use crate::ids::{Revision, Timestamp};

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

    pub(crate) fn events(self, revision: Revision) -> Vec<Event> {
        vec![Event::BoardRestored(BoardRestored { taken: self.taken, floor: floor_of(revision) })]
    }
}

#[cfg(test)]
mod tests;
