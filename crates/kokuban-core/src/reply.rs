//! What an accepted command is answered, as facts.
//!
//! Invariant: a reply is complete in itself: repeated from a stored commit it says what it said the first time.
//! Not known here: HTTP, members and order of the JSON that is sent.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::entry::{EntryParts, LeaseKind};
use crate::ids::{AgentName, BoardTime, EntryId, LeaseToken, Sha256, Status, Version};
use crate::json::Json;
use crate::path::Path;
use crate::tagged::tagged;

tagged! {
    #[derive(Debug, Clone, PartialEq)]
    pub enum Reply as ReplyForm ("Reply"), tag "reply" {
        Receipt(Box<Receipt>),
        Transaction {
            receipts: Vec<Receipt>,
        },
        Lease {
            id: EntryId,
            grant: Grant,
        },
        Claimed {
            id: EntryId,
            grant: Grant,
            entry: Box<EntryParts>,
            notes: u64,
        },
        LeaseEnded,
        Noted {
            id: EntryId,
            note: SmolStr,
        },
        NoteClosed,
        Board {
            created: bool,
            warnings: Vec<Warning>,
        },
        BoardDeleted,
        Erased {
            values: u64,
        },
        /// A deadline was worked off; nobody waits for the answer.
        Ticked,
    }
}

impl Reply {
    /// The entry that the reply shows as it stood.
    #[must_use]
    pub fn entry(&self) -> Option<&EntryParts> {
        if let Self::Claimed { entry, .. } = self { Some(entry) } else { None }
    }

    pub fn entry_mut(&mut self) -> Option<&mut EntryParts> {
        if let Self::Claimed { entry, .. } = self { Some(entry) } else { None }
    }

    /// The leases that the reply grants or renews.
    pub fn grants(&self) -> impl Iterator<Item = (&EntryId, &Grant)> {
        let (receipts, single): (&[Receipt], _) = match self {
            Self::Receipt(receipt) => (std::slice::from_ref(&**receipt), None),
            Self::Transaction { receipts } => (receipts, None),
            Self::Lease { id, grant } | Self::Claimed { id, grant, .. } => (&[], Some((id, grant))),
            _ => (&[], None),
        };
        receipts.iter().filter_map(|receipt| receipt.lease.as_ref().map(|grant| (&receipt.id, grant))).chain(single)
    }
}

/// The answer to one write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub id: EntryId,
    pub version: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationReceipt>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Grant>,
    /// The value after the write. Not part of a stored reply: it is in the commit's event.
    #[serde(skip)]
    pub value: Option<Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Created,
    Updated,
    Deleted,
    Unchanged,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationReceipt {
    pub op: SmolStr,
    pub path: Path,
    pub outcome: OperationOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SmolStr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationOutcome {
    Applied,
    Ignored,
    Noted,
}

/// A lease as its holder is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub holder: AgentName,
    pub token: LeaseToken,
    pub kind: LeaseKind,
    pub ttl_ms: u64,
    pub deadline: BoardTime,
}

tagged! {
    /// Something the caller should know about a write that was accepted.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Warning as WarningForm ("Warning"), tag "code" {
        BoardCreated {
            blueprint: SmolStr,
        },
        ValueLarge {
            bytes: u64,
        },
        SecondProducer {
            first: AgentName,
        },
        NotEnforced {
            members: Vec<String>,
        },
        /// The board exists: what was given for its creation had no effect.
        Ignored {
            members: Vec<SmolStr>,
        },
    }
}
