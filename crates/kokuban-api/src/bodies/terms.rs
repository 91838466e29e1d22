//! What every write of an entry may say beside its content: condition, status, lease, marks.
//!
//! Invariant: all members of an entry as read are known, so that an entry can be sent back.
//! Not known here: whether an echoed member equals the current one; the board compares.

use kokuban_core::ids::{LeaseToken, Status, Version};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::fields::{self, Fields};
use crate::limits::{LABEL_CHARS_MAX, REASON_CHARS_MAX, SOURCES_PER_WRITE_MAX, SUMMARY_CHARS_MAX, TTL_MS};
use crate::sources::{DerivedFrom, Source, read_derived_from, read_source};

/// The members of an entry as read that only the server sets.
pub const ECHOED: [&str; 20] = [
    "zone",
    "key",
    "owner",
    "updated_by",
    "updated_at",
    "held_by",
    "conflict",
    "notes",
    "attempts",
    "board",
    "href",
    "etag",
    "revision",
    "created_by",
    "created_at",
    "value_version",
    "value_by",
    "sha256",
    "bytes",
    "ticket",
];

/// What a write beside its content says. `None` leaves a mark as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Terms {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_token: Option<LeaseToken>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    /// `trust: "untrusted"`: a body may only lower it.
    #[serde(rename = "trust", serialize_with = "untrusted", skip_serializing_if = "super::is_false")]
    pub untrusted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived_from: Option<Vec<DerivedFrom>>,
    #[serde(skip_serializing_if = "super::is_false")]
    pub require_fresh: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<OnConflict>,
    /// Members that only the server sets, as they were sent: see [`ECHOED`].
    #[serde(skip)]
    pub echoed: Vec<(String, Value)>,
}

/// What becomes of a write that loses against a newer version once too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    Arbitrate,
    Yield,
}

const ON_CONFLICT: [(&str, OnConflict); 2] = [("arbitrate", OnConflict::Arbitrate), ("yield", OnConflict::Yield)];

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn untrusted<S: Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("untrusted")
}

impl Terms {
    /// Terms with a version as the condition; 0 means the entry must not exist.
    #[must_use]
    pub fn at_version(version: Version) -> Self {
        Self { version: Some(version), ..Self::default() }
    }

    pub(super) fn take(fields: &mut Fields) -> Self {
        Self {
            version: fields.optional("version", fields::version),
            // An entry without lifecycle is read with `status: null`.
            status: fields.nullable("status", fields::name),
            lease_token: fields.optional("lease_token", fields::lease_token),
            lease_ttl_ms: fields.optional("lease_ttl_ms", fields::within(TTL_MS)),
            confidence: fields.optional("confidence", fields::text_bytes(LABEL_CHARS_MAX)),
            untrusted: fields.optional("trust", fields::one_of(&[("untrusted", true)])).unwrap_or(false),
            source: fields.optional("source", read_source),
            derived_from: fields
                .optional("derived_from", fields::list("derived_from_max", SOURCES_PER_WRITE_MAX, read_derived_from)),
            require_fresh: fields.optional("require_fresh", fields::boolean).unwrap_or(false),
            schema_version: fields.optional("schema_version", fields::integer),
            summary: fields.optional("summary", fields::text_chars(SUMMARY_CHARS_MAX)),
            reason: fields.optional("reason", fields::text_chars(REASON_CHARS_MAX)),
            on_conflict: fields.optional("on_conflict", fields::one_of(&ON_CONFLICT)),
            echoed: fields.raw(&ECHOED),
        }
    }
}
