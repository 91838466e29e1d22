//! Claims and leases that wait for their turn, and which of them a commit may have served.
//!
//! Invariant: first come, first served. Whoever could be given something by a commit is judged again after it; whoever
//! could not costs it nothing.
//! Not known here: how a request is judged, and how it is answered.

use std::collections::{BTreeMap, BTreeSet};

use kokuban_core::command::{Claim, Command};
use kokuban_core::event::{Commit, Event, Touched};
use kokuban_core::ids::{AgentName, EntryId, Status, ZoneName};
use tokio::time::Instant;

use crate::handle::{Pending, Task};

/// Claims and leases that may wait on one board.
const WAITING_MAX: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Waiting {
    by_turn: BTreeMap<u64, Pending>,
    by_patience: BTreeSet<(Instant, u64)>,
    /// How many wait for what.
    wanted: BTreeMap<Want, usize>,
    next_turn: u64,
    /// What commits may have given to those who wait, since the last pass over them began.
    freed: Freed,
    /// What the pass is about, and the turn it has come to.
    serving: Freed,
    served: u64,
}

#[derive(Debug, Default)]
struct Freed {
    /// Everything may be different.
    all: bool,
    entries: Vec<Touched>,
}

impl Freed {
    fn is_empty(&self) -> bool {
        !self.all && self.entries.is_empty()
    }

    /// Whether judging the request again may come to something else.
    fn may_serve(&self, pending: &Pending) -> bool {
        let Task::Ask(request) = &pending.request else { return true };
        let met = |want: Want, touched: &Touched| want.is_met_by(touched, &request.actor.agent);
        self.all || self.entries.iter().any(|touched| met(Want::of(&pending.request), touched))
    }
}

/// What a request waits for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Want {
    /// Something to claim, in this status if one was named.
    Work(ZoneName, Option<Status>),
    Entry(EntryId),
    Anything,
}

impl Want {
    fn of(task: &Task) -> Self {
        let Task::Ask(request) = task else { return Self::Anything };
        match &request.command {
            Command::Claim(Claim { zone, status, .. }) => Self::Work(zone.clone(), status.clone()),
            Command::Acquire(acquire) => Self::Entry(acquire.id.clone()),
            _ => Self::Anything,
        }
    }

    fn is_met_by(&self, touched: &Touched, agent: &AgentName) -> bool {
        let is_free = touched.held_by.is_none();
        match self {
            Self::Work(zone, status) => {
                let after = touched.after.as_ref();
                let wanted = |status: &Status| after.and_then(|after| after.status.as_ref()) == Some(status);
                is_free && *zone == touched.id.zone && after.is_some() && status.as_ref().is_none_or(wanted)
            }
            // Whoever got the lease in another way is to be told so.
            Self::Entry(id) => *id == touched.id && (is_free || touched.held_by.as_ref() == Some(agent)),
            Self::Anything => true,
        }
    }
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.by_turn.is_empty()
    }

    /// Whether one more may wait. Whoever gave up makes room.
    pub(super) fn has_room(&mut self) -> bool {
        if self.by_turn.len() >= WAITING_MAX {
            let closed = self.by_turn.iter().filter(|(_, pending)| pending.reply.is_closed());
            closed.map(|(turn, _)| *turn).collect::<Vec<_>>().into_iter().for_each(|turn| drop(self.remove(turn)));
        }
        self.by_turn.len() < WAITING_MAX
    }

    /// New ones come last; whoever waited before keeps the turn.
    pub(super) fn add(&mut self, mut pending: Pending) {
        let turn = *pending.turn.get_or_insert(self.next_turn);
        self.next_turn = self.next_turn.max(turn + 1);
        *self.wanted.entry(Want::of(&pending.request)).or_default() += 1;
        self.by_patience.insert((pending.patience, turn));
        self.by_turn.insert(turn, pending);
    }

    fn remove(&mut self, turn: u64) -> Option<Pending> {
        let pending = self.by_turn.remove(&turn)?;
        self.by_patience.remove(&(pending.patience, turn));
        let want = Want::of(&pending.request);
        if let Some(n) = self.wanted.get_mut(&want) {
            *n -= 1;
            if *n == 0 {
                self.wanted.remove(&want);
            }
        }
        Some(pending)
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Pending> + use<> {
        self.by_patience.clear();
        self.wanted.clear();
        self.freed = Freed::default();
        std::mem::take(&mut self.by_turn).into_values()
    }

    /// When the first patience ends.
    pub(super) fn first_patience(&self) -> Option<Instant> {
        self.by_patience.first().map(|(patience, _)| *patience)
    }

    /// Takes one whose patience has ended at `now`; without a time, everybody's has.
    pub(super) fn take_impatient(&mut self, now: Option<Instant>) -> Option<Pending> {
        let (patience, turn) = *self.by_patience.first()?;
        if now.is_none_or(|now| patience <= now) { self.remove(turn) } else { None }
    }

    /// Everybody is judged again.
    pub(super) fn judge_all_again(&mut self) {
        self.freed.all = true;
    }

    /// A commit was made: remembers what it may have given to those who wait.
    pub(super) fn note(&mut self, commit: &Commit) {
        if self.is_empty() {
            return;
        }
        if commit.events.iter().any(|event| matches!(event, Event::BoardCreated(_) | Event::BoardDeleted)) {
            self.judge_all_again();
        }
        for touched in &commit.touched {
            // It is gone, or the newer state of it counts.
            self.serving.entries.retain(|freed| freed.id != touched.id);
            self.freed.entries.retain(|freed| freed.id != touched.id);
            if self.is_wanted(touched) {
                self.freed.entries.push(touched.clone());
            }
        }
    }

    fn is_wanted(&self, touched: &Touched) -> bool {
        let wanted = |want: Want| self.wanted.contains_key(&want);
        let work = |status: Option<&Status>| wanted(Want::Work(touched.id.zone.clone(), status.cloned()));
        let status = touched.after.as_ref().and_then(|after| after.status.as_ref());
        wanted(Want::Entry(touched.id.clone()))
            || wanted(Want::Anything)
            || (touched.held_by.is_none() && touched.after.is_some() && (work(None) || work(status)))
    }

    pub(super) fn has_freed(&self) -> bool {
        !self.is_empty() && !self.freed.is_empty()
    }

    /// Begins a pass over those who wait, if something changed for them since the last one began.
    pub(super) fn begin_pass(&mut self) -> bool {
        self.serving = std::mem::take(&mut self.freed);
        self.served = 0;
        !self.is_empty() && !self.serving.is_empty()
    }

    /// Takes the next one, by turn, who is to be judged again.
    pub(super) fn take_next(&mut self) -> Option<Pending> {
        if self.serving.is_empty() {
            return None;
        }
        let mut rest = self.by_turn.range(self.served..);
        let turn = rest.find(|(_, pending)| self.serving.may_serve(pending)).map(|(turn, _)| *turn)?;
        self.served = turn + 1;
        self.remove(turn)
    }
}
