//! Brings the heads of all boards into memory: from the rows of the boards, then from the end of the journal.
//!
//! Invariant: what cannot be read as a record sets its board aside; what could hide the newest record of an unknown
//! board is an error.
//! Cost: one row per board, and one per record since the last indexing, without its body.

use std::collections::HashMap;

use kokuban_core::ids::{BoardName, BoardTime, ChainHash, Timestamp};
use rusqlite::{Connection, Row};

use super::heads::{Board, Heads, Newest, revision, signed};
use super::row::{self, Stored};
use super::shared::Shared;
use super::transaction::inconsistent;
use crate::record::Head;

/// All that the database holds.
pub(super) fn heads(db: &Connection) -> rusqlite::Result<Heads> {
    let covered = covered_seq(db)?;
    let mut heads = Heads::default();
    heads.last_seq = covered;
    let mut names = boards(db, &mut heads)?;
    suffix(db, &mut names, covered)?.into_iter().for_each(|found| found.put(&mut heads));
    snapshots(db, &mut heads, &names)?;
    Ok(heads)
}

/// What landed after the newest place that is known.
pub(super) fn what_landed(db: &Connection, shared: &Shared) -> rusqlite::Result<()> {
    let last_seq = shared.heads().last_seq;
    let found = suffix(db, &mut HashMap::new(), last_seq)?;
    let mut heads = shared.heads_mut();
    found.into_iter().for_each(|found| found.put(&mut heads));
    Ok(())
}

fn covered_seq(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("SELECT value FROM meta WHERE name = 'covered_seq'", [], |row| row.get(0))
}

fn name(row: &Row<'_>, column: usize) -> rusqlite::Result<BoardName> {
    let text = row.get_ref(column)?.as_str()?;
    BoardName::new(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn boards(db: &Connection, heads: &mut Heads) -> rusqlite::Result<HashMap<i64, BoardName>> {
    let mut names = HashMap::new();
    let mut select = db.prepare("SELECT id, name, revision, chain, at, board_time, deadline, oldest FROM board")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (id, name) = (row.get(0)?, name(row, 1)?);
        let folded = folded(row);
        let damage = match (&folded, row::is_null(row, 2)) {
            (Some(_), _) => None,
            // Its first record comes with the end of the journal, which takes this mark away.
            (None, true) => Some(NO_RECORD.to_owned()),
            (None, false) => Some("the row of the board is damaged".to_owned()),
        };
        let (newest, oldest) = folded.unwrap_or((NOTHING, 0));
        heads.put(name.clone(), Board { id, newest, oldest, snapshot: None, unindexed: Vec::new(), damage });
        names.insert(id, name);
    }
    Ok(names)
}

const NO_RECORD: &str = "the board has no record";

const NOTHING: Newest = Newest {
    head: Head { revision: kokuban_core::ids::Revision::ZERO, chain: ChainHash::GENESIS },
    at: Timestamp(0),
    board_time: BoardTime(0),
    deadline: None,
};

fn folded(row: &Row<'_>) -> Option<(Newest, i64)> {
    let revision = row::integer(row, 2).filter(|revision| *revision > 0).map(revision)?;
    let chain = ChainHash(row::blob(row, 3)?.try_into().ok()?);
    let deadline = if row::is_null(row, 6) { None } else { Some(row::board_time(row, 6)?) };
    let at = Timestamp(row::integer(row, 4)?);
    let newest = Newest { head: Head { revision, chain }, at, board_time: row::board_time(row, 5)?, deadline };
    Some((newest, row::integer(row, 7)?))
}

/// A row at the end of the journal, whose board is known.
struct Found {
    seq: i64,
    name: BoardName,
    stored: Result<Stored, &'static str>,
}

fn suffix(db: &Connection, names: &mut HashMap<i64, BoardName>, after: i64) -> rusqlite::Result<Vec<Found>> {
    // The body stands last in a row, so it is not even read from the disk.
    let mut select = db.prepare(
        "SELECT seq, board, revision, chain, commit_id, at, board_time, deadline, x'' FROM journal WHERE seq > ?1
         ORDER BY seq",
    )?;
    let mut rows = select.query([after])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        match name_of(db, names, row.get(1)?)? {
            Some(name) => found.push(Found { seq, name, stored: Stored::read(row)? }),
            None => return Err(inconsistent(format!("the record at place {seq} belongs to no board"))),
        }
    }
    Ok(found)
}

impl Found {
    fn put(self, heads: &mut Heads) {
        heads.last_seq = heads.last_seq.max(self.seq);
        match self.stored {
            Ok(stored) => put(heads, &self.name, &stored),
            Err(member) => {
                let detail = format!("the {member} of the record at place {} is damaged", self.seq);
                if let Some(board) = heads.get_mut(&self.name) {
                    board.damage.get_or_insert(detail);
                }
            }
        }
    }
}

/// The name of a board that is not among `names` yet, if there is one.
fn name_of(db: &Connection, names: &mut HashMap<i64, BoardName>, id: i64) -> rusqlite::Result<Option<BoardName>> {
    if let Some(known) = names.get(&id) {
        return Ok(Some(known.clone()));
    }
    let mut select = db.prepare_cached("SELECT name FROM board WHERE id = ?1")?;
    let mut rows = select.query([id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let name = name(row, 0)?;
    names.insert(id, name.clone());
    Ok(Some(name))
}

fn put(heads: &mut Heads, name: &BoardName, stored: &Stored) {
    let revision = signed(stored.record.revision);
    match heads.get_mut(name) {
        // Indexed already: the indexing was cut short before it could say so.
        Some(board) if board.damage.is_none() && revision <= signed(board.newest.head.revision) => return,
        Some(board) if board.damage.as_deref() == Some(NO_RECORD) => {
            board.oldest = revision;
            board.damage = None;
        }
        Some(_) | None => {}
    }
    heads.appended(name, stored.board, Newest::from(&stored.record), stored.seq);
}

fn snapshots(db: &Connection, heads: &mut Heads, names: &HashMap<i64, BoardName>) -> rusqlite::Result<()> {
    let mut select =
        db.prepare("SELECT board, max(revision) FROM snapshot WHERE complete = 1 GROUP BY board ORDER BY board")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (board, revision) = (row.get(0)?, row.get(1)?);
        if let Some(found) = names.get(&board).and_then(|name| heads.get_mut(name)) {
            found.snapshot = Some(revision);
        }
    }
    Ok(())
}
