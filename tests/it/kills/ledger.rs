//! What the server acknowledged, and whether it is still there.
//!
//! **Invariant**: an entry of the ledger was answered with success.
//! Not known here: who wrote.

use std::collections::BTreeMap;
use std::sync::Mutex;

use kokuban_tests::{BoardAt, Caller};
use serde_json::Value;

/// One acknowledged write of an entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ack {
    pub(crate) key: String,
    pub(crate) version: u64,
    pub(crate) revision: u64,
    pub(crate) value: Value,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Vec<Ack>>);

impl Ledger {
    /// Notes the receipt of a write.
    pub(crate) fn note(&self, receipt: &Value, value: Value) {
        let position = receipt["position"].as_str().expect("a position");
        let ack = Ack {
            key: receipt["key"].as_str().expect("a key").to_owned(),
            version: receipt["version"].as_u64().expect("a version"),
            revision: position.rsplit('.').next().and_then(|r| r.parse().ok()).expect("a revision"),
            value,
        };
        self.0.lock().expect("no panic while noting").push(ack);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().expect("no panic while noting").len()
    }

    /// Every acknowledged write is in the history, at its version and revision and with its value, once.
    pub(crate) fn assert_kept(&self, board: &BoardAt, caller: &Caller) {
        let acks = self.0.lock().expect("no panic while noting").clone();
        let mut found: BTreeMap<(String, u64), (u64, Value)> = BTreeMap::new();
        let mut path = board.at("history?include=value&limit=500");
        loop {
            let page = caller.get(&path).expect(200).json();
            for commit in page["items"].as_array().expect("items") {
                let revision = commit["revision"].as_u64().expect("a revision");
                for change in commit["changes"].as_array().expect("changes") {
                    let (Some(key), Some(version)) = (change["key"].as_str(), change["version"].as_u64()) else {
                        continue;
                    };
                    if matches!(change["kind"].as_str(), Some("created" | "updated")) {
                        let at = (revision, change["after"]["value"].clone());
                        let earlier = found.insert((key.to_owned(), version), at);
                        assert_eq!(earlier, None, "version {version} of {key} twice");
                    }
                }
            }
            let Some(next) = page["next_page"].as_str() else { break };
            path = board.at(&format!("history?include=value&limit=500&page={next}"));
        }
        for ack in acks {
            let at = found.get(&(ack.key.clone(), ack.version));
            assert_eq!(at, Some(&(ack.revision, ack.value.clone())), "acknowledged: {ack:?}");
        }
    }
}
