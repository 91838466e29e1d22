//! The journal in one SQLite file.
//!
//! One append-only table in order of arrival, one thread that writes it, one transaction and one sync for all groups
//! that wait; readers and checkpoints have their own connections.
//! Invariants: an append is answered after its sync; the data directory belongs to one journal at a time; SQLite
//! opens the log only after [`wal`] has looked through it.
//! Start at [`Sqlite::open`]; the writer is in `writer`, the tables in `migrations/sqlite`.

mod checkpoint;
mod dir;
mod group;
mod heads;
mod index;
mod load;
mod log;
mod open;
mod places;
mod reader;
mod rebuild;
mod records;
mod row;
#[cfg(test)]
mod sabotage;
mod schema;
mod shared;
#[cfg(test)]
mod tests;
mod transaction;
mod upkeep;
mod wal;
mod writer;

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use futures::stream::{BoxStream, StreamExt};
use kokuban_core::ids::{BoardName, Revision};
use tokio::sync::{Semaphore, TryAcquireError, oneshot};

use crate::journal::{Caps, Durability, Health, Journal, ReadLimit, Stats, Wake};
use crate::memory::check_chunks;
use crate::outcome::{Error, Outcome, Refusal, Resolved};
use crate::record::{Append, BoardInfo, CommitId, Head, Loaded, Record, Rewrite, Snapshot, SnapshotPart};

use heads::signed;
use reader::Readers;
use records::Collected;
use shared::Shared;
use upkeep::{PutSnapshot, Task, Work};
use writer::{GroupJob, Job};

pub use dir::DATABASE;
pub use open::{Options, Salvage};
pub use rebuild::Rebuild;

/// Room of the queue before the writer, in KiB of bodies; each group takes at least one.
const QUEUE_KIB: u32 = 64 * 1024;
/// Tasks of upkeep that may wait.
const UPKEEP_MAX: usize = 16;
const CHUNK_BYTES_MAX: usize = 1024 * 1024;

/// See the module. Clones share the journal; the last one that goes closes it.
#[derive(Clone)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

struct Inner {
    base: Revision,
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    jobs: Mutex<Option<Sender<Job>>>,
    room: Arc<Semaphore>,
    upkeep: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
    #[cfg(test)]
    sabotage: Arc<sabotage::Sabotage>,
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite").finish_non_exhaustive()
    }
}

impl Inner {
    /// Whether the writer took the job.
    fn took(&self, job: Job) -> bool {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok())
    }

    fn join(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the writer was reported where it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.readers.forget_connections();
        self.jobs.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.join();
    }
}

impl Sqlite {
    fn handed_over(
        &self,
        items: Vec<Append>,
        permit: tokio::sync::OwnedSemaphorePermit,
    ) -> BoxFuture<'static, Vec<Outcome>> {
        let n = items.len();
        let (reply, answer) = oneshot::channel();
        if !self.inner.took(Job::Append(GroupJob { items, reply, permit })) {
            return closed(n);
        }
        // No answer: the writer went away with the group in its hands.
        answer.map(move |outcomes| outcomes.unwrap_or_else(|_| all(n, &Outcome::Unknown))).boxed()
    }

    fn task(&self, work: Work) -> BoxFuture<'static, Result<u64, Error>> {
        let inner = self.inner.clone();
        async move {
            let permit = inner.upkeep.clone().acquire_owned().await.map_err(|_| Refusal::Closed)?;
            let (reply, answer) = oneshot::channel();
            let task = Task { work, reply: Some(reply), permit: Some(permit) };
            if !inner.took(Job::Upkeep(task)) {
                return Err(Refusal::Closed.into());
            }
            drop(inner);
            answer.await.unwrap_or_else(|_| Err(Refusal::Closed.into()))
        }
        .boxed()
    }

    fn open_info(&self, board: &BoardName) -> Result<Option<BoardInfo>, Error> {
        if self.inner.shared.closed.load(Relaxed) {
            return Err(Refusal::Closed.into());
        }
        Ok(self.inner.shared.heads().get(board).map(|found| found.info(board)))
    }
}

fn all(n: usize, outcome: &Outcome) -> Vec<Outcome> {
    vec![outcome.clone(); n]
}

fn closed(n: usize) -> BoxFuture<'static, Vec<Outcome>> {
    ready(all(n, &Outcome::Refused(Refusal::Closed))).boxed()
}

/// What a group takes of the queue's room.
fn room(items: &[Append]) -> u32 {
    let bytes: usize = items.iter().map(Append::body_bytes).sum();
    u32::try_from(bytes / 1024 + 1).unwrap_or(QUEUE_KIB).min(QUEUE_KIB)
}

