//! Nothing that was acknowledged vanishes in silence from a torn or damaged log.

use std::fs;
use std::path::Path;

use super::*;
use crate::sqlite::wal::{self, Log};

const PAGE: usize = 4096;
const FRAME: usize = PAGE + 24;

/// A log with `groups` groups of one record each, as a kill leaves it, and where each group ends.
struct Image {
    dir: TempDir,
    log: Vec<u8>,
    ends: Vec<usize>,
    author: Author,
}

async fn image(n_groups: usize, body_bytes: usize) -> Image {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut author = Author::of("b");
    let mut ends = Vec::new();
    for i in 0..n_groups {
        let body: Vec<u8> = (0..body_bytes).map(|j| u8::try_from((i * 31 + j * 7) % 251).unwrap()).collect();
        let item = author.append([body]);
        assert!(matches!(journal.append(vec![item]).await[..], [Outcome::Appended(_)]));
        let frames = journal.inner.shared.log_frames.load(std::sync::atomic::Ordering::Relaxed);
        ends.push(32 + usize::try_from(frames).unwrap() * FRAME);
    }
    let dir = left_by_a_kill(dir.path());
    let log = fs::read(dir.path().join("kokuban.db-wal")).unwrap();
    Image { dir, log, ends, author }
}

impl Image {
    fn scan(&self, log: &[u8]) -> Log {
        let path = self.dir.path().join("log");
        fs::write(&path, log).unwrap();
        wal::scan(&path, PAGE).unwrap()
    }

    /// The records that a journal finds which is opened on this log, or why it does not open.
    async fn opened(&self, log: &[u8], salvage: Salvage) -> Result<usize, Error> {
        let dir = self.with(log);
        let journal = Sqlite::open(&Options { salvage, ..options(dir.path()) })?;
        let n = n_records(&journal, &self.author).await;
        // And it goes on.
        let loaded = journal.load(self.author.board.clone()).await.unwrap();
        let mut author = Author { head: loaded.map(|loaded| loaded.head), ..self.author.rival() };
        land(&journal, &mut author, 1).await;
        journal.close().await.unwrap();
        let journal = open(dir.path()).unwrap();
        assert_eq!(n_records(&journal, &author).await, n + 1);
        Ok(n)
    }

    fn with(&self, log: &[u8]) -> TempDir {
        let dir = temp_dir();
        fs::copy(self.dir.path().join("kokuban.db"), dir.path().join("kokuban.db")).unwrap();
        fs::write(dir.path().join("kokuban.db-wal"), log).unwrap();
        dir
    }

    /// The records that SQLite itself finds.
    fn raw(&self, log: &[u8]) -> usize {
        let dir = self.with(log);
        let db = rusqlite::Connection::open(dir.path().join("kokuban.db")).unwrap();
        let n: i64 = db.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap();
        usize::try_from(n).unwrap()
    }
}

#[tokio::test]
async fn a_log_torn_at_any_byte_of_the_last_group_keeps_the_groups_before() {
    let image = image(6, 900).await;
    let (start, end) = (image.ends[4], image.ends[5]);
    for cut in start..end {
        let log = &image.log[..cut];
        let torn = image.scan(log);
        assert_eq!(torn, if cut == start { Log::Sound } else { torn_at(&torn, start) }, "cut at {cut}");
    }
    let sampled = (start..end).step_by(211).chain([start + 1, end - 1]);
    for cut in sampled {
        assert_eq!(image.opened(&image.log[..cut], Salvage::Refuse).await, Ok(5), "cut at {cut}");
        // The file was longer, but what was not synced is zeros.
        let mut zeros = image.log.clone();
        zeros[cut..end].fill(0);
        let found = image.opened(&zeros, Salvage::Refuse).await;
        assert!(matches!(found, Ok(5 | 6)), "zeros from {cut}: {found:?}");
    }
    assert_eq!(image.opened(&image.log, Salvage::Refuse).await, Ok(6));
    assert_eq!(image.raw(&image.log[..end - 1]), 5);
}

fn torn_at(found: &Log, from: usize) -> Log {
    match found {
        Log::Torn { offset } if usize::try_from(*offset).unwrap() >= from => found.clone(),
        other => panic!("{other:?} is not torn at or after {from}"),
    }
}

