//! Connections to the database file, and the migrations that give it its tables.
//!
//! Invariant: a migration that ran is never changed (its checksum is compared), and a file of a newer Kokuban or of
//! another program is refused, not altered.
//! Not known here: what the tables mean.

use std::path::Path;
use std::time::Duration;

use kokuban_core::ids::Sha256;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::transaction::inconsistent;
use crate::outcome::Error;

/// Bytes of a page: what SQLite chooses when it makes a file.
pub(super) const PAGE_BYTES: usize = 4096;

/// Says that a file is ours: `Kkbn`.
const APPLICATION_ID: i32 = 0x4b6b_626e;

struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    name: "0001_journal.sql",
    sql: include_str!("../../../../migrations/sqlite/0001_journal.sql"),
}];

const MIGRATION_TABLE: &str = "CREATE TABLE IF NOT EXISTS migration (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL) STRICT";

/// A connection as all of them are: each is used by one thread at a time.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(Duration::from_secs(5))?;
    // Erased values must not stay in free space.
    db.pragma_update(None, "secure_delete", true)?;
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(db)
}

/// For appends: each commit is synced.
pub(super) fn connect_writer(path: &Path) -> rusqlite::Result<Connection> {
    let db = connect(path)?;
    let mode: String = db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(inconsistent(format!("no write-ahead log is possible here (mode {mode})")));
    }
    db.pragma_update(None, "synchronous", "full")?;
    db.pragma_update(None, "cache_size", -16 * 1024)?;
    Ok(db)
}

pub(super) fn connect_checkpointer(path: &Path) -> rusqlite::Result<Connection> {
    let db = connect(path)?;
    db.pragma_update(None, "synchronous", "full")?;
    Ok(db)
}

pub(super) fn connect_reader(path: &Path) -> rusqlite::Result<Connection> {
    let db = connect(path)?;
    db.pragma_update(None, "query_only", true)?;
    db.pragma_update(None, "cache_size", -4 * 1024)?;
    Ok(db)
}

/// Brings the file up to date.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), Error> {
    let fail = |error: rusqlite::Error| Error::Open(format!("{} cannot be used: {error}", path.display()));
    claim(db, path)?;
    db.execute_batch(MIGRATION_TABLE).map_err(fail)?;
    let newest: i64 =
        db.query_row("SELECT coalesce(max(version), 0) FROM migration", [], |row| row.get(0)).map_err(fail)?;
    if MIGRATIONS.last().is_some_and(|last| last.version < newest) {
        return Err(Error::Open(format!(
            "{} was made by a newer Kokuban (its tables have version {newest}); use that one",
            path.display()
        )));
    }
    for migration in MIGRATIONS {
        run(db, migration).map_err(fail)?.map_err(|name| {
            Error::Open(format!("{}: migration {name} ran in another form than this program has", path.display()))
        })?;
    }
    Ok(())
}

/// Makes sure that the file is ours, or still empty.
fn claim(db: &Connection, path: &Path) -> Result<(), Error> {
    let fail = |error: rusqlite::Error| Error::Open(format!("{} cannot be used: {error}", path.display()));
    let id: i32 = db.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(fail)?;
    if id == APPLICATION_ID {
        return Ok(());
    }
    let n_tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(fail)?;
    if id != 0 || n_tables != 0 {
        return Err(Error::Open(format!("{} belongs to another program", path.display())));
    }
    db.pragma_update(None, "application_id", APPLICATION_ID).map_err(fail)
}

/// Runs a migration unless it ran before. The inner error: it ran with another text.
fn run(db: &mut Connection, migration: &Migration) -> rusqlite::Result<Result<(), &'static str>> {
    let checksum = Sha256::of(migration.sql.as_bytes()).to_string();
    let ran: Option<String> = db
        .query_row("SELECT sha256 FROM migration WHERE version = ?1", [migration.version], |row| row.get(0))
        .optional()?;
    if let Some(ran) = ran {
        return Ok(if ran == checksum { Ok(()) } else { Err(migration.name) });
    }
    let transaction = db.transaction()?;
    transaction.execute_batch(migration.sql)?;
    transaction.execute(
        "INSERT INTO migration (version, name, sha256) VALUES (?1, ?2, ?3)",
        (migration.version, migration.name, checksum),
    )?;
    transaction.commit().map(Ok)
}
