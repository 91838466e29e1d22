//! One file per operation: what it asks, how it is judged, what it changes.
//!
//! Invariant: an operation reads the scene and returns events or failures. The order of checks within a write is
//! rights, existence, lease, version, status, content.
//! Not known here: how a command got here and where its events go.

pub(crate) mod claim;
pub(crate) mod create_board;
pub(crate) mod delete;
pub(crate) mod delete_board;
pub(crate) mod erase;
pub(crate) mod lease;
pub(crate) mod note;
pub(crate) mod restore;
pub(crate) mod tick;
pub(crate) mod transact;
pub(crate) mod write;

mod condition;
mod current;
mod echo;
mod size;
mod status;

pub(crate) use current::refuse;
