//! An entry as it is shown, and the notes beside it.

use kokuban_core::ids::{AgentName, BoardName, Key, Revision, Sha256, Status, Timestamp, Version, ZoneName};
use kokuban_core::json::Json;
use serde::{Deserialize, Serialize};

use super::{Held, is_false, is_zero, present};
use crate::sources::{DerivedFrom, Source};

/// An entry: brief, or with its details.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub zone: ZoneName,
    pub key: Key,
    /// Left out of lists that do not ask for it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    pub version: Version,
    /// Null in a zone without lifecycle.
    #[serde(default)]
    pub status: Option<Status>,
    /// Null after an expiry or revocation.
    #[serde(default)]
    pub owner: Option<AgentName>,
    pub updated_by: AgentName,
    pub updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<AgentName>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub conflict: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub notes: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<EntryDetails>>,
}

/// What `view=full` adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryDetails {
    pub board: BoardName,
    pub href: String,
    pub etag: String,
    pub revision: Revision,
    pub created_by: AgentName,
    pub created_at: Timestamp,
    pub value_version: Version,
    pub value_by: AgentName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived_from: Vec<DerivedFrom>,
    pub schema_version: u64,
    pub sha256: Sha256,
    pub bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A mark of values that came from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Trusted,
    Untrusted,
}

/// A remark on an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub id: String,
    pub by: AgentName,
    pub at: Timestamp,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refers_to_version: Option<Version>,
    /// The operation that was held back, where the note is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Box<Held>>,
}

/// The answer to a new note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteCreated {
    pub id: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::reads_back;
    use super::*;
    use crate::bodies::Put;

    fn agent(name: &str) -> AgentName {
        AgentName::new(name).expect("a name")
    }

    fn brief() -> Entry {
        Entry {
            zone: ZoneName::new("分析").expect("a name"),
            key: Key::new("a/b").expect("a key"),
            value: Some(Json::from_value(&json!({"b": 1.5, "a": [null, 18_446_744_073_709_551_615_u64]}))),
            version: Version(7),
            status: None,
            owner: None,
            updated_by: agent("ra"),
            updated_at: Timestamp(0),
            held_by: None,
            conflict: false,
            trust: None,
            confidence: None,
            notes: 0,
            attempts: 0,
            summary: None,
            details: None,
        }
    }

    fn full() -> Entry {
        let details = EntryDetails {
            board: BoardName::new("b").expect("a name"),
            href: "/v1/boards/b/entries/z/k".into(),
            etag: "\"7-0000000000000001\"".into(),
            revision: Revision(9),
            created_by: agent("ra"),
            created_at: Timestamp(0),
            value_version: Version(6),
            value_by: agent("rb"),
            source: None,
            derived_from: Vec::new(),
            schema_version: 1,
            sha256: Sha256::of(b"x"),
            bytes: 1,
            ticket: None,
            reason: Some("r".into()),
        };
        Entry {
            held_by: Some(agent("rb")),
            conflict: true,
            trust: Some(Trust::Untrusted),
            confidence: Some("stated".into()),
            notes: 2,
            attempts: 1,
            summary: Some("s".into()),
            details: Some(Box::new(details)),
            ..brief()
        }
    }

    #[test]
    fn a_brief_entry_shows_eight_members() {
        let expected = json!({"zone": "分析", "key": "a/b", "value": {"a": [null, 18_446_744_073_709_551_615_u64],
            "b": 1.5}, "version": 7, "status": null, "owner": null, "updated_by": "ra",
            "updated_at": "1970-01-01T00:00:00.000Z"});
        reads_back(&brief(), &expected);
    }

    #[test]
    fn members_stand_in_the_order_of_the_contract() {
        let text = serde_json::to_string(&full()).expect("serialises");
        let order = [
            "zone",
            "key",
            "value",
            "version",
            "status",
            "owner",
            "updated_by",
            "updated_at",
            "held_by",
            "conflict",
            "trust",
            "confidence",
            "notes",
            "attempts",
            "summary",
            "board",
            "href",
            "etag",
            "revision",
            "created_by",
        ];
        let places: Vec<_> = order.iter().map(|name| text.find(&format!("\"{name}\":")).expect(name)).collect();
        assert!(places.is_sorted(), "{text}");
        assert_eq!(serde_json::from_str::<Entry>(&text).expect("reads back"), full());
    }

    #[test]
    fn a_null_value_is_not_an_omitted_one() {
        let null = Entry { value: Some(Json::from_value(&json!(null))), ..brief() };
        let text = serde_json::to_string(&null).expect("serialises");
        assert_eq!(serde_json::from_str::<Entry>(&text).expect("reads back"), null);
        let omitted = Entry { value: None, ..brief() };
        let text = serde_json::to_string(&omitted).expect("serialises");
        assert_eq!(serde_json::from_str::<Entry>(&text).expect("reads back"), omitted);
    }

    #[test]
    fn every_shown_member_of_an_entry_may_be_sent_back() {
        for entry in [brief(), full()] {
            let sent = serde_json::to_value(&entry).expect("serialises");
            let put = Put::read(sent).expect("a body");
            assert_eq!(put.terms.version, Some(Version(7)));
        }
    }
}
