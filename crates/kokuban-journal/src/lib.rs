//! Where the commits of boards are kept: per board an append-only sequence of opaque records and one newest snapshot.
//!
//! Invariants: an answered append is as durable as [`Caps::durability`] says; a record is found only at the revision
//! and under the chain hash it was appended with; what may or may not have landed is called [`Outcome::Unknown`],
//! never guessed.
//! Not known here: rules, JSON, HTTP, what a record means. The chain hash is compared, not computed.
//! Start at [`Journal`].

pub mod backup;
#[cfg(any(test, feature = "conformance"))]
#[doc(hidden)]
pub mod conformance;
pub mod faults;
mod journal;
mod memory;
mod outcome;
mod record;
pub mod sqlite;

pub use journal::{Caps, Durability, Health, Journal, ReadLimit, Stats, Wake};
pub use memory::Memory;
pub use outcome::{Error, Outcome, Refusal, Resolved};
pub use record::{Append, BoardInfo, CommitId, Head, Loaded, NewRecord, Record, Rewrite, Snapshot, SnapshotPart};
pub use sqlite::Sqlite;