#[tokio::test]
async fn a_flipped_bit_anywhere_in_the_log_hides_at_most_the_last_group() {
    let image = image(8, 700).await;
    let end = *image.ends.last().unwrap();
    let mut refused = 0;
    // Every byte of the headers, and of the pages some in each.
    let places = (0..end).filter(|at| {
        let in_frame = at.checked_sub(32).map(|at| at % FRAME);
        in_frame.is_none_or(|at| at < 24 || at % 509 == 3)
    });
    for at in places {
        for bit in 0..8 {
            let mut log = image.log.clone();
            log[at] ^= 1 << bit;
            match image.scan(&log) {
                Log::Damaged { offset, .. } => {
                    assert!(usize::try_from(offset).unwrap() <= at, "byte {at} named as {offset}");
                    refused += 1;
                }
                Log::Sound | Log::Torn { .. } => {
                    assert!(image.raw(&log) >= 7, "bit {bit} of byte {at} hides more than the last group");
                }
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[tokio::test]
async fn a_damaged_log_refuses_the_start_and_is_salvaged_when_told_to() {
    let image = image(8, 700).await;
    let mut log = image.log.clone();
    log[image.ends[3] + 100] ^= 4;
    let refused = image.opened(&log, Salvage::Refuse).await.unwrap_err().to_string();
    assert!(refused.contains(&format!("byte {}", image.ends[3])), "{refused}");
    assert!(refused.contains("kokuban.db-wal") && refused.contains("--salvage"), "{refused}");
    assert_eq!(image.opened(&log, Salvage::CutAtDamage).await, Ok(4));

    let dir = image.with(&log);
    drop(open(dir.path()).unwrap_err());
    assert!(fs::read(dir.path().join("kokuban.db-wal")).unwrap() == log, "a refused start writes nothing");
    drop(Sqlite::open(&Options { salvage: Salvage::CutAtDamage, ..options(dir.path()) }).unwrap());
    assert!(fs::read(dir.path().join("kokuban.db-wal.damaged-1")).unwrap() == log, "the copy is not the log");
    drop(open(dir.path()).unwrap());
}

#[tokio::test]
async fn a_log_without_its_header_refuses_the_start() {
    let image = image(3, 700).await;
    for at in 0..32 {
        let mut log = image.log.clone();
        log[at] ^= 0x10;
        let opened = image.opened(&log, Salvage::Refuse).await;
        assert!(matches!(opened, Err(Error::Open(_))), "byte {at}: {opened:?}");
    }
    let mut log = image.log.clone();
    log[..32].fill(0);
    assert!(image.opened(&log, Salvage::Refuse).await.is_err());
    assert_eq!(image.opened(&log, Salvage::CutAtDamage).await, Ok(0));
}

#[tokio::test]
async fn frames_of_an_older_generation_are_not_missed() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut author = Author::of("b");
    // The log begins anew several times, each time over longer ones.
    while journal.stats().checkpoints < 3 {
        land(&journal, &mut author, 5).await;
    }
    land(&journal, &mut author, 1).await;
    let image = left_by_a_kill(dir.path());
    let log = image.path().join("kokuban.db-wal");
    assert_eq!(wal::scan(&log, PAGE).unwrap(), Log::Sound);
    let journal = open(image.path()).unwrap();
    assert_eq!(
        Some(n_records(&journal, &author).await),
        author.head.map(|head| usize::try_from(head.revision.0).unwrap())
    );
}

#[tokio::test]
async fn what_is_no_log_is_scanned_without_harm() {
    let dir = temp_dir();
    let scan = |bytes: &[u8]| {
        let path = dir.path().join("log");
        fs::write(&path, bytes).unwrap();
        wal::scan(&path, PAGE).unwrap()
    };
    assert_eq!(wal::scan(Path::new("/nowhere/at/all"), PAGE).unwrap(), Log::Sound);
    for zeros in [0, 1, 31, 32, 33, 32 + FRAME, 100_000] {
        assert_eq!(scan(&vec![0; zeros]), Log::Sound);
    }
    assert!(matches!(scan(&[0xff; 20_000]), Log::Damaged { offset: 0, .. }));
}
