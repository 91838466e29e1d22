//! A journal in memory: the same behaviour as on disk, and gone with the process.
//!
//! Invariant: every call is one step under one lock, so what it answers was true at one moment.
//! Not known here: durability.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use futures::stream::{BoxStream, StreamExt};
use kokuban_core::ids::{BoardName, Revision};

use crate::journal::{Caps, Durability, Health, Journal, ReadLimit, Stats, Wake};
use crate::outcome::{Error, Outcome, Refusal, Resolved};
use crate::record::{Append, BoardInfo, CommitId, Head, Loaded, Record, Rewrite, Snapshot, SnapshotPart};

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    boards: BTreeMap<BoardName, Board>,
    stats: Stats,
    closed: bool,
}

/// `records` is never empty and ascends.
#[derive(Debug)]
struct Board {
    records: Vec<Record>,
    snapshot: Option<Snapshot>,
}

const CAPS: Caps = Caps {
    durability: Durability::Memory,
    record_bytes_max: 16 * 1024 * 1024,
    chunk_bytes_max: 1024 * 1024,
    base: Revision::ZERO,
};

impl Memory {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock can panic half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One step on an existing board.
    fn on_board<T: Send + 'static>(
        &self,
        board: &BoardName,
        step: impl FnOnce(&mut Board, &mut Stats) -> Result<T, Error>,
    ) -> BoxFuture<'static, Result<T, Error>> {
        let mut state = self.state();
        let State { boards, stats, closed } = &mut *state;
        let result = if *closed {
            Err(Error::Refused(Refusal::Closed))
        } else {
            boards.get_mut(board).ok_or(Error::NoBoard).and_then(|found| step(found, stats))
        };
        ready(result).boxed()
    }
}

impl State {
    fn append(&mut self, item: Append) -> Outcome {
        if self.closed {
            return Outcome::Refused(Refusal::Closed);
        }
        if let Some(reason) = item.malformed() {
            return Outcome::Refused(Refusal::Malformed { reason });
        }
        if let Some(large) = item.commits.iter().map(|commit| commit.body.len()).find(|n| *n > CAPS.record_bytes_max) {
            return Outcome::Refused(Refusal::TooLarge { bytes: large, max: CAPS.record_bytes_max });
        }
        let head = self.boards.get(&item.board).map(Board::head);
        if head != item.expected {
            return Outcome::Conflict(head);
        }
        self.stats.commits += count(item.commits.len());
        self.stats.body_bytes += count(item.body_bytes());
        let board = self.boards.entry(item.board).or_insert_with(|| Board { records: Vec::new(), snapshot: None });
        board.records.extend(item.commits);
        Outcome::Appended(board.head())
    }
}

impl Board {
    fn newest(&self) -> &Record {
        self.records.last().expect("a board is made with its first record and keeps its newest")
    }

    fn head(&self) -> Head {
        self.newest().head()
    }

    fn oldest(&self) -> Revision {
        self.records.first().map_or(Revision::ZERO, |record| record.revision)
    }

    /// Index of the first record after `revision`.
    fn after(&self, revision: Revision) -> usize {
        self.records.partition_point(|record| record.revision <= revision)
    }

    fn find(&mut self, revision: Revision) -> Option<&mut Record> {
        let at = self.records.binary_search_by_key(&revision, |record| record.revision).ok()?;
        self.records.get_mut(at)
    }

    fn info(&self, board: &BoardName) -> BoardInfo {
        let newest = self.newest();
        BoardInfo {
            board: board.clone(),
            head: newest.head(),
            oldest: self.oldest(),
            snapshot: self.snapshot.as_ref().map(|snapshot| snapshot.head.revision),
            deadline: newest.deadline,
            board_time: newest.board_time,
            at: newest.at,
        }
    }

    fn put_snapshot(&mut self, snapshot: Snapshot) -> Result<(), Error> {
        check_chunks(&snapshot, CAPS.chunk_bytes_max)?;
        if self.snapshot.as_ref().is_some_and(|stored| stored.head.revision >= snapshot.head.revision) {
            return Ok(());
        }
        let revision = snapshot.head.revision;
        let stored = self.find(revision).map(|record| record.chain);
        if stored != Some(snapshot.head.chain) {
            return Err(Error::ChainDiffers { revision });
        }
        self.snapshot = Some(snapshot);
        Ok(())
    }

    fn prune(&mut self, below: Revision) -> u64 {
        let Some(snapshot) = &self.snapshot else { return 0 };
        let kept = self.head().revision.min(snapshot.head.revision.next());
        let end = self.records.partition_point(|record| record.revision < below.min(kept));
        self.records.drain(..end);
        count(end)
    }
}

/// Refuses a chunk that no implementation has to take.
pub(crate) fn check_chunks(snapshot: &Snapshot, max: usize) -> Result<(), Refusal> {
    match snapshot.chunks.iter().map(bytes::Bytes::len).find(|bytes| *bytes > max) {
        Some(bytes) => Err(Refusal::TooLarge { bytes, max }),
        None => Ok(()),
    }
}

pub(crate) fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Takes records until the limit, at least one.
pub(crate) fn limited<'a>(records: impl Iterator<Item = &'a Record>, limit: ReadLimit) -> Vec<Record> {
    let mut bytes = 0_usize;
    let fits = |record: &&Record| {
        let first = bytes == 0;
        bytes = bytes.saturating_add(record.body.len().max(1));
        first || bytes <= limit.body_bytes
    };
    records.take(limit.records).take_while(fits).cloned().collect()
}

