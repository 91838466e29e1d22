//! Damage of the files of a data directory (G10): a refused start that says where and what to do, or a board set
//! aside; never an acknowledged write that vanishes in silence.
//!
//! **Invariant**: each case damages its own copy of the same directory.
//! Not known here: the format of the files, beyond their names.

use std::fs;
use std::path::{Path, PathBuf};

use kokuban_tests::{Random, Setup, TestServer};
use serde_json::json;
use tempfile::TempDir;

const WRITES: u64 = 60;
/// Complete groups behind the first damaged one that may be lost without notice: they cannot be told from a torn tail.
const GROUPS_IN_DOUBT: u64 = 2;

fn log_of(data: &Path) -> PathBuf {
    data.join("kokuban.db-wal")
}

/// The part of the log that was written to; behind it are the zeros it was grown with.
fn used(log: &[u8]) -> usize {
    log.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1)
}

/// A directory of a server that was killed after `WRITES` acknowledged writes, each in a group of its own.
fn killed_after_writes() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let mut server = Setup::disk().data(&dir.path().join("data")).start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    for i in 1..WRITES {
        ra.put(&board.entry(&format!("working/k{i}")), &json!({"value": format!("value number {i}")})).must(201);
    }
    server.kill();
    dir
}

fn copy(from: &Path) -> TempDir {
    let to = tempfile::tempdir().expect("a directory");
    fs::create_dir(to.path().join("data")).expect("a directory");
    for file in fs::read_dir(from.join("data")).expect("a directory") {
        let file = file.expect("readable");
        fs::copy(file.path(), to.path().join("data").join(file.file_name())).expect("a copy");
    }
    to
}

/// The last revision of the board, which must be whole up to it and take writes; 0 where nothing is left.
fn head(server: &TestServer) -> u64 {
    let ra = server.as_agent("ra");
    let summary = ra.get("/v1/boards/b");
    if summary.code() == "board_not_found" {
        return 0;
    }
    let summary = summary.expect(200).json();
    let head = summary["revision"].as_u64().expect("a revision");
    let entries = ra.get("/v1/boards/b/entries?limit=1000&include=value").expect(200).json();
    assert_eq!(
        entries["items"].as_array().map(Vec::len),
        usize::try_from(head - 1).ok(),
        "a prefix of what was written"
    );
    ra.put("/v1/boards/b/entries/working/after", &json!({"value": 1})).must(201);
    head
}

fn start(dir: &Path) -> Setup {
    Setup::disk().data(&dir.join("data"))
}

#[test]
fn a_flipped_bit_in_the_log_never_loses_acknowledged_writes_in_silence() {
    let original = killed_after_writes();
    let log = fs::read(log_of(&original.path().join("data"))).expect("a log");
    let used = used(&log);
    assert!(used > 50_000, "the writes are in the log: {used} bytes");
    let mut random = Random::new(7);
    let (mut refused, mut served) = (0, 0);
    // The header of the log and of frames, and places all over it.
    let mut places = vec![0, 5, 17, 30, 33, 40, 56];
    places.extend((0..20).map(|_| random.index(used)));
    for place in places {
        let dir = copy(original.path());
        let mut damaged = log.clone();
        damaged[place] ^= 1 << random.below(8);
        fs::write(log_of(&dir.path().join("data")), damaged).expect("written");
        let output = start_or_refusal(dir.path());
        match output {
            Ok(server) => {
                let head = head(&server);
                assert!(
                    head + GROUPS_IN_DOUBT >= WRITES,
                    "bit of byte {place}: {head} of {WRITES} are left, in silence"
                );
                served += 1;
            }
            Err(said) => {
                assert!(said.contains("kokuban.db-wal"), "byte {place}: it names the file: {said}");
                assert!(said.contains("damaged at byte"), "byte {place}: it names the place: {said}");
                assert!(said.contains("--salvage"), "byte {place}: it names the way out: {said}");
                let server = start(dir.path()).arg("--salvage").start();
                assert!(head(&server) < WRITES, "what stood before the damage");
                assert!(server.log().contains("a copy was kept"), "{}", server.log());
                let kept = dir.path().join("data/kokuban.db-wal.damaged-1");
                assert_eq!(fs::read(kept).expect("a copy").len(), log.len());
                refused += 1;
            }
        }
    }
    println!("flipped bits: {refused} starts refused, {served} served");
    assert!(refused >= 10, "most places are before many groups: {refused}");
}

/// The server, or what it said when it refused.
fn start_or_refusal(dir: &Path) -> Result<TestServer, String> {
    start(dir).try_start().map_err(|(code, said)| {
        assert_eq!(code, 1, "{said}");
        said
    })
}

