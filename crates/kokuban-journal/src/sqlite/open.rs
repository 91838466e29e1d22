//! Opens a data directory: lock, look through the log, bring the tables up to date, learn the heads.
//!
//! Invariant: nothing is written before the log was found sound, or damaged and set aside as asked.
//! Not known here: what happens after the start.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, mpsc};

use kokuban_core::ids::Revision;
use rusqlite::{Connection, OptionalExtension};
use tokio::sync::Semaphore;

use super::checkpoint::Checkpointer;
use super::dir::DataDir;
use super::heads::{revision, signed};
use super::reader::Readers;
use super::shared::Shared;
use super::transaction::{describe, refusal};
use super::upkeep::{Task, Work, leftover_snapshots};
use super::wal::{self, Log};
use super::writer::{Parts, Writer};
use super::{Inner, QUEUE_KIB, Sqlite, UPKEEP_MAX, load, log, schema};
use crate::outcome::{Error, Refusal};

/// How to open a data directory.
#[derive(Debug, Clone)]
pub struct Options {
    pub dir: PathBuf,
    pub salvage: Salvage,
    /// Size of the write-ahead log at which it is copied into the database. The file is made half as large again.
    pub log_bytes: u64,
}

impl Options {
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), salvage: Salvage::Refuse, log_bytes: 16 * 1024 * 1024 }
    }
}

/// What to do when the log is damaged so that acknowledged commits would vanish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Salvage {
    /// Do not start.
    #[default]
    Refuse,
    /// Keep a copy of the log beside it and go on with what stands before the damage.
    CutAtDamage,
}

impl Sqlite {
    /// Opens or makes the journal in a directory. Blocks.
    ///
    /// # Errors
    /// [`Error::Open`], whose text names the place and what can be done.
    pub fn open(options: &Options) -> Result<Self, Error> {
        Self::open_locked(DataDir::lock(&options.dir)?, options, None)
    }

    /// Opens a directory that is locked already. `base`: see [`crate::Caps::base`]; where none is given it is what it
    /// was.
    pub(super) fn open_locked(dir: DataDir, options: &Options, base: Option<Revision>) -> Result<Self, Error> {
        let damaged = check_log(&dir, options.salvage)?;
        dir.make_private_database()?;
        let database = dir.database();
        let fail = |error: rusqlite::Error| unusable(&database, &error);
        let mut db = schema::connect_writer(&database).map_err(fail)?;
        schema::migrate(&mut db, &database)?;
        let in_doubt = renew_log(&db, &dir, options, damaged).map_err(fail)?;
        let base = kept_base(&db, base).map_err(fail)?;
        let shared = Arc::new(Shared::default());
        *shared.heads_mut() = load::heads(&db).map_err(fail)?;
        let upkeep = leftovers(&db).map_err(fail)?;
        start(db, dir, base, shared, in_doubt, upkeep, options.log_bytes)
    }
}

fn kept_base(db: &Connection, base: Option<Revision>) -> rusqlite::Result<Revision> {
    if let Some(base) = base {
        db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('base', ?1)", [signed(base)])?;
        return Ok(base);
    }
    let kept = db.query_row("SELECT value FROM meta WHERE name = 'base'", [], |row| row.get(0)).optional()?;
    Ok(kept.map_or(Revision::ZERO, revision))
}

fn unusable(database: &Path, error: &rusqlite::Error) -> Error {
    let advice = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
            "; the file is damaged: restore the data directory from a backup"
        }
        _ => "",
    };
    Error::Open(format!("{} cannot be used: {}{advice}", database.display(), describe(error)))
}

/// Whether damage was cut off.
fn check_log(dir: &DataDir, salvage: Salvage) -> Result<bool, Error> {
    let path = dir.log();
    let fail = |error: std::io::Error| Error::Open(format!("{} cannot be read: {error}", path.display()));
    match wal::scan(&path, page_bytes(&dir.database()).map_err(fail)?).map_err(fail)? {
        Log::Sound => Ok(false),
        Log::Torn { offset } => {
            tracing::warn!(path = %path.display(), offset, "the last group of the log was not complete and is dropped");
            Ok(false)
        }
        Log::Damaged { offset, detail } if salvage == Salvage::CutAtDamage => {
            let copy = dir.set_log_aside().map_err(fail)?;
            tracing::error!(
                path = %path.display(), offset, detail, copy = %copy.display(),
                "the log is damaged; what follows is dropped, a copy was kept"
            );
            Ok(true)
        }
        Log::Damaged { offset, detail } => Err(Error::Open(format!(
            "the log {} is damaged at byte {offset}: {detail}, so acknowledged commits would be lost; restore a backup, \
             or start once with --salvage, which keeps a copy of the log and goes on with what stands before the damage",
            path.display()
        ))),
    }
}

