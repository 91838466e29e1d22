//! Finds and reads the records of one board.
//!
//! Invariant: a record is given only if it is where the index says and belongs to that board and revision; a gap or
//! anything else in its place is damage of this board. All calls of one read belong into one read transaction.
//! Cost: the rows of a board lie where they arrived, so reading n records touches up to n pages.
//! Not known here: who reads, and how much is wanted.

use std::ops::ControlFlow::{self, Break, Continue};

use kokuban_core::ids::BoardName;
use rusqlite::{Connection, OptionalExtension};

use super::heads::{Board, revision, signed};
use super::places::{Run, Stretch};
use super::row::{self, Stored};
use super::transaction::describe;
use crate::journal::ReadLimit;
use crate::outcome::Error;
use crate::record::{Head, Record};

/// One board, as a connection sees it.
#[derive(Debug)]
pub(super) struct Records<'a> {
    db: &'a Connection,
    board: &'a BoardName,
    id: i64,
    oldest: i64,
    /// Copied before the transaction of the reader began: so what upkeep moves into runs meanwhile is seen twice, not
    /// never.
    unindexed: Vec<Stretch>,
    newest: Head,
}

impl<'a> Records<'a> {
    pub(super) fn of(db: &'a Connection, name: &'a BoardName, board: Board) -> Result<Self, Error> {
        let Board { id, newest, oldest, unindexed, damage, .. } = board;
        let mut records = Self { db, board: name, id, oldest, unindexed, newest: newest.head };
        if let Some(detail) = damage {
            return Err(records.damaged(None, detail));
        }
        let stored: Option<i64> =
            records.sql(db.prepare_cached("SELECT oldest FROM board WHERE id = ?1").and_then(|mut oldest| {
                oldest.query_row([id], |row| row.get::<_, Option<i64>>(0)).optional().map(Option::flatten)
            }))?;
        records.oldest = stored.unwrap_or(oldest);
        Ok(records)
    }

    pub(super) fn id(&self) -> i64 {
        self.id
    }

    pub(super) fn oldest(&self) -> i64 {
        self.oldest
    }

    pub(super) fn newest(&self) -> Head {
        self.newest
    }

    pub(super) fn damaged(&self, at: Option<i64>, detail: impl Into<String>) -> Error {
        Error::Damaged { board: self.board.clone(), revision: at.map(revision), detail: detail.into() }
    }

