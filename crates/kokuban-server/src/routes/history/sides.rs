//! What stood before a change and after it, found by going back through the commits.
//!
//! Invariant: a side is shown whole or not at all. Values of scratch tables and erased ones are there by hash only.
//! Not known here: which changes are shown.

use std::collections::HashMap;

use kokuban_api::answers::{HistoryCommit, HistoryState};
use kokuban_core::entry::Payload;
use kokuban_core::event::{Commit, Event, Touched};
use kokuban_core::ids::{EntryId, Status, Version};

/// Commits looked through beyond the page for what stood before its oldest changes.
pub(super) const LOOK_BACK_MAX: usize = 1_000;

/// A change among the items of the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) item: usize,
    pub(super) change: usize,
    pub(super) scratch: bool,
}

/// A side whose version or value is still to be found.
#[derive(Debug)]
struct Waiting {
    place: Place,
    before: Option<Side>,
    after: Option<Side>,
}

#[derive(Debug, Clone)]
struct Side {
    version: Option<Version>,
    status: Option<Status>,
    value: Option<Payload>,
}

#[derive(Debug, Default)]
pub(super) struct Sides {
    waiting: HashMap<EntryId, Vec<Waiting>>,
    complete: Vec<Waiting>,
    bytes: usize,
}

impl Sides {
    /// Bytes of the values found so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The change at `place` is shown with both sides, where it made a version.
    pub(super) fn expect(&mut self, place: Place, commit: &Commit, touched: &Touched) {
        let mut own = commit.events.iter().filter(|event| event.entry() == Some(&touched.id));
        if !own.clone().any(|event| event.version().is_some()) {
            return;
        }
        let written = own.find_map(|event| match event {
            Event::EntryWritten(written) => Some(written),
            _ => None,
        });
        let status = |standing: &kokuban_core::event::Standing| standing.status.clone();
        let before =
            touched.before.as_ref().map(|standing| Side { version: None, status: status(standing), value: None });
        let after = touched.after.as_ref().map(|standing| Side {
            version: Some(touched.version),
            status: status(standing),
            value: written.map(|written| written.value.clone()),
        });
        self.bytes += after.as_ref().map_or(0, |side| side.bytes(place.scratch));
        let waiting = Waiting { place, before, after };
        if waiting.is_complete() {
            self.complete.push(waiting);
        } else {
            self.waiting.entry(touched.id.clone()).or_default().push(waiting);
        }
    }

    /// An older commit: it may have made what newer changes began with.
    pub(super) fn see(&mut self, commit: &Commit) {
        if self.waiting.is_empty() {
            return;
        }
        for touched in &commit.touched {
            let Some(waiting) = self.waiting.get_mut(&touched.id) else { continue };
            let value = commit.events.iter().find_map(|event| match event {
                Event::EntryWritten(written) if written.id == touched.id => Some(&written.value),
                _ => None,
            });
            for one in waiting.iter_mut() {
                for side in one.before.iter_mut().chain(&mut one.after) {
                    side.version.get_or_insert(touched.version);
                    if let (None, Some(value)) = (&side.value, value) {
                        side.value = Some(value.clone());
                        self.bytes += side.bytes(one.place.scratch);
                    }
                }
            }
            let (complete, rest) = std::mem::take(waiting).into_iter().partition(Waiting::is_complete);
            *waiting = rest;
            if waiting.is_empty() {
                self.waiting.remove(&touched.id);
            }
            let complete: Vec<Waiting> = complete;
            self.complete.extend(complete);
        }
    }

    /// Puts what was found where it belongs.
    pub(super) fn fill(self, items: &mut [HistoryCommit]) {
        for one in self.complete.into_iter().chain(self.waiting.into_values().flatten()) {
            let Place { item, change, scratch } = one.place;
            let Some(change) = items.get_mut(item).and_then(|item| item.changes.get_mut(change)) else { continue };
            change.before = one.before.and_then(|side| side.shown(scratch));
            change.after = one.after.and_then(|side| side.shown(scratch));
        }
    }
}

impl Waiting {
    fn is_complete(&self) -> bool {
        self.before.iter().chain(&self.after).all(|side| side.version.is_some() && side.value.is_some())
    }
}

impl Side {
    fn bytes(&self, scratch: bool) -> usize {
        let json = self.value.as_ref().and_then(|value| value.json.as_ref()).filter(|_| !scratch);
        json.map_or(0, kokuban_core::json::Json::len)
    }

    fn shown(self, scratch: bool) -> Option<HistoryState> {
        let value = self.value?;
        Some(HistoryState {
            version: self.version?,
            status: self.status,
            value: value.json.filter(|_| !scratch),
            sha256: value.sha256,
            bytes: value.bytes,
        })
    }
}
