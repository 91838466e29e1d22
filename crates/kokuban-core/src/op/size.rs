//! How much a board may hold.
//!
//! Invariant: every collection that a caller can make grow is bounded here or where it is read.
//! Not known here: bounds of requests; those are the edge's.

use crate::command::{Failures, Scene};
use crate::entry::{Entry, Payload, Tombstone};
use crate::event::Event;
use crate::ids::{EntryId, Revision, Version};
use crate::rejection::Rejection;
use crate::reply::Warning;

/// Above this a write is warned: prompts that carry such values suffer.
pub(crate) const VALUE_BYTES_LARGE: u64 = 32 * 1_024;
/// A tombstone may make room once it is this old: no client still retries against it.
pub(crate) const TOMBSTONE_MS_MIN: u64 = 60 * 60 * 1_000;

/// Tombstones that one commit collects, about: those of one revision go together.
const COLLECTED_PER_COMMIT: usize = 1_000;

/// What the earlier items of a transaction add.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    entries: u64,
    bytes: i64,
    state_bytes: i64,
    /// Deletions of keys that are written again. They keep their places, unless their tombstones are collected.
    revived: Vec<Revision>,
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
        let delta = signed(value.bytes) - signed(entry.map_or(0, Entry::bytes));
        self.bytes += delta;
        if blueprint.is_prompt_visible(&id.zone) {
            self.state_bytes += delta;
        }
        if entry.is_none() {
            match board.tombstone(id) {
                Some(tombstone) => self.revived.push(tombstone.revision),
                None => self.entries += 1,
            }
            if !self.finds_room(scene) {
                failures.add(Rejection::LimitReached { limit: "entries_max", max: limits.entries_max });
            }
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

    /// Places that are missing before anything is collected.
    fn overflow(&self, scene: &Scene<'_>) -> u64 {
        let places = scene.board.n_places() as u64 + self.entries;
        places.saturating_sub(scene.board.blueprint().limits.entries_max)
    }

    fn finds_room(&self, scene: &Scene<'_>) -> bool {
        let overflow = self.overflow(scene);
        overflow == 0 || self.collectable(scene).is_some_and(|found| found.places >= overflow)
    }

    /// The event that must come first, where the new entries find room only by collecting tombstones.
    pub(crate) fn collection(&self, scene: &Scene<'_>) -> Option<Event> {
        if self.overflow(scene) == 0 {
            return None;
        }
        let found = self.collectable(scene)?;
        Some(Event::TombstonesCollected { through: found.through, floor: Version(scene.board.revision().0) })
    }

    /// The oldest tombstones that are old enough to go.
    fn collectable(&self, scene: &Scene<'_>) -> Option<Collectable> {
        let is_old = |tombstone: &Tombstone| tombstone.deleted.plus_ms(TOMBSTONE_MS_MIN) <= scene.ctx.now;
        let mut found: Option<Collectable> = None;
        let mut collected = 0;
        for (revision, _) in scene.board.tombstones_by_age().take_while(|(_, tombstone)| is_old(tombstone)) {
            let follows = found.as_ref().is_none_or(|found| found.through != revision);
            if follows && collected >= COLLECTED_PER_COMMIT {
                break;
            }
            collected += 1;
            found = Some(Collectable { places: 0, through: revision });
        }
        let mut found = found?;
        // A key that is written in this commit takes back the place that its tombstone gave.
        let taken_back = self.revived.iter().filter(|revision| **revision <= found.through).count();
        found.places = collected.saturating_sub(taken_back) as u64;
        Some(found)
    }
}

struct Collectable {
    places: u64,
    through: Revision,
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// What the writer should know about the size of what it wrote.
pub(crate) fn warning(value: &Payload) -> Option<Warning> {
    (value.bytes > VALUE_BYTES_LARGE).then_some(Warning::ValueLarge { bytes: value.bytes })
}

#[cfg(test)]
mod tests;
