//! A few connections that only read, each in its own short transaction, on threads that may block.
//!
//! Invariant: what a read gives was durable when it was asked; a read pins the log only as long as it takes, and one
//! read is bounded by its caller's limit, or by a board's snapshot and tail.
//! Not known here: the writer.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use kokuban_core::ids::{BoardName, ChainHash};
use rusqlite::{Connection, OptionalExtension};
use tokio::sync::Semaphore;

use super::heads::{Board, revision, signed};
use super::records::Records;
use super::schema::connect_reader;
use super::shared::Shared;
use super::transaction::describe;
use super::upkeep::chunk_id;
use crate::outcome::{Error, Refusal};
use crate::record::{Head, Loaded, Snapshot, SnapshotPart};

/// Reads at the same time.
const CONNECTIONS_MAX: u32 = 4;

#[derive(Debug)]
pub(super) struct Readers {
    database: PathBuf,
    shared: Arc<Shared>,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(database: PathBuf, shared: Arc<Shared>) -> Self {
        let permits = Arc::new(Semaphore::new(usize::try_from(CONNECTIONS_MAX).unwrap_or(1)));
        Self { database, shared, idle: Mutex::default(), permits }
    }

    /// Reads one board in one transaction.
    pub(super) fn read<T: Send + 'static>(
        self: &Arc<Self>,
        board: BoardName,
        read: impl FnOnce(&Connection, &Records<'_>) -> Result<T, Error> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Error>> {
        let readers = self.clone();
        async move {
            // Waits behind other reads, never behind a write.
            let permit = readers.permits.clone().acquire_owned().await.map_err(|_| Refusal::Closed)?;
            let work = move || {
                let result = readers.read_here(&board, read);
                drop(permit);
                result
            };
            tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(Error::io("a read was broken off")))
        }
        .boxed()
    }

    fn read_here<T>(
        &self,
        name: &BoardName,
        read: impl FnOnce(&Connection, &Records<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.shared.closed.load(Relaxed) {
            return Err(Refusal::Closed.into());
        }
        // Before the transaction: see `Records::unindexed`.
        let board: Board = self.shared.heads().get(name).cloned().ok_or(Error::NoBoard)?;
        let db = match self.idle().pop() {
            Some(db) => db,
            None => connect_reader(&self.database).map_err(|error| Error::io(describe(&error)))?,
        };
        db.execute_batch("BEGIN").map_err(|error| Error::io(describe(&error)))?;
        let result = Records::of(&db, name, board).and_then(|records| read(&db, &records));
        // A connection that met an error is not used again.
        let ended = db.execute_batch("COMMIT");
        if ended.is_ok() && !matches!(result, Err(Error::Damaged { .. } | Error::Refused(Refusal::Io { .. }))) {
            self.idle().push(db);
        }
        result
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the reads that run, and lets no others begin.
    pub(super) async fn close(&self) {
        if let Ok(all) = self.permits.acquire_many(CONNECTIONS_MAX).await {
            self.permits.close();
            drop(all);
        }
        self.forget_connections();
    }

    pub(super) fn forget_connections(&self) {
        self.idle().clear();
    }
}

/// The snapshot and the tail of a board.
pub(super) fn load(db: &Connection, records: &Records<'_>) -> Result<Loaded, Error> {
    let snapshot = snapshot(db, records)?;
    let after = snapshot.as_ref().map_or(0, |snapshot| signed(snapshot.head.revision));
    let mut tail = Vec::new();
    records
        .ascending(after.saturating_add(1), &mut |record| {
            tail.push(record);
            std::ops::ControlFlow::Continue(())
        })
        .map(drop)?;
    let snapshot_head = snapshot.as_ref().map(|snapshot| snapshot.head);
    let head = tail.last().map(crate::NewRecord::head).or(snapshot_head);
    let newest = records.newest();
    match head {
        Some(head) if head == newest || head.revision > newest.revision => {
            Ok(Loaded { snapshot, tail, head, oldest: revision(records.oldest()) })
        }
        _ => Err(records.damaged(Some(signed(newest.revision)), "the newest record is not there")),
    }
}

/// Some chunks of the newest snapshot.
pub(super) fn snapshot_part(
    db: &Connection,
    records: &Records<'_>,
    first: usize,
    bytes_max: usize,
) -> Result<Option<SnapshotPart>, Error> {
    let Some(Stored { id, head, n_chunks }) = newest_snapshot(db, records)? else { return Ok(None) };
    let mut chunks = Vec::new();
    let mut bytes = 0_usize;
    for n in first..n_chunks {
        let found = records.sql(self::chunks(db, id, n..n + 1))?;
        let Some(chunk) = found.into_iter().next() else {
            return Err(records.damaged(Some(signed(head.revision)), "the snapshot is damaged"));
        };
        bytes = bytes.saturating_add(chunk.len());
        if !chunks.is_empty() && bytes > bytes_max {
            break;
        }
        chunks.push(chunk);
    }
    Ok(Some(SnapshotPart { head, n_chunks, chunks }))
}

fn snapshot(db: &Connection, records: &Records<'_>) -> Result<Option<Snapshot>, Error> {
    let Some(Stored { id, head, n_chunks }) = newest_snapshot(db, records)? else { return Ok(None) };
    let chunks = records.sql(chunks(db, id, 0..n_chunks))?;
    if chunks.len() != n_chunks {
        return Err(records.damaged(Some(signed(head.revision)), "the snapshot is damaged"));
    }
    Ok(Some(Snapshot { head, chunks }))
}

/// A snapshot as its row has it.
struct Stored {
    id: i64,
    head: Head,
    n_chunks: usize,
}

fn newest_snapshot(db: &Connection, records: &Records<'_>) -> Result<Option<Stored>, Error> {
    const NEWEST: &str = "SELECT id, revision, chain, n_chunks FROM snapshot WHERE board = ?1 AND complete = 1
        ORDER BY revision DESC LIMIT 1";
    let found: Option<(i64, i64, Vec<u8>, i64)> = records.sql(db.prepare_cached(NEWEST).and_then(|mut newest| {
        newest.query_row([records.id()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).optional()
    }))?;
    let Some((id, at, chain, n_chunks)) = found else { return Ok(None) };
    let damaged = || records.damaged(Some(at), "the snapshot is damaged");
    let chain: [u8; 16] = chain.try_into().map_err(|_| damaged())?;
    let n_chunks = usize::try_from(n_chunks).map_err(|_| damaged())?;
    Ok(Some(Stored { id, head: Head { revision: revision(at), chain: ChainHash(chain) }, n_chunks }))
}

fn chunks(db: &Connection, id: i64, numbers: Range<usize>) -> rusqlite::Result<Vec<Bytes>> {
    let mut select = db.prepare_cached("SELECT body FROM snapshot_chunk WHERE id >= ?1 AND id < ?2 ORDER BY id")?;
    let bounds = (chunk_id(id, numbers.start), chunk_id(id, numbers.end));
    select.query_map(bounds, |row| row.get::<_, Vec<u8>>(0).map(Bytes::from))?.collect()
}
