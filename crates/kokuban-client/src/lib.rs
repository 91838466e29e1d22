//! A Rust client of Kokuban: typed calls, safe repetition, an update loop, a lease guard, streams that resume.
//!
//! Invariant: nothing here overwrites what the caller has not seen: a conflict is never repeated blindly, and a call
//! that is repeated has one effect, because every write carries its own Idempotency-Key.
//! Not known here: the rules of a board; the server judges, this side reports.
//! Start at [`Client::builder`], then [`Client::board`].

mod board;
mod client;
mod error;
mod events;
#[cfg(test)]
mod fake;
mod lease;
mod pages;
mod place;
mod query;
mod retry;
mod transport;
mod update;

pub use board::{Board, Get};
pub use client::{Client, ClientBuilder};
pub use error::Error;
pub use events::{Commit, Event, EventFilter, EventStream, Interruption, Start};
/// The bodies and answers of the calls.
pub use kokuban_api as api;
pub use lease::{LeaseGuard, Lost};
pub use pages::{HistoryFilter, ListFilter, Pages};
pub use place::Place;
pub use retry::RetryPolicy;
pub use update::Change;
