//! What happened on a board, and what was refused.

use std::borrow::Cow;

use kokuban_core::ids::{AgentName, ChainHash, Key, Revision, Sha256, Status, Timestamp, Version, ZoneName};
use kokuban_core::json::Json;
use kokuban_core::path::Path;
use serde::{Deserialize, Serialize};

use super::present;
use crate::code::Code;
use crate::stream::Change;

/// A commit in the history, with more than a stream tells of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryCommit {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The hash that ends the chain here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ChainHash>,
    pub changes: Vec<HistoryChange>,
}

/// A change, with both sides of it and the operations that made it, where asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryChange {
    #[serde(flatten)]
    pub change: Change,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<HistoryState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<HistoryState>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<HistoryOperation>,
}

/// An entry on one side of a change. A value that was erased, or was of a scratch table, is there by hash only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryState {
    pub version: Version,
    #[serde(default)]
    pub status: Option<Status>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    pub sha256: Sha256,
    pub bytes: u64,
}

/// What one operation of a patch did: the leaf it gave a value, or took away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryOperation {
    pub op: Cow<'static, str>,
    pub path: Path,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}

/// A call that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub at: Timestamp,
    pub by: AgentName,
    /// Method and kind of address: `PUT entries`.
    pub call: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    pub status: u16,
    pub code: Code,
    /// The version that the entry had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    pub request_id: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::reads_back;
    use super::*;
    use crate::ErrorCode;
    use crate::kinds::ChangeKind;

    #[test]
    fn history_shows_both_sides_of_a_change() {
        let state = |version, value: &serde_json::Value| HistoryState {
            version: Version(version),
            status: None,
            value: Some(Json::from_value(value)),
            sha256: Sha256::of(b"x"),
            bytes: 1,
        };
        let change = Change {
            zone: ZoneName::new("z").ok(),
            key: Key::new("k").ok(),
            version: Some(Version(2)),
            ..Change::of(ChangeKind::Updated)
        };
        let commit = HistoryCommit {
            revision: Revision(4),
            at: Timestamp(0),
            by: AgentName::new("ra").ok(),
            ticket: None,
            request_id: "r".into(),
            trace_id: None,
            cause: None,
            hash: Some(ChainHash::GENESIS),
            changes: vec![HistoryChange {
                change,
                reason: Some("why".into()),
                before: Some(state(1, &json!(null))),
                after: Some(HistoryState { value: None, ..state(2, &json!(1)) }),
                operations: vec![HistoryOperation { op: "unset".into(), path: Path::ROOT, value: None }],
            }],
        };
        let sha256 = Sha256::of(b"x");
        let expected = json!({"revision": 4, "at": "1970-01-01T00:00:00.000Z", "by": "ra", "request_id": "r",
            "hash": "00000000000000000000000000000000", "changes": [{"kind": "updated", "zone": "z", "key": "k",
            "version": 2, "owner": null, "reason": "why",
            "before": {"version": 1, "status": null, "value": null, "sha256": sha256, "bytes": 1},
            "after": {"version": 2, "status": null, "sha256": sha256, "bytes": 1},
            "operations": [{"op": "unset", "path": ""}]}]});
        reads_back(&commit, &expected);
    }

    #[test]
    fn a_refusal_tells_who_when_and_why_without_values() {
        let refusal = Refusal {
            at: Timestamp(0),
            by: AgentName::new("ra").expect("a name"),
            call: "PUT entries".into(),
            zone: ZoneName::new("z").ok(),
            key: Key::new("k").ok(),
            status: 409,
            code: ErrorCode::VersionConflict.into(),
            version: Some(Version(8)),
            request_id: "r".into(),
        };
        let expected = json!({"at": "1970-01-01T00:00:00.000Z", "by": "ra", "call": "PUT entries", "zone": "z",
            "key": "k", "status": 409, "code": "version_conflict", "version": 8, "request_id": "r"});
        reads_back(&refusal, &expected);
    }
}
