//! Leases over restarts (H3): downtime counts, the grace is small and bounded, the end comes once.
//!
//! Not known here: what a lease allows.

use std::time::{Duration, Instant};

use kokuban_tests::{BoardAt, Caller, Setup, until};
use serde_json::{Value, json};

/// What a lease is topped up to after a start.
const GRACE_MS: u64 = 5_000;

fn remaining_ms(caller: &Caller, board: &BoardAt) -> Option<u64> {
    let answer = caller.get(&board.lease("working/k"));
    (answer.status == 200).then(|| answer.json()["remaining_ms"].as_u64().expect("a duration"))
}

fn kinds(caller: &Caller, board: &BoardAt) -> Vec<String> {
    let changes =
        board.history(caller).into_iter().flat_map(|commit| commit["changes"].as_array().cloned().unwrap_or_default());
    changes.filter_map(|change: Value| change["kind"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_lease_does_not_live_on_by_restarts() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    ra.put(&board.entry("working/k"), &json!({"value": 1, "status": "processing"})).must(201);
    let granted = Instant::now();
    let lease = ra.post(&board.lease("working/k"), &json!({"ttl_ms": 7_000})).expect(201).json();
    let token = lease["lease_token"].clone();
    let mut before = remaining_ms(&ra, &board).expect("it is live");
    let mut starts = 0;
    while remaining_ms(&ra, &board).is_some() && starts < 12 {
        server.restart_after_kill();
        starts += 1;
        let Some(now) = remaining_ms(&ra, &board) else { break };
        assert!(now <= before.max(GRACE_MS), "{now} ms after {before} ms");
        let deadline = Duration::from_millis(7_000 + 4 * GRACE_MS);
        assert!(granted.elapsed() < deadline, "immortal");
        before = now;
        // A kill every half second or so, at whatever speed the machine starts processes.
        until("time passes", Duration::from_secs(10), || {
            remaining_ms(&ra, &board).is_none_or(|now| now + 500 < before)
        });
    }
    until("the lease ends", Duration::from_secs(30), || remaining_ms(&ra, &board).is_none());
    assert!(granted.elapsed() >= Duration::from_millis(7_000), "not before its time");
    server.restart_after_kill();
    let kinds = kinds(&ra, &board);
    let n = |wanted: &str| kinds.iter().filter(|kind| *kind == wanted).count();
    assert_eq!(n("lease_expired"), 1, "it ends once: {kinds:?}");
    assert!(n("lease_resumed") <= 3, "at most three starts in a row top it up: {kinds:?}");
    let entry = ra.get(&board.entry("working/k")).expect(200).json();
    assert_eq!((&entry["status"], &entry["owner"], &entry["attempts"]), (&json!("raw"), &json!(null), &json!(1)));
    let late =
        ra.put(&board.entry("working/k"), &json!({"value": 2, "version": entry["version"], "lease_token": token}));
    assert_eq!(late.refused(409, "lease_lost")["reason"], "expired");
}

#[test]
fn a_live_lease_is_still_held_after_a_restart() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    ra.put(&board.entry("working/k"), &json!({"value": 1})).must(201);
    let lease = ra.post(&board.lease("working/k"), &json!({"ttl_ms": 600_000})).expect(201).json();
    server.restart_after_kill();
    let ta = server.as_agent("ta").put(&board.entry("working/k"), &json!({"value": 2, "version": 1}));
    assert_eq!(ta.refused(409, "lease_held")["held_by"], "ra");
    let body = json!({"value": 2, "version": 1, "lease_token": lease["lease_token"]});
    ra.put(&board.entry("working/k"), &body).must(200);
    let body = json!({"lease_token": lease["lease_token"], "ttl_ms": 1_000});
    ra.put(&board.lease("working/k"), &body).must(200);
}

#[test]
fn a_lease_that_ended_while_the_server_was_down_is_given_back_at_the_start() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    ra.put(&board.entry("working/k"), &json!({"value": 1, "status": "processing"})).must(201);
    ra.post(&board.lease("working/k"), &json!({"ttl_ms": 100})).must(201);
    server.restart_after_kill();
    // Nobody asks for the board: its deadline is known without.
    let ta = server.as_agent("ta");
    until("it is free again", Duration::from_secs(10), || {
        let answer = ta.get(&board.entry("working/k")).expect(200).json();
        answer["status"] == "raw" && answer.get("held_by").is_none()
    });
    ta.post(&board.lease("working/k"), &json!({"ttl_ms": 1_000})).must(201);
}

/// SIGSTOP: time goes on while the process does not.
#[test]
fn a_server_that_was_stopped_for_a_while_knows_that_leases_have_ended() {
    let server = Setup::disk().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    ra.put(&board.entry("working/k"), &json!({"value": 1, "status": "processing"})).must(201);
    let lease = ra.post(&board.lease("working/k"), &json!({"ttl_ms": 400})).expect(201).json();
    let paused = Instant::now();
    server.pause();
    until("the lease has ended", Duration::from_secs(5), || paused.elapsed() > Duration::from_millis(500));
    server.go_on();
    let body = json!({"value": 2, "version": 1, "lease_token": lease["lease_token"]});
    assert_eq!(ra.put(&board.entry("working/k"), &body).refused(409, "lease_lost")["reason"], "expired");
    let entry = ra.get(&board.entry("working/k")).expect(200).json();
    assert_eq!((&entry["status"], &entry["owner"], &entry["value"]), (&json!("raw"), &json!(null), &json!(1)));
}
