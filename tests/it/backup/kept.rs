//! What stood on a board at a revision: as an export tells it, commit by commit, and as a server shows it.
//!
//! **Invariant**: the export is folded here, without the rules of the server.

use std::collections::BTreeMap;

use kokuban_tests::{BoardAt, Caller};
use serde_json::Value;

/// All that is compared of an entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kept {
    pub(super) version: u64,
    pub(super) status: Option<String>,
    pub(super) sha256: String,
    /// `None` where it is known by its hash only.
    pub(super) value: Option<Value>,
}

pub(super) type State = BTreeMap<String, Kept>;

fn place(id: &Value) -> String {
    format!("{}/{}", id["zone"].as_str().expect("a zone"), id["key"].as_str().expect("a key"))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// The entries after the commit of `revision`.
pub(super) fn by_export(caller: &Caller, board: &BoardAt, revision: u64) -> State {
    let export = caller.get(&board.at("export")).expect(200).text();
    let mut state = State::new();
    for line in export.lines().skip(1) {
        let line: Value = serde_json::from_str(line).expect("JSON lines");
        if line["end"].is_object() || number(&line["revision"]) > revision {
            break;
        }
        let mut values = line["values"].as_array().expect("values").iter();
        for event in line["commit"]["events"].as_array().expect("events") {
            apply(&mut state, event, &mut values);
        }
    }
    state
}

fn apply<'v>(state: &mut State, event: &Value, values: &mut impl Iterator<Item = &'v Value>) {
    match event["event"].as_str().expect("a tag") {
        "entry_written" => {
            let value = values.next().expect("a value for each").clone();
            let kept = Kept {
                version: number(&event["version"]),
                status: text(&event["status"]),
                sha256: text(&event["value"]["sha256"]).expect("a hash"),
                value: Some(value).filter(|_| event["id"]["zone"] != "scratch"),
            };
            state.insert(place(&event["id"]), kept);
        }
        "entry_moved" => {
            let kept = state.get_mut(&place(&event["id"])).expect("it was written");
            kept.version = number(&event["version"]);
            kept.status = text(&event["to"]);
        }
        "entry_deleted" => drop(state.remove(&place(&event["id"]))),
        "lease_expired" if event["fallback"].is_object() => {
            let kept = state.get_mut(&place(&event["id"])).expect("it was written");
            kept.version = number(&event["fallback"]["version"]);
            kept.status = text(&event["fallback"]["to"]);
        }
        "board_created" | "board_restored" | "lease_granted" | "lease_released" | "lease_renewed" | "lease_expired" => {
        }
        other => panic!("writers of these tests do not cause {other}"),
    }
}

/// The entries as a server shows them, now or `at` a revision, read one by one.
pub(super) fn by_server(caller: &Caller, board: &BoardAt, at: Option<u64>) -> State {
    let at = at.map(|revision| format!("&at={revision}")).unwrap_or_default();
    let mut state = State::new();
    // Of scratch there is no past.
    let zones = if at.is_empty() { &["working", "result", "scratch"][..] } else { &["working", "result"] };
    for zone in zones {
        let list = caller.get(&board.at(&format!("entries?limit=1000&zone={zone}{at}"))).expect(200).json();
        for item in list["items"].as_array().expect("items") {
            let place = place(item);
            let entry = caller.get(&board.entry(&format!("{place}?view=full{at}"))).expect(200).json();
            let kept = Kept {
                version: number(&entry["version"]),
                status: text(&entry["status"]),
                sha256: text(&entry["sha256"]).expect("a hash"),
                value: Some(entry["value"].clone()).filter(|_| *zone != "scratch"),
            };
            state.insert(place, kept);
        }
    }
    state
}
