//! `board.events(filter)`: a stream of events that outlives its connections.
//!
//! Invariant: after an interruption the next commit is the one after the last handed out, or a `Reset` says that this
//! cannot be; a connection on which nothing arrives for three heartbeats counts as broken; at most one block is held
//! in memory, because nothing is read before it is asked for.
//! Not known here: what a block means (`cursor`), how bytes become blocks (`blocks`).

mod blocks;
mod cursor;
mod filter;
mod follow;

pub use cursor::{Commit, Event, Interruption};
pub use filter::{EventFilter, Start};
pub use follow::EventStream;
