//! The newest record of every board, in memory: against it appends are judged, from it boards are listed.
//!
//! Invariant: nothing is in here that is not durable. Only the writer thread changes it, after a commit.
//! Cost: about 200 bytes per board that was ever written, and 24 bytes per record that is not indexed yet, of which
//! upkeep leaves a bounded number.
//! Not known here: tables, threads.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use kokuban_core::ids::{BoardName, BoardTime, Revision, Timestamp};

use super::places::{self, Stretch};
use crate::record::{BoardInfo, Head, NewRecord};

#[derive(Debug, Default)]
pub(super) struct Heads {
    boards: BTreeMap<BoardName, Board>,
    /// Boards with records that are in no run yet.
    unindexed: BTreeSet<BoardName>,
    n_unindexed: usize,
    /// The newest place and board id in use.
    pub(super) last_seq: i64,
    pub(super) last_board: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Board {
    pub(super) id: i64,
    pub(super) newest: Newest,
    pub(super) oldest: i64,
    /// The revision of the newest complete snapshot.
    pub(super) snapshot: Option<i64>,
    /// Places of records that no run in the database has yet.
    pub(super) unindexed: Vec<Stretch>,
    /// What is wrong with its records; then nothing is appended or read.
    pub(super) damage: Option<String>,
}

/// What is kept of the newest record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Newest {
    pub(super) head: Head,
    pub(super) at: Timestamp,
    pub(super) board_time: BoardTime,
    pub(super) deadline: Option<BoardTime>,
}

impl From<&NewRecord> for Newest {
    fn from(record: &NewRecord) -> Self {
        Self { head: record.head(), at: record.at, board_time: record.board_time, deadline: record.deadline }
    }
}

/// A board's records that still have to be indexed, and what the board's row says afterwards.
#[derive(Debug)]
pub(super) struct Unindexed {
    pub(super) id: i64,
    pub(super) newest: Newest,
    pub(super) oldest: i64,
    pub(super) stretches: Vec<Stretch>,
}

impl Heads {
    pub(super) fn get(&self, board: &BoardName) -> Option<&Board> {
        self.boards.get(board)
    }

    pub(super) fn get_mut(&mut self, board: &BoardName) -> Option<&mut Board> {
        self.boards.get_mut(board)
    }

    pub(super) fn len(&self) -> usize {
        self.boards.len()
    }

    pub(super) fn n_unindexed(&self) -> usize {
        self.n_unindexed
    }

    /// A board as its row in the database has it.
    pub(super) fn put(&mut self, name: BoardName, board: Board) {
        self.last_board = self.last_board.max(board.id);
        self.boards.insert(name, board);
    }

    /// A record that is durable now, at the place `seq`.
    pub(super) fn appended(&mut self, name: &BoardName, id: i64, newest: Newest, seq: i64) {
        let revision = signed(newest.head.revision);
        self.last_seq = self.last_seq.max(seq);
        self.last_board = self.last_board.max(id);
        self.n_unindexed += 1;
        let board = match self.boards.get_mut(name) {
            Some(board) => board,
            None => self.boards.entry(name.clone()).or_insert_with(|| Board::new(id, newest)),
        };
        if board.unindexed.is_empty() {
            self.unindexed.insert(name.clone());
        }
        board.newest = newest;
        places::push(&mut board.unindexed, revision, seq);
    }

    /// Boards with records to index, by name.
    pub(super) fn to_index(&self) -> Vec<BoardName> {
        self.unindexed.iter().cloned().collect()
    }

    pub(super) fn unindexed(&self, name: &BoardName) -> Option<Unindexed> {
        let board = self.boards.get(name).filter(|board| !board.unindexed.is_empty())?;
        let Board { id, newest, oldest, .. } = *board;
        Some(Unindexed { id, newest, oldest, stretches: board.unindexed.clone() })
    }

    /// The database has the runs of these now. Only the writer thread appends, so none were added since.
    pub(super) fn indexed(&mut self, name: &BoardName) {
        let Some(board) = self.boards.get_mut(name) else { return };
        let n: i64 = board.unindexed.drain(..).map(|stretch| stretch.n).sum();
        board.unindexed.shrink_to_fit();
        self.n_unindexed = self.n_unindexed.saturating_sub(usize::try_from(n).unwrap_or(usize::MAX));
        self.unindexed.remove(name);
    }

    pub(super) fn list(&self, after: Option<&BoardName>, limit: usize) -> Vec<BoardInfo> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.boards
            .range::<BoardName, _>((from, Bound::Unbounded))
            .take(limit)
            .map(|(name, board)| board.info(name))
            .collect()
    }
}

impl Board {
    fn new(id: i64, newest: Newest) -> Self {
        let oldest = signed(newest.head.revision);
        Self { id, newest, oldest, snapshot: None, unindexed: Vec::new(), damage: None }
    }

    pub(super) fn info(&self, name: &BoardName) -> BoardInfo {
        let Newest { head, at, board_time, deadline } = self.newest;
        BoardInfo {
            board: name.clone(),
            head,
            oldest: revision(self.oldest),
            snapshot: self.snapshot.map(revision),
            deadline,
            board_time,
            at,
        }
    }
}

/// SQLite's integers are signed. Larger revisions are refused when they come in.
pub(super) fn signed(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

pub(super) fn revision(signed: i64) -> Revision {
    Revision(u64::try_from(signed).unwrap_or(0))
}
