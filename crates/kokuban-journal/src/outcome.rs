//! How a call to a journal can end.
//!
//! Invariant: of every failed append these types say whether the bytes may have landed: [`Outcome::Unknown`] they
//! may, [`Outcome::Refused`] and [`Outcome::Conflict`] they have not and will not.
//! Not known here: what the caller should do next, and HTTP.

use std::path::PathBuf;

use kokuban_core::ids::{BoardName, Revision};

use crate::record::Head;

/// How one item of a group ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// Durable. The head after the last commit of the item.
    Appended(Head),
    /// Not appended: the board's newest record is this one, not the expected.
    Conflict(Option<Head>),
    /// May or may not have landed: ask [`Journal::resolve`](crate::Journal::resolve) before anything else is
    /// answered for this board.
    Unknown,
    /// Not appended, and the board is as it was.
    Refused(Refusal),
}

/// Why an item was not appended although nobody else wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the storage is full")]
    StorageFull,
    #[error("the storage failed: {detail}")]
    Io { detail: String },
    #[error("the journal is closed")]
    Closed,
    #[error("a record has {bytes} bytes, at most {max} can be stored")]
    TooLarge { bytes: usize, max: usize },
    #[error("{reason}")]
    Malformed { reason: &'static str },
    #[error("the records of this board are damaged: {detail}")]
    Damaged { detail: String },
}

/// The fate of an append whose outcome was unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Resolved {
    /// It landed and is durable. The head at the record with that commit id.
    Appended(Head),
    /// It did not land, and another append did.
    Conflict(Head),
    /// It did not land and never will; the expected head is still the newest.
    Absent,
}

/// Why a call other than an append failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The records of one board cannot be read. Other boards are not affected.
    #[error("board {board}{}: {detail}", .revision.map(|r| format!(", revision {r}")).unwrap_or_default())]
    Damaged { board: BoardName, revision: Option<Revision>, detail: String },
    #[error("the board has no record")]
    NoBoard,
    /// A snapshot or rewrite names a record that is not there under that chain hash.
    #[error("revision {revision} is not stored under that chain hash")]
    ChainDiffers { revision: Revision },
    /// The reason is never [`Refusal::Malformed`] by accident of the data: it speaks of the call.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The data directory belongs to a server that runs.
    #[error("the data directory {} is in use by another Kokuban server; stop that one or choose another directory", .0.display())]
    InUse(PathBuf),
    /// The store cannot be opened. The text names the place and the way out.
    #[error("{0}")]
    Open(String),
}

impl Error {
    pub(crate) fn io(detail: impl std::fmt::Display) -> Self {
        Self::Refused(Refusal::Io { detail: detail.to_string() })
    }
}
