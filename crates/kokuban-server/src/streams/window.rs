//! Several commits in one message: each touched entry once, in its last state.
//!
//! Invariant: a window is what its commits come to, in order: the match compares before the first and after the last,
//! the value is the last one written. An entry that is there at the end is never called deleted. Bound: a window is
//! full at 64 KiB of changes or 10,000 revisions, and then ends early.
//! Not known here: time.

use kokuban_api::kinds::ChangeKind;
use kokuban_api::stream::{Change, Coalesced, Revisions};
use kokuban_core::blueprint::Blueprint;
use kokuban_core::event::{Commit, Standing, Touched};
use kokuban_core::ids::{EntryId, Revision};
use std::collections::HashMap;

use super::scope::{Candidate, Scope};

const BYTES_MAX: usize = 64 * 1_024;
const REVISIONS_MAX: u64 = 10_000;
/// A change without its names and value, about.
const CHANGE_BYTES: usize = 256;

/// What was gathered since the window opened.
#[derive(Debug)]
pub(crate) struct Window {
    first: Revision,
    last: Revision,
    bytes: usize,
    /// In the order in which they were first touched.
    entries: Vec<Gathered>,
    places: HashMap<EntryId, usize>,
}

#[derive(Debug)]
struct Gathered {
    kinds: Vec<ChangeKind>,
    change: Change,
    /// `None`: about the board.
    sides: Option<Sides>,
}

#[derive(Debug)]
struct Sides {
    before: Option<Standing>,
    after: Option<Standing>,
}

impl Window {
    /// A window that begins with this commit.
    pub(crate) fn open(scope: &Scope, rules: &Blueprint, commit: &Commit) -> Self {
        let mut window = Self {
            first: commit.revision,
            last: commit.revision,
            bytes: 0,
            entries: Vec::new(),
            places: HashMap::new(),
        };
        window.absorb(scope, rules, commit);
        window
    }

    pub(crate) fn first(&self) -> Revision {
        self.first
    }

    pub(crate) fn last(&self) -> Revision {
        self.last
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= BYTES_MAX || self.last.0 - self.first.0 >= REVISIONS_MAX
    }

    /// Takes the next commit in, seen or not.
    pub(crate) fn absorb(&mut self, scope: &Scope, rules: &Blueprint, commit: &Commit) {
        self.last = commit.revision;
        for Candidate { touched, kinds, mut change } in scope.candidates(rules, commit) {
            change.by.clone_from(&commit.by);
            change.at = Some(commit.at);
            let Some(touched) = touched else {
                self.add(Gathered { kinds, change, sides: None });
                continue;
            };
            match self.places.get(&touched.id) {
                Some(place) => {
                    let entry = &mut self.entries[*place];
                    self.bytes += entry.follow(kinds, change, touched);
                }
                None => {
                    self.places.insert(touched.id.clone(), self.entries.len());
                    let sides = Sides { before: touched.before.clone(), after: touched.after.clone() };
                    self.add(Gathered { kinds, change, sides: Some(sides) });
                }
            }
        }
    }

    fn add(&mut self, gathered: Gathered) {
        let key = gathered.change.key.as_ref().map_or(0, |key| key.as_str().len());
        self.bytes += CHANGE_BYTES + key + value_bytes(&gathered.change);
        self.entries.push(gathered);
    }

    /// The message, or `None` if the window comes to nothing that the reader sees.
    pub(crate) fn close(self, scope: &Scope) -> Option<Coalesced> {
        let shown = self.entries.into_iter().filter_map(|gathered| gathered.shown(scope));
        let changes: Vec<Change> = shown.collect();
        let revisions = Revisions { first: self.first, last: self.last };
        (!changes.is_empty()).then_some(Coalesced { revisions, changes })
    }
}

impl Gathered {
    /// The same entry was touched again. Answers by how many bytes of value the window grew.
    fn follow(&mut self, kinds: Vec<ChangeKind>, mut change: Change, touched: &Touched) -> usize {
        let held = value_bytes(&self.change);
        if let Some(sides) = &mut self.sides {
            sides.after.clone_from(&touched.after);
        }
        if change.value.is_none() && touched.after.is_some() {
            change.value = self.change.value.take();
        }
        self.change = change;
        self.kinds.extend(kinds);
        self.kinds.sort_unstable();
        self.kinds.dedup();
        value_bytes(&self.change).saturating_sub(held)
    }

    fn shown(self, scope: &Scope) -> Option<Change> {
        let Self { mut kinds, mut change, sides } = self;
        let wanted = scope.wants_kind(&kinds);
        if let Some(sides) = sides {
            change.matched = scope.judge(sides.before.as_ref(), sides.after.as_ref())?;
            let from = sides.before.and_then(|standing| standing.status);
            if let Some(status) = &mut change.status {
                status.from = from;
            } else if from.is_some() {
                change.status = Some(kokuban_api::stream::StatusChange { from, to: None });
            }
            // Deleted and made anew is not deleted; made and deleted is not there.
            match sides.after {
                Some(_) => kinds.retain(|kind| *kind != ChangeKind::Deleted),
                None => kinds = vec![ChangeKind::Deleted],
            }
        }
        change.kind = kinds.first().copied().unwrap_or(change.kind);
        wanted.then_some(change)
    }
}

fn value_bytes(change: &Change) -> usize {
    change.value.as_ref().map_or(0, kokuban_core::json::Json::len)
}
