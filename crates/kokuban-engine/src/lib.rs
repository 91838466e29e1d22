//! Boards at work: loading them, deciding on them in order, making decisions durable, publishing the result.
//!
//! Invariants: nobody is answered, and nothing is shown, before what it reports is durable. One task per board
//! decides; it exists only while there is something to do. No lock is held across I/O.
//! Not known here: rules (those are the core's), HTTP, how a journal keeps records.
//! Start at `Engine`; `sequencer` is the write path, `follow` the read path of streams.

mod answer;
mod clock;
mod commit_ids;
mod copy;
mod effects;
mod engine;
mod follow;
mod handle;
mod load;
mod logged;
mod past;
mod published;
mod registry;
mod rules;
mod sequencer;
mod stats;
#[cfg(test)]
mod tests;
mod weight;

pub use answer::{Answer, Error, Request};
pub use clock::Clock;
pub use copy::{Busy, Copying};
pub use engine::{Engine, Options};
pub use follow::{Cursor, Gap};
pub use handle::{BoardHandle, Quarantine};
pub use logged::Logged;
pub use past::{HistoryPage, PastError};
pub use published::Published;
pub use stats::Stats;
