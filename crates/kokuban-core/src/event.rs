//! What happened, as facts in the past tense, and the commit that holds them.
//!
//! Invariant: an event carries everything that applying it needs; applying never runs a rule.
//! A tag once written is never renamed: records of every past version stay readable.
//! Not known here: how commits are stored or shown to readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::blueprint::Blueprint;
use crate::entry::{LeaseKind, Marks, Note, Payload};
use crate::ids::{
    AgentName, BoardName, BoardTime, EntryId, Epoch, LeaseToken, Position, Revision, Sha256, Status, Timestamp, Version,
};
use crate::path::Path;
use crate::reply::Reply;
use crate::tagged::tagged;

/// One atomic change of a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    pub board: BoardName,
    pub epoch: Epoch,
    pub revision: Revision,
    pub board_time: BoardTime,
    /// Wall time, for people only.
    pub at: Timestamp,
    /// The caller, or `None` where the server itself acted (an expiry, a resumed lease).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentName>,
    pub request_id: SmolStr,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<SmolStr>,
    pub events: Vec<Event>,
    /// The entries touched, as they stood before and after, in the order of the events. Derived; applying ignores it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<Touched>,
    /// The caller's key, and the answer that a repeat of it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyed: Option<Box<Keyed>>,
}

impl Commit {
    #[must_use]
    pub fn position(&self) -> Position {
        Position { epoch: self.epoch, revision: self.revision }
    }

    /// Whether this is the commit that comes next on a board whose last revision is `last`. Revisions leave a gap only
    /// where others may have been given and lost: a board that was restored goes on behind them, and on a server that
    /// was restored a board that is new begins behind them.
    #[must_use]
    pub fn follows(&self, last: Revision) -> bool {
        let leaps = match self.events.first() {
            Some(Event::BoardRestored(_)) => true,
            Some(Event::BoardCreated(created)) => last == Revision::ZERO && created.floor.0 + 1 == self.revision.0,
            _ => false,
        };
        self.revision == last.next() || (leaps && self.revision > last)
    }
}

/// A request that may be repeated: its Idempotency-Key, what it asked, and what it was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Keyed {
    pub key: SmolStr,
    pub fingerprint: Sha256,
    pub reply: Reply,
}

/// How a commit left one entry: what a reader of the log needs to show and filter it without knowing the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    pub id: EntryId,
    pub version: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Standing>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Standing>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<AgentName>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

/// What a filter may ask of an entry that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AgentName>,
}

tagged! {
    #[derive(Debug, Clone, PartialEq)]
    pub enum Event as EventForm ("Event"), tag "event" {
        BoardCreated(Box<BoardCreated>),
        BoardDeleted,
        BoardRestored(BoardRestored),
        EntryWritten(Box<EntryWritten>),
        /// The status alone changed.
        EntryMoved {
            id: EntryId,
            version: Version,
            from: Status,
            to: Status,
            /// The mover held the lease: the count of failed attempts starts again.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            under_lease: bool,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reason: Option<SmolStr>,
        },
        EntryDeleted {
            id: EntryId,
            version: Version,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reason: Option<SmolStr>,
        },
        /// The oldest tombstones made room; every version given from here on is above `floor`.
        TombstonesCollected {
            through: Revision,
            floor: Version,
        },
        /// The token is the revision of this commit.
        LeaseGranted {
            id: EntryId,
            holder: AgentName,
            kind: LeaseKind,
            ttl_ms: u64,
            deadline: BoardTime,
        },
        LeaseRenewed {
            id: EntryId,
            holder: AgentName,
            ttl_ms: u64,
            deadline: BoardTime,
        },
        LeaseReleased {
            id: EntryId,
            holder: AgentName,
        },
        LeaseRevoked {
            id: EntryId,
            holder: AgentName,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reason: Option<SmolStr>,
        },
        LeaseExpired {
            id: EntryId,
            holder: AgentName,
            kind: LeaseKind,
            /// The status that the lifecycle gives back, and the version that this makes.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            fallback: Option<Fallback>,
        },
        LeaseResumed {
            id: EntryId,
            holder: AgentName,
            deadline: BoardTime,
        },
        Noted {
            id: EntryId,
            note: Note,
        },
        NoteClosed {
            id: EntryId,
            note: SmolStr,
        },
        /// Values with this hash were taken out of the history.
        Erased {
            sha256: Sha256,
            reason: SmolStr,
        },
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoardCreated {
    #[serde(with = "blueprint_as_members")]
    pub blueprint: Arc<Blueprint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<SmolStr>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<SmolStr, SmolStr>,
    /// The next version of any key is above this.
    pub floor: Version,
}

/// The board was brought back from a backup, under a new epoch. Whatever was leased then has run out with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardRestored {
    /// When the backup was taken, by the clock of the server that gave it.
    pub taken: Timestamp,
    /// The next version of any key is above this: versions up to it may have been given after the backup.
    pub floor: Version,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryWritten {
    pub id: EntryId,
    pub version: Version,
    pub value: Payload,
    /// The value differs from the one before, or the entry is new; else only marks or the status changed.
    pub value_changed: bool,
    pub created: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_from: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(default, skip_serializing_if = "Marks::is_empty")]
    pub marks: Marks,
    pub schema_version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SmolStr>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub under_lease: bool,
    /// The leaves that a patch assigned, for the history; empty for a whole value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignments: Vec<Assignment>,
}

/// One leaf that a patch gave a value or took away. The value itself is in the written entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    pub op: SmolStr,
    pub path: Path,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    pub from: Status,
    pub to: Status,
    pub version: Version,
}

