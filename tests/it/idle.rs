//! Boards that nobody uses leave memory and come back as they were; those with a live lease stay.
//!
//! Not known here: restarts.

use std::time::Duration;

use kokuban_tests::{Caller, EventStream, Setup, until};
use serde_json::json;

const SOON: Duration = Duration::from_secs(20);

fn boards_loaded(caller: &Caller) -> u64 {
    let metrics = caller.get("/metrics").text();
    let n = metrics.lines().find_map(|line| line.strip_prefix("kokuban_boards_loaded "));
    n.and_then(|n| n.trim().parse().ok()).expect("a count of boards")
}

#[test]
fn an_idle_board_leaves_memory_and_comes_back_as_it_was() {
    let server = Setup::disk().config("[limits]\nloaded_boards_idle_ms = 200").start();
    let ra = server.as_agent("ra");
    for i in 0..20 {
        let board = server.board(&format!("b{i}"));
        for version in 0..3 {
            let body = json!({"value": [i, version], "version": version});
            let answer = ra.ask("PUT", &board.entry("working/k")).key(&format!("{i}:{version}")).json(&body).send();
            assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
        }
    }
    until("every board leaves memory", SOON, || boards_loaded(&ra) == 0);
    for i in 0..20 {
        let path = format!("/v1/boards/b{i}/entries/working/k");
        let entry = ra.get(&path).expect(200).json();
        assert_eq!((&entry["value"], &entry["version"]), (&json!([i, 2]), &json!(3)));
        let again = ra.ask("PUT", &path).key(&format!("{i}:2")).json(&json!({"value": [i, 2], "version": 2})).send();
        assert_eq!(again.expect(200).header("idempotency-replayed"), Some("true"), "its keys came back too");
        ra.put(&path, &json!({"value": 0, "version": 2})).must(409);
        ra.put(&path, &json!({"value": "next", "version": 3})).must(200);
        assert_eq!(ra.get(&format!("{path}?version=1")).expect(200).json()["value"], json!([i, 0]));
    }
}

#[test]
fn a_board_with_a_live_lease_is_never_idle_and_the_lease_ends_in_time() {
    let server = Setup::disk().config("[limits]\nloaded_boards_idle_ms = 100").start();
    let (leased, quiet) = (server.board("leased"), server.board("quiet"));
    let ra = server.as_agent("ra");
    ra.put(&leased.entry("working/k"), &json!({"value": 1, "status": "processing"})).must(201);
    ra.put(&quiet.entry("working/k"), &json!({"value": 1})).must(201);
    ra.post(&leased.lease("working/k"), &json!({"ttl_ms": 1_500})).must(201);
    until("the board without a lease leaves memory", SOON, || boards_loaded(&ra) == 1);
    until("then the other, when its lease has ended", SOON, || boards_loaded(&ra) == 0);
    let entry = ra.get(&leased.entry("working/k")).expect(200).json();
    assert_eq!((&entry["status"], &entry["attempts"]), (&json!("raw"), &json!(1)));
}

#[test]
fn a_board_that_somebody_follows_stays() {
    let server = Setup::disk().config("[limits]\nloaded_boards_idle_ms = 100").start();
    let (followed, quiet) = (server.board("followed"), server.board("quiet"));
    let ra = server.as_agent("ra");
    let mut stream = EventStream::open(&ra, &followed.at("events"), &[]);
    let _ = stream.next_event("hello", SOON);
    ra.put(&quiet.entry("working/k"), &json!({"value": 1})).must(201);
    until("the other leaves memory", SOON, || boards_loaded(&ra) == 1);
    ra.put(&followed.entry("working/k"), &json!({"value": 1})).must(201);
    assert_eq!(stream.next_event("commit", SOON).json()["changes"][0]["key"], "k");
}
