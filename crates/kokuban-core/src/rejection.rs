//! Why a command was refused: facts, no prose.
//!
//! Invariant: a refusal changed nothing. Failures stand in the order in which they are judged; the first decides.
//! Not known here: status codes, texts, and what a caller should do next.

use std::sync::Arc;

use smol_str::SmolStr;

use crate::board::Board;
use crate::entry::{Entry, LeaseEnd};
use crate::ids::{AgentName, EntryId, LeaseToken, Status, Version, ZoneName};

/// The answer to a command that was not accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// At least one.
    pub failures: Vec<Failure>,
    /// The entry that the first failure is about, as the caller may see it.
    pub current: Option<Box<Current>>,
}

impl Refusal {
    #[must_use]
    pub fn of(rejection: Rejection) -> Self {
        Self { failures: vec![Failure { rejection, item: Item::Whole, pointer: None }], current: None }
    }

    /// The failure that gives status and code.
    #[must_use]
    pub fn first(&self) -> &Rejection {
        &self.failures.first().expect("a refusal has at least one failure").rejection
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub rejection: Rejection,
    pub item: Item,
    /// Into the body of the write, where one member is to blame.
    pub pointer: Option<String>,
}

/// Which part of a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    Whole,
    Check(usize),
    Write(usize),
}

/// An entry as it stood when a write to it was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    pub id: EntryId,
    pub entry: Arc<Entry>,
    pub owner: Option<AgentName>,
    pub held_by: Option<AgentName>,
    /// The caller made this version.
    pub yours: bool,
    /// The value stands as the caller wanted it.
    pub same_value: bool,
}

impl Current {
    /// The entry as `reader` sees it. Whether he may is judged before.
    #[must_use]
    pub fn of(board: &Board, id: &EntryId, reader: &AgentName) -> Option<Self> {
        let entry = board.entry(id)?;
        let lease = board.lease(id);
        Some(Self {
            id: id.clone(),
            entry: Arc::clone(entry),
            owner: board.owner(id, entry),
            held_by: lease.map(|lease| lease.holder.clone()),
            yours: entry.updated_by() == *reader,
            same_value: false,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// `version` in the body or query.
    Named,
    /// `If-Match` or `If-None-Match`.
    Header,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    // Where
    BoardNotFound,
    ZoneNotFound {
        zone: ZoneName,
    },
    BoardExists,
    // Repeats
    IdempotencyMismatch,
    AgentRequired {
        what: &'static str,
    },
    // Rights
    Forbidden {
        why: Forbidden,
    },
    ZoneRestricted {
        zone: ZoneName,
        owners: Vec<SmolStr>,
    },
    ArbiterOnly {
        zone: ZoneName,
    },
    // Existence
    NotFound {
        id: EntryId,
    },
    NoteNotFound {
        note: SmolStr,
    },
    NoLease {
        id: EntryId,
    },
    // Lease
    LeaseHeld {
        held_by: AgentName,
        remaining_ms: u64,
        by_you: bool,
    },
    LeaseTokenRequired {
        remaining_ms: u64,
    },
    LeaseLost {
        token: LeaseToken,
        reason: LeaseEnd,
        held_by: Option<AgentName>,
    },
    // Version
    PreconditionRequired {
        id: EntryId,
    },
    LeafConditionRequired {
        path: String,
        version: Version,
        by: AgentName,
    },
    VersionConflict {
        condition: Condition,
        expected: Option<Version>,
        actual: Option<Version>,
    },
    // Status
    UnknownStatus {
        status: Status,
        known: Vec<Status>,
    },
    IllegalTransition {
        from: Option<Status>,
        to: Status,
        allowed: Vec<Status>,
    },
    Locked {
        status: Status,
        allowed: Vec<Status>,
    },
    // Content
    ReservedMember {
        member: SmolStr,
    },
    InvalidValue {
        what: &'static str,
    },
    WrongKind {
        path: String,
        what: &'static str,
    },
    PathNotFound {
        path: String,
    },
    TooComplex {
        what: &'static str,
        max: u64,
    },
    NullGuarded,
    UnknownSchemaVersion {
        given: u64,
        current: u64,
    },
    DuplicateKey {
        id: EntryId,
    },
    ValueTooLarge {
        bytes: u64,
        max: u64,
    },
    StateFull {
        bytes: u64,
        max: u64,
    },
    LimitReached {
        limit: &'static str,
        max: u64,
    },
    /// The value with this hash stands in an entry now.
    StillCurrent {
        id: EntryId,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forbidden {
    /// A scratch table belongs to the agent that its keys begin with.
    ScratchOfAnother,
    /// Observers read.
    Observer,
    AdminOnly,
    /// Closing a note of somebody else.
    NotYourNote,
    /// Ending the lease of somebody else without being an arbiter.
    NotYourLease,
    ScratchHasNoLeases,
}
