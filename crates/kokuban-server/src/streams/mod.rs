//! Readers of a board's log: event streams and long polls.
//!
//! Invariants: a reader meets every commit after its start once, in order, and of each what it may read now. Nothing
//! is made before the socket has room for it, so a slow reader is a cursor and holds up nobody.
//! Not known here: how commits come to be. Start at [`open`] for streams, `poll` for long polls; `scope` says what
//! one reader sees of one commit, `window` puts several commits into one message.

mod blocks;
mod counts;
mod feed;
mod poll;
mod reader;
mod scope;
mod snapshot;
mod start;
#[cfg(test)]
pub(crate) mod tests;
mod window;

pub(crate) use counts::Place;
pub use counts::StreamCounts;
pub(crate) use feed::{Ends, Feed, Setup};
pub(crate) use poll::{Poll, poll};
pub(crate) use scope::{Scope, is_scratch};
pub(crate) use start::{of_poll, of_stream};
