//! Work that may take long, in steps that do not: indexing, snapshots, pruning, rewriting.
//!
//! Invariant: each step is a transaction of bounded size, so an append waits for one step at most; a task cut short
//! leaves what any reader and the next start understand.
//! Not known here: when a step is due.

use std::ops::Range;

use kokuban_core::ids::{BoardName, Revision};
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::heads::{Board, signed};
use super::index::{self, Indexing};
use super::places::{Run, Stretch};
use super::records::Records;
use super::row::RECORD_BYTES_MAX;
use super::shared::Shared;
use super::transaction::{Failure, commit, transact};
use crate::memory::count;
use crate::outcome::{Error, Refusal};
use crate::record::{Rewrite, Snapshot};

/// Bytes that one step writes, about.
const STEP_BYTES: usize = 256 * 1024;
/// Records that one step deletes or rewrites at most.
const STEP_RECORDS: i64 = 512;
/// Chunks of a snapshot at most: the id of a chunk has twenty bits for its number.
const CHUNKS_MAX: usize = 1 << 20;

/// A task, and whom to tell.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) work: Work,
    pub(super) reply: Option<oneshot::Sender<Result<u64, Error>>>,
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
pub(super) enum Work {
    Index(Indexing),
    Snapshot(PutSnapshot),
    Prune { board: BoardName, below: Revision, n_pruned: u64 },
    Rewrite { board: BoardName, rewrites: Vec<Rewrite>, done: usize },
    DropSnapshot(DropSnapshot),
}

/// How a step ended.
#[derive(Debug)]
pub(super) enum Step {
    More,
    Done(u64),
}

/// Why a task ends early.
#[derive(Debug)]
pub(super) enum Stop {
    Refused(Error),
    Failed(Failure),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Work {
    pub(super) fn step(&mut self, db: &Connection, shared: &Shared) -> Result<Step, Stop> {
        match self {
            Self::Index(indexing) => Ok(if indexing.step(db, shared)? { Step::More } else { Step::Done(0) }),
            Self::Snapshot(put) => put.step(db, shared),
            Self::Prune { board, below, n_pruned } => prune(db, shared, board, *below, n_pruned),
            Self::Rewrite { board, rewrites, done } => rewrite(db, shared, board, rewrites, done),
            Self::DropSnapshot(dropping) => dropping.step(db),
        }
    }

    /// Work that is left over when this is done.
    pub(super) fn then(&mut self) -> Option<Self> {
        match self {
            Self::Snapshot(put) => put.replaced.pop().map(Self::DropSnapshot),
            Self::DropSnapshot(dropping) => dropping.others.pop().map(|(id, n_chunks)| {
                let others = std::mem::take(&mut dropping.others);
                Self::DropSnapshot(DropSnapshot { id, next: 0, n_chunks, others })
            }),
            _ => None,
        }
    }
}

fn known(shared: &Shared, board: &BoardName) -> Result<Board, Error> {
    shared.heads().get(board).cloned().ok_or(Error::NoBoard)
}

/// A snapshot on its way into the database: its row, its chunks, then the mark that it is complete.
#[derive(Debug)]
pub(super) struct PutSnapshot {
    board: BoardName,
    snapshot: Snapshot,
    stage: Stage,
    replaced: Vec<DropSnapshot>,
}

#[derive(Debug)]
enum Stage {
    Begin,
    Chunks { id: i64, next: usize },
}

impl PutSnapshot {
    pub(super) fn new(board: BoardName, snapshot: Snapshot) -> Self {
        Self { board, snapshot, stage: Stage::Begin, replaced: Vec::new() }
    }

    fn step(&mut self, db: &Connection, shared: &Shared) -> Result<Step, Stop> {
        match self.stage {
            Stage::Begin => self.begin(db, shared),
            Stage::Chunks { id, next } if next < self.snapshot.chunks.len() => self.chunks(db, id, next),
            Stage::Chunks { id, .. } => self.complete(db, shared, id),
        }
    }

