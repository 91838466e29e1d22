//! An entry as it stands: value, version, status, provenance; and the lease and notes beside it.
//!
//! Start at `Entry`; `leaves` is what documents have beside it.
//! Invariant: a `Payload` always knows the hash of its value, also where the value itself has left the log.
//! Not known here: who may change an entry, and when. `packed` keeps it in memory, `draft` takes it
//! apart to change it.

mod draft;
mod packed;

mod leaves;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

pub(crate) use leaves::LeafAuthor;
pub use leaves::{LeafMark, Leaves};

use crate::ids::{AgentName, BoardTime, EntryId, LeaseToken, Revision, Sha256, Status, Timestamp, Version};
use crate::json::Json;
use crate::path::Path;

pub(crate) use draft::{Draft, DraftValue, RequestId};
pub use packed::Entry;
pub(crate) use packed::Rare;

/// A value in a record. Only its hash and size are part of the encoded head; the value itself travels beside it,
/// so that it can be dropped without breaking the hash chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload {
    pub sha256: Sha256,
    /// Size of the canonical text.
    pub bytes: u64,
    /// `None` once the value was erased, or left the log with a scratch table.
    pub json: Option<Json>,
}

impl Payload {
    #[must_use]
    pub fn new(json: Json) -> Self {
        Self { sha256: json.sha256(), bytes: json.len() as u64, json: Some(json) }
    }
}

/// The part of a payload that is hashed.
#[derive(Serialize, Deserialize)]
struct PayloadHead {
    sha256: Sha256,
    bytes: u64,
}

impl Serialize for Payload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PayloadHead { sha256: self.sha256, bytes: self.bytes }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let head = PayloadHead::deserialize(deserializer)?;
        Ok(Self { sha256: head.sha256, bytes: head.bytes, json: None })
    }
}

/// Where a value came from, as its writer says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub kind: SourceKind,
    #[serde(rename = "ref")]
    pub reference: SmolStr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    User,
    Agent,
    Tool,
    Web,
    File,
}

impl SourceKind {
    /// Whether it lies outside the team: nobody in it vouches for what comes from there.
    #[must_use]
    pub fn is_outside(self) -> bool {
        matches!(self, Self::Tool | Self::Web | Self::File)
    }
}

/// A version of an entry that a value was derived from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DerivedFrom {
    #[serde(flatten)]
    pub id: EntryId,
    pub version: Version,
}

/// What a write may say about a value beside the value itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marks {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<SmolStr>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived_from: Vec<DerivedFrom>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SmolStr>,
    /// Of a document, what is known of each leaf. Events leave it out: it follows from their assignments.
    #[serde(default, skip_serializing_if = "Leaves::is_empty")]
    pub leaves: Leaves,
}

impl Marks {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Who did something, when, and where in the order of the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub by: AgentName,
    pub at: Timestamp,
}

/// A live entry with its parts in hand: to be changed, or written down. At rest it is packed as an [`Entry`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryParts {
    pub value: Payload,
    pub version: Version,
    /// The revision that made this version.
    pub revision: Revision,
    /// The revision of the last change of any kind, a grant or an expiry included: the order of claims.
    pub touched: Revision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    pub created: Stamp,
    pub updated: Stamp,
    /// The version at which the value was last written, and by whom.
    pub value_version: Version,
    pub value_by: AgentName,
    /// Set by an expiry or revocation: nobody owns the entry until the next value write or lease.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disowned: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_holder: Option<AgentName>,
    /// Leases that ran out on this entry since the last release or move under a lease.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<Box<Marks>>,
    pub schema_version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SmolStr>,
    /// The request that made this version.
    pub request_id: SmolStr,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What remains of a deleted entry: the counter, so that no version is ever given twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    pub version: Version,
    pub revision: Revision,
    pub deleted: BoardTime,
}

/// The exclusive right to write an entry until a deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub holder: AgentName,
    pub token: LeaseToken,
    pub kind: LeaseKind,
    pub ttl_ms: u64,
    pub granted: BoardTime,
    pub deadline: BoardTime,
    /// Starts of the server in a row that topped this lease up without a renewal between them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumed: u32,
}

impl Lease {
    #[must_use]
    pub fn is_live(&self, now: BoardTime) -> bool {
        now < self.deadline
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseKind {
    /// Asked for; works only with its token.
    Lease,
    /// Given by a zone with `hold_ms` to whoever wrote a value last; works without a token.
    Hold,
}

/// How a lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseEnd {
    Expired,
    Superseded,
    Released,
    Revoked,
    Deleted,
    NeverHeld,
}

/// A lease that ended, remembered so that a late holder learns why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedLease {
    pub holder: AgentName,
    pub token: LeaseToken,
    pub end: LeaseEnd,
}

/// A remark on an entry, or an operation that was held back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// `n<revision>-<index in the commit>`.
    pub id: SmolStr,
    pub by: AgentName,
    pub at: Timestamp,
    pub text: SmolStr,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refers_to_version: Option<Version>,
    /// The operation that was held back, where the note is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Box<HeldBack>>,
}

/// An operation that did not replace what stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldBack {
    pub op: SmolStr,
    pub path: Path,
    /// What it would have set, added or taken away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Payload>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<SmolStr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SmolStr>,
    pub why: HeldWhy,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldWhy {
    /// What stands has this higher level.
    LowerConfidence { stands: SmolStr },
    /// Its author wanted it beside what stands.
    Append,
    /// Its author wanted it recorded only.
    Ignore,
}

impl Note {
    /// The value that was held back.
    #[must_use]
    pub fn payload(&self) -> Option<&Payload> {
        self.held.as_ref()?.value.as_ref()
    }

    pub fn payload_mut(&mut self) -> Option<&mut Payload> {
        self.held.as_mut()?.value.as_mut()
    }
}
