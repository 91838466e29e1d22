//! A live entry at rest: its numbers, and one buffer with the value and every text.
//!
//! Invariant: `Entry::pack(&entry.parts()) == entry`. The buffer was packed here, or was looked through when it was read.
//! Cost: about 130 bytes, and the texts, over the value. What hardly any entry has stands in `Rare`.
//! Not known here: which parts a rule looks at.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::texts::Texts;
use super::{EntryParts, Marks, Payload, Stamp};
use crate::compact::{put_bytes, take_array, take_bytes, take_text, take_u64};
use crate::ids::{AgentName, Revision, Sha256, Status, Timestamp, Version};
use crate::json::Json;

/// A live entry. Texts are given out as copies: names are short.
#[derive(Clone, PartialEq)]
pub struct Entry {
    pub sha256: Sha256,
    pub version: Version,
    /// The revision that made this version.
    pub revision: Revision,
    /// The revision of the last change of any kind, a grant or an expiry included: the order of claims.
    pub touched: Revision,
    /// The version at which the value was last written.
    pub value_version: Version,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The value, then the texts in the order of `Texts`.
    buffer: Arc<[u8]>,
    rare: Option<Box<Rare>>,
    value_len: u32,
    flags: u8,
}

/// What hardly any entry has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Rare {
    #[serde(default, skip_serializing_if = "Marks::is_empty")]
    marks: Marks,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<SmolStr>,
}

/// Nobody owns the entry until the next value write or lease.
const DISOWNED: u8 = 1;
/// The hash of the value is not that of its text: see `Json`.
const FORMS_DIFFER: u8 = 2;
/// The value is known by its hash only.
const GONE: u8 = 4;

const NO_MARKS: &Marks =
    &Marks { confidence: None, untrusted: false, source: None, derived_from: Vec::new(), summary: None };

impl Entry {
    #[must_use]
    pub fn pack(parts: &EntryParts) -> Self {
        let json = parts.value.json.as_ref();
        let value = json.map_or(&[][..], Json::bytes);
        let mut flags = 0;
        let mut set = |flag, on: bool| flags |= if on { flag } else { 0 };
        set(DISOWNED, parts.disowned);
        set(FORMS_DIFFER, json.is_some_and(Json::forms_differ));
        set(GONE, json.is_none());
        let mut buffer = Vec::with_capacity(value.len() + 128);
        buffer.extend_from_slice(value);
        Texts::put(&mut buffer, parts);
        let rare = Rare { marks: parts.marks.as_deref().cloned().unwrap_or_default(), reason: parts.reason.clone() };
        Self {
            sha256: parts.value.sha256,
            version: parts.version,
            revision: parts.revision,
            touched: parts.touched,
            value_version: parts.value_version,
            created_at: parts.created.at,
            updated_at: parts.updated.at,
            buffer: buffer.into(),
            rare: (rare != Rare::default()).then(|| Box::new(rare)),
            value_len: u32::try_from(value.len()).expect("values are bounded far below 4 GiB"),
            flags,
        }
    }

    #[must_use]
    pub fn parts(&self) -> EntryParts {
        let texts = self.texts();
        let rare = self.rare.as_deref();
        EntryParts {
            value: self.payload(),
            version: self.version,
            revision: self.revision,
            touched: self.touched,
            status: texts.status(),
            created: Stamp { by: AgentName::known(texts.created_by), at: self.created_at },
            updated: Stamp { by: AgentName::known(texts.updated_by), at: self.updated_at },
            value_version: self.value_version,
            value_by: AgentName::known(texts.value_by),
            disowned: self.is_disowned(),
            last_holder: texts.last_holder(),
            attempts: texts.attempts,
            marks: rare.map(|rare| &rare.marks).filter(|marks| !marks.is_empty()).map(|marks| Box::new(marks.clone())),
            schema_version: texts.schema_version,
            reason: rare.and_then(|rare| rare.reason.clone()),
            request_id: texts.request_id.text(),
        }
    }

