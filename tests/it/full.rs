//! A disk that takes no more (G10): writes are refused clearly, reads go on, nothing acknowledged is lost, and writes
//! resume without a restart when there is room again.
//!
//! Not known here: damage of what was written.

use std::time::Duration;

use kokuban_tests::{BoardAt, Caller, EventStream, Setup, TestServer, until};
use serde_json::json;

const SOON: Duration = Duration::from_secs(20);
/// Nothing fits behind this: every write of the journal fails.
const FULL_BYTES: u64 = 4096;

fn count(caller: &Caller, board: &BoardAt) -> (u64, u64) {
    let entry = caller.get(&board.entry("working/n")).expect(200).json();
    (entry["value"].as_u64().expect("a number"), entry["version"].as_u64().expect("a version"))
}

/// Tries a write; whether it was acknowledged.
fn write(caller: &Caller, board: &BoardAt, value: u64, version: u64) -> bool {
    let answer = caller.put(&board.entry("working/n"), &json!({"value": value, "version": version}));
    if answer.status < 300 {
        return true;
    }
    let code = answer.code();
    let problem = match answer.status {
        507 => answer.refused(507, "storage_full"),
        503 => answer.refused(503, if code == "outcome_unknown" { "outcome_unknown" } else { "unavailable" }),
        other => panic!("{other}: {}", answer.text()),
    };
    assert_eq!(problem["retryable"], true, "{problem}");
    let effects = if code == "outcome_unknown" { "unknown" } else { "none" };
    assert_eq!(problem["side_effects"], effects, "{problem}");
    false
}

fn fill_and_make_room(server: &TestServer, board: &BoardAt) -> u64 {
    let ra = server.as_agent("ra");
    let mut stream = EventStream::open(&ra, &board.at("events"), &[]);
    let _ = stream.next_event("hello", SOON);
    let mut last = count(&ra, board);
    for round in 0..4 {
        assert!(write(&ra, board, last.0 + 1, last.1), "there is room");
        last = count(&ra, board);
        server.limit_file_size(Some(FULL_BYTES));
        for _ in 0..5 {
            assert!(!write(&ra, board, last.0 + 1, last.1), "round {round}: nothing can be acknowledged now");
            assert_eq!(count(&ra, board), last, "a refusal changes nothing, and reads go on");
        }
        // While it is not known what became of the last write, nothing can be judged.
        let stale = ra.put(&board.entry("working/n"), &json!({"value": 0, "version": 0}));
        assert!(matches!((stale.status, stale.code().as_str()), (409, "version_conflict") | (503, "unavailable")));
        ra.get(&board.at("history")).must(200);
        ra.get(&board.at("entries?include=value")).must(200);
        assert_eq!(ra.get("/readyz").status, 503, "it says that it takes no writes");
        ra.get("/livez").must(200);
        server.limit_file_size(None);
        until("writes resume", SOON, || write(&ra, board, last.0 + 1, last.1));
        last = count(&ra, board);
        until("it is ready again", SOON, || ra.get("/readyz").status == 200);
    }
    for revision in stream.next_event("commit", SOON).revision().expect("a revision")..=last.1 {
        if revision < last.1 {
            assert_eq!(stream.next_event("commit", SOON).revision(), Some(revision + 1), "no gap, nothing twice");
        }
    }
    last.1
}

#[test]
fn a_full_disk_refuses_writes_keeps_reads_and_recovers_by_itself() {
    let mut server = Setup::disk().file_size_can_be_limited().start();
    let board = server.board("b");
    server.as_agent("ra").put(&board.entry("working/n"), &json!({"value": 0})).must(201);
    let version = fill_and_make_room(&server, &board);
    server.restart_after_kill();
    let ra = server.as_agent("ra");
    assert_eq!(count(&ra, &board), (version - 1, version), "every acknowledged write is there after a kill");
    let history = board.history(&ra);
    assert_eq!(history.len() as u64, version + 1, "and nothing else");
    assert!(write(&ra, &board, version, version));
}

/// The log runs out of room in the middle of its growth.
#[test]
fn a_log_that_cannot_grow_refuses_writes_and_goes_on_when_it_can() {
    let mut server = Setup::disk().file_size_can_be_limited().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    let limit = 26 << 20;
    server.limit_file_size(Some(limit));
    let big = "x".repeat(200_000);
    let mut acknowledged = 0;
    let mut refused = None;
    while refused.is_none() && acknowledged < 400 {
        let answer = ra.put(&board.entry(&format!("working/k{acknowledged}")), &json!({"value": big}));
        if answer.status == 201 {
            acknowledged += 1;
        } else {
            refused = Some(answer);
        }
    }
    let refused = refused.expect("it has to end somewhere");
    assert!(matches!(refused.status, 503 | 507), "{}", refused.text());
    assert!(
        matches!(refused.code().as_str(), "unavailable" | "storage_full" | "outcome_unknown"),
        "{}",
        refused.text()
    );
    assert_eq!(ra.get(&board.entry("working/k0")).expect(200).json()["value"], big, "reads go on");
    server.limit_file_size(None);
    until("writes resume", SOON, || {
        let body = json!({"value": "small", "version": 0});
        let answer = ra.put(&board.entry("working/after"), &body);
        matches!(answer.status, 201 | 409)
    });
    server.restart_after_kill();
    let list = server.as_agent("ra").get(&board.at("entries?limit=1000&prefix=k")).expect(200).json();
    let n = list["items"].as_array().map_or(0, Vec::len);
    assert!(n == acknowledged || n == acknowledged + 1, "{n} of {acknowledged}");
}
