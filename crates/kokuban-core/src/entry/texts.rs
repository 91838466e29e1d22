//! The texts of a packed entry, in the order in which they follow the value.
//!
//! Invariant: `Texts::take` takes what `Texts::put` put. A name that is the one before it again costs one byte.
//! Not known here: the value and the numbers beside it.

use smol_str::SmolStr;

use super::EntryParts;
use crate::compact::{put_bytes, put_number, take_bytes, take_number, take_text, uuid_bytes, uuid_text};
use crate::ids::{AgentName, Status};

/// The texts of an entry, and the numbers that are small for nearly all.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    /// Empty: none.
    status: &'a str,
    pub(super) created_by: &'a str,
    pub(super) updated_by: &'a str,
    pub(super) value_by: &'a str,
    /// Empty: none.
    last_holder: &'a str,
    pub(super) request_id: RequestId<'a>,
    pub(super) schema_version: u64,
    pub(super) attempts: u32,
    /// Size of a value that is gone.
    pub(super) bytes: u64,
}

impl<'a> Texts<'a> {
    pub(super) fn put(out: &mut Vec<u8>, parts: &EntryParts) {
        let (created, updated, author) = (&parts.created.by, &parts.updated.by, &parts.value_by);
        put_bytes(out, parts.status.as_ref().map_or("", Status::as_str).as_bytes());
        put_bytes(out, created.as_str().as_bytes());
        // A name that is the one before it again is left empty.
        put_bytes(out, if updated == created { b"" } else { updated.as_str().as_bytes() });
        put_bytes(out, if author == updated { b"" } else { author.as_str().as_bytes() });
        put_bytes(out, parts.last_holder.as_ref().map_or("", AgentName::as_str).as_bytes());
        let uuid = uuid_bytes(&parts.request_id);
        put_number(out, u64::from(uuid.is_some()));
        put_bytes(out, uuid.as_ref().map_or(parts.request_id.as_bytes(), |uuid| &uuid[..]));
        put_number(out, parts.schema_version);
        put_number(out, u64::from(parts.attempts));
        if parts.value.json.is_none() {
            put_number(out, parts.value.bytes);
        }
    }

    /// `gone`: the value is, and its size stands here.
    pub(super) fn take(mut rest: &'a [u8], gone: bool) -> Option<Self> {
        let rest = &mut rest;
        let (status, created_by) = (take_text(rest)?, take_text(rest)?);
        let updated_by = Some(take_text(rest)?).filter(|name| !name.is_empty()).unwrap_or(created_by);
        let value_by = Some(take_text(rest)?).filter(|name| !name.is_empty()).unwrap_or(updated_by);
        let last_holder = take_text(rest)?;
        let request_id = RequestId::take(rest)?;
        let (schema_version, attempts) = (take_number(rest)?, u32::try_from(take_number(rest)?).ok()?);
        let bytes = if gone { take_number(rest)? } else { 0 };
        let texts =
            Self { status, created_by, updated_by, value_by, last_holder, request_id, schema_version, attempts, bytes };
        (rest.is_empty() && !created_by.is_empty()).then_some(texts)
    }

    pub(super) fn status(&self) -> Option<Status> {
        (!self.status.is_empty()).then(|| Status::known(self.status))
    }

    pub(super) fn last_holder(&self) -> Option<AgentName> {
        (!self.last_holder.is_empty()).then(|| AgentName::known(self.last_holder))
    }
}

/// Most ids are UUIDs, which need less than half of their text.
#[derive(Debug, Clone, Copy)]
pub(super) enum RequestId<'a> {
    Text(&'a str),
    Uuid([u8; 16]),
}

impl<'a> RequestId<'a> {
    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        match take_number(rest)? {
            0 => take_text(rest).map(Self::Text),
            _ => take_bytes(rest)?.try_into().ok().map(Self::Uuid),
        }
    }

    pub(super) fn text(self) -> SmolStr {
        match self {
            Self::Text(text) => text.into(),
            Self::Uuid(uuid) => uuid_text(uuid),
        }
    }
}
