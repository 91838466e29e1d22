//! Many callers claim from one pool: each piece of work goes to one of them.
//!
//! Not known here: leases that are asked for by name.

use std::collections::BTreeSet;

use kokuban_tests::Setup;
use serde_json::json;

use super::callers::{changes, together};

fn each_piece_of_work_goes_to_one(n: usize, pieces: u64) {
    let server = Setup::disk().start();
    let board = server.board("b");
    let lin = server.as_agent("lin");
    for i in 0..pieces {
        lin.put(&board.entry(&format!("working/job/{i}")), &json!({"value": i})).must(201);
    }
    let claimed = together(&server, n, |_, caller| {
        let mut mine = Vec::new();
        loop {
            let body = json!({"zone": "working", "status": "raw", "to_status": "processing", "ttl_ms": 600_000});
            let answer = caller.post(&board.at("claims"), &body);
            if answer.status == 204 {
                return mine;
            }
            let claim = answer.expect(201).json();
            mine.push((
                claim["lease"]["lease_token"].as_u64().expect("a token"),
                claim["entry"]["key"].as_str().expect("a key").to_owned(),
                claim["lease"]["holder"].clone(),
            ));
        }
    });
    let claimed: Vec<_> = claimed.into_iter().flatten().collect();
    let keys: BTreeSet<&str> = claimed.iter().map(|(_, key, _)| key.as_str()).collect();
    let tokens: BTreeSet<u64> = claimed.iter().map(|(token, ..)| *token).collect();
    let pieces_len = usize::try_from(pieces).expect("small");
    assert_eq!((claimed.len(), keys.len(), tokens.len()), (pieces_len, pieces_len, pieces_len));
    let history = board.history(&lin);
    for (token, key, holder) in &claimed {
        let entry = lin.get(&board.entry(&format!("working/{key}"))).expect(200).json();
        assert_eq!((&entry["status"], &entry["held_by"]), (&json!("processing"), holder));
        let revisions: Vec<u64> = changes(&history, "working", key).map(|(revision, _)| revision).collect();
        assert_eq!(revisions.last(), Some(token), "the token is the revision of the grant");
        assert_eq!(revisions.len(), 2, "created, then claimed once");
    }
}

#[test]
fn each_piece_of_work_goes_to_one_of_2() {
    each_piece_of_work_goes_to_one(2, 20);
}

#[test]
fn each_piece_of_work_goes_to_one_of_8() {
    each_piece_of_work_goes_to_one(8, 40);
}

#[test]
fn each_piece_of_work_goes_to_one_of_64() {
    each_piece_of_work_goes_to_one(64, 100);
}

/// Those who wait are served in the order in which they came.
#[test]
fn a_waiting_claim_gets_the_next_piece_of_work() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let claim = json!({"zone": "working", "to_status": "processing", "wait_ms": 20_000});
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.as_agent("ra").post(&board.at("claims"), &claim));
        server.as_agent("lin").put(&board.entry("working/job"), &json!({"value": 1})).must(201);
        let answer = waiting.join().expect("no panic").expect(201).json();
        assert_eq!(answer["entry"]["key"], "job");
    });
}
