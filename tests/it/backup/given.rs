//! Writers over several connections, and everything that a server ever gave them.
//!
//! **Invariant**: no revision, version of a key, tag or token is given twice, whatever became of the server between.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use kokuban_tests::{BoardAt, Caller};
use serde_json::{Value, json};

const KEYS_PER_WRITER: u64 = 9;

#[derive(Debug, Default)]
pub(super) struct Given {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    revisions: BTreeSet<u64>,
    versions: BTreeSet<(String, u64)>,
    tags: BTreeSet<String>,
}

impl Given {
    /// Notes what an accepted write was given.
    fn note(&self, receipt: &Value) {
        let mut inner = self.inner.lock().expect("nobody panics while noting");
        let place =
            format!("{}/{}", receipt["zone"].as_str().expect("a zone"), receipt["key"].as_str().expect("a key"));
        let version = receipt["version"].as_u64().expect("a version");
        let revision = revision_of(receipt["position"].as_str().expect("a position"));
        let tag = format!("{place} {}", receipt["etag"].as_str().expect("a tag"));
        assert!(version <= revision, "{receipt}");
        assert!(inner.versions.insert((place, version)), "a version was given twice: {receipt}");
        assert!(inner.tags.insert(tag), "a tag was given twice: {receipt}");
        assert!(inner.revisions.insert(revision), "a revision was given twice: {receipt}");
    }

    /// The token of a lease is the revision of its grant.
    fn note_token(&self, lease: &Value) -> u64 {
        let token = lease["lease_token"].as_u64().expect("a token");
        let new = self.inner.lock().expect("nobody panics while noting").revisions.insert(token);
        assert!(new, "a token was given twice: {lease}");
        token
    }

    pub(super) fn highest_revision(&self) -> u64 {
        self.inner.lock().expect("nobody panics while noting").revisions.last().copied().expect("writes")
    }

    pub(super) fn n_versions(&self) -> usize {
        self.inner.lock().expect("nobody panics while noting").versions.len()
    }
}

pub(super) fn revision_of(position: &str) -> u64 {
    position.rsplit('.').next().and_then(|revision| revision.parse().ok()).expect("a position")
}

/// Writes until `ends`, at least `least` times: new values, moves, deletions, leases, scratch.
pub(super) fn write(caller: &Caller, board: &BoardAt, number: u64, given: &Given, ends: &AtomicBool, least: u64) {
    let mut versions: BTreeMap<String, u64> = standing(caller, board);
    for n in 0.. {
        if n >= least && ends.load(Ordering::Relaxed) {
            return;
        }
        let place = format!("working/w{number}/k{}", n % KEYS_PER_WRITER);
        let version = versions.get(&place).copied().unwrap_or(0);
        let path = board.entry(&place);
        let receipt = match (n % 6, version) {
            (4, 1..) => caller.delete(&format!("{path}?version={version}")).expect(200).json(),
            (2, 1..) => {
                let moved = caller.patch(&path, &json!({"status": "processing", "version": version}));
                if moved.status == 409 {
                    continue;
                }
                moved.expect(200).json()
            }
            _ => {
                let value = json!({"by": number, "n": n, "text": "意".repeat(usize::try_from(n % 50).expect("small"))});
                let answer = caller.put(&path, &json!({"value": value, "version": version}));
                assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
                answer.json()
            }
        };
        if receipt["outcome"] == "unchanged" {
            continue;
        }
        given.note(&receipt);
        match receipt["outcome"].as_str() {
            Some("deleted") => drop(versions.remove(&place)),
            _ => drop(versions.insert(place.clone(), receipt["version"].as_u64().expect("a version"))),
        }
        if n % 6 == 3 {
            let lease = caller.post(&board.lease(&place), &json!({"ttl_ms": 600_000})).expect(201).json();
            let token = given.note_token(&lease);
            caller.delete(&format!("{}?lease_token={token}", board.lease(&place))).must(204);
        }
        if n % 12 == 0 {
            hold(caller, board, number, given);
        }
        if n % 6 == 5 {
            let path = board.entry(&format!("scratch/w{number}/draft"));
            let answer = caller.put(&path, &json!({"value": n}));
            assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
            given.note(&answer.json());
        }
    }
}

/// Begins work under a lease that stays: a backup shall meet such too.
fn hold(caller: &Caller, board: &BoardAt, number: u64, given: &Given) {
    let key = format!("working/held{number}/at-{}", given.highest_revision());
    let written = caller.put(&board.entry(&key), &json!({"value": number, "status": "processing"})).expect(201).json();
    given.note(&written);
    given.note_token(&caller.post(&board.lease(&key), &json!({"ttl_ms": 600_000})).expect(201).json());
}

/// The versions that stand, which is what a writer reads before it writes.
fn standing(caller: &Caller, board: &BoardAt) -> BTreeMap<String, u64> {
    let list = caller.get(&board.at("entries?limit=1000")).expect(200).json();
    let items = list["items"].as_array().expect("items").iter();
    items
        .map(|item| {
            let place = format!("{}/{}", item["zone"].as_str().expect("a zone"), item["key"].as_str().expect("a key"));
            (place, item["version"].as_u64().expect("a version"))
        })
        .collect()
}
