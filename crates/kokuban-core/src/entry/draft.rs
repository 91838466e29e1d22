//! An entry taken apart, without copying: to be changed and packed again.
//!
//! Invariant: `entry.draft().pack() == entry`. A name that is the one before it again takes one byte.
//! Not known here: who changes what.

use std::sync::Arc;

use super::packed::{DISOWNED, FORMS_DIFFER, GONE, Rare};
use super::{Entry, EntryParts, Payload, Stamp};
use crate::compact::{put_bytes, put_number, take_bytes, take_number, uuid_bytes, uuid_text};
use crate::ids::{AgentName, Revision, Sha256, Status, Timestamp, Version};
use crate::json::Json;

#[derive(Debug, Clone)]
pub(crate) struct Draft<'a> {
    pub(crate) sha256: Sha256,
    pub(crate) version: Version,
    pub(crate) revision: Revision,
    pub(crate) touched: Revision,
    pub(crate) value_version: Version,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) value: DraftValue<'a>,
    pub(crate) disowned: bool,
    /// Empty: none.
    pub(crate) status: &'a str,
    pub(crate) created_by: &'a str,
    pub(crate) updated_by: &'a str,
    pub(crate) value_by: &'a str,
    /// Empty: none.
    pub(crate) last_holder: &'a str,
    pub(crate) request_id: RequestId<'a>,
    pub(crate) schema_version: u64,
    pub(crate) attempts: u32,
    pub(crate) rare: Option<Box<Rare>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum DraftValue<'a> {
    Kept {
        text: &'a [u8],
        forms_differ: bool,
    },
    /// Known by its hash only.
    Gone {
        bytes: u64,
    },
}

impl<'a> From<&'a Payload> for DraftValue<'a> {
    fn from(payload: &'a Payload) -> Self {
        match &payload.json {
            Some(json) => Self::Kept { text: json.bytes(), forms_differ: json.forms_differ() },
            None => Self::Gone { bytes: payload.bytes },
        }
    }
}

/// Most ids are UUIDs, which need less than half of their text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestId<'a> {
    Text(&'a str),
    Uuid([u8; 16]),
}

impl<'a> From<&'a str> for RequestId<'a> {
    fn from(text: &'a str) -> Self {
        uuid_bytes(text).map_or(Self::Text(text), Self::Uuid)
    }
}

impl RequestId<'_> {
    pub(super) fn text(self) -> smol_str::SmolStr {
        match self {
            Self::Text(text) => text.into(),
            Self::Uuid(uuid) => uuid_text(uuid),
        }
    }
}

impl<'a> Draft<'a> {
    pub(super) fn of(parts: &'a EntryParts) -> Self {
        let rare = Rare { marks: parts.marks.as_deref().cloned().unwrap_or_default(), reason: parts.reason.clone() };
        Self {
            sha256: parts.value.sha256,
            version: parts.version,
            revision: parts.revision,
            touched: parts.touched,
            value_version: parts.value_version,
            created_at: parts.created.at,
            updated_at: parts.updated.at,
            value: DraftValue::from(&parts.value),
            disowned: parts.disowned,
            status: parts.status.as_ref().map_or("", Status::as_str),
            created_by: parts.created.by.as_str(),
            updated_by: parts.updated.by.as_str(),
            value_by: parts.value_by.as_str(),
            last_holder: parts.last_holder.as_ref().map_or("", AgentName::as_str),
            request_id: RequestId::from(parts.request_id.as_str()),
            schema_version: parts.schema_version,
            attempts: parts.attempts,
            rare: rare.boxed(),
        }
    }

    pub(super) fn parts(self, json: Option<Json>, bytes: u64) -> EntryParts {
        let rare = self.rare.map(|rare| *rare).unwrap_or_default();
        EntryParts {
            value: Payload { sha256: self.sha256, bytes, json },
            version: self.version,
            revision: self.revision,
            touched: self.touched,
            status: (!self.status.is_empty()).then(|| Status::known(self.status)),
            created: Stamp { by: AgentName::known(self.created_by), at: self.created_at },
            updated: Stamp { by: AgentName::known(self.updated_by), at: self.updated_at },
            value_version: self.value_version,
            value_by: AgentName::known(self.value_by),
            disowned: self.disowned,
            last_holder: (!self.last_holder.is_empty()).then(|| AgentName::known(self.last_holder)),
            attempts: self.attempts,
            marks: (!rare.marks.is_empty()).then(|| Box::new(rare.marks)),
            schema_version: self.schema_version,
            reason: rare.reason,
            request_id: self.request_id.text(),
        }
    }

