//! Writers that go on whatever happens to the server: each operation has one Idempotency-Key and is sent until it
//! is answered.
//!
//! **Invariant**: an operation is counted once, when it is acknowledged.
//! Not known here: when the server is killed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use kokuban_tests::{Asking, BoardAt, Caller, Response};
use serde_json::{Value, json};

use super::ledger::Ledger;

/// What the writers share.
#[derive(Debug)]
pub(crate) struct Load<'a> {
    pub(crate) board: &'a BoardAt,
    pub(crate) ledger: Ledger,
    /// Set when the writers are to end.
    pub(crate) ends: AtomicBool,
    /// Set while a writer that finds nobody ends instead of trying again.
    pub(crate) gives_up: AtomicBool,
    pub(crate) replays: AtomicU64,
    pub(crate) counted: AtomicU64,
    pub(crate) transactions: AtomicU64,
}

impl<'a> Load<'a> {
    pub(crate) fn on(board: &'a BoardAt) -> Self {
        Self {
            board,
            ledger: Ledger::default(),
            ends: AtomicBool::new(false),
            gives_up: AtomicBool::new(false),
            replays: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            transactions: AtomicU64::new(0),
        }
    }

    fn goes_on(&self) -> bool {
        !self.ends.load(Ordering::Relaxed)
    }

    /// Sends until there is an answer; none when the writer is to give up.
    fn send<'c>(&self, asking: impl Fn() -> Asking<'c>) -> Option<Response> {
        loop {
            match asking().try_send() {
                Ok(answer) if answer.status == 503 => {
                    let code = answer.code();
                    assert!(matches!(code.as_str(), "unavailable" | "overloaded" | "outcome_unknown"), "{code}");
                }
                Ok(answer) => {
                    if answer.header("idempotency-replayed").is_some() {
                        self.replays.fetch_add(1, Ordering::Relaxed);
                    }
                    return Some(answer);
                }
                Err(_) => {}
            }
            if self.gives_up.load(Ordering::Relaxed) {
                return None;
            }
            // Between two attempts only; nothing is decided by it.
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Writes an entry of its own, again and again: every version is its.
    pub(crate) fn write_own(&self, caller: &Caller, number: usize) {
        let key = format!("own-{number}");
        let path = self.board.entry(&format!("working/{key}"));
        for version in 0.. {
            if !self.goes_on() {
                return;
            }
            let value = json!({"n": version, "by": number});
            let body = json!({"value": value, "version": version});
            let asked = || caller.ask("PUT", &path).key(&format!("own:{version}")).json(&body);
            let Some(answer) = self.send(asked) else { return };
            assert!(matches!(answer.status, 200 | 201), "{key} {version}: {}", answer.text());
            let receipt = answer.json();
            assert_eq!(receipt["version"], version + 1, "a retry has one effect");
            self.ledger.note(&receipt, value);
        }
    }

    /// Raises a counter that all share.
    pub(crate) fn count(&self, caller: &Caller) {
        let path = self.board.entry("working/count");
        for n in 0.. {
            if !self.goes_on() {
                return;
            }
            let Some(entry) = self.send(|| caller.ask("GET", &path)) else { return };
            let entry = entry.expect(200).json();
            let next = json!(entry["value"].as_u64().expect("a counter") + 1);
            let body = json!({"value": next, "version": entry["version"]});
            let asked = || caller.ask("PUT", &path).key(&format!("count:{n}")).json(&body);
            let Some(answer) = self.send(asked) else { return };
            if answer.status == 200 {
                self.ledger.note(&answer.json(), next);
                self.counted.fetch_add(1, Ordering::Relaxed);
            } else {
                let _ = answer.refused(409, "version_conflict");
            }
        }
    }

    /// Writes two entries in one transaction.
    pub(crate) fn transact(&self, caller: &Caller) {
        for version in 0_u64.. {
            if !self.goes_on() {
                return;
            }
            let write = |key: &str| json!({"method": "put", "zone": "working", "key": key, "value": version, "version": version});
            let body = json!({"writes": [write("pair/a"), write("pair/b")]});
            let path = self.board.at("transactions");
            let asked = || caller.ask("POST", &path).key(&format!("pair:{version}")).json(&body);
            let Some(answer) = self.send(asked) else { return };
            let receipts = answer.expect(200).json()["receipts"].clone();
            for receipt in receipts.as_array().expect("receipts") {
                self.ledger.note(receipt, Value::from(version));
            }
            self.transactions.fetch_add(1, Ordering::Relaxed);
        }
    }
}
