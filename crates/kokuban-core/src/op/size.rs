//! How much a board may hold.
//!
//! Invariant: every collection that a caller can make grow is bounded here or where it is read.
//! Not known here: bounds of requests; those are the edge's.

use crate::command::{Failures, Scene};
use crate::entry::{Entry, Payload};
use crate::event::Event;
use crate::ids::{EntryId, Revision, Version};
use crate::rejection::Rejection;
use crate::reply::Warning;

/// Above this a write is warned: prompts that carry such values suffer.
pub(crate) const VALUE_BYTES_LARGE: u64 = 32 * 1_024;
/// A tombstone may make room once it is this old: no client still retries against it.
pub(crate) const TOMBSTONE_MS_MIN: u64 = 60 * 60 * 1_000;

/// What the earlier items of a transaction add.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Growth {
    pub(crate) entries: u64,
    pub(crate) bytes: i64,
    pub(crate) state_bytes: i64,
}

impl Growth {
    /// Judges the size of a value that replaces `entry`, and takes it into account.
    pub(crate) fn judge(
        &mut self,
        scene: &Scene<'_>,
        id: &EntryId,
        entry: Option<&Entry>,
        value: &Payload,
        failures: &mut Failures,
    ) {
        let board = scene.board;
        let blueprint = board.blueprint();
        let limits = &blueprint.limits;
        if value.bytes > limits.value_bytes_max {
            failures.add(Rejection::ValueTooLarge { bytes: value.bytes, max: limits.value_bytes_max });
            return;
        }
        let delta = signed(value.bytes) - signed(entry.map_or(0, |entry| entry.value.bytes));
        self.bytes += delta;
        if blueprint.is_prompt_visible(&id.zone) {
            self.state_bytes += delta;
        }
        // A key that was deleted keeps its place; writing it again takes no other.
        if entry.is_none() && board.tombstone(id).is_none() {
            self.entries += 1;
        }
        let places = board.n_places() as u64 + self.entries - collectable(scene).map_or(0, |found| found.places);
        if entry.is_none() && places > limits.entries_max {
            failures.add(Rejection::LimitReached { limit: "entries_max", max: limits.entries_max });
        }
        if delta > 0 && signed(board.bytes()) + self.bytes > signed(limits.board_bytes_max) {
            failures.add(Rejection::LimitReached { limit: "board_bytes_max", max: limits.board_bytes_max });
        }
        if let Some(max) = limits.state_bytes_max {
            let bytes = signed(board.state_bytes()) + self.state_bytes;
            if delta > 0 && bytes > signed(max) {
                failures.add(Rejection::StateFull { bytes: bytes.unsigned_abs(), max });
            }
        }
    }

    /// The event that must come first, where the new entries find room only by collecting tombstones.
    pub(crate) fn collection(&self, scene: &Scene<'_>) -> Option<Event> {
        let limits = &scene.board.blueprint().limits;
        if self.entries == 0 || scene.board.n_places() as u64 + self.entries <= limits.entries_max {
            return None;
        }
        let found = collectable(scene)?;
        Some(Event::TombstonesCollected { through: found.through, floor: Version(scene.board.revision().0) })
    }
}

struct Collectable {
    places: u64,
    through: Revision,
}

/// Tombstones old enough to go, where the board is full.
fn collectable(scene: &Scene<'_>) -> Option<Collectable> {
    let board = scene.board;
    if (board.n_places() as u64) < board.blueprint().limits.entries_max {
        return None;
    }
    let old = board.tombstones().filter(|(_, t)| t.deleted.plus_ms(TOMBSTONE_MS_MIN) <= scene.ctx.now);
    let through = old.map(|(_, tombstone)| tombstone.revision).max()?;
    let places = board.tombstones().filter(|(_, tombstone)| tombstone.revision <= through).count() as u64;
    Some(Collectable { places, through })
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// What the writer should know about the size of what it wrote.
pub(crate) fn warning(value: &Payload) -> Option<Warning> {
    (value.bytes > VALUE_BYTES_LARGE).then_some(Warning::ValueLarge { bytes: value.bytes })
}
