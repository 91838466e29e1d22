//! A lifecycle: the statuses of an entry and the moves between them.
//!
//! Invariant: every status named in `locked`, `on_edit` and `on_lease_expired` occurs in `initial` or `transitions`;
//! `initial` is not empty; no two transitions have the same ends.
//! Not known here: who the caller is. `By` says what he must be.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::flaw::{FlawKind, Flaws};
use super::read::{self, Members, Node};
use crate::ids::{AgentName, Status};

/// Most statuses of one lifecycle.
pub(super) const STATUSES_MAX: usize = 64;
/// Most transitions of one lifecycle.
pub(super) const TRANSITIONS_MAX: usize = 1_024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lifecycle {
    /// The statuses of a new entry; the first is the default.
    pub initial: Vec<Status>,
    pub transitions: Vec<Transition>,
    /// As written, or the statuses without a way out. Ask `is_locked`, which knows what `on_edit` unlocks.
    pub locked: Vec<Status>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub on_lease_expired: BTreeMap<Status, Status>,
    /// A value write in the status on the left is a move to the one on the right.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub on_edit: BTreeMap<Status, Status>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transition {
    pub from: Status,
    pub to: Status,
    /// Any one of them admits; never empty.
    pub by: Vec<By>,
    /// A move that only the named way may make (contract §11: `late`), never a caller's status write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
}

/// Whom a transition admits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    Anyone,
    Owner,
    ZoneOwner,
    Arbiter,
    NotAuthor,
    Agent(AgentName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    Late,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anyone => f.write_str("anyone"),
            Self::Owner => f.write_str("owner"),
            Self::ZoneOwner => f.write_str("zone_owner"),
            Self::Arbiter => f.write_str("arbiter"),
            Self::NotAuthor => f.write_str("not_author"),
            Self::Agent(name) => write!(f, "agent:{name}"),
        }
    }
}

impl Serialize for By {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Lifecycle {
    /// The status of a new entry that names none.
    #[must_use]
    pub fn default_status(&self) -> &Status {
        self.initial.first().expect("a lifecycle has an initial status: checked when it was read")
    }

    #[must_use]
    pub fn is_initial(&self, status: &Status) -> bool {
        self.initial.contains(status)
    }

    /// Whether value writes and deletes are refused in this status but to an arbiter. `on_edit` unlocks.
    #[must_use]
    pub fn is_locked(&self, status: &Status) -> bool {
        self.locked.contains(status) && !self.on_edit.contains_key(status)
    }

    /// Whether the status occurs in this lifecycle.
    #[must_use]
    pub fn knows(&self, status: &Status) -> bool {
        self.initial.contains(status) || self.transitions.iter().any(|t| t.from == *status || t.to == *status)
    }

    /// Every status once: the initial ones, then in the order of the transitions.
    #[must_use]
    pub fn statuses(&self) -> Vec<&Status> {
        let named = self.initial.iter().chain(self.transitions.iter().flat_map(|t| [&t.from, &t.to]));
        let mut statuses = Vec::new();
        for status in named {
            if !statuses.contains(&status) {
                statuses.push(status);
            }
        }
        statuses
    }

    /// The moves a caller can ask for in this status; those with `via` are left out.
    pub fn transitions_from<'a>(&'a self, status: &'a Status) -> impl Iterator<Item = &'a Transition> {
        self.transitions.iter().filter(move |t| t.from == *status && t.via.is_none())
    }

    /// The move a caller can ask for between two statuses; one with `via` is none.
    #[must_use]
    pub fn find(&self, from: &Status, to: &Status) -> Option<&Transition> {
        self.transitions.iter().find(|t| t.from == *from && t.to == *to && t.via.is_none())
    }
}

impl Lifecycle {
    pub(super) fn read(node: &Node<'_>, flaws: &mut Flaws) -> Option<Self> {
        let known = ["initial", "transitions", "locked", "on_lease_expired", "on_edit"];
        let members = Members::open(node, &known, flaws)?;
        let before = flaws.count();
        let initial = members.require("initial", flaws).map(|node| initial(&node, flaws)).unwrap_or_default();
        let transitions = members.get("transitions").map(|node| transitions(&node, flaws)).unwrap_or_default();
        let mut lifecycle = Self {
            initial,
            transitions,
            locked: Vec::new(),
            on_lease_expired: BTreeMap::new(),
            on_edit: BTreeMap::new(),
        };
        if flaws.count() > before {
            return None; // what follows would only repeat that a status is missing
        }
        let statuses = lifecycle.statuses();
        if statuses.len() > STATUSES_MAX {
            let detail = format!("has {} statuses; at most {STATUSES_MAX} are allowed", statuses.len());
            flaws.add(&node.pointer, FlawKind::TooMany { max: STATUSES_MAX }, detail);
        }
        let on_lease_expired = moves(&members, "on_lease_expired", &lifecycle, flaws);
        let on_edit = moves(&members, "on_edit", &lifecycle, flaws);
        let locked = members.get("locked").map(|node| {
            read::distinct(&node, STATUSES_MAX, flaws, |item, flaws| known_status(item, &lifecycle, flaws))
        });
        lifecycle.on_lease_expired = on_lease_expired;
        lifecycle.on_edit = on_edit;
        lifecycle.locked = locked.unwrap_or_else(|| lifecycle.dead_ends());
        Some(lifecycle)
    }

