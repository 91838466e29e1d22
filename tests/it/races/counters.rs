//! Many callers raise the same counters by compare-and-swap: the sum says whether an update was lost.
//!
//! Not known here: creations and leases.

use kokuban_tests::{Caller, Setup};
use serde_json::{Value, json};

use super::callers::{assert_revisions_without_hole, assert_versions_without_hole, together};

/// Raises `path` by one, by compare-and-swap, learning from each refusal. Answers with the version it made.
pub(crate) fn raise(caller: &Caller, path: &str) -> u64 {
    let entry = caller.get(path).expect(200).json();
    let (mut value, mut version) = (entry["value"].clone(), entry["version"].clone());
    loop {
        let next = value.as_u64().expect("a counter") + 1;
        let answer = caller.put(path, &json!({"value": next, "version": version}));
        if answer.status == 200 {
            return answer.json()["version"].as_u64().expect("a version");
        }
        let refused = answer.refused(409, "version_conflict");
        (value, version) = (refused["current"]["value"].clone(), refused["current"]["version"].clone());
    }
}

fn no_update_is_lost(n: usize, each: usize) {
    let server = Setup::disk().start();
    let board = server.board("b");
    let lin = server.as_agent("lin");
    lin.put(&board.entry("working/n"), &json!({"value": 0})).must(201);
    let made = together(&server, n, |_, caller| {
        (0..each).map(|_| raise(caller, &board.entry("working/n"))).collect::<Vec<_>>()
    });
    let total = u64::try_from(n * each).expect("small");
    let entry = lin.get(&board.entry("working/n")).expect(200).json();
    assert_eq!((&entry["value"], &entry["version"]), (&json!(total), &json!(total + 1)));
    assert!(made.iter().all(|versions| versions.is_sorted()), "an agent's versions grow");
    let mut made: Vec<u64> = made.into_iter().flatten().collect();
    made.sort_unstable();
    assert_eq!(made, (2..=total + 1).collect::<Vec<_>>(), "one winner per version");
    assert_versions_without_hole(&board, &lin, "working/n", total + 1);
}

#[test]
fn no_update_of_2_is_lost() {
    no_update_is_lost(2, 100);
}

#[test]
fn no_update_of_8_is_lost() {
    no_update_is_lost(8, 20);
}

#[test]
fn no_update_of_64_is_lost() {
    no_update_is_lost(64, 3);
}

/// Raises two counters in one transaction, in this order of keys.
pub(crate) fn raise_both(caller: &Caller, board: &kokuban_tests::BoardAt, order: [&str; 2]) -> Vec<Value> {
    loop {
        // A list is consistent: both from one revision.
        let list = caller.get(&board.at("entries?zone=working&prefix=t/&include=value")).expect(200).json();
        let find = |key: &str| {
            let items = list["items"].as_array().expect("items");
            items.iter().find(|item| item["key"] == key).expect("it exists").clone()
        };
        let writes: Vec<Value> = order
            .iter()
            .map(|key| {
                let entry = find(key);
                let next = entry["value"].as_u64().expect("a counter") + 1;
                json!({"method": "put", "zone": "working", "key": key, "value": next, "version": entry["version"]})
            })
            .collect();
        let answer = caller.post(&board.at("transactions"), &json!({"writes": writes}));
        if answer.status == 200 {
            return answer.json()["receipts"].as_array().expect("receipts").clone();
        }
        let _ = answer.refused(409, "version_conflict");
    }
}

fn opposite_transactions_neither_block_nor_tear(n: usize, each: usize) {
    let server = Setup::disk().start();
    let board = server.board("b");
    let lin = server.as_agent("lin");
    for key in ["t/a", "t/b"] {
        lin.put(&board.entry(&format!("working/{key}")), &json!({"value": 0})).must(201);
    }
    together(&server, n, |i, caller| {
        let order = if i % 2 == 0 { ["t/a", "t/b"] } else { ["t/b", "t/a"] };
        for _ in 0..each {
            let receipts = raise_both(caller, &board, order);
            let keys: Vec<&Value> = receipts.iter().map(|receipt| &receipt["key"]).collect();
            assert_eq!(keys, order, "receipts come in the order of the writes");
            assert_eq!(receipts[0]["version"], receipts[1]["version"], "both or none");
            assert_eq!(receipts[0]["position"], receipts[1]["position"], "in one revision");
        }
    });
    let total = u64::try_from(n * each).expect("small");
    for key in ["t/a", "t/b"] {
        let entry = lin.get(&board.entry(&format!("working/{key}"))).expect(200).json();
        assert_eq!((&entry["value"], &entry["version"]), (&json!(total), &json!(total + 1)), "{key}");
    }
    let history = board.history(&lin);
    assert_revisions_without_hole(&history);
    for commit in history.iter().filter(|commit| commit["revision"].as_u64() > Some(3)) {
        assert_eq!(commit["changes"].as_array().map(Vec::len), Some(2), "a transaction is one commit");
    }
}

#[test]
fn opposite_transactions_of_2_neither_block_nor_tear() {
    opposite_transactions_neither_block_nor_tear(2, 40);
}

#[test]
fn opposite_transactions_of_8_neither_block_nor_tear() {
    opposite_transactions_neither_block_nor_tear(8, 10);
}

#[test]
fn opposite_transactions_of_64_neither_block_nor_tear() {
    opposite_transactions_neither_block_nor_tear(64, 1);
}
