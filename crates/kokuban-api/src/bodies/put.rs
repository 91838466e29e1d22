//! PUT of an entry: the whole value.

use serde::Serialize;
use serde_json::Value;

use super::terms::Terms;
use crate::fields::{self, Fields, Read};

/// The whole new value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Put {
    pub value: Value,
    /// Content may be replaced by nothing.
    #[serde(skip_serializing_if = "super::is_false")]
    pub replace: bool,
    #[serde(flatten)]
    pub terms: Terms,
}

impl Put {
    #[must_use]
    pub fn new(value: Value) -> Self {
        Self { value, replace: false, terms: Terms::default() }
    }

    /// # Errors
    /// All mistakes of the body.
    pub fn read(body: Value) -> Read<Self> {
        let mut fields = Fields::of(body)?;
        let put = Self::take(&mut fields);
        fields.finish(put)
    }

    pub(super) fn take(fields: &mut Fields) -> Option<Self> {
        let value = fields.required("value", fields::any);
        let replace = fields.optional("replace", fields::boolean).unwrap_or(false);
        let terms = Terms::take(fields);
        value.map(|value| Self { value, replace, terms })
    }
}

#[cfg(test)]
mod tests {
    use kokuban_core::ids::{EntryId, Key, LeaseToken, Status, Version, ZoneName};
    use serde_json::json;

    use super::*;
    use crate::bodies::{OnConflict, mistakes, pairs};
    use crate::sources::{DerivedFrom, Source, SourceKind};

    fn full() -> Put {
        let id = EntryId::new(ZoneName::new("z").expect("a name"), Key::new("a/b").expect("a key"));
        Put {
            value: json!({"any": [1, null, 2.5, 18_446_744_073_709_551_615_u64]}),
            replace: true,
            terms: Terms {
                version: Some(Version(7)),
                status: Some(Status::new("raw").expect("a name")),
                lease_token: Some(LeaseToken(5)),
                lease_ttl_ms: Some(100),
                confidence: Some("stated".into()),
                untrusted: true,
                source: Some(Source { kind: SourceKind::Web, reference: "page 3".into() }),
                derived_from: Some(vec![DerivedFrom { id, version: Version(2) }]),
                require_fresh: true,
                schema_version: Some(1),
                summary: Some("国".repeat(200)),
                reason: Some("x".into()),
                on_conflict: Some(OnConflict::Yield),
                echoed: Vec::new(),
            },
        }
    }

    #[test]
    fn what_a_client_sends_the_server_reads() {
        let put = full();
        assert_eq!(Put::read(serde_json::to_value(&put).expect("serialises")), Ok(put));
        let plain = Put::new(json!(null));
        assert_eq!(serde_json::to_value(&plain).expect("serialises"), json!({"value": null}));
        assert_eq!(Put::read(json!({"value": null})), Ok(plain));
    }

    #[test]
    fn an_entry_as_read_can_be_sent_back() {
        let entry = json!({"zone": "z", "key": "k", "value": 1, "version": 3, "status": null, "owner": null,
            "updated_by": "ra", "updated_at": "2026-11-30T00:00:00.000Z", "held_by": "rb", "conflict": true,
            "trust": "untrusted", "notes": 2, "attempts": 1, "board": "b", "href": "/x", "etag": "\"3-0\"",
            "revision": 9, "created_by": "ra", "created_at": "…", "value_version": 3, "value_by": "ra", "sha256": "…",
            "bytes": 1, "ticket": "t", "schema_version": 1, "reason": "r", "summary": "s",
            "source": {"kind": "user", "ref": "r"}, "derived_from": [], "confidence": "stated"});
        let put = Put::read(entry).expect("an entry");
        assert_eq!((put.terms.version, put.terms.status), (Some(Version(3)), None));
        assert_eq!(put.terms.echoed.len(), 20);
        assert!(put.terms.echoed.contains(&("owner".to_owned(), json!(null))));
    }

    #[test]
    fn null_is_not_a_missing_condition() {
        let body = json!({"value": 1, "version": null, "lease_token": null, "confidence": null});
        assert_eq!(
            mistakes(Put::read(body)),
            pairs(&[
                ("invalid_value", "/version"),
                ("invalid_value", "/lease_token"),
                ("invalid_value", "/confidence")
            ])
        );
    }

    #[test]
    fn every_member_has_its_range() {
        let body = json!({"value": 1, "lease_ttl_ms": 99, "trust": "trusted", "source": {"kind": "rumour", "ref": 1},
            "derived_from": [{"zone": "z", "key": "", "version": 1, "x": 0}], "summary": "x".repeat(201),
            "reason": "x".repeat(1001), "on_conflict": "fight", "status": "a b", "replace": 1});
        assert_eq!(
            mistakes(Put::read(body)),
            pairs(&[
                ("invalid_value", "/replace"),
                ("invalid_name", "/status"),
                ("invalid_value", "/lease_ttl_ms"),
                ("invalid_value", "/trust"),
                ("invalid_value", "/source/kind"),
                ("invalid_value", "/source/ref"),
                ("invalid_name", "/derived_from/0/key"),
                ("unknown_member", "/derived_from/0/x"),
                ("invalid_value", "/summary"),
                ("invalid_value", "/reason"),
                ("invalid_value", "/on_conflict"),
            ])
        );
    }

    #[test]
    fn a_put_needs_a_value_and_knows_a_misspelt_one() {
        let errors = Put::read(json!({"vlaue": 1})).expect_err("no value");
        assert_eq!(errors.items()[1].nearest.as_deref(), Some("value"));
    }
}
