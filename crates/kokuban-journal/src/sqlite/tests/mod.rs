//! The journal on a disk that tears, flips and fills.

mod conformance;
mod damage;
mod directory;
mod failures;
mod growth;
mod log;
mod rebuild;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{Options, Salvage, Sqlite};
use crate::conformance::Author;
use crate::{Error, Journal, Outcome};

/// A directory in memory where there is one: these tests are about what is written, not how fast.
fn temp_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn options(dir: &Path) -> Options {
    Options { log_bytes: 64 * 1024, ..Options::new(dir) }
}

fn open(dir: &Path) -> Result<Sqlite, Error> {
    Sqlite::open(&options(dir))
}

/// Appends one item that must land.
async fn land(journal: &Sqlite, author: &mut Author, n: usize) {
    let item = author.append_n(n);
    assert_eq!(journal.append(vec![item]).await, [Outcome::Appended(author.head.unwrap())]);
}

/// What a kill of the process leaves of a directory in use: its files as they are now.
fn left_by_a_kill(dir: &Path) -> TempDir {
    let image = temp_dir();
    for name in ["kokuban.db", "kokuban.db-wal"] {
        fs::copy(dir.join(name), image.path().join(name)).unwrap();
    }
    image
}

/// The number of records of a board, all of them in order.
async fn n_records(journal: &Sqlite, author: &Author) -> usize {
    match journal.load(author.board.clone()).await.unwrap() {
        None => 0,
        Some(loaded) => {
            assert!(loaded.tail.iter().zip(1..).all(|(record, revision)| record.revision.0 == revision));
            loaded.tail.len()
        }
    }
}
