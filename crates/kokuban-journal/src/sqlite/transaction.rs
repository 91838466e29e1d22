//! One transaction, and what its failure means.
//!
//! Invariant: after a failure before the commit the database is as it was. A failed commit is told apart, because
//! then the bytes may be in the log although SQLite rolled back: the next start would find them.
//! Not known here: what is written.

use rusqlite::{Connection, ErrorCode};

use crate::outcome::Refusal;

#[derive(Debug)]
pub(super) struct Failure {
    pub(super) refusal: Refusal,
    /// Whether the log has to be renewed before anything else is written.
    pub(super) log_in_doubt: bool,
}

/// Runs `write` in a transaction, `commit` being what ends it.
pub(super) fn transact<T>(
    db: &Connection,
    write: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    commit: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<T, Failure> {
    let before_commit = |error: rusqlite::Error| {
        // Some errors roll back by themselves. If rolling back fails too, a fresh connection has to look.
        let rolled_back = db.is_autocommit() || db.execute_batch("ROLLBACK").is_ok();
        Failure { refusal: refusal(&error), log_in_doubt: !rolled_back }
    };
    db.execute_batch("BEGIN IMMEDIATE").map_err(before_commit)?;
    let written = write(db).map_err(before_commit)?;
    commit(db).map_err(|error| Failure { log_in_doubt: true, ..before_commit(error) })?;
    Ok(written)
}

pub(super) fn commit(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch("COMMIT")
}

/// What a caller may know of an error of SQLite: texts of ours are among its parameters, none in its message.
pub(super) fn refusal(error: &rusqlite::Error) -> Refusal {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Refusal::StorageFull,
        _ => Refusal::Io { detail: describe(error) },
    }
}

/// Whether another connection was in the way.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

pub(super) fn describe(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, _) => format!("{code} (code {})", code.extended_code),
        other => other.to_string(),
    }
}

/// An error of ours on a path of SQLite's errors.
pub(super) fn inconsistent(detail: String) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(detail.into())
}
