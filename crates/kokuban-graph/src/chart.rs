//! What a picture shows of one lifecycle, in the order in which its author wrote it.
//!
//! **Invariant**: an arrow leads between two statuses of its chart, never from one to itself.
//! Not known here: how any of it looks.

use kokuban_core::blueprint::{Blueprint, By, Lifecycle, Transition, Via};
use kokuban_core::ids::{LifecycleName, Status};

/// One lifecycle and the zones that have it.
#[derive(Debug)]
pub struct Chart {
    pub(crate) name: String,
    pub(crate) zones: Vec<String>,
    pub(crate) states: Vec<State>,
    pub(crate) arrows: Vec<Arrow>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) start: Option<Start>,
    pub(crate) locked: bool,
}

/// Whether a new entry may have this status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// It has it unless it names another.
    Default,
    Allowed,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arrow {
    /// Places in `states`.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) cause: Cause,
    /// Whom it admits, or what brings it about; never empty.
    pub(crate) words: Vec<String>,
}

/// What makes an entry go along an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// A caller moves it.
    Move,
    /// Its lease expires, and the server moves it.
    LeaseExpired,
    /// Its value is written, which moves it.
    Edit,
}

/// The charts of a blueprint, or the one of the lifecycle that is asked for.
#[must_use]
pub fn charts(blueprint: &Blueprint, only: Option<&LifecycleName>) -> Vec<Chart> {
    let wanted = blueprint.lifecycles.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    wanted.map(|(name, lifecycle)| chart(blueprint, name, lifecycle)).collect()
}

fn chart(blueprint: &Blueprint, name: &LifecycleName, lifecycle: &Lifecycle) -> Chart {
    let zones = blueprint.zones.iter().filter(|(_, zone)| zone.lifecycle.as_ref() == Some(name));
    let statuses = lifecycle.statuses();
    let place = |status: &Status| statuses.iter().position(|known| *known == status);
    let arrow = |from: &Status, to: &Status, cause, words| {
        let known = "a lifecycle knows the statuses that it names: checked when it was read";
        Arrow { from: place(from).expect(known), to: place(to).expect(known), cause, words }
    };
    let mut arrows: Vec<_> =
        lifecycle.transitions.iter().map(|t| arrow(&t.from, &t.to, Cause::Move, admitted(t))).collect();
    for (moves, cause, word) in
        [(&lifecycle.on_lease_expired, Cause::LeaseExpired, "lease expires"), (&lifecycle.on_edit, Cause::Edit, "edit")]
    {
        arrows.extend(moves.iter().map(|(from, to)| arrow(from, to, cause, vec![word.to_owned()])));
    }
    Chart {
        name: name.to_string(),
        zones: zones.map(|(zone, _)| zone.to_string()).collect(),
        states: statuses.iter().map(|status| state(lifecycle, status)).collect(),
        arrows,
    }
}

fn state(lifecycle: &Lifecycle, status: &Status) -> State {
    let start = if status == lifecycle.default_status() {
        Some(Start::Default)
    } else {
        lifecycle.is_initial(status).then_some(Start::Allowed)
    };
    State { name: status.to_string(), start, locked: lifecycle.is_locked(status) }
}

/// Who may make a move, in the words of the blueprint.
fn admitted(transition: &Transition) -> Vec<String> {
    match transition.via {
        Some(Via::Late) => vec!["via late".to_owned()],
        None => transition.by.iter().map(By::to_string).collect(),
    }
}

impl Chart {
    /// An arrow in one line of plain text.
    pub(crate) fn sentence(&self, arrow: &Arrow) -> String {
        let (from, to) = (&self.states[arrow.from].name, &self.states[arrow.to].name);
        let words = arrow.words.join(", ");
        match arrow.cause {
            Cause::Move => format!("{from} to {to} by {words}"),
            Cause::LeaseExpired => format!("{from} to {to} when a lease expires"),
            Cause::Edit => format!("{from} to {to} when the value is written"),
        }
    }

    /// All of it in plain text, for who cannot see the picture.
    pub(crate) fn description(&self) -> String {
        let statuses: Vec<_> = self.states.iter().map(State::sentence).collect();
        let arrows: Vec<_> = self.arrows.iter().map(|arrow| self.sentence(arrow)).collect();
        let moves = if arrows.is_empty() { "none".to_owned() } else { arrows.join("; ") };
        format!("Lifecycle {}. Statuses: {}. Moves: {moves}.", self.name, statuses.join(", "))
    }
}

impl State {
    fn sentence(&self) -> String {
        let marks = [
            (self.start == Some(Start::Default)).then_some("initial by default"),
            (self.start == Some(Start::Allowed)).then_some("initial"),
            self.locked.then_some("locked"),
        ];
        let marks: Vec<_> = marks.into_iter().flatten().collect();
        if marks.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, marks.join(", ")) }
    }
}
