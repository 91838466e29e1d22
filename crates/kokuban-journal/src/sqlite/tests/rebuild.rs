//! Replacing a directory: the old data or the new, whole, and nothing in between.

use std::path::PathBuf;

use kokuban_core::ids::Revision;

use super::super::Rebuild;
use super::*;
use crate::ReadLimit;

fn begin(dir: &Path) -> Rebuild {
    Rebuild::begin(&options(dir)).unwrap()
}

/// Puts `n` records of the board `new` into the new journal.
async fn build(rebuild: &Rebuild, n: usize) {
    let new = rebuild.open_new(Revision(77)).unwrap();
    land(&new, &mut Author::of("new"), n).await;
    new.close().await.unwrap();
}

async fn holds(dir: &Path, board: &str) -> usize {
    let journal = open(dir).unwrap();
    let n = n_records(&journal, &Author::of(board)).await;
    journal.close().await.unwrap();
    n
}

#[tokio::test]
async fn a_directory_that_is_empty_or_not_there_takes_the_new_data() {
    let parent = temp_dir();
    let dir = parent.path().join("made/data");
    let rebuild = begin(&dir);
    assert!(!rebuild.holds_data().unwrap());
    build(&rebuild, 3).await;
    assert_eq!(rebuild.finish().unwrap(), None);
    assert_eq!(holds(&dir, "new").await, 3);
    let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the database and the lock: {left:?}");
}

#[tokio::test]
async fn old_data_stays_until_the_new_is_whole_and_is_kept_then() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    land(&journal, &mut Author::of("old"), 5).await;
    journal.close().await.unwrap();
    let rebuild = begin(dir.path());
    assert!(rebuild.holds_data().unwrap());
    let old = rebuild.open_old().unwrap();
    assert_eq!(n_records(&old, &Author::of("old")).await, 5);
    old.close().await.unwrap();
    build(&rebuild, 3).await;
    let aside = rebuild.finish().unwrap().expect("there was data");
    assert_eq!((holds(dir.path(), "new").await, holds(dir.path(), "old").await), (3, 0));
    assert_eq!(holds(aside.parent().unwrap(), "old").await, 5);
    let again = begin(dir.path());
    again.open_old().unwrap().close().await.unwrap();
    build(&again, 4).await;
    assert_ne!(again.finish().unwrap().expect("there was data"), aside);
    assert_eq!(holds(aside.parent().unwrap(), "old").await, 5);
}

#[tokio::test]
async fn what_an_attempt_left_is_cleared_away_and_hurts_nobody() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    land(&journal, &mut Author::of("old"), 5).await;
    journal.close().await.unwrap();
    let rebuild = begin(dir.path());
    let half = rebuild.open_new(Revision::ZERO).unwrap();
    land(&half, &mut Author::of("new"), 3).await;
    // As a kill leaves it.
    let image = left_by_a_kill(&dir.path().join("restoring"));
    half.close().await.unwrap();
    drop(rebuild);
    for file in fs::read_dir(image.path()).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), dir.path().join("restoring").join(file.file_name())).unwrap();
    }
    assert_eq!(holds(dir.path(), "old").await, 5);
    let rebuild = begin(dir.path());
    assert!(!dir.path().join("restoring").exists());
    build(&rebuild, 2).await;
    rebuild.finish().unwrap();
    assert_eq!(holds(dir.path(), "new").await, 2);
}

#[tokio::test]
async fn the_directory_is_locked_all_the_time() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let in_use = |result: Result<(), Error>| assert_eq!(result, Err(Error::InUse(PathBuf::from(dir.path()))));
    in_use(Rebuild::begin(&options(dir.path())).map(drop));
    journal.close().await.unwrap();
    let rebuild = begin(dir.path());
    in_use(open(dir.path()).map(drop));
    let old = rebuild.open_old().unwrap();
    old.close().await.unwrap();
    in_use(open(dir.path()).map(drop));
    build(&rebuild, 1).await;
    in_use(open(dir.path()).map(drop));
    rebuild.finish().unwrap();
    drop(open(dir.path()).unwrap());
}

#[tokio::test]
async fn a_file_that_is_still_in_use_is_not_taken() {
    let dir = temp_dir();
    let rebuild = begin(dir.path());
    let new = rebuild.open_new(Revision::ZERO).unwrap();
    land(&new, &mut Author::of("new"), 1).await;
    assert!(matches!(rebuild.finish(), Err(Error::Open(why)) if why.contains("still in use")));
    new.close().await.unwrap();
}

#[tokio::test]
async fn new_boards_begin_behind_the_base_also_after_another_start() {
    let dir = temp_dir();
    assert_eq!(open(dir.path()).unwrap().caps().base, Revision::ZERO);
    let rebuild = begin(dir.path());
    build(&rebuild, 1).await;
    rebuild.finish().unwrap();
    let journal = open(dir.path()).unwrap();
    assert_eq!(journal.caps().base, Revision(77));
    let records = journal.read(Author::of("new").board, Revision::ZERO, ReadLimit::records(9)).await;
    assert_eq!(records.map(|records| records.len()), Ok(1));
}
