//! The data directory: one journal at a time, private, and not taken from other programs.

use rusqlite::Connection;

use super::*;

fn refusal(dir: &Path) -> String {
    match open(dir) {
        Err(error @ (Error::Open(_) | Error::InUse(_))) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_directory_belongs_to_one_journal_at_a_time() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let text = refusal(dir.path());
    assert!(text.contains(dir.path().to_str().unwrap()) && text.contains("in use"), "{text}");
    journal.close().await.unwrap();
    let second = open(dir.path()).unwrap();
    drop(journal);
    drop(refusal(dir.path()));
    drop(second);
    open(dir.path()).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let parent = temp_dir();
    let dir = parent.path().join("new/data");
    let journal = open(&dir).unwrap();
    land(&journal, &mut Author::of("b"), 1).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    let files: Vec<_> = fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_closed_journal_leaves_one_file_with_everything() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut author = Author::of("b");
    land(&journal, &mut author, 5).await;
    journal.close().await.unwrap();
    assert!(!dir.path().join("kokuban.db-wal").exists());
    let db = Connection::open(dir.path().join("kokuban.db")).unwrap();
    let n: i64 = db.query_row("SELECT sum(n) FROM run", [], |row| row.get(0)).unwrap();
    let covered: i64 = db.query_row("SELECT value FROM meta WHERE name = 'covered_seq'", [], |row| row.get(0)).unwrap();
    assert_eq!((n, covered), (5, 5));
}

#[tokio::test]
async fn files_of_others_are_refused_and_left_alone() {
    let dir = temp_dir();
    let file = dir.path().join("kokuban.db");
    fs::write(&file, "not a database at all, but long enough to be read as one, or so one might think".repeat(9))
        .unwrap();
    let before = fs::read(&file).unwrap();
    let text = refusal(dir.path());
    assert!(text.contains("kokuban.db"), "{text}");
    assert_eq!(fs::read(&file).unwrap(), before);

    fs::remove_file(&file).unwrap();
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE cats (name TEXT)").unwrap();
    assert!(refusal(dir.path()).contains("another program"));
}

#[tokio::test]
async fn a_database_of_a_newer_kokuban_or_with_other_tables_is_refused() {
    let dir = temp_dir();
    drop(open(dir.path()).unwrap());
    let change = |sql: &str| Connection::open(dir.path().join("kokuban.db")).unwrap().execute_batch(sql).unwrap();
    change("INSERT INTO migration VALUES (1000, 'x', 'y')");
    assert!(refusal(dir.path()).contains("newer Kokuban"));
    change("DELETE FROM migration WHERE version = 1000; UPDATE migration SET sha256 = 'other'");
    assert!(refusal(dir.path()).contains("0001_journal.sql"));
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let dir = temp_dir();
    fs::write(dir.path().join("file"), "").unwrap();
    let text = refusal(&dir.path().join("file/data"));
    assert!(text.contains("file/data"), "{text}");
}

#[test]
fn a_journal_that_is_dropped_outside_of_a_runtime_closes() {
    let dir = temp_dir();
    drop(open(dir.path()).unwrap());
    drop(open(dir.path()).unwrap());
}
