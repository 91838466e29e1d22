//! Callers that begin together, and what the history says about what they did.
//!
//! **Invariant**: all callers wait for each other before the first request.
//! Not known here: what they do.

use std::sync::Barrier;
use std::thread;

use kokuban_tests::{BoardAt, Caller, TestServer};
use serde_json::Value;

/// Runs `work` for `n` callers at once, each with a name and connection of its own.
pub(crate) fn together<T: Send>(server: &TestServer, n: usize, work: impl Fn(usize, &Caller) -> T + Sync) -> Vec<T> {
    let gate = Barrier::new(n);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..n)
            .map(|i| {
                let (gate, work) = (&gate, &work);
                let caller = server.as_agent(&format!("agent-{i}"));
                scope.spawn(move || {
                    gate.wait();
                    work(i, &caller)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a caller does not panic")).collect()
    })
}

/// The versions of an entry, in the order of the history.
pub(crate) fn versions(history: &[Value], zone: &str, key: &str) -> Vec<u64> {
    changes(history, zone, key).filter_map(|(_, change)| change["version"].as_u64()).collect()
}

/// The changes of an entry with their revisions, in the order of the history.
pub(crate) fn changes<'a>(
    history: &'a [Value],
    zone: &'a str,
    key: &'a str,
) -> impl Iterator<Item = (u64, &'a Value)> + 'a {
    history.iter().flat_map(move |commit| {
        let revision = commit["revision"].as_u64().expect("a revision");
        let changes = commit["changes"].as_array().expect("changes");
        changes.iter().filter(move |change| change["zone"] == zone && change["key"] == key).map(move |c| (revision, c))
    })
}

/// The versions 1, 2, 3, … without hole or repetition, beside changes that raise none.
pub(crate) fn assert_versions_without_hole(board: &BoardAt, caller: &Caller, id: &str, last: u64) {
    let (zone, key) = id.split_once('/').expect("zone/key");
    let history = board.history(caller);
    let mut versions = versions(&history, zone, key);
    versions.dedup();
    assert_eq!(versions, (1..=last).collect::<Vec<_>>(), "versions of {id}");
}

/// Revisions are 1, 2, 3, … without hole or repetition.
pub(crate) fn assert_revisions_without_hole(history: &[Value]) {
    let revisions: Vec<u64> = history.iter().filter_map(|commit| commit["revision"].as_u64()).collect();
    let last = revisions.last().copied().unwrap_or(0);
    assert_eq!(revisions, (1..=last).collect::<Vec<_>>());
}
