//! A reader of the stream that comes back after every cut.
//!
//! **Invariant**: it knows of the past nothing but the id of the last whole block.
//! Not known here: who cuts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use kokuban_tests::{BoardAt, Caller, EventStream};

/// What a subscriber saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) revisions: Vec<u64>,
    pub(crate) connections: usize,
    pub(crate) byes: Vec<String>,
}

/// Reads from the beginning until the last revision that `until` names, whatever happens to the connection.
pub(crate) fn follow(caller: &Caller, board: &BoardAt, until: &AtomicU64, ends: &AtomicBool) -> Seen {
    let mut seen = Seen::default();
    let mut last_id: Option<String> = None;
    while !ends.load(Ordering::Relaxed) {
        let headers: Vec<(&str, &str)> = last_id.iter().map(|id| ("Last-Event-ID", id.as_str())).collect();
        let opened = EventStream::try_open(caller, &board.at("events?after=start&include=value"), &headers);
        let Ok(mut stream) = opened else {
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        if stream.head.status == 503 {
            continue;
        }
        assert_eq!(stream.head.status, 200);
        seen.connections += 1;
        while let Ok(Some(block)) = stream.try_next(Duration::from_secs(20)) {
            let event = block.event.clone().unwrap_or_default();
            assert!(!matches!(event.as_str(), "reset" | "snapshot"), "nothing was forgotten: {block:?}");
            if event == "bye" {
                seen.byes.push(block.json()["reason"].as_str().unwrap_or_default().to_owned());
            }
            let revision = block.revision();
            if let (Some(revision), true) = (revision, event == "commit" || event.is_empty()) {
                seen.revisions.push(revision);
                if event == "commit" {
                    assert_eq!(block.json()["revision"], revision, "the id is that of the commit");
                }
            }
            last_id = block.id.or(last_id);
            if revision.is_some_and(|revision| revision >= until.load(Ordering::SeqCst)) {
                return seen;
            }
        }
    }
    seen
}
