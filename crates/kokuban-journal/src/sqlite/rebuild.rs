//! Replacing the content of a data directory in one step.
//!
//! Invariant: the directory is locked from the beginning to the end, and at every moment holds the old data whole or
//! the new data whole: the new file is built in a directory beside the old one, synced, and takes its name by one
//! rename. The old file is kept.
//! Not known here: what is put into the new journal.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use kokuban_core::ids::Revision;

use super::dir::{DATABASE, DataDir, create_dir};
use super::{Options, Sqlite};
use crate::outcome::Error;

const BUILT_IN: &str = "restoring";

/// See the module.
#[derive(Debug)]
pub struct Rebuild {
    dir: DataDir,
    options: Options,
}

impl Rebuild {
    /// Locks the directory, making it if need be, and clears away what an earlier attempt left.
    ///
    /// # Errors
    /// A server is running on it, or it cannot be used.
    pub fn begin(options: &Options) -> Result<Self, Error> {
        let dir = DataDir::lock(&options.dir)?;
        let rebuild = Self { dir, options: options.clone() };
        rebuild.clear().map_err(|error| rebuild.failed("cannot be cleared", &error))?;
        Ok(rebuild)
    }

    /// Whether there is data that would be replaced.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn holds_data(&self) -> Result<bool, Error> {
        let listed = fs::read_dir(self.dir.path()).and_then(|mut files| {
            files.try_fold(false, |found, file| Ok(found || file?.file_name().to_string_lossy().starts_with(DATABASE)))
        });
        listed.map_err(|error| self.failed("cannot be listed", &error))
    }

    /// The journal that would be replaced. Close it before [`Self::finish`].
    ///
    /// # Errors
    /// It cannot be opened; the text says why.
    pub fn open_old(&self) -> Result<Sqlite, Error> {
        let dir = self.dir.shared().map_err(|error| self.failed("cannot be locked", &error))?;
        Sqlite::open_locked(dir, &self.options, None)
    }

    /// An empty journal that will take the place. Close it before [`Self::finish`].
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open_new(&self, base: Revision) -> Result<Sqlite, Error> {
        Sqlite::open_locked(DataDir::lock(&self.built_in())?, &self.options, Some(base))
    }

    /// Puts the new journal in the place of the old one. Answers where the old file is now, if there was one.
    ///
    /// # Errors
    /// Something could not be done; the old data is in its place as it was.
    pub fn finish(self) -> Result<Option<PathBuf>, Error> {
        self.swap().map_err(|error| self.failed("could not take the new data", &error))
    }

    fn swap(&self) -> io::Result<Option<PathBuf>> {
        let (new, place) = (self.built_in().join(DATABASE), self.dir.database());
        File::open(&new)?.sync_all()?;
        for file in [&new, &place] {
            // A log belongs to its file; left alone, it would be taken for the log of the other one.
            let log = PathBuf::from(format!("{}-wal", file.display()));
            if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
                return Err(io::Error::other(format!("{} is still in use", log.display())));
            }
        }
        let aside = if place.exists() { Some(self.keep(&place)?) } else { None };
        fs::rename(&new, &place)?;
        sync_dir(self.dir.path())?;
        // What is left of the building is in nobody's way.
        let _ = self.clear();
        Ok(aside)
    }

    /// Gives the old file a second name, under which it stays.
    fn keep(&self, place: &Path) -> io::Result<PathBuf> {
        let folder = (1..=u32::MAX)
            .map(|n| self.dir.path().join(format!("replaced-{n}")))
            .find(|folder| !folder.exists())
            .ok_or_else(|| io::Error::other("no free name for the old data"))?;
        create_dir(&folder)?;
        let kept = folder.join(DATABASE);
        if fs::hard_link(place, &kept).is_err() {
            // Not every file system knows a second name.
            fs::copy(place, &kept)?;
            File::open(&kept)?.sync_all()?;
        }
        sync_dir(&folder)?;
        sync_dir(self.dir.path())?;
        Ok(kept)
    }

    fn built_in(&self) -> PathBuf {
        self.dir.path().join(BUILT_IN)
    }

    fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.built_in()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn failed(&self, what: &str, error: &io::Error) -> Error {
        Error::Open(format!("the data directory {} {what}: {error}", self.dir.path().display()))
    }
}

fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