    /// Statuses without a way out: neither a transition nor an edit leaves them.
    fn dead_ends(&self) -> Vec<Status> {
        let leaves = |s: &Status| self.on_edit.contains_key(s) || self.transitions.iter().any(|t| t.from == *s);
        self.statuses().into_iter().filter(|status| !leaves(status)).cloned().collect()
    }
}

fn initial(node: &Node<'_>, flaws: &mut Flaws) -> Vec<Status> {
    let before = flaws.count();
    let found = read::distinct(node, STATUSES_MAX, flaws, |item, flaws| read::name(item, Status::new, flaws));
    if found.is_empty() && flaws.count() == before {
        let max = u64::try_from(STATUSES_MAX).unwrap_or(u64::MAX);
        flaws.add(&node.pointer, FlawKind::OutOfRange { min: 1, max }, "must name at least one status");
    }
    found
}

fn transitions(node: &Node<'_>, flaws: &mut Flaws) -> Vec<Transition> {
    let mut found: Vec<Transition> = Vec::new();
    for item in read::list(node, TRANSITIONS_MAX, flaws) {
        let Some(transition) = transition(&item, flaws) else { continue };
        if found.iter().any(|t| t.from == transition.from && t.to == transition.to) {
            let detail = format!(
                "the move from `{}` to `{}` stands here twice: name all whom it admits in one `by`",
                transition.from, transition.to
            );
            flaws.add(&item.pointer, FlawKind::Duplicate, detail);
        } else {
            found.push(transition);
        }
    }
    found
}

fn transition(node: &Node<'_>, flaws: &mut Flaws) -> Option<Transition> {
    let members = Members::open(node, &["from", "to", "by", "via"], flaws)?;
    let mut status = |name| members.require(name, flaws).and_then(|node| read::name(&node, Status::new, flaws));
    let (from, to) = (status("from"), status("to"));
    let by = members.get("by").map_or_else(|| vec![By::Anyone], |node| admitted(&node, flaws));
    let via = members.one_of("via", &[("late", Via::Late)], flaws);
    let (from, to) = (from?, to?);
    if from == to {
        let detail = format!("leads from `{from}` to itself; staying is no move and always allowed");
        flaws.add(&node.pointer, FlawKind::Contradiction, detail);
    }
    Some(Transition { from, to, by, via })
}

fn admitted(node: &Node<'_>, flaws: &mut Flaws) -> Vec<By> {
    let before = flaws.count();
    let found = read::distinct(node, 64, flaws, by);
    if found.is_empty() && flaws.count() == before {
        let detail = "admits nobody; leave `by` out to admit anyone";
        flaws.add(&node.pointer, FlawKind::OutOfRange { min: 1, max: 64 }, detail);
    }
    found
}

fn by(node: &Node<'_>, flaws: &mut Flaws) -> Option<By> {
    let text = read::string(node, flaws)?;
    if let Some(agent) = text.strip_prefix("agent:") {
        return read::member_name(&node.pointer, agent, AgentName::new, flaws).map(By::Agent);
    }
    // The indices stand for `By`, which is not `Copy`; `agent:NAME` is listed for the message alone.
    let words = [("anyone", 0), ("owner", 1), ("zone_owner", 2), ("arbiter", 3), ("not_author", 4), ("agent:NAME", 5)];
    let simple = [By::Anyone, By::Owner, By::ZoneOwner, By::Arbiter, By::NotAuthor];
    read::one_of(node, &words, flaws).and_then(|i: usize| simple.get(i).cloned())
}

/// A map from statuses to statuses, all of them in the lifecycle, none to itself.
fn moves(members: &Members<'_>, name: &str, lifecycle: &Lifecycle, flaws: &mut Flaws) -> BTreeMap<Status, Status> {
    let mut found = BTreeMap::new();
    let Some(node) = members.get(name) else { return found };
    for (from, target) in read::map(&node, STATUSES_MAX, flaws) {
        let from = read::member_name(&target.pointer, from, Status::new, flaws);
        let to = known_status(&target, lifecycle, flaws);
        let Some(from) = from else { continue };
        if !lifecycle.knows(&from) {
            unknown_status(&target.pointer, &from, lifecycle, flaws);
        }
        let Some(to) = to else { continue };
        if from == to {
            let detail = format!("leads from `{from}` to itself; leave it out to stay");
            flaws.add(&target.pointer, FlawKind::Contradiction, detail);
        }
        found.insert(from, to);
    }
    found
}

fn known_status(node: &Node<'_>, lifecycle: &Lifecycle, flaws: &mut Flaws) -> Option<Status> {
    let status = read::name(node, Status::new, flaws)?;
    if !lifecycle.knows(&status) {
        unknown_status(&node.pointer, &status, lifecycle, flaws);
    }
    Some(status)
}

fn unknown_status(pointer: &str, status: &Status, lifecycle: &Lifecycle, flaws: &mut Flaws) {
    let known = lifecycle.statuses();
    let nearest = super::flaw::nearest(status.as_str(), known.iter().map(|s| s.as_str()));
    let detail = format!(
        "the status `{status}` stands neither in `initial` nor in `transitions` of this lifecycle{}",
        super::flaw::hint(nearest.as_ref())
    );
    flaws.add(pointer, FlawKind::UnknownReference { nearest }, detail);
}
