//! The rules of a blackboard: what a write may do, what it changes, and what it answers.
//!
//! Owns the board as a pure fold over its commits, and every decision about it.
//! Invariant: nothing here reads a clock, draws a random number, does I/O or iterates a map
//! in an order that a replay would not repeat. Time, ids and callers enter as arguments;
//! effects leave as events.
//! Not known here: HTTP, status codes, storage, tasks.

pub mod blueprint;
pub mod board;
pub mod caller;
pub mod command;
mod compact;
pub mod entry;
pub mod event;
pub mod ids;
pub mod json;
mod op;
pub mod path;
pub mod record;
mod reduce;
pub mod rejection;
pub mod reply;
#[cfg(test)]
mod scenario;
mod tagged;
pub mod verify;

pub use command::{Command, Context, Decision, decide};
