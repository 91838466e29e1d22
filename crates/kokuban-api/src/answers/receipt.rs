//! What a write is answered.

use std::borrow::Cow;

use kokuban_core::ids::{AgentName, Key, Position, Revision, Sha256, Status, Version, ZoneName};
use kokuban_core::json::Json;
use kokuban_core::path::Path;
use serde::{Deserialize, Serialize};

use super::{Completeness, Lease, is_false, present};

pub use kokuban_core::reply::{OperationOutcome, Outcome};

/// The answer to one write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub zone: ZoneName,
    pub key: Key,
    pub version: Version,
    pub position: Position,
    pub etag: String,
    #[serde(default)]
    pub status: Option<Status>,
    #[serde(default)]
    pub owner: Option<AgentName>,
    /// Of the value; a deleted entry has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationReceipt>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    #[serde(default)]
    pub warnings: Vec<Warning>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completeness: Option<Completeness>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

/// What became of one operation of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationReceipt {
    pub op: Cow<'static, str>,
    pub path: Path,
    pub outcome: OperationOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
    /// The id of the note that the operation became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Something to know about a write that was accepted. Codes are API, details are not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    pub code: Cow<'static, str>,
    pub detail: String,
}

impl Warning {
    #[must_use]
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code: Cow::Borrowed(code), detail: detail.into() }
    }
}

/// The answer to a transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransactionReceipt {
    pub revision: Revision,
    pub position: Position,
    pub receipts: Vec<Receipt>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

#[cfg(test)]
mod tests {
    use kokuban_core::ids::Epoch;
    use serde_json::json;

    use super::super::reads_back;
    use super::*;

    fn receipt() -> Receipt {
        Receipt {
            zone: ZoneName::new("z").expect("a name"),
            key: Key::new("k").expect("a key"),
            version: Version(8),
            position: Position { epoch: Epoch(1), revision: Revision(12) },
            etag: "\"8-0000000000000001\"".into(),
            status: None,
            owner: None,
            sha256: None,
            outcome: Outcome::Deleted,
            operations: Vec::new(),
            value: None,
            warnings: Vec::new(),
            lease: None,
            completeness: None,
            dry_run: false,
        }
    }

    #[test]
    fn a_receipt_always_says_status_owner_and_warnings() {
        let expected = json!({"zone": "z", "key": "k", "version": 8, "position": "0000000000000001.12",
            "etag": "\"8-0000000000000001\"", "status": null, "owner": null, "outcome": "deleted", "warnings": []});
        reads_back(&receipt(), &expected);
    }

    #[test]
    fn a_patch_is_answered_operation_by_operation() {
        let operation = OperationReceipt {
            op: "set".into(),
            path: Path::parse("a.b").expect("a path"),
            outcome: OperationOutcome::Noted,
            reason: Some("lower_confidence".into()),
            note: Some("n12-0".into()),
        };
        let patched = Receipt {
            outcome: Outcome::Unchanged,
            operations: vec![operation],
            value: Some(Json::from_value(&json!(null))),
            warnings: vec![Warning::new("value_large", "over 32 KiB")],
            dry_run: true,
            ..receipt()
        };
        let both = TransactionReceipt {
            revision: Revision(12),
            position: patched.position,
            receipts: vec![patched, receipt()],
            dry_run: false,
        };
        let text = serde_json::to_string(&both).expect("serialises");
        assert!(text.contains(r#""operations":[{"op":"set","path":"/a/b","outcome":"noted","reason":"lower_confidence","note":"n12-0"}],"value":null"#), "{text}");
        assert_eq!(serde_json::from_str::<TransactionReceipt>(&text).expect("reads back"), both);
    }
}
