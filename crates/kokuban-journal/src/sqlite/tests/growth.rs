//! Many records and boards: found by the index, with a bounded log, after any kind of end.

use std::sync::atomic::Ordering::Relaxed;

use rusqlite::Connection;

use super::*;

fn count(dir: &Path, what: &str) -> i64 {
    let db = Connection::open(dir.join("kokuban.db")).unwrap();
    db.query_row(&format!("SELECT {what}"), [], |row| row.get(0)).unwrap()
}

/// Appends one record to each of `n_boards` boards, `rounds` times.
async fn rounds(journal: &Sqlite, authors: &mut [Author], rounds: usize) {
    for _ in 0..rounds {
        let group = authors.iter_mut().map(|author| author.append_n(1)).collect();
        let outcomes = journal.append(group).await;
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Appended(_))));
    }
}

#[tokio::test]
async fn records_are_indexed_while_appends_go_on_and_found_after_a_kill() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut authors: Vec<Author> = (0..300).map(|i| Author::of(&format!("b{i:03}"))).collect();
    // Beyond the number of records that may wait for being indexed.
    rounds(&journal, &mut authors, 80).await;
    let image = left_by_a_kill(dir.path());
    let covered = count(image.path(), "value FROM meta WHERE name = 'covered_seq'");
    assert!((1..24_000).contains(&covered), "{covered}");
    let again = open(image.path()).unwrap();
    assert!(again.inner.shared.heads().n_unindexed() <= 24_000);
    for journal in [&journal, &again] {
        for author in authors.iter().step_by(37) {
            assert_eq!(n_records(journal, author).await, 80);
        }
    }
    rounds(&again, &mut authors, 2).await;
    again.close().await.unwrap();
    let closed = open(image.path()).unwrap();
    assert_eq!(closed.inner.shared.heads().n_unindexed(), 0);
    assert_eq!(n_records(&closed, &authors[299]).await, 82);
    assert_eq!(count(image.path(), "sum(n) FROM run"), 82 * 300);
}

#[tokio::test]
async fn an_indexing_cut_short_is_taken_up_again() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut authors: Vec<Author> = (0..10).map(|i| Author::of(&format!("b{i}"))).collect();
    rounds(&journal, &mut authors, 20).await;
    journal.close().await.unwrap();
    // As if the last step, which says up to where all is indexed, had not come.
    let db = Connection::open(dir.path().join("kokuban.db")).unwrap();
    db.execute_batch("UPDATE meta SET value = 0 WHERE name = 'covered_seq'; DELETE FROM run WHERE board > 5;
        UPDATE board SET revision = NULL, chain = NULL, at = NULL, board_time = NULL, oldest = NULL WHERE id > 5;
        UPDATE board SET revision = 15, chain = (SELECT chain FROM journal WHERE board = 3 AND revision = 15) WHERE id = 3;
        DELETE FROM run WHERE board = 3")
        .unwrap();
    // Its records lie at 3, 13, 23 and so on.
    let packed = [&[3, 1][..], &[9, 1].repeat(14)].concat();
    db.execute("INSERT INTO run VALUES (3, 1, 15, ?1)", [packed]).unwrap();
    drop(db);
    let journal = open(dir.path()).unwrap();
    for author in &authors {
        assert_eq!(n_records(&journal, author).await, 20, "{}", author.board);
    }
    rounds(&journal, &mut authors, 1).await;
    journal.close().await.unwrap();
    let journal = open(dir.path()).unwrap();
    for author in &authors {
        assert_eq!(n_records(&journal, author).await, 21, "{}", author.board);
    }
}

#[tokio::test]
async fn the_log_stays_bounded_under_load() {
    let dir = temp_dir();
    let journal = Sqlite::open(&Options { log_bytes: 1024 * 1024, ..options(dir.path()) }).unwrap();
    let mut author = Author::of("b");
    let mut longest = 0;
    for _ in 0..3000 {
        let item = author.append([vec![5; 3000]]);
        assert!(matches!(journal.append(vec![item]).await[..], [Outcome::Appended(_)]));
        longest = longest.max(journal.inner.shared.log_frames.load(Relaxed));
    }
    let log = fs::metadata(dir.path().join("kokuban.db-wal")).unwrap().len();
    assert!(journal.stats().checkpoints > 3);
    assert!(log < 8 * 1024 * 1024 && longest < 2048, "{log} bytes, {longest} frames");
    assert_eq!(n_records(&journal, &author).await, 3000);
}

#[tokio::test]
async fn half_written_snapshots_are_cleared_away() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut author = Author::of("b");
    land(&journal, &mut author, 2).await;
    let snapshot = crate::Snapshot { head: author.head.unwrap(), chunks: vec![vec![1; 1000].into(); 20] };
    journal.put_snapshot(author.board.clone(), snapshot).await.unwrap();
    journal.close().await.unwrap();
    let db = Connection::open(dir.path().join("kokuban.db")).unwrap();
    db.execute_batch("UPDATE snapshot SET complete = 0; INSERT INTO snapshot VALUES (77, 1, 2, x'00', 3, 0)").unwrap();
    drop(db);
    let journal = open(dir.path()).unwrap();
    let loaded = journal.load(author.board.clone()).await.unwrap().unwrap();
    assert_eq!((loaded.snapshot, loaded.tail.len()), (None, 2));
    journal.close().await.unwrap();
    assert_eq!(count(dir.path(), "count(*) FROM snapshot"), 0);
    assert_eq!(count(dir.path(), "count(*) FROM snapshot_chunk"), 0);
}

#[tokio::test]
async fn erased_bodies_leave_the_file() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let mut author = Author::of("b");
    let item = author.append(["a secret that must go: xyzzy-17".repeat(4)]);
    let record = item.commits[0].clone();
    assert!(matches!(journal.append(vec![item]).await[..], [Outcome::Appended(_)]));
    let rewrite = crate::Rewrite { revision: record.revision, chain: record.chain, body: "gone".into() };
    journal.rewrite(author.board.clone(), vec![rewrite]).await.unwrap();
    journal.close().await.unwrap();
    let file = fs::read(dir.path().join("kokuban.db")).unwrap();
    assert!(!file.windows(8).any(|window| window == b"xyzzy-17"));
}
