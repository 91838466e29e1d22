//! The messages of a stream, also answered by long poll.
//!
//! Invariant: one message per commit, or per coalesced window; never part of one.
//! Not known here: SSE framing (`sse`), cursors, filters in action.

use kokuban_core::ids::{AgentName, Epoch, Key, Position, Revision, Status, Timestamp, Version, ZoneName};
use kokuban_core::json::Json;
use serde::{Deserialize, Serialize};

use crate::answers::{Trust, present};
use crate::kinds::ChangeKind;
use crate::query::StreamFilter;

/// First message of a stream: where it begins and what it will show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub epoch: Epoch,
    pub head: Position,
    /// The oldest position that a reader may resume from.
    pub oldest: Position,
    pub filter: Filter,
    pub heartbeat_ms: u64,
}

/// A stream's filter as the server understood it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zone: Vec<ZoneName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<Key>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefix: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<Status>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kind: Vec<ChangeKind>,
}

impl From<&StreamFilter> for Filter {
    fn from(filter: &StreamFilter) -> Self {
        Self {
            zone: filter.zones.clone(),
            key: filter.keys.clone(),
            prefix: filter.prefixes.clone(),
            status: filter.statuses.clone(),
            kind: filter.kinds.clone(),
        }
    }
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    pub revision: Revision,
    pub at: Timestamp,
    /// Absent where the server itself acted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    pub request_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// What the commit came from, where it came from something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// In request order, one for each entry.
    pub changes: Vec<Change>,
}

/// What happened to one entry, or to the board (then without zone, key and version).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub kind: ChangeKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusChange>,
    #[serde(default)]
    pub owner: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    #[serde(rename = "match", default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<Matched>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// Of the last commit that touched the entry; in coalesced messages only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl Change {
    /// A change of which nothing but the kind is known yet.
    #[must_use]
    pub fn of(kind: ChangeKind) -> Self {
        Self {
            kind,
            zone: None,
            key: None,
            version: None,
            status: None,
            owner: None,
            held_by: None,
            trust: None,
            matched: None,
            value: None,
            by: None,
            at: None,
        }
    }
}

/// A move. `from` is null for a new entry, `to` for a deleted one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusChange {
    pub from: Option<Status>,
    pub to: Option<Status>,
}

/// How the filter saw the entry before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matched {
    Enter,
    Stay,
    Leave,
    /// It matched and was deleted.
    Gone,
}

/// Several commits in one message: each touched entry once, as it is at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coalesced {
    pub revisions: Revisions,
    pub changes: Vec<Change>,
}

/// Both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revisions {
    pub first: Revision,
    pub last: Revision,
}

/// The data of an event `commit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Message {
    Commit(Commit),
    Coalesced(Coalesced),
}

impl Message {
    /// The revision after which the reader goes on.
    #[must_use]
    pub fn last(&self) -> Revision {
        match self {
            Self::Commit(commit) => commit.revision,
            Self::Coalesced(coalesced) => coalesced.revisions.last,
        }
    }

    #[must_use]
    pub fn changes(&self) -> &[Change] {
        match self {
            Self::Commit(commit) => &commit.changes,
            Self::Coalesced(coalesced) => &coalesced.changes,
        }
    }
}

/// The place to resume from cannot be served; the stream goes on elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    pub reason: ResetReason,
    pub oldest: Position,
    pub head: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetReason {
    Epoch,
    Future,
    Compacted,
    Malformed,
}

/// End of the snapshot: what follows is what came after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotEnd {
    pub revision: Revision,
    /// How many entries the snapshot had.
    pub entries: u64,
}

/// Last message of a stream that the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bye {
    pub reason: ByeReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ByeReason {
    /// Who may read what has changed.
    Rights,
    /// The credential has ended.
    Auth,
    Shutdown,
    /// The board was deleted.
    Deleted,
    /// A reason of a newer server.
    #[serde(other)]
    Other,
}

/// The answer of the long poll.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    pub commits: Vec<Message>,
    /// Where to go on.
    pub position: Position,
    /// More is there already.
    pub more: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::answers::reads_back;

    fn change() -> Change {
        Change {
            zone: ZoneName::new("z").ok(),
            key: Key::new("k").ok(),
            version: Some(Version(1)),
            status: Some(StatusChange { from: None, to: Status::new("raw").ok() }),
            owner: AgentName::new("ra").ok(),
            matched: Some(Matched::Enter),
            value: Some(Json::from_value(&json!([1.5, null]))),
            ..Change::of(ChangeKind::Created)
        }
    }

    #[test]
    fn a_commit_is_one_message_and_a_window_another() {
        let position = Position { epoch: Epoch(1), revision: Revision(9) };
        let commit = Commit {
            revision: Revision(4),
            at: Timestamp(0),
            by: AgentName::new("ra").ok(),
            ticket: None,
            request_id: "r".into(),
            trace_id: None,
            cause: None,
            changes: vec![change()],
        };
        let touched = Change { by: AgentName::new("rb").ok(), at: Some(Timestamp(0)), ..change() };
        let window =
            Coalesced { revisions: Revisions { first: Revision(5), last: Revision(9) }, changes: vec![touched] };
        let changes =
            Changes { commits: vec![Message::Commit(commit), Message::Coalesced(window)], position, more: false };
        let shown = json!({"kind": "created", "zone": "z", "key": "k", "version": 1,
            "status": {"from": null, "to": "raw"}, "owner": "ra", "match": "enter", "value": [1.5, null]});
        let mut touched = shown.clone();
        touched["by"] = json!("rb");
        touched["at"] = json!("1970-01-01T00:00:00.000Z");
        let expected = json!({"commits": [
            {"revision": 4, "at": "1970-01-01T00:00:00.000Z", "by": "ra", "request_id": "r", "changes": [shown]},
            {"revisions": {"first": 5, "last": 9}, "changes": [touched]}
        ], "position": "0000000000000001.9", "more": false});
        reads_back(&changes, &expected);
        assert_eq!(changes.commits[1].last(), Revision(9));
    }

    #[test]
    fn the_server_repeats_the_filter_it_understood() {
        let position = Position { epoch: Epoch(1), revision: Revision(9) };
        let filter = StreamFilter { kinds: vec![ChangeKind::Noted], ..StreamFilter::default() };
        let hello =
            Hello { epoch: Epoch(1), head: position, oldest: position, filter: (&filter).into(), heartbeat_ms: 15_000 };
        reads_back(
            &hello,
            &json!({"epoch": "0000000000000001", "head": "0000000000000001.9",
            "oldest": "0000000000000001.9", "filter": {"kind": ["noted"]}, "heartbeat_ms": 15_000}),
        );
    }

    #[test]
    fn a_stream_says_why_it_resets_and_why_it_ends() {
        let position = Position { epoch: Epoch(1), revision: Revision(9) };
        let reset = Reset { reason: ResetReason::Compacted, oldest: position, head: position };
        reads_back(
            &reset,
            &json!({"reason": "compacted", "oldest": "0000000000000001.9", "head": "0000000000000001.9"}),
        );
        reads_back(&Bye { reason: ByeReason::Rights }, &json!({"reason": "rights"}));
        reads_back(&SnapshotEnd { revision: Revision(3), entries: 2 }, &json!({"revision": 3, "entries": 2}));
        assert_eq!(serde_json::from_str::<Bye>(r#"{"reason":"lunch"}"#).expect("tolerant").reason, ByeReason::Other);
    }
}
