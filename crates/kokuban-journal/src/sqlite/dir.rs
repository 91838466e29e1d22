//! The data directory: its place, its lock, who may read it.
//!
//! Invariant: while a [`DataDir`] lives, no other process and no other journal of this one uses the directory.
//! Not known here: what is in the files.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::outcome::Error;

/// The file in a data directory by which it is known.
pub const DATABASE: &str = "kokuban.db";

/// The directory, locked until this is dropped.
#[derive(Debug)]
pub(super) struct DataDir {
    path: PathBuf,
    lock: File,
}

impl DataDir {
    pub(super) fn lock(path: &Path) -> Result<Self, Error> {
        let fail = |what: &str, error: io::Error| {
            Error::Open(format!("the data directory {} {what}: {error}", path.display()))
        };
        create_dir(path).map_err(|error| fail("cannot be made", error))?;
        let file = private(&path.join("lock")).map_err(|error| fail("cannot be written", error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), lock: file }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(fail("cannot be locked", error)),
        }
    }

    /// The same directory under the same lock, which lasts until both are dropped.
    pub(super) fn shared(&self) -> io::Result<Self> {
        Ok(Self { path: self.path.clone(), lock: self.lock.try_clone()? })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// The write-ahead log: SQLite chooses the name.
    pub(super) fn log(&self) -> PathBuf {
        self.path.join("kokuban.db-wal")
    }

    /// Makes the database file before SQLite does, which would make it readable for everybody; SQLite gives its
    /// other files the same mode.
    pub(super) fn make_private_database(&self) -> Result<(), Error> {
        let path = self.database();
        private(&path).map(drop).map_err(|error| Error::Open(format!("{} cannot be opened: {error}", path.display())))
    }

    /// Copies the log to a name that is free, for somebody to look at.
    pub(super) fn set_log_aside(&self) -> io::Result<PathBuf> {
        let log = self.log();
        let aside = (1..=u32::MAX)
            .map(|n| self.path.join(format!("kokuban.db-wal.damaged-{n}")))
            .find(|path| !path.exists())
            .ok_or_else(|| io::Error::other("no free name for the copy of the log"))?;
        let mut copy = private(&aside)?;
        io::copy(&mut File::open(log)?, &mut copy)?;
        copy.sync_all()?;
        File::open(&self.path)?.sync_all()?;
        Ok(aside)
    }
}

pub(super) fn create_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file for its owner alone, making it if need be.
pub(super) fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
