//! The write-ahead log as a file: renewed after doubt, grown once, emptied into the database now and then.
//!
//! Invariant: [`renew`] either leaves a log of a new generation, synced, whose content and the database are all that
//! will ever be found, or fails and may be tried again.
//! Why renewing: when a commit fails, most of all in its sync, its bytes may or may not be in the file, and the file
//! system may call a later sync a success although it dropped the pages (Linux marks them clean after the first
//! error). So neither "landed" nor "did not land" can be had from the log by asking again. Copying what SQLite knows
//! to be committed into the database writes those pages anew and syncs another file; the log restarts with new
//! salts, and once its header is synced with the next commit, no frame of the old generation can ever count again.

use std::fs::OpenOptions;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use rusqlite::{Connection, ErrorCode, ffi};

/// What a checkpoint reports: frames in the log, and frames of them that are in the database too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checkpointed {
    pub(super) frames: u32,
    pub(super) copied: u32,
}

/// Empties the log and starts its next generation. Waits for readers as long as the connection's time-out says.
pub(super) fn renew(db: &Connection) -> rusqlite::Result<()> {
    let blocked = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))?;
    if blocked != 0 {
        let busy = ffi::Error { code: ErrorCode::DatabaseBusy, extended_code: ffi::SQLITE_BUSY };
        return Err(rusqlite::Error::SqliteFailure(busy, None));
    }
    db.execute("UPDATE meta SET value = value + 1 WHERE name = 'log_renewals'", []).map(drop)
}

/// Copies what it can without making anybody wait. When all is copied, the next commit begins at the start of the
/// file again.
pub(super) fn checkpoint(db: &Connection) -> rusqlite::Result<Checkpointed> {
    let frames = |n: i64| u32::try_from(n).unwrap_or(0);
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(Checkpointed { frames: frames(row.get(1)?), copied: frames(row.get(2)?) })
    })
}

/// Fills the file with zeros up to `bytes`, behind what is in it: then a sync of a commit need not sync the length of
/// the file too. Zeros are no frame of any generation. Only the writer calls it, between commits.
pub(super) fn grow(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let mut length = file.seek(SeekFrom::End(0))?;
    let zeros = vec![0; 1 << 16];
    while length < bytes {
        let n = usize::try_from(bytes - length).unwrap_or(usize::MAX).min(zeros.len());
        file.write_all(&zeros[..n])?;
        length += u64::try_from(n).expect("at most 64 KiB");
    }
    file.sync_all()
}
