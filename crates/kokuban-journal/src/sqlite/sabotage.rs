//! For tests: a commit that fails as a dying disk would make it.
//!
//! Invariant: does nothing unless told to.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rusqlite::{Connection, ErrorCode, ffi};

#[derive(Debug, Default)]
pub(super) struct Sabotage {
    next_commit: Mutex<Option<Broken>>,
    /// Attempts to renew the log that are going to fail.
    pub(super) renewals: AtomicU32,
    /// Attempts that another connection is going to be in the way of.
    pub(super) blocked_renewals: AtomicU32,
    /// Pages the database may have: a disk that fills. 0: any number.
    pub(super) pages_max: AtomicU32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// Nothing reaches the log.
    Before,
    /// The sync is said to have failed, but all is in the log.
    After,
    /// The disk is full before the last frame.
    Full,
}

impl Sabotage {
    pub(super) fn next_commit(&self, how: Broken) {
        *self.next_commit.lock().unwrap() = Some(how);
    }

    pub(super) fn before_group(&self, db: &Connection) {
        let pages = match self.pages_max.load(Relaxed) {
            0 => u32::MAX - 1,
            n => n,
        };
        db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    }

    pub(super) fn commit(&self, db: &Connection) -> rusqlite::Result<()> {
        let how = self.next_commit.lock().unwrap().take();
        match how {
            None => db.execute_batch("COMMIT"),
            Some(Broken::Before) => Err(failure(ErrorCode::SystemIoFailure, ffi::SQLITE_IOERR_FSYNC)),
            Some(Broken::After) => {
                db.execute_batch("COMMIT")?;
                Err(failure(ErrorCode::SystemIoFailure, ffi::SQLITE_IOERR_FSYNC))
            }
            Some(Broken::Full) => Err(failure(ErrorCode::DiskFull, ffi::SQLITE_FULL)),
        }
    }

    pub(super) fn renewal(&self) -> rusqlite::Result<()> {
        let blocked = self.blocked_renewals.load(Relaxed);
        if blocked > 0 {
            self.blocked_renewals.store(blocked - 1, Relaxed);
            return Err(failure(ErrorCode::DatabaseBusy, ffi::SQLITE_BUSY));
        }
        let left = self.renewals.load(Relaxed);
        if left == 0 {
            return Ok(());
        }
        self.renewals.store(left - 1, Relaxed);
        Err(failure(ErrorCode::SystemIoFailure, ffi::SQLITE_IOERR_FSYNC))
    }
}

fn failure(code: ErrorCode, extended_code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error { code, extended_code }, None)
}
