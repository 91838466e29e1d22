//! Rows of the table `journal` and records, both ways.
//!
//! Invariant: what does not have the form a record was written in is an error that says so, never a panic.
//! Not known here: which rows are wanted.

use bytes::Bytes;
use kokuban_core::ids::{BoardTime, ChainHash, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Row};

use super::heads::{revision, signed};
use crate::outcome::Refusal;
use crate::record::{Append, CommitId, NewRecord, Record};

/// Largest body of one record.
pub(super) const RECORD_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(super) const INSERT: &str = "INSERT INTO journal \
    (seq, board, revision, chain, commit_id, at, board_time, deadline, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// All columns, in the order [`Stored::read`] takes them.
pub(super) const COLUMNS: &str = "seq, board, revision, chain, commit_id, at, board_time, deadline, body";

/// What no record may exceed, looked at before anything is written.
pub(super) fn check(item: &Append) -> Result<(), Refusal> {
    if let Some(reason) = item.malformed() {
        return Err(Refusal::Malformed { reason });
    }
    for commit in &item.commits {
        let bytes = commit.body.len();
        if bytes > RECORD_BYTES_MAX {
            return Err(Refusal::TooLarge { bytes, max: RECORD_BYTES_MAX });
        }
    }
    Ok(())
}

pub(super) fn insert(
    statement: &mut CachedStatement<'_>,
    seq: i64,
    board: i64,
    record: &NewRecord,
) -> rusqlite::Result<()> {
    statement.execute((
        seq,
        board,
        signed(record.revision),
        record.chain.0.as_slice(),
        record.commit_id.0.as_slice(),
        record.at.0,
        time(record.board_time),
        record.deadline.map(time),
        &record.body[..],
    ))?;
    Ok(())
}

pub(super) fn time(time: BoardTime) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

/// A row that has the form of a record.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) seq: i64,
    pub(super) board: i64,
    pub(super) record: Record,
}

impl Stored {
    /// The outer error comes from SQLite, the inner one names the member that has not the right form.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Result<Self, &'static str>> {
        let (seq, board) = (row.get(0)?, row.get(1)?);
        Ok(Self::record(row).map(|record| Self { seq, board, record }))
    }

    fn record(row: &Row<'_>) -> Result<Record, &'static str> {
        Ok(Record {
            revision: revision(integer(row, 2).ok_or("revision")?),
            chain: ChainHash(blob(row, 3).and_then(|blob| blob.try_into().ok()).ok_or("chain")?),
            commit_id: CommitId(blob(row, 4).and_then(|blob| blob.try_into().ok()).ok_or("commit id")?),
            at: Timestamp(integer(row, 5).ok_or("time")?),
            board_time: board_time(row, 6).ok_or("board time")?,
            deadline: if is_null(row, 7) { None } else { Some(board_time(row, 7).ok_or("deadline")?) },
            body: Bytes::copy_from_slice(blob(row, 8).ok_or("body")?),
        })
    }
}

pub(super) fn integer(row: &Row<'_>, column: usize) -> Option<i64> {
    row.get_ref(column).ok()?.as_i64().ok()
}

pub(super) fn blob<'a>(row: &'a Row<'_>, column: usize) -> Option<&'a [u8]> {
    row.get_ref(column).ok()?.as_blob().ok()
}

pub(super) fn board_time(row: &Row<'_>, column: usize) -> Option<BoardTime> {
    integer(row, column).and_then(|ms| u64::try_from(ms).ok()).map(BoardTime)
}

pub(super) fn is_null(row: &Row<'_>, column: usize) -> bool {
    matches!(row.get_ref(column), Ok(ValueRef::Null))
}
