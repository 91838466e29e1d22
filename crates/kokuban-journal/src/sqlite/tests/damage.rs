//! Damage of the database file sets a board aside or refuses the start, with the place named.

use kokuban_core::ids::Revision;
use rusqlite::Connection;

use super::*;
use crate::ReadLimit;

/// A closed journal of two boards with `n` records each.
async fn two_boards(n: usize) -> (TempDir, Author, Author) {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let (mut a, mut b) = (Author::of("a"), Author::of("b"));
    for _ in 0..n {
        land(&journal, &mut a, 1).await;
        land(&journal, &mut b, 1).await;
    }
    journal.close().await.unwrap();
    (dir, a, b)
}

fn change(dir: &Path, sql: &str) {
    Connection::open(dir.join("kokuban.db")).unwrap().execute_batch(sql).unwrap();
}

fn damaged(result: Result<impl std::fmt::Debug, Error>) -> (Option<Revision>, String) {
    match result {
        Err(Error::Damaged { board, revision, detail }) if board.as_str() == "a" => (revision, detail),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_damaged_record_sets_its_board_aside_and_names_the_place() {
    const ROW: &str = "(SELECT seq FROM journal WHERE board = 1 AND revision = 3)";
    for (sql, word) in [
        (format!("DELETE FROM journal WHERE seq = {ROW}"), "missing"),
        (format!("UPDATE journal SET chain = x'00' WHERE seq = {ROW}"), "chain"),
        (format!("UPDATE journal SET commit_id = x'' WHERE seq = {ROW}"), "commit id"),
        (format!("UPDATE journal SET board_time = -1 WHERE seq = {ROW}"), "board time"),
        (format!("UPDATE journal SET revision = 4 WHERE seq = {ROW}"), "another record"),
        (format!("UPDATE journal SET board = 2 WHERE seq = {ROW}"), "another record"),
    ] {
        let (dir, a, mut b) = two_boards(10).await;
        change(dir.path(), &sql);
        let journal = open(dir.path()).unwrap();
        let (revision, detail) = damaged(journal.load(a.board.clone()).await);
        assert_eq!(revision, Some(Revision(3)), "{sql}");
        assert!(detail.contains(word), "{detail}");
        damaged(journal.read(a.board.clone(), Revision(1), ReadLimit::records(10)).await);
        // What lies elsewhere can be read, and the other board serves.
        assert_eq!(journal.read(a.board.clone(), Revision(3), ReadLimit::records(100)).await.unwrap().len(), 7);
        assert_eq!(n_records(&journal, &b).await, 10);
        land(&journal, &mut b, 1).await;
    }
}

#[tokio::test]
async fn a_damaged_index_or_board_row_sets_the_board_aside() {
    for sql in [
        "UPDATE run SET places = x'ffffff' WHERE board = 1",
        "UPDATE run SET n = n + 1 WHERE board = 1",
        "UPDATE run SET n = 9223372036854775807 WHERE board = 1",
        "UPDATE run SET n = -5 WHERE board = 1",
        "DELETE FROM run WHERE board = 1",
        "UPDATE board SET chain = x'01' WHERE id = 1",
        "UPDATE board SET board_time = -1 WHERE id = 1",
    ] {
        let (dir, mut a, b) = two_boards(10).await;
        change(dir.path(), sql);
        let journal = open(dir.path()).unwrap();
        damaged(journal.load(a.board.clone()).await);
        assert_eq!(n_records(&journal, &b).await, 10, "{sql}");
        if sql.contains("board SET") {
            let refused = journal.append(vec![a.append_n(1)]).await;
            assert!(matches!(refused[..], [Outcome::Refused(crate::Refusal::Damaged { .. })]), "{sql}: {refused:?}");
        }
    }
}

#[tokio::test]
async fn a_damaged_record_at_the_end_of_the_journal_sets_its_board_aside() {
    let dir = temp_dir();
    let journal = open(dir.path()).unwrap();
    let (mut a, mut b) = (Author::of("a"), Author::of("b"));
    land(&journal, &mut a, 3).await;
    land(&journal, &mut b, 3).await;
    let image = left_by_a_kill(dir.path());
    change(image.path(), "UPDATE journal SET chain = x'00' WHERE board = 1 AND revision = 3");
    let journal = open(image.path()).unwrap();
    damaged(journal.load(a.board.clone()).await);
    let refused = journal.append(vec![a.append_n(1)]).await;
    assert!(matches!(refused[..], [Outcome::Refused(crate::Refusal::Damaged { .. })]), "{refused:?}");
    land(&journal, &mut b, 1).await;
}

#[tokio::test]
async fn a_damaged_snapshot_sets_its_board_aside() {
    let (dir, a, b) = two_boards(3).await;
    let journal = open(dir.path()).unwrap();
    let snapshot = crate::Snapshot { head: a.head.unwrap(), chunks: vec!["one".into(), "two".into()] };
    journal.put_snapshot(a.board.clone(), snapshot).await.unwrap();
    journal.close().await.unwrap();
    change(dir.path(), "DELETE FROM snapshot_chunk WHERE body = CAST('two' AS BLOB)");
    let journal = open(dir.path()).unwrap();
    assert_eq!(damaged(journal.load(a.board.clone()).await).0, Some(Revision(3)));
    assert_eq!(n_records(&journal, &b).await, 3);
}

#[tokio::test]
async fn garbage_in_the_file_is_damage_or_a_refused_start_and_never_fewer_records() {
    let (dir, a, b) = two_boards(200).await;
    let sound = fs::read(dir.path().join("kokuban.db")).unwrap();
    let (mut refused, mut aside, mut whole) = (0, 0, 0);
    for page in 0..sound.len() / 4096 {
        for at in [0, 5, 100, 2000, 4000] {
            let image = temp_dir();
            let mut file = sound.clone();
            file[page * 4096 + at..][..8].fill(0xa5);
            fs::write(image.path().join("kokuban.db"), file).unwrap();
            let Ok(journal) = open(image.path()) else {
                refused += 1;
                continue;
            };
            for author in [&a, &b] {
                match journal.load(author.board.clone()).await {
                    Ok(Some(loaded)) => {
                        assert_eq!(
                            (loaded.tail.len(), Some(loaded.head)),
                            (200, author.head),
                            "page {page}, byte {at}"
                        );
                        whole += 1;
                    }
                    Err(Error::Damaged { .. }) => aside += 1,
                    other => panic!("page {page}, byte {at}: {other:?}"),
                }
            }
        }
    }
    assert!(refused > 5 && aside > 20 && whole > 20, "{refused} {aside} {whole}");
}
