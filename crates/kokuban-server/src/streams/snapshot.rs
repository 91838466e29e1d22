//! The entries of a board at one revision, as blocks.
//!
//! Invariant: all blocks show the same state, however long the reader takes; it is a persistent map, shared with
//! the board. Rights are those at sending time.
//! Not known here: what follows the snapshot.

use std::ops::Bound;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use kokuban_api::from_core::{View, entry};
use kokuban_api::sse::{self, EventName};
use kokuban_api::stream::SnapshotEnd;
use kokuban_core::blueprint::Blueprint;
use kokuban_core::board::Board;
use kokuban_core::ids::{BoardTime, EntryId};
use kokuban_engine::Published;

use super::feed::FRAME_BYTES;
use super::scope::Scope;

/// Entries looked at before others have their turn.
const LOOKED_AT_MAX: usize = 1_000;

/// A snapshot under way.
#[derive(Debug)]
pub(super) struct Snapshot {
    board: Board,
    last: Option<EntryId>,
    entries: u64,
}

impl Snapshot {
    pub(super) fn of(published: &Arc<Published>) -> Self {
        Self { board: published.board.clone(), last: None, entries: 0 }
    }

    /// The next blocks: none yet if they are empty, none any more if there are none.
    pub(super) fn next(&mut self, scope: &Scope, rules: &Blueprint, now: BoardTime) -> Option<Bytes> {
        let start = self.last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut bytes = BytesMut::new();
        let mut last = None;
        for (id, found) in self.board.entries_from(start).take(LOOKED_AT_MAX) {
            let shows = scope.shows(rules, &id, found);
            let view = if scope.include_value { View::Brief } else { View::Listed };
            let shown = shows.then(|| entry(&self.board, &id, found, now, view));
            last = Some(id);
            let Some(shown) = shown else { continue };
            bytes.extend_from_slice(&sse::event(None, EventName::Snapshot, &shown));
            self.entries += 1;
            if bytes.len() >= FRAME_BYTES {
                break;
            }
        }
        self.last = Some(last?);
        Some(bytes.freeze())
    }

    pub(super) fn end(&self) -> SnapshotEnd {
        SnapshotEnd { revision: self.board.revision(), entries: self.entries }
    }
}