impl Journal for Memory {
    fn append(&self, group: Vec<Append>) -> BoxFuture<'static, Vec<Outcome>> {
        let mut state = self.state();
        state.stats.groups += 1;
        let outcomes: Vec<Outcome> = group.into_iter().map(|item| state.append(item)).collect();
        ready(outcomes).boxed()
    }

    fn resolve(
        &self,
        board: BoardName,
        expected: Option<Head>,
        commit_id: CommitId,
    ) -> BoxFuture<'static, Result<Resolved, Error>> {
        let state = self.state();
        if state.closed {
            return ready(Err(Error::Refused(Refusal::Closed))).boxed();
        }
        let after = expected.map_or(Revision::ZERO, |head| head.revision);
        let resolved = state.boards.get(&board).map(|board| {
            let landed = board.records[board.after(after)..].iter().find(|record| record.commit_id == commit_id);
            (landed.map(Record::head), board.head())
        });
        ready(Ok(match resolved {
            Some((Some(head), _)) => Resolved::Appended(head),
            Some((None, head)) if Some(head) != expected => Resolved::Conflict(head),
            Some(_) | None => Resolved::Absent,
        }))
        .boxed()
    }

    fn load(&self, board: BoardName) -> BoxFuture<'static, Result<Option<Loaded>, Error>> {
        let loaded = self.on_board(&board, |board, _| {
            let after = board.snapshot.as_ref().map_or(Revision::ZERO, |snapshot| snapshot.head.revision);
            Ok(Some(Loaded {
                snapshot: board.snapshot.clone(),
                tail: board.records[board.after(after)..].to_vec(),
                head: board.head(),
                oldest: board.oldest(),
            }))
        });
        loaded.map(absent_is_none).boxed()
    }

    fn read_snapshot(
        &self,
        board: BoardName,
        first: usize,
        bytes_max: usize,
    ) -> BoxFuture<'static, Result<Option<SnapshotPart>, Error>> {
        self.on_board(&board, move |board, _| {
            Ok(board.snapshot.as_ref().map(|snapshot| part(snapshot, first, bytes_max)))
        })
    }

    fn read(
        &self,
        board: BoardName,
        after: Revision,
        limit: ReadLimit,
    ) -> BoxFuture<'static, Result<Vec<Record>, Error>> {
        self.on_board(&board, |board, _| Ok(limited(board.records[board.after(after)..].iter(), limit)))
    }

    fn read_back(
        &self,
        board: BoardName,
        before: Revision,
        limit: ReadLimit,
    ) -> BoxFuture<'static, Result<Vec<Record>, Error>> {
        self.on_board(&board, |board, _| {
            let end = board.records.partition_point(|record| record.revision < before);
            Ok(limited(board.records[..end].iter().rev(), limit))
        })
    }

    fn info(&self, board: BoardName) -> BoxFuture<'static, Result<Option<BoardInfo>, Error>> {
        self.on_board(&board.clone(), |found, _| Ok(Some(found.info(&board)))).map(absent_is_none).boxed()
    }

    fn list(&self, after: Option<BoardName>, limit: usize) -> BoxFuture<'static, Result<Vec<BoardInfo>, Error>> {
        let state = self.state();
        if state.closed {
            return ready(Err(Error::Refused(Refusal::Closed))).boxed();
        }
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let boards = state.boards.range((from, Bound::Unbounded)).take(limit).map(|(name, board)| board.info(name));
        ready(Ok(boards.collect())).boxed()
    }

    fn put_snapshot(&self, board: BoardName, snapshot: Snapshot) -> BoxFuture<'static, Result<(), Error>> {
        self.on_board(&board, |board, stats| {
            stats.snapshots += 1;
            board.put_snapshot(snapshot)
        })
    }

    fn prune(&self, board: BoardName, below: Revision) -> BoxFuture<'static, Result<u64, Error>> {
        self.on_board(&board, |board, _| Ok(board.prune(below)))
    }

    fn rewrite(&self, board: BoardName, rewrites: Vec<Rewrite>) -> BoxFuture<'static, Result<(), Error>> {
        self.on_board(&board, |board, _| {
            for Rewrite { revision, chain, body } in rewrites {
                match board.find(revision) {
                    Some(record) if record.chain == chain => record.body = body,
                    Some(_) | None => return Err(Error::ChainDiffers { revision }),
                }
            }
            Ok(())
        })
    }

    fn wakes(&self) -> BoxStream<'static, Wake> {
        futures::stream::pending().boxed()
    }

    fn caps(&self) -> Caps {
        CAPS
    }

    fn health(&self) -> Health {
        Health { writable: !self.state().closed, last_error: None }
    }

    fn stats(&self) -> Stats {
        let state = self.state();
        Stats { boards: count(state.boards.len()), ..state.stats }
    }

    fn close(&self) -> BoxFuture<'static, Result<(), Error>> {
        self.state().closed = true;
        ready(Ok(())).boxed()
    }
}

fn part(snapshot: &Snapshot, first: usize, bytes_max: usize) -> SnapshotPart {
    let mut bytes = 0_usize;
    let fits = |chunk: &&Bytes| {
        let first = bytes == 0;
        bytes = bytes.saturating_add(chunk.len().max(1));
        first || bytes <= bytes_max
    };
    let chunks = snapshot.chunks.iter().skip(first).take_while(fits).cloned().collect();
    SnapshotPart { head: snapshot.head, n_chunks: snapshot.chunks.len(), chunks }
}

fn absent_is_none<T>(result: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
    match result {
        Err(Error::NoBoard) => Ok(None),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;
    use crate::conformance::Subject;

    crate::journal_conformance!(Subject::volatile(Memory::new()));
}