#[test]
fn a_torn_tail_is_cut_and_the_rest_serves() {
    let original = killed_after_writes();
    let log = fs::read(log_of(&original.path().join("data"))).expect("a log");
    let mut random = Random::new(11);
    let used = used(&log);
    let mut cuts = vec![log.len(), used, used - 1, used - 100, used - 4_097, used / 2, 33, 32, 31, 1, 0];
    cuts.extend((0..6).map(|_| random.index(used)));
    let mut heads = Vec::new();
    for cut in cuts {
        let dir = copy(original.path());
        fs::write(log_of(&dir.path().join("data")), &log[..cut]).expect("written");
        let server = start(dir.path()).start();
        heads.push((cut, head(&server)));
    }
    heads.sort_unstable();
    assert!(heads.is_sorted_by_key(|(_, head)| *head), "the longer the log, the more is left: {heads:?}");
    assert!(heads.last().is_some_and(|(_, head)| head + GROUPS_IN_DOUBT >= WRITES), "{heads:?}");
}

#[test]
fn a_damaged_record_sets_its_board_aside_and_the_others_serve() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let mut server = Setup::disk().data(&data).start();
    for name in ["good", "bad"] {
        let board = server.board(name);
        let ra = server.as_agent("ra");
        for i in 0..10 {
            let value = format!("a-marker-of-{name}-{i}");
            ra.put(&board.entry(&format!("working/k{i}")), &json!({"value": value})).must(201);
        }
    }
    let (status, _) = server.stop();
    assert_eq!(status.code(), Some(0));
    drop(server);
    let file = data.join("kokuban.db");
    let mut bytes = fs::read(&file).expect("a database");
    let marker = b"a-marker-of-bad-7";
    let at = bytes.windows(marker.len()).position(|part| part == marker).expect("the value is in the database");
    bytes[at] ^= 0x20;
    fs::write(&file, bytes).expect("written");
    let server = Setup::disk().data(&data).start();
    let ra = server.as_agent("ra");
    for (method, path) in [("PUT", "entries/working/new"), ("POST", "transactions"), ("POST", "leases/working/k1")] {
        let body = match path {
            "transactions" => json!({"writes": [{"method": "put", "zone": "working", "key": "t", "value": 1}]}),
            "leases/working/k1" => json!({"ttl_ms": 1000}),
            _ => json!({"value": 1}),
        };
        let answer = ra.ask(method, &format!("/v1/boards/bad/{path}")).json(&body).send();
        let problem = answer.refused(503, "quarantined");
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains("revision 9"), "it names the place: {detail}");
        assert!(!detail.contains("marker"), "and no value: {detail}");
    }
    // Reads see the last good state, or say that there is none; never what is damaged.
    assert_eq!(ra.get("/v1/boards/bad/entries/working/k6").expect(200).json()["value"], "a-marker-of-bad-6");
    ra.get("/v1/boards/bad/entries/working/k7").must(404);
    assert_eq!(ra.get("/v1/boards/good/entries/working/k7").expect(200).json()["value"], "a-marker-of-good-7");
    ra.put("/v1/boards/good/entries/working/new", &json!({"value": 1})).must(201);
    assert_eq!(ra.get("/readyz").expect(200).json()["boards_quarantined"], 1);
    assert!(ra.get("/metrics").text().contains("quarantined 1"), "{}", ra.get("/metrics").text());
}

#[test]
fn a_database_that_is_none_refuses_the_start() {
    let dir = killed_after_writes();
    let data = dir.path().join("data");
    for file in ["kokuban.db-wal", "kokuban.db-shm"] {
        let _ = fs::remove_file(data.join(file));
    }
    fs::write(data.join("kokuban.db"), "this is no database, whatever it is".repeat(500)).expect("written");
    let (code, said) = start(dir.path()).refused();
    assert_eq!(code, 1);
    assert!(said.contains("kokuban.db") || said.contains("data directory"), "{said}");
}

#[test]
fn a_second_server_on_the_same_directory_is_refused_and_hurts_nobody() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let server = Setup::disk().data(&data).start();
    let board = server.board("b");
    let (code, said) = Setup::disk().data(&data).refused();
    assert_eq!(code, 1);
    assert!(said.contains("in use by another Kokuban server"), "{said}");
    assert!(said.contains(&data.display().to_string()), "it names the directory: {said}");
    server.as_agent("ra").put(&board.entry("working/k"), &json!({"value": 1})).must(201);
}
