//! A journal that is measured: how long appends and snapshots take.
//!
//! Invariant: it adds nothing and takes nothing away.
//! Not known here: what is stored.

use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use kokuban_core::ids::{BoardName, Revision};
use kokuban_journal::{
    Append, BoardInfo, Caps, CommitId, Error, Head, Health, Journal, Loaded, Outcome, ReadLimit, Record, Resolved,
    Rewrite, Snapshot, SnapshotPart, Stats, Wake,
};

use crate::metrics::Metrics;

#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) metrics: Metrics,
}

impl Journal for Measured {
    fn append(&self, group: Vec<Append>) -> BoxFuture<'static, Vec<Outcome>> {
        let began = Instant::now();
        let metrics = self.metrics.clone();
        let appended = self.journal.append(group);
        let measure = move |outcomes: Vec<Outcome>| {
            metrics.append_seconds.observe(began.elapsed().as_secs_f64());
            outcomes
        };
        appended.map(measure).boxed()
    }

    fn resolve(
        &self,
        board: BoardName,
        expected: Option<Head>,
        commit_id: CommitId,
    ) -> BoxFuture<'static, Result<Resolved, Error>> {
        self.journal.resolve(board, expected, commit_id)
    }

    fn load(&self, board: BoardName) -> BoxFuture<'static, Result<Option<Loaded>, Error>> {
        self.journal.load(board)
    }

    fn read_snapshot(
        &self,
        board: BoardName,
        first: usize,
        bytes_max: usize,
    ) -> BoxFuture<'static, Result<Option<SnapshotPart>, Error>> {
        self.journal.read_snapshot(board, first, bytes_max)
    }

    fn read(
        &self,
        board: BoardName,
        after: Revision,
        limit: ReadLimit,
    ) -> BoxFuture<'static, Result<Vec<Record>, Error>> {
        self.journal.read(board, after, limit)
    }

    fn read_back(
        &self,
        board: BoardName,
        before: Revision,
        limit: ReadLimit,
    ) -> BoxFuture<'static, Result<Vec<Record>, Error>> {
        self.journal.read_back(board, before, limit)
    }

    fn info(&self, board: BoardName) -> BoxFuture<'static, Result<Option<BoardInfo>, Error>> {
        self.journal.info(board)
    }

    fn list(&self, after: Option<BoardName>, limit: usize) -> BoxFuture<'static, Result<Vec<BoardInfo>, Error>> {
        self.journal.list(after, limit)
    }

    fn put_snapshot(&self, board: BoardName, snapshot: Snapshot) -> BoxFuture<'static, Result<(), Error>> {
        let began = Instant::now();
        let bytes: usize = snapshot.chunks.iter().map(bytes::Bytes::len).sum();
        let metrics = self.metrics.clone();
        let stored = self.journal.put_snapshot(board, snapshot);
        let measure = move |stored: Result<(), Error>| {
            metrics.snapshot_seconds.observe(began.elapsed().as_secs_f64());
            metrics.snapshot_bytes.inc_by(bytes as u64);
            stored
        };
        stored.map(measure).boxed()
    }

    fn prune(&self, board: BoardName, below: Revision) -> BoxFuture<'static, Result<u64, Error>> {
        self.journal.prune(board, below)
    }

    fn rewrite(&self, board: BoardName, rewrites: Vec<Rewrite>) -> BoxFuture<'static, Result<(), Error>> {
        self.journal.rewrite(board, rewrites)
    }

    fn wakes(&self) -> BoxStream<'static, Wake> {
        self.journal.wakes()
    }

    fn caps(&self) -> Caps {
        self.journal.caps()
    }

    fn health(&self) -> Health {
        self.journal.health()
    }

    fn stats(&self) -> Stats {
        self.journal.stats()
    }

    fn close(&self) -> BoxFuture<'static, Result<(), Error>> {
        self.journal.close()
    }
}
