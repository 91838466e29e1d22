//! Many callers want one lease: one has it at a time, and old tokens never write.
//!
//! Not known here: claims.

use std::time::{Duration, Instant};

use kokuban_tests::{Setup, until};
use serde_json::json;

use super::callers::together;

fn one_has_the_lease_at_a_time(n: usize, each: usize) {
    let server = Setup::disk().start();
    let board = server.board("b");
    let lin = server.as_agent("lin");
    lin.put(&board.entry("working/n"), &json!({"value": 0})).must(201);
    let (lease, entry) = (board.lease("working/n"), board.entry("working/n"));
    let turns = together(&server, n, |_, caller| {
        let mut turns = Vec::new();
        while turns.len() < each {
            let answer = caller.post(&lease, &json!({"ttl_ms": 600_000, "wait_ms": 20_000}));
            if answer.status == 409 {
                let _ = answer.refused(409, "lease_held");
                continue;
            }
            let token = answer.expect(201).json()["lease_token"].as_u64().expect("a token");
            // Nobody else writes meanwhile, so what was read is still there.
            let read = caller.get(&entry).expect(200).json();
            let next = read["value"].as_u64().expect("a counter") + 1;
            let body = json!({"value": next, "version": read["version"], "lease_token": token});
            let version = caller.put(&entry, &body).expect(200).json()["version"].as_u64().expect("a version");
            caller.delete(&format!("{lease}?lease_token={token}")).must(204);
            let late = caller.put(&entry, &json!({"value": 0, "version": version, "lease_token": token}));
            assert_eq!(late.refused(409, "lease_lost")["reason"], "released");
            turns.push((token, version));
        }
        turns
    });
    let mut turns: Vec<(u64, u64)> = turns.into_iter().flatten().collect();
    turns.sort_unstable();
    let total = u64::try_from(n * each).expect("small");
    let versions: Vec<u64> = turns.iter().map(|(_, version)| *version).collect();
    assert_eq!(versions, (2..=total + 1).collect::<Vec<_>>(), "versions follow the tokens, one for each");
    assert_eq!(lin.get(&entry).expect(200).json()["value"], total);
}

#[test]
fn one_of_2_has_the_lease_at_a_time() {
    one_has_the_lease_at_a_time(2, 20);
}

#[test]
fn one_of_8_has_the_lease_at_a_time() {
    one_has_the_lease_at_a_time(8, 5);
}

#[test]
fn one_of_64_has_the_lease_at_a_time() {
    one_has_the_lease_at_a_time(64, 1);
}

/// H1: a holder whose lease has expired never writes, whoever holds it now.
#[test]
fn a_holder_whose_lease_expired_never_writes() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let (a, b) = (server.as_agent("a"), server.as_agent("b"));
    let (lease, entry) = (board.lease("working/k"), board.entry("working/k"));
    a.put(&entry, &json!({"value": "before"})).must(201);
    let first = a.post(&lease, &json!({"ttl_ms": 300})).expect(201).json()["lease_token"].as_u64().expect("a token");
    until("the lease expires", Duration::from_secs(5), || b.get(&lease).status == 404);
    let renewed = a.put(&lease, &json!({"lease_token": first, "ttl_ms": 60_000})).refused(409, "lease_lost");
    assert_eq!((&renewed["reason"], &renewed["held_by"]), (&json!("expired"), &json!(null)));
    let second = b.post(&lease, &json!({"ttl_ms": 60_000})).expect(201).json()["lease_token"].as_u64().expect("token");
    assert!(second > first, "tokens only grow");
    let late = a.put(&entry, &json!({"value": "late", "version": 1, "lease_token": first})).refused(409, "lease_lost");
    assert_eq!((&late["reason"], &late["held_by"]), (&json!("expired"), &json!("b")));
    assert!(!late.to_string().contains(&format!("\"lease_token\":{second}")), "the token of another is not shown");
    assert_eq!(a.get(&entry).expect(200).json()["value"], "before");
}

/// H2: leases that end in the same moment never let a transaction through.
#[test]
fn a_transaction_with_an_expired_lease_changes_nothing() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let (a, lin) = (server.as_agent("a"), server.as_agent("lin"));
    const N: usize = 400;
    let mut tokens = Vec::new();
    for from in (0..N).step_by(100) {
        let puts: Vec<_> = (from..from + 100)
            .map(|i| json!({"method": "put", "zone": "working", "key": format!("k{i}"), "value": 0}))
            .collect();
        lin.post(&board.at("transactions"), &json!({"writes": puts})).must(200);
    }
    let ttl = Duration::from_millis(700);
    for from in (0..N).step_by(100) {
        let leases: Vec<_> = (from..from + 100)
            .map(|i| json!({"method": "lease", "zone": "working", "key": format!("k{i}"), "ttl_ms": 700}))
            .collect();
        let receipts = a.post(&board.at("transactions"), &json!({"writes": leases})).expect(200).json();
        let receipts = receipts["receipts"].as_array().expect("receipts").clone();
        tokens.extend(receipts.iter().map(|r| r["lease"]["lease_token"].as_u64().expect("a token")));
    }
    let all_granted = Instant::now();
    // Around the end of the leases, and behind it.
    let write = |i: usize| json!({"method": "put", "zone": "working", "key": format!("k{i}"), "value": 1, "version": 1, "lease_token": tokens[i]});
    let mut refused = 0;
    for i in 0..N / 2 {
        if i == N / 4 {
            until("the leases end", Duration::from_secs(10), || all_granted.elapsed() > ttl);
        }
        let is_over = all_granted.elapsed() > ttl;
        let answer = a.post(&board.at("transactions"), &json!({"writes": [write(i), write(N - 1 - i)]}));
        if answer.status == 200 {
            assert!(!is_over, "a transaction passed behind the deadline");
            continue;
        }
        let _ = answer.refused(409, "lease_lost");
        refused += 1;
        for key in [i, N - 1 - i] {
            let entry = a.get(&board.entry(&format!("working/k{key}"))).expect(200).json();
            assert_eq!(entry["value"], 0, "nothing of a refused transaction happened");
        }
    }
    assert!(refused >= N / 4, "after the deadline every one is refused: {refused}");
    let entries = a.get(&board.at("entries?zone=working&limit=1000")).expect(200).json();
    for entry in entries["items"].as_array().expect("items") {
        assert!(entry.get("held_by").is_none(), "an expired holder is never shown: {entry}");
    }
    let history = board.history(&a);
    let expired = history.iter().flat_map(|commit| commit["changes"].as_array().expect("changes"));
    let expired = expired.filter(|change| change["kind"] == "lease_expired").count();
    assert_eq!(expired, N, "each ends once");
}