/// As the header of the database says; a new one gets the default.
fn page_bytes(database: &Path) -> std::io::Result<usize> {
    let mut head = [0; 18];
    match File::open(database).and_then(|mut file| file.read_exact(&mut head)) {
        Ok(()) => {}
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::UnexpectedEof) => {
            return Ok(schema::PAGE_BYTES);
        }
        Err(error) => return Err(error),
    }
    let bytes = usize::from(u16::from_be_bytes([head[16], head[17]]));
    Ok(if bytes.is_power_of_two() && bytes >= 512 { bytes } else { schema::PAGE_BYTES })
}

/// Begins a new generation of the log, so that no frame of a former life of the server is taken for one of this.
/// A disk that is full or failing does not keep the server from starting: it can still be read.
fn renew_log(db: &Connection, dir: &DataDir, options: &Options, damaged: bool) -> rusqlite::Result<Option<Refusal>> {
    match log::renew(db) {
        Ok(()) => {
            if let Err(error) = log::grow(&dir.log(), options.log_bytes.saturating_add(options.log_bytes / 2)) {
                // Only speed depends on it.
                tracing::warn!(%error, "the log of the journal could not be grown in advance");
            }
            Ok(None)
        }
        Err(error) if damaged => Err(error),
        Err(error) => {
            let refusal = refusal(&error);
            tracing::error!(%refusal, "the journal can be read but not written");
            Ok(Some(refusal))
        }
    }
}

fn leftovers(db: &Connection) -> rusqlite::Result<VecDeque<Task>> {
    let dropping = leftover_snapshots(db)?.map(Work::DropSnapshot);
    Ok(dropping.into_iter().map(|work| Task { work, reply: None, permit: None }).collect())
}

fn start(
    db: Connection,
    dir: DataDir,
    base: Revision,
    shared: Arc<Shared>,
    in_doubt: Option<Refusal>,
    upkeep: VecDeque<Task>,
    log_bytes: u64,
) -> Result<Sqlite, Error> {
    let database = dir.database();
    let fail = |error: &dyn std::fmt::Display| Error::Open(format!("{} cannot be used: {error}", database.display()));
    let checkpointer = Checkpointer::start(&database, shared.clone()).map_err(|error| fail(&error))?;
    let (jobs, jobs_of_thread) = mpsc::channel();
    if let Some(refusal) = &in_doubt {
        shared.group_failed(&refusal.to_string());
    }
    let parts =
        Parts { db, dir, shared: shared.clone(), jobs: jobs_of_thread, checkpointer, upkeep, in_doubt, log_bytes };
    let writer = Writer::new(parts).map_err(|error| fail(&describe(&error)))?;
    #[cfg(test)]
    let sabotage = writer.sabotage.clone();
    let closing = Closing(shared.clone());
    let thread = std::thread::Builder::new()
        .name("kokuban-journal".into())
        .spawn(move || {
            let _closing = closing;
            writer.run();
        })
        .map_err(|error| fail(&error))?;
    let inner = Inner {
        base,
        readers: Arc::new(Readers::new(database, shared.clone())),
        shared,
        jobs: Mutex::new(Some(jobs)),
        room: Arc::new(Semaphore::new(usize::try_from(QUEUE_KIB).expect("fits"))),
        upkeep: Arc::new(Semaphore::new(UPKEEP_MAX)),
        thread: Mutex::new(Some(thread)),
        #[cfg(test)]
        sabotage,
    };
    Ok(Sqlite { inner: Arc::new(inner) })
}

/// Marks the journal closed when the writer thread ends, even by a panic.
struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.closed.store(true, Relaxed);
    }
}