    /// An error of SQLite while reading this board.
    pub(super) fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                self.damaged(None, describe(&error))
            }
            None => self.damaged(None, describe(&error)),
            Some(_) => Error::io(describe(&error)),
        })
    }

    /// Visits records from `from` on, ascending.
    pub(super) fn ascending(
        &self,
        from: i64,
        visit: &mut dyn FnMut(Record) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let mut from = from.max(self.oldest);
        while let Some(run) = self.run_at_or_after(from)? {
            for stretch in self.unpack(&run)? {
                let Some(stretch) = stretch.clip(from, i64::MAX) else { continue };
                if self.stretch(stretch, Order::Ascending, visit)?.is_break() {
                    return Ok(Break(()));
                }
            }
            from = run.end();
        }
        for stretch in self.unindexed.iter().filter_map(|stretch| stretch.clip(from, i64::MAX)) {
            if self.stretch(stretch, Order::Ascending, visit)?.is_break() {
                return Ok(Break(()));
            }
        }
        Ok(Continue(()))
    }

    /// Visits records below `to`, descending.
    pub(super) fn descending(&self, to: i64, visit: &mut dyn FnMut(Record) -> ControlFlow<()>) -> Result<(), Error> {
        for stretch in self.unindexed.iter().rev().filter_map(|stretch| stretch.clip(self.oldest, to)) {
            if self.stretch(stretch, Order::Descending, visit)?.is_break() {
                return Ok(());
            }
        }
        let mut to = self.unindexed.first().map_or(to, |first| first.revision.min(to));
        while let Some(run) = self.run_before(to)? {
            for stretch in self.unpack(&run)?.into_iter().rev() {
                let Some(stretch) = stretch.clip(self.oldest, to) else { continue };
                if self.stretch(stretch, Order::Descending, visit)?.is_break() {
                    return Ok(());
                }
            }
            to = run.revision;
        }
        Ok(())
    }

    /// Where the record of a revision is.
    pub(super) fn place(&self, at: i64) -> Result<Option<i64>, Error> {
        let find = |stretches: &[Stretch]| stretches.iter().find_map(|stretch| stretch.clip(at, at + 1));
        if let Some(found) = find(&self.unindexed) {
            return Ok(Some(found.seq));
        }
        let Some(run) = self.run_before(at.saturating_add(1))? else { return Ok(None) };
        Ok(find(&self.unpack(&run)?).map(|found| found.seq))
    }

    /// The run that has the revision, or else the next one.
    fn run_at_or_after(&self, at: i64) -> Result<Option<Run>, Error> {
        match self.run_before(at.saturating_add(1))? {
            Some(run) if run.end() > at => Ok(Some(run)),
            Some(_) | None => self.run(
                "SELECT revision, n, places FROM run WHERE board = ?1 AND revision > ?2 ORDER BY revision LIMIT 1",
                at,
            ),
        }
    }

    /// The last run that begins before the revision.
    pub(super) fn run_before(&self, to: i64) -> Result<Option<Run>, Error> {
        self.run(
            "SELECT revision, n, places FROM run WHERE board = ?1 AND revision < ?2 ORDER BY revision DESC LIMIT 1",
            to,
        )
    }

    /// The first run there is.
    pub(super) fn first_run(&self) -> Result<Option<Run>, Error> {
        self.run(
            "SELECT revision, n, places FROM run WHERE board = ?1 AND revision > ?2 ORDER BY revision LIMIT 1",
            i64::MIN,
        )
    }

    fn run(&self, query: &str, at: i64) -> Result<Option<Run>, Error> {
        self.sql(self.db.prepare_cached(query).and_then(|mut query| {
            query
                .query_row((self.id, at), |row| Ok(Run { revision: row.get(0)?, n: row.get(1)?, places: row.get(2)? }))
                .optional()
        }))
    }

    pub(super) fn unpack(&self, run: &Run) -> Result<Vec<Stretch>, Error> {
        let sound = run.revision.checked_add(run.n).is_some() && run.n > 0;
        let stretches = if sound { run.unpack() } else { None };
        stretches.ok_or_else(|| self.damaged(Some(run.revision), "the index of the records is damaged"))
    }

    fn stretch(
        &self,
        stretch: Stretch,
        order: Order,
        visit: &mut dyn FnMut(Record) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let query = order.query();
        let mut select = self.sql(self.db.prepare_cached(&query))?;
        let last = stretch.seq.saturating_add(stretch.n - 1);
        let mut rows = self.sql(select.query((stretch.seq, last)))?;
        for i in 0..stretch.n {
            let i = if order == Order::Ascending { i } else { stretch.n - 1 - i };
            let expected = stretch.revision + i;
            let at = |error| match error {
                Error::Damaged { board, detail, .. } => {
                    Error::Damaged { board, revision: Some(revision(expected)), detail }
                }
                other => other,
            };
            let row = self.sql(rows.next()).map_err(at)?;
            let row = row.ok_or_else(|| self.damaged(Some(expected), "the record is missing"))?;
            let stored = self
                .sql(Stored::read(row))
                .map_err(at)?
                .map_err(|member| self.damaged(Some(expected), format!("the {member} of the record is damaged")))?;
            if stored.board != self.id || signed(stored.record.revision) != expected || stored.seq != stretch.seq + i {
                return Err(self.damaged(Some(expected), "another record is in its place"));
            }
            if visit(stored.record).is_break() {
                return Ok(Break(()));
            }
        }
        Ok(Continue(()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
}

impl Order {
    fn query(self) -> String {
        let order = if self == Self::Ascending { "ASC" } else { "DESC" };
        format!("SELECT {} FROM journal WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq {order}", row::COLUMNS)
    }
}

/// Collects records until a limit, but at least one.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) records: Vec<Record>,
    body_bytes: usize,
    limit: ReadLimit,
}

impl Collected {
    pub(super) fn until(limit: ReadLimit) -> Self {
        Self { records: Vec::new(), body_bytes: 0, limit }
    }

    pub(super) fn take(&mut self, record: Record) -> ControlFlow<()> {
        self.body_bytes = self.body_bytes.saturating_add(record.body.len());
        let full = !self.records.is_empty() && self.body_bytes > self.limit.body_bytes;
        if full || self.records.len() >= self.limit.records {
            return Break(());
        }
        self.records.push(record);
        if self.records.len() == self.limit.records { Break(()) } else { Continue(()) }
    }
}
