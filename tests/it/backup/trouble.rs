//! Backups in bad times: damaged boards, a full disk, readers who take nothing, servers that stop.

use std::fs;
use std::path::Path;
use std::time::Duration;

use kokuban_tests::{Setup, Wire, until};
use serde_json::json;

use super::program::{backup, kokuban, restore, revisions, verify};

const BOUND: Duration = Duration::from_secs(60);

/// Flips a bit of the value `marker` in the database file of a server that does not run.
fn damage(data: &Path, marker: &str) {
    let file = data.join("kokuban.db");
    let mut bytes = fs::read(&file).expect("a database");
    let at = bytes.windows(marker.len()).position(|part| part == marker.as_bytes()).expect("the value");
    bytes[at] ^= 1;
    fs::write(&file, bytes).expect("written");
}

#[test]
fn a_damaged_board_is_copied_told_of_and_brought_back_as_far_as_it_is_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let mut server = Setup::disk().data(&data).start();
    for name in ["bad", "good"] {
        let board = server.board(name);
        for n in 0..10 {
            let body = json!({"value": format!("marker-{name}-{n}")});
            server.as_agent("ra").put(&board.entry(&format!("working/k{n}")), &body).must(201);
        }
    }
    server.stop();
    damage(&data, "marker-bad-6");
    server.start();
    let file = dir.path().join("damaged.backup");
    let said = kokuban(&["backup", file.to_str().expect("UTF-8"), "--url", &server.url()]);
    let told = said.json();
    assert_eq!((&told["damaged"][0]["board"], &told["damaged"][0]["whole_until"]), (&json!("bad"), &json!(7)));
    let said = said.ended_with(1);
    assert!(said.contains("bad: DAMAGED") && said.contains("revision 8") && said.contains("--salvage"), "{said}");
    server.kill();
    assert!(verify(&file).ended_with(1).contains("1 boards are damaged"));
    let to = dir.path().join("new");
    let said = restore(&file, &to, &[]).ended_with(1);
    assert!(said.contains("bad: DAMAGED") && said.contains("--salvage"), "{said}");
    assert!(!to.join("kokuban.db").exists());
    let said = restore(&file, &to, &["--salvage"]).well();
    assert_eq!(revisions(&said.json(), "bad").0, 7);
    assert_eq!(revisions(&said.json(), "good").0, 11);
    let server = Setup::disk().data(&to).start();
    let ra = server.as_agent("ra");
    ra.get("/v1/boards/bad/entries/working/k5").must(200);
    ra.get("/v1/boards/bad/entries/working/k6").must(404);
    ra.get("/v1/boards/good/entries/working/k9").must(200);
    ra.put("/v1/boards/bad/entries/working/k6", &json!({"value": 1})).must(201);
    assert_eq!(ra.get("/readyz").expect(200).json()["boards_quarantined"], 0);
}

#[test]
fn a_full_disk_does_not_keep_a_server_from_being_copied() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Setup::disk().data(&dir.path().join("data")).file_size_can_be_limited().start();
    let (ra, board) = (server.as_agent("ra"), server.board("b"));
    let put = |n: u64| ra.put(&board.entry(&format!("working/k{n}")), &json!({"value": "x".repeat(20_000)})).status;
    assert!((0..20).all(|n| put(n) == 201));
    server.limit_file_size(Some(4_096));
    assert!(put(100) >= 500, "nothing can be acknowledged now");
    let file = backup(&server, dir.path(), "full.backup");
    let report = verify(&file).well().json();
    // What became of the last one is not known yet.
    assert!(matches!(report[0]["entries"].as_u64(), Some(20 | 21)), "{report}");
    assert!(put(101) >= 500);
    server.limit_file_size(None);
    until("writes go on", BOUND, || put(102) == 201);
    assert_eq!(verify(&backup(&server, dir.path(), "then.backup")).well().json()[0]["ok"], true);
}

#[test]
fn a_reader_who_takes_nothing_neither_fills_memory_nor_the_log_and_is_left_in_the_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let server = Setup::disk().data(&data).config("[timeouts]\nwrite_ms = 2000").start();
    let (ra, board) = (server.as_agent("ra"), server.board("b"));
    let value = |n: u64| json!({"value": format!("{n}{}", "x".repeat(200_000)), "version": n});
    for n in 0..100 {
        let answer = ra.put(&board.entry("working/k"), &value(n));
        assert!(matches!(answer.status, 200 | 201));
    }
    let before = server.memory_bytes();
    let slow: Vec<Wire> = (0..2)
        .map(|_| {
            let mut wire = Wire::connect(server.addr()).expect("a connection");
            wire.send(&ra.ask("GET", "/v1/backup").bytes()).expect("sent");
            assert_eq!(wire.read_head().expect("a head").status, 200);
            wire
        })
        .collect();
    ra.get("/v1/backup").refused(503, "overloaded");
    for n in 100..300 {
        ra.put(&board.entry("working/k"), &value(n)).must(200);
    }
    let grown = server.memory_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "memory grew by {grown} bytes");
    let log = fs::metadata(data.join("kokuban.db-wal")).expect("a log").len();
    assert!(log < 64 << 20, "the log has {log} bytes");
    // Who takes nothing for long makes room for others.
    let file = dir.path().join("then.backup");
    let path = file.to_str().expect("UTF-8");
    until("a backup is made again", BOUND, || kokuban(&["backup", path, "--url", &server.url()]).code == Some(0));
    verify(&file).well();
    drop(slow);
}

#[test]
fn a_server_that_stops_or_dies_leaves_no_file() {
    let dir = tempfile::tempdir().expect("a directory");
    for kill in [false, true] {
        let mut server = Setup::disk().data(&dir.path().join(format!("data-{kill}"))).start();
        let (ra, board) = (server.as_agent("ra"), server.board("b"));
        for n in 0..200 {
            ra.put(&board.entry(&format!("working/k{n}")), &json!({"value": "x".repeat(200_000)})).must(201);
        }
        let file = dir.path().join(format!("cut-{kill}.backup"));
        let args = ["backup", file.to_str().expect("UTF-8"), "--url", &server.url()];
        let mut child = super::program::command(&args);
        let child = child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let child = child.spawn().expect("it starts");
        let folder = dir.path().to_owned();
        let begun = || {
            let files = fs::read_dir(&folder).expect("listed").flatten();
            let mut parts = files.filter(|file| file.file_name().to_string_lossy().starts_with(".kokuban-backup-"));
            parts.any(|file| file.metadata().is_ok_and(|meta| meta.len() > 100_000)) || file.exists()
        };
        kokuban_tests::until_some("a part of a backup", Duration::from_secs(30), || begun().then_some(()));
        if kill {
            server.kill()
        } else {
            let _ = server.stop();
        }
        let output = child.wait_with_output().expect("it ends");
        let whole = file.exists();
        assert_eq!(output.status.success(), whole, "{}", String::from_utf8_lossy(&output.stderr));
        if whole {
            verify(&file).well();
        }
        assert!(!begun() || whole, "no part is left lying about");
    }
}
