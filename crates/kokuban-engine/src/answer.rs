//! What a board is asked, and all that a caller can meet.
//!
//! Invariant: *refused by a rule* and *could not be recorded* never share a variant.
//! Not known here: status codes.

use std::sync::Arc;
use std::time::Duration;

use kokuban_core::blueprint::Blueprint;
use kokuban_core::caller::Actor;
use kokuban_core::command::{Command, Repeat};
use kokuban_core::ids::{BoardTime, Position, Revision};
use kokuban_core::rejection::Refusal;
use kokuban_core::reply::Reply;
use smol_str::SmolStr;

/// A command with its caller.
#[derive(Debug, Clone)]
pub struct Request {
    pub command: Command,
    pub actor: Actor,
    pub request_id: SmolStr,
    pub trace_id: Option<SmolStr>,
    pub repeat: Option<Repeat>,
    /// The rules of a board that this request may create by writing to it.
    pub create_with: Option<Arc<Blueprint>>,
    /// Judge everything, change nothing.
    pub dry_run: bool,
    /// How long a claim or lease may wait until it can be granted.
    pub wait: Duration,
}

/// An accepted command. Durable, unless it was a dry run.
#[derive(Debug, Clone)]
pub struct Answer {
    pub reply: Option<Reply>,
    pub position: Option<Position>,
    /// Board time of the answer: what `remaining_ms` is counted from.
    pub now: BoardTime,
    /// The stored answer of an earlier request with the same key.
    pub replayed: bool,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A rule said no; nothing changed.
    #[error("refused by a rule")]
    Refused { refusal: Box<Refusal>, position: Option<Position>, now: BoardTime },
    /// Too much waits already; nothing happened.
    #[error("overloaded")]
    Overloaded,
    #[error("the storage is full")]
    StorageFull,
    /// The storage failed; nothing was recorded.
    #[error("the storage failed")]
    Unavailable,
    /// It may or may not have been recorded.
    #[error("the outcome is unknown")]
    OutcomeUnknown,
    /// The board's records are damaged.
    #[error("the board is set aside: {detail}")]
    Quarantined { revision: Option<Revision>, detail: String },
    /// A defect in a decision; nothing changed.
    #[error("internal error")]
    Internal,
    #[error("too many boards")]
    TooManyBoards { max: u64 },
    #[error("the server is stopping")]
    Closing,
}
