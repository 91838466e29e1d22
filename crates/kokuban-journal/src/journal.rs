//! The one interface between boards and what keeps them.
//!
//! Invariant: no SQL, no transaction object, no subscription per board shows here; every implementation passes
//! `conformance`.
//! Not known here: implementations.

use std::fmt;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use kokuban_core::ids::{BoardName, Revision};

use crate::outcome::{Error, Outcome, Resolved};
use crate::record::{Append, BoardInfo, CommitId, Head, Loaded, Record, Rewrite, Snapshot, SnapshotPart};

/// An append-only store of records per board with compare-and-swap on revision and chain hash.
///
/// The futures borrow nothing, so a caller may keep one while it does other things. A dropped future cancels nothing
/// that was already handed over.
pub trait Journal: fmt::Debug + Send + Sync + 'static {
    /// Appends the items, each by itself, and answers in their order when what happened is durable.
    ///
    /// The group is handed over in the call, before the future is polled, unless the queue is full; so items of one
    /// board in successive calls may each expect the head of the one before without waiting for its answer. When the
    /// earlier one fails, the later one does too.
    fn append(&self, group: Vec<Append>) -> BoxFuture<'static, Vec<Outcome>>;

    /// The fate of the append that expected `expected` and had a commit with the id `commit_id`.
    fn resolve(
        &self,
        board: BoardName,
        expected: Option<Head>,
        commit_id: CommitId,
    ) -> BoxFuture<'static, Result<Resolved, Error>>;

    /// The newest snapshot and the records after it, seen at one moment. `None`: the board has no record.
    fn load(&self, board: BoardName) -> BoxFuture<'static, Result<Option<Loaded>, Error>>;

    /// Chunks of the newest snapshot from the one numbered `first` on, in at most `bytes_max`, but at least one if
    /// there is one. `None`: the board has no snapshot. When the head differs from that of the part before, another
    /// snapshot has taken its place, and the parts do not belong together.
    fn read_snapshot(
        &self,
        board: BoardName,
        first: usize,
        bytes_max: usize,
    ) -> BoxFuture<'static, Result<Option<SnapshotPart>, Error>>;

    /// Records after `after`, ascending. The first is not the next one when that was pruned.
    fn read(
        &self,
        board: BoardName,
        after: Revision,
        limit: ReadLimit,
    ) -> BoxFuture<'static, Result<Vec<Record>, Error>>;

    /// Records before `before`, descending.
    fn read_back(
        &self,
        board: BoardName,
        before: Revision,
        limit: ReadLimit,
    ) -> BoxFuture<'static, Result<Vec<Record>, Error>>;

    /// What is known of one board. `None`: it has no record.
    fn info(&self, board: BoardName) -> BoxFuture<'static, Result<Option<BoardInfo>, Error>>;

    /// Boards whose name is greater than `after`, by name in code point order.
    fn list(&self, after: Option<BoardName>, limit: usize) -> BoxFuture<'static, Result<Vec<BoardInfo>, Error>>;

    /// Replaces the snapshot of the board; one that is not newer than the stored one is dropped without an error.
    /// The chunks come back with the same boundaries, each at most [`Caps::chunk_bytes_max`] long.
    fn put_snapshot(&self, board: BoardName, snapshot: Snapshot) -> BoxFuture<'static, Result<(), Error>>;

    /// Deletes records below `below`, but never the newest one nor one after the snapshot. Answers how many.
    fn prune(&self, board: BoardName, below: Revision) -> BoxFuture<'static, Result<u64, Error>>;

    /// Replaces stored bodies. Stops with [`Error::ChainDiffers`] at the first record that is not stored under the
    /// given chain hash; those before it are replaced.
    fn rewrite(&self, board: BoardName, rewrites: Vec<Rewrite>) -> BoxFuture<'static, Result<(), Error>>;

    /// Hints that other servers wrote. They may repeat and never replace reading.
    fn wakes(&self) -> BoxStream<'static, Wake>;

    fn caps(&self) -> Caps;

    fn health(&self) -> Health;

    fn stats(&self) -> Stats;

    /// Finishes what was handed over, then stops. Later appends are refused as closed.
    fn close(&self) -> BoxFuture<'static, Result<(), Error>>;
}

/// Where a read ends. At least one record is given if there is one, however large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimit {
    pub records: usize,
    pub body_bytes: usize,
}

impl ReadLimit {
    /// As many records, in at most 4 MiB of bodies.
    #[must_use]
    pub fn records(records: usize) -> Self {
        Self { records, body_bytes: 4 * 1024 * 1024 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    Board {
        board: BoardName,
        revision: Revision,
    },
    /// Hints were lost: look at every watched board.
    MissedSome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// What was answered survives the loss of power.
    Synced,
    /// Nothing survives the process.
    Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    pub durability: Durability,
    /// Largest body of one record.
    pub record_bytes_max: usize,
    /// Largest chunk of a snapshot.
    pub chunk_bytes_max: usize,
    /// The first commit of a board comes after this revision. Above zero where data was restored: boards that did not
    /// come back may have had the revisions up to it.
    pub base: Revision,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Whether the last append that reached the storage could be stored, or nothing speaks against the next one.
    pub writable: bool,
    /// The last failure of the storage, also when it is over. Names places, never values.
    pub last_error: Option<String>,
}

/// Counters since the journal was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    pub boards: u64,
    /// Transactions of appends: each is one sync.
    pub groups: u64,
    /// Records appended.
    pub commits: u64,
    /// Bytes of their bodies.
    pub body_bytes: u64,
    /// Groups that could not be stored.
    pub failures: u64,
    /// Time of committing a group, the sync included.
    pub sync_nanos_total: u64,
    pub sync_nanos_last: u64,
    pub sync_nanos_max: u64,
    /// Groups by their commits: at `n` those of at most 2^n, at the end all larger ones.
    pub groups_by_commits: [u64; 11],
    /// Groups by their sync: at `n` those of at most 2^n times 0.1 ms, at the end all longer ones.
    pub groups_by_sync: [u64; 16],
    pub snapshots: u64,
    pub checkpoints: u64,
}