    fn texts(&self) -> Texts<'_> {
        let rest = &self.buffer[self.value_len as usize..];
        Texts::take(rest, !self.has_value()).expect("packed here, or looked through when it was read")
    }

    /// The value, unless it is known by its hash only.
    #[must_use]
    pub fn value(&self) -> Option<Json> {
        self.has_value().then(|| Json::shared(Arc::clone(&self.buffer), self.value_len, self.flags & FORMS_DIFFER != 0))
    }

    #[must_use]
    pub fn has_value(&self) -> bool {
        self.flags & GONE == 0
    }

    /// Size of the canonical text of the value.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        if self.has_value() { u64::from(self.value_len) } else { self.texts().bytes }
    }

    #[must_use]
    pub fn payload(&self) -> Payload {
        Payload { sha256: self.sha256, bytes: self.bytes(), json: self.value() }
    }

    #[must_use]
    pub fn status(&self) -> Option<Status> {
        // It stands first.
        let mut rest = &self.buffer[self.value_len as usize..];
        take_text(&mut rest).filter(|status| !status.is_empty()).map(Status::known)
    }

    #[must_use]
    pub fn created_by(&self) -> AgentName {
        AgentName::known(self.texts().created_by)
    }

    /// Who made this version.
    #[must_use]
    pub fn updated_by(&self) -> AgentName {
        AgentName::known(self.texts().updated_by)
    }

    /// Who wrote the value last.
    #[must_use]
    pub fn value_by(&self) -> AgentName {
        AgentName::known(self.texts().value_by)
    }

    #[must_use]
    pub fn last_holder(&self) -> Option<AgentName> {
        self.texts().last_holder()
    }

    /// Set by an expiry or revocation: nobody owns the entry until the next value write or lease.
    #[must_use]
    pub fn is_disowned(&self) -> bool {
        self.flags & DISOWNED != 0
    }

    /// Leases that ran out on this entry since the last release or move under a lease.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.texts().attempts
    }

    #[must_use]
    pub fn schema_version(&self) -> u64 {
        self.texts().schema_version
    }

    #[must_use]
    pub fn reason(&self) -> Option<&SmolStr> {
        self.rare.as_ref().and_then(|rare| rare.reason.as_ref())
    }

    /// The request that made this version.
    #[must_use]
    pub fn request_id(&self) -> SmolStr {
        self.texts().request_id.text()
    }

    /// Marks, or none set.
    #[must_use]
    pub fn marks(&self) -> &Marks {
        self.rare.as_ref().map_or(NO_MARKS, |rare| &rare.marks)
    }

    /// Whether the value was marked as coming from outside.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.marks().untrusted
    }

    /// The same entry with its value known by hash only.
    pub(crate) fn without_value(&self) -> Self {
        let parts = self.parts();
        Self::pack(&EntryParts { value: Payload { json: None, ..parts.value }, ..parts })
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().fmt(f)
    }
}

/// As an entry stands in a stored state.
impl Entry {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sha256.0);
        let numbers = [self.version.0, self.revision.0, self.touched.0, self.value_version.0];
        numbers.into_iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        [self.created_at.0, self.updated_at.0].into_iter().for_each(|at| out.extend_from_slice(&at.to_le_bytes()));
        out.push(self.flags);
        out.extend_from_slice(&self.value_len.to_le_bytes());
        put_bytes(out, &self.buffer);
        let rare = self.rare.as_ref().map(|rare| serde_json::to_vec(rare).expect("marks hold only texts and numbers"));
        put_bytes(out, rare.as_deref().unwrap_or_default());
    }

    /// `None`: the bytes are not what `put` writes.
    pub(crate) fn take(rest: &mut &[u8]) -> Option<Self> {
        let sha256 = Sha256(take_array(rest)?);
        let (version, revision) = (Version(take_u64(rest)?), Revision(take_u64(rest)?));
        let (touched, value_version) = (Revision(take_u64(rest)?), Version(take_u64(rest)?));
        let created_at = Timestamp(i64::from_le_bytes(take_array(rest)?));
        let updated_at = Timestamp(i64::from_le_bytes(take_array(rest)?));
        let [flags] = take_array(rest)?;
        let value_len = u32::from_le_bytes(take_array(rest)?);
        let (value, texts) = {
            let mut behind = *rest;
            take_bytes(&mut behind)?.split_at_checked(value_len as usize)?
        };
        std::str::from_utf8(value).ok()?;
        Texts::take(texts, flags & GONE != 0)?;
        let buffer = Arc::from(take_bytes(rest)?);
        let rare = match take_bytes(rest)? {
            [] => None,
            rare => Some(serde_json::from_slice(rare).ok()?),
        };
        Some(Self {
            sha256,
            version,
            revision,
            touched,
            value_version,
            created_at,
            updated_at,
            buffer,
            rare,
            value_len,
            flags,
        })
    }
}
