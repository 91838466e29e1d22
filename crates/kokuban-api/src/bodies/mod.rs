//! The bodies of requests: read strictly by the server, serialised by the client.
//!
//! Invariant: what a type serialises it also reads; no default is sent.
//! Not known here: what a board makes of them.

mod board;
mod claim;
mod erasure;
mod lease;
mod note;
mod operation;
mod patch;
mod put;
mod rfc;
mod terms;
mod transaction;

pub use board::{BlueprintRef, CreateBoard};
pub use claim::Claim;
pub use erasure::Erasure;
pub use lease::{LeaseRenewal, LeaseRequest};
pub use note::NoteBody;
pub use operation::{Intent, Op, Operand, Operation};
pub use patch::Patch;
pub use put::Put;
pub use rfc::{json_patch, merge_patch};
pub use terms::{ECHOED, OnConflict, Terms};
pub use transaction::{Check, DeleteItem, LeaseItem, Transaction, TransactionWrite, WriteItem};

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
pub(crate) fn mistakes<T: std::fmt::Debug>(read: Result<T, crate::fields::BodyErrors>) -> Vec<(String, String)> {
    read.expect_err("a mistake")
        .items()
        .iter()
        .map(|item| (item.code.to_string(), item.pointer.clone().unwrap_or_default()))
        .collect()
}

#[cfg(test)]
pub(crate) fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(code, pointer)| ((*code).to_owned(), (*pointer).to_owned())).collect()
}
