//! The bounds of a board, and what a blueprint may make of them.
//!
//! Invariant: no blueprint has a limit above `Limits::SERVER`.
//! Not known here: bounds of the edge (bodies, streams, callers); those are the server's configuration.

use serde::{Serialize, Serializer};

use super::flaw::{FlawKind, Flaws};
use super::read::{Members, Node};

/// What a caller can make a board grow to. Sizes are of canonical bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// One value, after the write.
    pub value_bytes_max: u64,
    /// Live entries and tombstones of a board.
    pub entries_max: u64,
    /// Sum of the live values of a board.
    pub board_bytes_max: u64,
    pub notes_per_entry_max: u64,
    pub note_bytes_max: u64,
    pub writes_per_transaction_max: u64,
    pub checks_per_transaction_max: u64,
    pub operations_per_patch_max: u64,
    pub labels_max: u64,
    pub inputs_max: u64,
    pub derived_from_max: u64,
    pub open_proposals_max: u64,
    /// Sum of the values in prompt-visible zones; off unless set.
    pub state_bytes_max: Option<u64>,
}

impl Limits {
    /// What this server allows: the default, and the most that a blueprint may set.
    pub const SERVER: Self = Self {
        value_bytes_max: 262_144,
        entries_max: 100_000,
        board_bytes_max: 268_435_456,
        notes_per_entry_max: 100,
        note_bytes_max: 8_192,
        writes_per_transaction_max: 128,
        checks_per_transaction_max: 128,
        operations_per_patch_max: 256,
        labels_max: 32,
        inputs_max: 128,
        derived_from_max: 64,
        open_proposals_max: 1_000,
        state_bytes_max: None,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::SERVER
    }
}

/// Without `state_bytes_max`, which has no default.
const N_BOUNDED: usize = 12;

/// The most prompt-visible state that can be asked for: what a board can hold anyway.
const STATE_BYTES_MAX: u64 = Limits::SERVER.board_bytes_max;

impl Limits {
    /// The bounded members by name.
    #[must_use]
    pub fn members(&self) -> [(&'static str, u64); N_BOUNDED] {
        [
            ("value_bytes_max", self.value_bytes_max),
            ("entries_max", self.entries_max),
            ("board_bytes_max", self.board_bytes_max),
            ("notes_per_entry_max", self.notes_per_entry_max),
            ("note_bytes_max", self.note_bytes_max),
            ("writes_per_transaction_max", self.writes_per_transaction_max),
            ("checks_per_transaction_max", self.checks_per_transaction_max),
            ("operations_per_patch_max", self.operations_per_patch_max),
            ("labels_max", self.labels_max),
            ("inputs_max", self.inputs_max),
            ("derived_from_max", self.derived_from_max),
            ("open_proposals_max", self.open_proposals_max),
        ]
    }

    /// In the order of `members`.
    fn members_mut(&mut self) -> [&mut u64; N_BOUNDED] {
        [
            &mut self.value_bytes_max,
            &mut self.entries_max,
            &mut self.board_bytes_max,
            &mut self.notes_per_entry_max,
            &mut self.note_bytes_max,
            &mut self.writes_per_transaction_max,
            &mut self.checks_per_transaction_max,
            &mut self.operations_per_patch_max,
            &mut self.labels_max,
            &mut self.inputs_max,
            &mut self.derived_from_max,
            &mut self.open_proposals_max,
        ]
    }

    /// The tighter of each: a board's limits on a server whose own are lower than when the board was made.
    #[must_use]
    pub fn lowered(&self, other: &Self) -> Self {
        let mut lower = self.clone();
        for (mine, (_, theirs)) in lower.members_mut().into_iter().zip(other.members()) {
            *mine = theirs.min(*mine);
        }
        lower.state_bytes_max = [self.state_bytes_max, other.state_bytes_max].into_iter().flatten().min();
        lower
    }

    pub(super) fn read(node: &Node<'_>, flaws: &mut Flaws) -> Self {
        let mut limits = Self::SERVER;
        let server = Self::SERVER.members();
        let known: Vec<&str> = server.iter().map(|(name, _)| *name).chain(["state_bytes_max"]).collect();
        let Some(members) = Members::open(node, &known, flaws) else { return limits };
        for (limit, (name, max)) in limits.members_mut().into_iter().zip(server) {
            if let Some(node) = members.get(name) {
                *limit = lower(&node, name, max, flaws).unwrap_or(max);
            }
        }
        let state = members.get("state_bytes_max");
        limits.state_bytes_max = state.and_then(|node| lower(&node, "state_bytes_max", STATE_BYTES_MAX, flaws));
        limits
    }
}

fn lower(node: &Node<'_>, name: &str, server: u64, flaws: &mut Flaws) -> Option<u64> {
    let value = super::read::integer(node, 1..=u64::MAX, flaws)?;
    if value > server {
        let detail = format!("a blueprint may only lower `{name}`: this server's is {server}, not {value}");
        flaws.add(&node.pointer, FlawKind::RaisesLimit { server }, detail);
    }
    Some(value)
}

/// Only what differs from the server's: a blueprint says what it lowers.
impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lowered = self.members().into_iter().zip(Self::SERVER.members()).filter(|(mine, server)| mine != server);
        let state = self.state_bytes_max.map(|max| ("state_bytes_max", max));
        serializer.collect_map(lowered.map(|(mine, _)| mine).chain(state))
    }
}