    fn begin(&mut self, db: &Connection, shared: &Shared) -> Result<Step, Stop> {
        let n_chunks = self.snapshot.chunks.len();
        if n_chunks > CHUNKS_MAX {
            return Err(Error::Refused(Refusal::TooLarge { bytes: n_chunks, max: CHUNKS_MAX }).into());
        }
        let board = known(shared, &self.board)?;
        let at = signed(self.snapshot.head.revision);
        if board.snapshot.is_some_and(|stored| stored >= at) {
            return Ok(Step::Done(0));
        }
        let records = Records::of(db, &self.board, board)?;
        let mut stored = None;
        records
            .ascending(at, &mut |record| {
                stored = Some(record.head());
                std::ops::ControlFlow::Break(())
            })
            .map(drop)?;
        if stored != Some(self.snapshot.head) {
            return Err(Error::ChainDiffers { revision: self.snapshot.head.revision }.into());
        }
        let chain = self.snapshot.head.chain.0;
        let board = records.id();
        let n_chunks = i64::try_from(n_chunks).expect("at most 2^20");
        let id = transact(
            db,
            |db| {
                db.prepare_cached(
                    "INSERT INTO snapshot (board, revision, chain, n_chunks, complete) VALUES (?1, ?2, ?3, ?4, 0)",
                )?
                .execute((board, at, chain.as_slice(), n_chunks))?;
                Ok(db.last_insert_rowid())
            },
            commit,
        )?;
        self.stage = Stage::Chunks { id, next: 0 };
        Ok(Step::More)
    }

    fn chunks(&mut self, db: &Connection, id: i64, next: usize) -> Result<Step, Stop> {
        let mut bytes = 0;
        let rest = &self.snapshot.chunks[next..];
        let n = rest.iter().take_while(|chunk| {
            bytes += chunk.len();
            bytes <= STEP_BYTES
        });
        let n = n.count().max(1);
        transact(
            db,
            |db| {
                let mut insert =
                    db.prepare_cached("INSERT OR REPLACE INTO snapshot_chunk (id, body) VALUES (?1, ?2)")?;
                for (i, chunk) in rest[..n].iter().enumerate() {
                    insert.execute((chunk_id(id, next + i), &chunk[..]))?;
                }
                Ok(())
            },
            commit,
        )?;
        self.stage = Stage::Chunks { id, next: next + n };
        Ok(Step::More)
    }