    pub(crate) fn pack(self) -> Entry {
        let (text, flags) = match self.value {
            DraftValue::Kept { text, forms_differ } => (text, if forms_differ { FORMS_DIFFER } else { 0 }),
            DraftValue::Gone { .. } => (&[][..], GONE),
        };
        let mut buffer = Vec::with_capacity(text.len() + 128);
        buffer.extend_from_slice(text);
        self.put_texts(&mut buffer);
        Entry {
            sha256: self.sha256,
            version: self.version,
            revision: self.revision,
            touched: self.touched,
            value_version: self.value_version,
            created_at: self.created_at,
            updated_at: self.updated_at,
            buffer: Arc::from(buffer),
            rare: self.rare,
            value_len: u32::try_from(text.len()).expect("values are bounded far below 4 GiB"),
            flags: flags | if self.disowned { DISOWNED } else { 0 },
        }
    }

    fn put_texts(&self, out: &mut Vec<u8>) {
        let unless_again = |name: &'a str, before| if name == before { "" } else { name };
        put_bytes(out, self.status.as_bytes());
        put_bytes(out, self.created_by.as_bytes());
        put_bytes(out, unless_again(self.updated_by, self.created_by).as_bytes());
        put_bytes(out, unless_again(self.value_by, self.updated_by).as_bytes());
        put_bytes(out, self.last_holder.as_bytes());
        match &self.request_id {
            RequestId::Text(text) => {
                out.push(0);
                put_bytes(out, text.as_bytes());
            }
            RequestId::Uuid(uuid) => {
                out.push(1);
                out.extend_from_slice(uuid);
            }
        }
        put_number(out, self.schema_version);
        put_number(out, u64::from(self.attempts));
        if let DraftValue::Gone { bytes } = self.value {
            put_number(out, bytes);
        }
    }
}

/// The texts of an entry as they stand behind its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Texts<'a> {
    pub(super) status: &'a [u8],
    created_by: &'a [u8],
    updated_by: &'a [u8],
    value_by: &'a [u8],
    last_holder: &'a [u8],
    rest: &'a [u8],
}

/// What follows the names.
pub(super) struct Trailer<'a> {
    pub(super) request_id: RequestId<'a>,
    pub(super) schema_version: u64,
    pub(super) attempts: u32,
    /// Size of a value that is gone.
    pub(super) bytes: u64,
}

impl<'a> Texts<'a> {
    pub(super) fn take(mut rest: &'a [u8]) -> Option<Self> {
        let mut next = || take_bytes(&mut rest);
        let (status, created_by, updated_by, value_by, last_holder) = (next()?, next()?, next()?, next()?, next()?);
        Some(Self { status, created_by, updated_by, value_by, last_holder, rest })
    }

    /// `None`: not what was put, which needs to be asked of foreign bytes only.
    pub(super) fn is_sound(&self, gone: bool) -> Option<()> {
        let names = [self.status, self.created_by, self.updated_by, self.value_by, self.last_holder];
        let sound = names.into_iter().all(|name| std::str::from_utf8(name).is_ok()) && !self.created_by.is_empty();
        sound.then_some(()).and(self.trailer(gone)).map(drop)
    }

    pub(super) fn created_by(&self) -> &'a str {
        text(self.created_by)
    }

    pub(super) fn updated_by(&self) -> &'a str {
        if self.updated_by.is_empty() { self.created_by() } else { text(self.updated_by) }
    }

    pub(super) fn value_by(&self) -> &'a str {
        if self.value_by.is_empty() { self.updated_by() } else { text(self.value_by) }
    }

    pub(super) fn last_holder(&self) -> &'a str {
        text(self.last_holder)
    }

    pub(super) fn trailer(&self, gone: bool) -> Option<Trailer<'a>> {
        let (is_uuid, mut rest) = self.rest.split_first()?;
        let request_id = if *is_uuid == 1 {
            let (uuid, others) = rest.split_first_chunk()?;
            rest = others;
            RequestId::Uuid(*uuid)
        } else {
            RequestId::Text(std::str::from_utf8(take_bytes(&mut rest)?).ok()?)
        };
        let schema_version = take_number(&mut rest)?;
        let attempts = u32::try_from(take_number(&mut rest)?).ok()?;
        let bytes = if gone { take_number(&mut rest)? } else { 0 };
        rest.is_empty().then_some(Trailer { request_id, schema_version, attempts, bytes })
    }
}

/// Of bytes that were packed here, or looked through when they were read.
pub(super) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("names are UTF-8")
}
