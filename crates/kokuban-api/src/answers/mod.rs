//! Answers: serialised by the server, deserialised by the client.
//!
//! Invariant: members stand in the order of the contract, absent ones are left out, and a client bears members it
//! does not know.
//! Not known here: what the caller may see; the server leaves out what it must.

mod board;
mod entry;
mod history;
mod lease;
mod receipt;
mod server;

use kokuban_core::ids::Position;
use kokuban_core::json::Json;
use serde::{Deserialize, Deserializer, Serialize};

pub use board::{BoardState, BoardSummary, LargestEntry, StateLevel, ZoneCount};
pub use entry::{Entry, EntryDetails, Note, NoteCreated, Trust};
pub use history::{HistoryChange, HistoryCommit, HistoryOperation, HistoryState, Refusal};
pub use lease::{Claimed, Lease};
pub use receipt::{OperationOutcome, OperationReceipt, Outcome, Receipt, TransactionReceipt, Warning};
pub use server::{AuthMode, CallerInfo, Clock, Durability, ServerInfo};

/// A list, or a page of one. Lists that belong to no board have no position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct List<T> {
    pub items: Vec<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page: Option<String>,
}

/// A member that is there, even if it is null.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
pub(crate) fn reads_back<T>(answer: &T, expected: &serde_json::Value)
where
    T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let bytes = serde_json::to_vec(answer).expect("serialises");
    assert_eq!(&serde_json::from_slice::<serde_json::Value>(&bytes).expect("JSON"), expected);
    assert_eq!(&serde_json::from_slice::<T>(&bytes).expect("reads back"), answer);
}