impl Event {
    /// The entry that the event touches.
    #[must_use]
    pub fn entry(&self) -> Option<&EntryId> {
        match self {
            Self::BoardCreated(_)
            | Self::BoardDeleted
            | Self::BoardRestored(_)
            | Self::TombstonesCollected { .. }
            | Self::Erased { .. } => None,
            Self::EntryWritten(written) => Some(&written.id),
            Self::EntryMoved { id, .. }
            | Self::EntryDeleted { id, .. }
            | Self::LeaseGranted { id, .. }
            | Self::LeaseRenewed { id, .. }
            | Self::LeaseReleased { id, .. }
            | Self::LeaseRevoked { id, .. }
            | Self::LeaseExpired { id, .. }
            | Self::LeaseResumed { id, .. }
            | Self::Noted { id, .. }
            | Self::NoteClosed { id, .. } => Some(id),
        }
    }

    /// The version of its entry after the event, where it made a new one.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        match self {
            Self::EntryWritten(written) => Some(written.version),
            Self::EntryMoved { version, .. } | Self::EntryDeleted { version, .. } => Some(*version),
            Self::LeaseExpired { fallback, .. } => fallback.as_ref().map(|fallback| fallback.version),
            Self::BoardCreated(_)
            | Self::BoardDeleted
            | Self::BoardRestored(_)
            | Self::TombstonesCollected { .. }
            | Self::LeaseGranted { .. }
            | Self::LeaseRenewed { .. }
            | Self::LeaseReleased { .. }
            | Self::LeaseRevoked { .. }
            | Self::LeaseResumed { .. }
            | Self::Noted { .. }
            | Self::NoteClosed { .. }
            | Self::Erased { .. } => None,
        }
    }
}

/// Something that holds values beside its hashed head.
pub trait Payloads {
    /// Calls `visit` on every payload, always in the same order.
    fn payloads<'a>(&'a self, visit: &mut dyn FnMut(&'a Payload));
    fn payloads_mut(&mut self, visit: &mut dyn FnMut(&mut Payload));
}

impl Payloads for Commit {
    fn payloads<'a>(&'a self, visit: &mut dyn FnMut(&'a Payload)) {
        for event in &self.events {
            if let Event::EntryWritten(written) = event {
                visit(&written.value);
            }
        }
        if let Some(entry) = self.keyed.as_deref().and_then(|keyed| keyed.reply.entry()) {
            visit(&entry.value);
        }
    }

    fn payloads_mut(&mut self, visit: &mut dyn FnMut(&mut Payload)) {
        for event in &mut self.events {
            if let Event::EntryWritten(written) = event {
                visit(&mut written.value);
            }
        }
        if let Some(entry) = self.keyed.as_deref_mut().and_then(|keyed| keyed.reply.entry_mut()) {
            visit(&mut entry.value);
        }
    }
}

/// The fencing token that a grant in the commit of `revision` carries.
#[must_use]
pub fn token_of(revision: Revision) -> LeaseToken {
    LeaseToken(revision.0)
}

/// A blueprint is stored as the members its author could have written, so that it is read with the same checks.
pub(crate) mod blueprint_as_members {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::blueprint::Blueprint;

    pub(crate) fn serialize<S: Serializer>(blueprint: &Arc<Blueprint>, serializer: S) -> Result<S::Ok, S::Error> {
        blueprint.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Blueprint>, D::Error> {
        let members = serde_json::Value::deserialize(deserializer)?;
        Blueprint::from_value(&members).map(Arc::new).map_err(|flaws| {
            let first = flaws.first().map(|flaw| format!("{} at {}", flaw.detail, flaw.pointer));
            serde::de::Error::custom(format!("stored blueprint is invalid: {}", first.unwrap_or_default()))
        })
    }
}
