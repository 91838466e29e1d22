//! A live entry at rest: its numbers, and one buffer with the value and every text.
//!
//! Invariant: `Entry::pack(&entry.parts()) == entry`. The buffer was packed here, or was looked through when it was read.
//! Cost: about 130 bytes, and the texts, over the value. What hardly any entry has stands in `Rare`.
//! Not known here: which parts a rule looks at.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::draft::{Draft, DraftValue, Texts, Trailer, text};
use super::{EntryParts, Marks, Payload};
use crate::compact::{put_bytes, take_array, take_bytes, take_u64};
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
    /// The value, then the texts: see `draft`.
    pub(super) buffer: Arc<[u8]>,
    pub(super) rare: Option<Box<Rare>>,
    pub(super) value_len: u32,
    pub(super) flags: u8,
}

/// What hardly any entry has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Rare {
    #[serde(default, skip_serializing_if = "Marks::is_empty")]
    pub(crate) marks: Marks,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<SmolStr>,
}

impl Rare {
    /// `None` where there is nothing of all this.
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

/// Nobody owns the entry until the next value write or lease.
pub(super) const DISOWNED: u8 = 1;
/// The hash of the value is not that of its text: see `Json`.
pub(super) const FORMS_DIFFER: u8 = 2;
/// The value is known by its hash only.
pub(super) const GONE: u8 = 4;

/// Why a buffer can be read.
const SOUND: &str = "packed here, or looked through when it was read";

static NO_MARKS: LazyLock<Marks> = LazyLock::new(Marks::default);

impl Entry {
    #[must_use]
    pub fn pack(parts: &EntryParts) -> Self {
        Draft::of(parts).pack()
    }

    #[must_use]
    pub fn parts(&self) -> EntryParts {
        self.draft().parts(self.value(), self.bytes())
    }

    pub(crate) fn draft(&self) -> Draft<'_> {
        let (texts, trailer) = (self.texts(), self.trailer());
        Draft {
            sha256: self.sha256,
            version: self.version,
            revision: self.revision,
            touched: self.touched,
            value_version: self.value_version,
            created_at: self.created_at,
            updated_at: self.updated_at,
            value: if self.has_value() {
                let text = &self.buffer[..self.value_len as usize];
                DraftValue::Kept { text, forms_differ: self.flags & FORMS_DIFFER != 0 }
            } else {
                DraftValue::Gone { bytes: trailer.bytes }
            },
            disowned: self.is_disowned(),
            status: text(texts.status),
            created_by: texts.created_by(),
            updated_by: texts.updated_by(),
            value_by: texts.value_by(),
            last_holder: texts.last_holder(),
            request_id: trailer.request_id,
            schema_version: trailer.schema_version,
            attempts: trailer.attempts,
            rare: self.rare.clone(),
        }
    }

    fn texts(&self) -> Texts<'_> {
        Texts::take(&self.buffer[self.value_len as usize..]).expect(SOUND)
    }

    fn trailer(&self) -> Trailer<'_> {
        self.texts().trailer(!self.has_value()).expect(SOUND)
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
        if self.has_value() { u64::from(self.value_len) } else { self.trailer().bytes }
    }

    #[must_use]
    pub fn payload(&self) -> Payload {
        Payload { sha256: self.sha256, bytes: self.bytes(), json: self.value() }
    }

    #[must_use]
    pub fn status(&self) -> Option<Status> {
        let status = self.texts().status;
        (!status.is_empty()).then(|| Status::known(text(status)))
    }

    #[must_use]
    pub fn created_by(&self) -> AgentName {
        AgentName::known(self.texts().created_by())
    }

    /// Who made this version.
    #[must_use]
    pub fn updated_by(&self) -> AgentName {
        AgentName::known(self.texts().updated_by())
    }

    /// Who wrote the value last.
    #[must_use]
    pub fn value_by(&self) -> AgentName {
        AgentName::known(self.texts().value_by())
    }

    #[must_use]
    pub fn last_holder(&self) -> Option<AgentName> {
        let holder = self.texts().last_holder();
        (!holder.is_empty()).then(|| AgentName::known(holder))
    }

    /// Set by an expiry or revocation: nobody owns the entry until the next value write or lease.
    #[must_use]
    pub fn is_disowned(&self) -> bool {
        self.flags & DISOWNED != 0
    }

    /// Leases that ran out on this entry since the last release or move under a lease.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.trailer().attempts
    }

    #[must_use]
    pub fn schema_version(&self) -> u64 {
        self.trailer().schema_version
    }

    #[must_use]
    pub fn reason(&self) -> Option<&SmolStr> {
        self.rare.as_ref().and_then(|rare| rare.reason.as_ref())
    }

    /// The request that made this version.
    #[must_use]
    pub fn request_id(&self) -> SmolStr {
        self.trailer().request_id.text()
    }

    /// Marks, or none set.
    #[must_use]
    pub fn marks(&self) -> &Marks {
        self.rare.as_ref().map_or(&NO_MARKS, |rare| &rare.marks)
    }

    /// Whether the value was marked as coming from outside.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.marks().untrusted
    }

    /// The same entry with its value known by hash only.
    pub(crate) fn without_value(&self) -> Self {
        Draft { value: DraftValue::Gone { bytes: self.bytes() }, ..self.draft() }.pack()
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
        Texts::take(texts)?.is_sound(flags & GONE != 0)?;
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