impl Journal for Sqlite {
    fn append(&self, group: Vec<Append>) -> BoxFuture<'static, Vec<Outcome>> {
        let room = room(&group);
        match self.inner.room.clone().try_acquire_many_owned(room) {
            Ok(permit) => self.handed_over(group, permit),
            Err(TryAcquireError::Closed) => closed(group.len()),
            Err(TryAcquireError::NoPermits) => {
                let journal = self.clone();
                let waits = async move {
                    match journal.inner.room.clone().acquire_many_owned(room).await {
                        Ok(permit) => journal.handed_over(group, permit).await,
                        Err(_) => closed(group.len()).await,
                    }
                };
                waits.boxed()
            }
        }
    }

    fn resolve(
        &self,
        board: BoardName,
        expected: Option<Head>,
        commit_id: CommitId,
    ) -> BoxFuture<'static, Result<Resolved, Error>> {
        let inner = self.inner.clone();
        async move {
            let (reply, settled) = oneshot::channel();
            if !inner.took(Job::Settle(reply)) {
                return Err(Refusal::Closed.into());
            }
            settled.await.unwrap_or_else(|_| Err(Refusal::Closed.into()))?;
            let after = expected.map_or(0, |head| signed(head.revision));
            let find = inner.readers.read(board, move |_, records| {
                let (mut landed, mut newest) = (None, records.newest());
                let mut visit = |record: Record| {
                    newest = record.head();
                    landed = (record.commit_id == commit_id).then_some(newest);
                    if landed.is_some() {
                        std::ops::ControlFlow::Break(())
                    } else {
                        std::ops::ControlFlow::Continue(())
                    }
                };
                records.ascending(after.saturating_add(1), &mut visit).map(drop)?;
                Ok(match landed {
                    Some(head) => Resolved::Appended(head),
                    None if Some(newest) != expected => Resolved::Conflict(newest),
                    None => Resolved::Absent,
                })
            });
            match find.await {
                Err(Error::NoBoard) => Ok(Resolved::Absent),
                other => other,
            }
        }
        .boxed()
    }

    fn load(&self, board: BoardName) -> BoxFuture<'static, Result<Option<Loaded>, Error>> {
        let loaded = self.inner.readers.read(board, reader::load);
        loaded
            .map(|loaded| match loaded {
                Ok(loaded) => Ok(Some(loaded)),
                Err(Error::NoBoard) => Ok(None),
                Err(error) => Err(error),
            })
            .boxed()
    }

    fn read_snapshot(
        &self,
        board: BoardName,
        first: usize,
        bytes_max: usize,
    ) -> BoxFuture<'static, Result<Option<SnapshotPart>, Error>> {
        self.inner.readers.read(board, move |db, records| reader::snapshot_part(db, records, first, bytes_max))
    }

    fn read(
        &self,
        board: BoardName,
        after: Revision,
        limit: ReadLimit,
    ) -> BoxFuture<'static, Result<Vec<Record>, Error>> {
        self.inner.readers.read(board, move |_, records| {
            let mut collected = Collected::until(limit);
            records.ascending(signed(after).saturating_add(1), &mut |record| collected.take(record)).map(drop)?;
            Ok(collected.records)
        })
    }

    fn read_back(
        &self,
        board: BoardName,
        before: Revision,
        limit: ReadLimit,
    ) -> BoxFuture<'static, Result<Vec<Record>, Error>> {
        self.inner.readers.read(board, move |_, records| {
            let mut collected = Collected::until(limit);
            records.descending(signed(before), &mut |record| collected.take(record))?;
            Ok(collected.records)
        })
    }

    fn info(&self, board: BoardName) -> BoxFuture<'static, Result<Option<BoardInfo>, Error>> {
        ready(self.open_info(&board)).boxed()
    }

    fn list(&self, after: Option<BoardName>, limit: usize) -> BoxFuture<'static, Result<Vec<BoardInfo>, Error>> {
        if self.inner.shared.closed.load(Relaxed) {
            return ready(Err(Refusal::Closed.into())).boxed();
        }
        ready(Ok(self.inner.shared.heads().list(after.as_ref(), limit))).boxed()
    }

    fn put_snapshot(&self, board: BoardName, snapshot: Snapshot) -> BoxFuture<'static, Result<(), Error>> {
        if let Err(refusal) = check_chunks(&snapshot, CHUNK_BYTES_MAX) {
            return ready(Err(refusal.into())).boxed();
        }
        self.task(Work::Snapshot(PutSnapshot::new(board, snapshot))).map(|done| done.map(drop)).boxed()
    }

    fn prune(&self, board: BoardName, below: Revision) -> BoxFuture<'static, Result<u64, Error>> {
        self.task(Work::Prune { board, below, n_pruned: 0 })
    }

    fn rewrite(&self, board: BoardName, rewrites: Vec<Rewrite>) -> BoxFuture<'static, Result<(), Error>> {
        if let Err(error) = upkeep::check_rewrites(&rewrites) {
            return ready(Err(error)).boxed();
        }
        self.task(Work::Rewrite { board, rewrites, done: 0 }).map(|done| done.map(drop)).boxed()
    }

    fn wakes(&self) -> BoxStream<'static, Wake> {
        // Nobody else can write: the directory is locked.
        futures::stream::pending().boxed()
    }

    fn caps(&self) -> Caps {
        Caps {
            durability: Durability::Synced,
            record_bytes_max: row::RECORD_BYTES_MAX,
            chunk_bytes_max: CHUNK_BYTES_MAX,
            base: self.inner.base,
        }
    }

    fn health(&self) -> Health {
        self.inner.shared.health()
    }

    fn stats(&self) -> Stats {
        self.inner.shared.stats()
    }

    fn close(&self) -> BoxFuture<'static, Result<(), Error>> {
        let inner = self.inner.clone();
        async move {
            inner.readers.close().await;
            let (reply, answer) = oneshot::channel();
            if !inner.took(Job::Close(reply)) {
                return Ok(());
            }
            let result = answer.await.unwrap_or(Ok(()));
            // The lock of the directory goes with the thread.
            let _ = tokio::task::spawn_blocking(move || inner.join()).await;
            result
        }
        .boxed()
    }
}