    fn complete(&mut self, db: &Connection, shared: &Shared, id: i64) -> Result<Step, Stop> {
        let board = known(shared, &self.board)?.id;
        let replaced = transact(
            db,
            |db| {
                let mut select =
                    db.prepare_cached("SELECT id, n_chunks FROM snapshot WHERE board = ?1 AND complete = 1")?;
                let replaced: Vec<(i64, i64)> =
                    select.query_map([board], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
                db.prepare_cached("UPDATE snapshot SET complete = (id = ?2) WHERE board = ?1")?.execute((board, id))?;
                Ok(replaced)
            },
            commit,
        )?;
        let mut heads = shared.heads_mut();
        if let Some(found) = heads.get_mut(&self.board) {
            found.snapshot = Some(signed(self.snapshot.head.revision));
        }
        self.replaced = DropSnapshot::all(replaced).into_iter().collect();
        shared.counters.snapshots.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(Step::Done(0))
    }
}

pub(super) fn chunk_id(snapshot: i64, n: usize) -> i64 {
    snapshot.saturating_mul(1 << 20).saturating_add(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Deletes a snapshot that is not complete (any more).
#[derive(Debug)]
pub(super) struct DropSnapshot {
    id: i64,
    next: i64,
    n_chunks: i64,
    others: Vec<(i64, i64)>,
}

impl DropSnapshot {
    /// Of these ids and numbers of chunks.
    pub(super) fn all(mut snapshots: Vec<(i64, i64)>) -> Option<Self> {
        let (id, n_chunks) = snapshots.pop()?;
        Some(Self { id, next: 0, n_chunks, others: snapshots })
    }

    fn step(&mut self, db: &Connection) -> Result<Step, Stop> {
        // Chunks may be large, and every page of them is wiped.
        let end = self.n_chunks.min(self.next + 4);
        let id = self.id.saturating_mul(1 << 20);
        let done = end == self.n_chunks;
        transact(
            db,
            |db| {
                db.prepare_cached("DELETE FROM snapshot_chunk WHERE id >= ?1 AND id < ?2")?
                    .execute((id + self.next, id + end))?;
                if done {
                    db.prepare_cached("DELETE FROM snapshot WHERE id = ?1 AND complete = 0")?.execute([self.id])?;
                }
                Ok(())
            },
            commit,
        )?;
        self.next = end;
        Ok(if done { Step::Done(0) } else { Step::More })
    }
}

fn prune(
    db: &Connection,
    shared: &Shared,
    name: &BoardName,
    below: Revision,
    n_pruned: &mut u64,
) -> Result<Step, Stop> {
    let board = known(shared, name)?;
    let Some(snapshot) = board.snapshot else { return Ok(Step::Done(*n_pruned)) };
    let below = signed(below).min(signed(board.newest.head.revision)).min(snapshot.saturating_add(1));
    if below <= board.oldest {
        return Ok(Step::Done(*n_pruned));
    }
    if board.unindexed.first().is_some_and(|first| first.revision < below) {
        index::index(db, shared, std::slice::from_ref(name), None)?;
        return Ok(Step::More);
    }
    let records = Records::of(db, name, board)?;
    let Some(run) = records.first_run()? else { return Ok(Step::Done(*n_pruned)) };
    let stretches = records.unpack(&run)?;
    let end = run.revision.saturating_add(STEP_RECORDS).min(below);
    let gone: Vec<Stretch> = stretches.iter().filter_map(|stretch| stretch.clip(run.revision, end)).collect();
    let left: Vec<Stretch> = stretches.iter().filter_map(|stretch| stretch.clip(end, i64::MAX)).collect();
    let id = records.id();
    let oldest = transact(db, |db| delete(db, id, &run, &gone, &left, end), commit)?;
    if let Some(found) = shared.heads_mut().get_mut(name) {
        found.oldest = oldest;
    }
    *n_pruned += gone.iter().map(|stretch| u64::try_from(stretch.n).unwrap_or(0)).sum::<u64>();
    Ok(Step::More)
}

/// Deletes records at the beginning of the first run of a board. Answers the oldest revision that is left.
fn delete(
    db: &Connection,
    board: i64,
    run: &Run,
    gone: &[Stretch],
    left: &[Stretch],
    end: i64,
) -> rusqlite::Result<i64> {
    let mut delete = db.prepare_cached("DELETE FROM journal WHERE seq BETWEEN ?1 AND ?2 AND board = ?3")?;
    for stretch in gone {
        delete.execute((stretch.seq, stretch.seq + stretch.n - 1, board))?;
    }
    db.prepare_cached("DELETE FROM run WHERE board = ?1 AND revision = ?2")?.execute((board, run.revision))?;
    for Run { revision, n, places } in Run::pack(left) {
        db.prepare_cached("INSERT INTO run (board, revision, n, places) VALUES (?1, ?2, ?3, ?4)")?
            .execute((board, revision, n, places))?;
    }
    let oldest: Option<i64> =
        db.prepare_cached("SELECT min(revision) FROM run WHERE board = ?1")?.query_row([board], |row| row.get(0))?;
    let oldest = oldest.unwrap_or(end);
    db.prepare_cached("UPDATE board SET oldest = ?2 WHERE id = ?1")?.execute((board, oldest))?;
    Ok(oldest)
}

fn rewrite(
    db: &Connection,
    shared: &Shared,
    name: &BoardName,
    rewrites: &[Rewrite],
    done: &mut usize,
) -> Result<Step, Stop> {
    let records = Records::of(db, name, known(shared, name)?)?;
    let mut places = Vec::new();
    let part = part(&rewrites[*done..]);
    for rewrite in &rewrites[*done..][part.clone()] {
        places.push((records.place(signed(rewrite.revision))?, rewrite));
    }
    let id = records.id();
    let differs = transact(
        db,
        |db| {
            let mut update = db.prepare_cached(
                "UPDATE journal SET body = ?1 WHERE seq = ?2 AND board = ?3 AND revision = ?4 AND chain = ?5",
            )?;
            for (seq, Rewrite { revision, chain, body }) in &places {
                let row = (&body[..], seq, id, signed(*revision), chain.0.as_slice());
                if seq.is_none() || update.execute(row)? == 0 {
                    return Ok(Some(*revision));
                }
            }
            Ok(None)
        },
        commit,
    )?;
    if let Some(revision) = differs {
        return Err(Error::ChainDiffers { revision }.into());
    }
    *done += part.len();
    Ok(if *done == rewrites.len() { Step::Done(count(*done)) } else { Step::More })
}

/// As many as one step rewrites.
fn part(rewrites: &[Rewrite]) -> Range<usize> {
    let mut bytes = 0;
    let fits = rewrites.iter().take(64).take_while(|rewrite| {
        bytes += rewrite.body.len();
        bytes <= STEP_BYTES
    });
    0..fits.count().max(1).min(rewrites.len())
}

/// Refuses bodies that could not have been appended.
pub(super) fn check_rewrites(rewrites: &[Rewrite]) -> Result<(), Error> {
    match rewrites.iter().map(|rewrite| rewrite.body.len()).find(|bytes| *bytes > RECORD_BYTES_MAX) {
        Some(bytes) => Err(Error::Refused(Refusal::TooLarge { bytes, max: RECORD_BYTES_MAX })),
        None => Ok(()),
    }
}

/// Snapshots that a start finds half written or half deleted.
pub(super) fn leftover_snapshots(db: &Connection) -> rusqlite::Result<Option<DropSnapshot>> {
    let mut select = db.prepare("SELECT id, n_chunks FROM snapshot WHERE complete = 0")?;
    let found = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    Ok(DropSnapshot::all(found))
}
