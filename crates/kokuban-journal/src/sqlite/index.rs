//! Writes down where records are, so that a start need not read the whole journal.
//!
//! Invariant: a record is in a run of the database, or in memory and behind `meta.covered_seq`. Doing any part of it
//! twice changes nothing, so it may be cut short anywhere.
//! Not on the path of an append: the writer thread does it between groups, some boards at a time.

use kokuban_core::ids::BoardName;
use rusqlite::Connection;

use super::heads::{Unindexed, signed};
use super::places::Run;
use super::row;
use super::shared::Shared;
use super::transaction::{Failure, commit, transact};

/// Boards of one step.
const BOARDS_PER_STEP: usize = 128;

#[derive(Debug)]
pub(super) struct Indexing {
    boards: Vec<BoardName>,
    /// The newest place when it began: all up to it is in runs at the end.
    covers: i64,
}

impl Indexing {
    pub(super) fn begin(shared: &Shared) -> Self {
        let heads = shared.heads();
        Self { boards: heads.to_index(), covers: heads.last_seq }
    }

    /// Whether there is more to do.
    pub(super) fn step(&mut self, db: &Connection, shared: &Shared) -> Result<bool, Failure> {
        let first = self.boards.len().saturating_sub(BOARDS_PER_STEP);
        index(db, shared, &self.boards[first..], (first == 0).then_some(self.covers))?;
        self.boards.truncate(first);
        Ok(first > 0)
    }
}

/// Indexes the records of these boards, and says up to which place all are, if so.
pub(super) fn index(
    db: &Connection,
    shared: &Shared,
    boards: &[BoardName],
    covers: Option<i64>,
) -> Result<(), Failure> {
    let unindexed: Vec<Unindexed> = {
        let heads = shared.heads();
        boards.iter().filter_map(|board| heads.unindexed(board)).collect()
    };
    transact(
        db,
        |db| {
            unindexed.iter().try_for_each(|board| write(db, board))?;
            if let Some(covers) = covers {
                db.prepare_cached("UPDATE meta SET value = ?1 WHERE name = 'covered_seq'")?.execute([covers])?;
            }
            Ok(())
        },
        commit,
    )?;
    let mut heads = shared.heads_mut();
    boards.iter().for_each(|board| heads.indexed(board));
    Ok(())
}

fn write(db: &Connection, board: &Unindexed) -> rusqlite::Result<()> {
    let mut insert =
        db.prepare_cached("INSERT OR REPLACE INTO run (board, revision, n, places) VALUES (?1, ?2, ?3, ?4)")?;
    for Run { revision, n, places } in Run::pack(&board.stretches) {
        insert.execute((board.id, revision, n, places))?;
    }
    let newest = &board.newest;
    db.prepare_cached(
        "UPDATE board SET revision = ?2, chain = ?3, at = ?4, board_time = ?5, deadline = ?6, oldest = ?7
         WHERE id = ?1",
    )?
    .execute((
        board.id,
        signed(newest.head.revision),
        newest.head.chain.0.as_slice(),
        newest.at.0,
        row::time(newest.board_time),
        newest.deadline.map(row::time),
        board.oldest,
    ))
    .map(drop)
}
