//! Where a value came from, as its writer says.

use kokuban_core::ids::EntryId;
use serde_json::Value;
use smol_str::SmolStr;

pub use kokuban_core::entry::{DerivedFrom, Source, SourceKind};

use crate::code::ErrorCode;
use crate::fields::{self, Fields, Read, invalid_name};
use crate::limits::SOURCE_REF_CHARS_MAX;

const SOURCE_KINDS: [(&str, SourceKind); 5] = [
    ("user", SourceKind::User),
    ("agent", SourceKind::Agent),
    ("tool", SourceKind::Tool),
    ("web", SourceKind::Web),
    ("file", SourceKind::File),
];

pub(crate) fn read_source(value: Value) -> Read<Source> {
    let mut fields = Fields::of_member(value)?;
    let kind = fields.required("kind", fields::one_of(&SOURCE_KINDS));
    let reference = fields.required("ref", fields::text_chars(SOURCE_REF_CHARS_MAX));
    fields.finish(kind.zip(reference).map(|(kind, reference)| Source { kind, reference: SmolStr::new(reference) }))
}

pub(crate) fn read_derived_from(value: Value) -> Read<DerivedFrom> {
    let mut fields = Fields::of_member(value)?;
    let id = entry_id(&mut fields);
    let version = fields.required("version", fields::version);
    fields.finish(id.zip(version).map(|(id, version)| DerivedFrom { id, version }))
}

/// The members `zone` and `key`.
pub(crate) fn entry_id(fields: &mut Fields) -> Option<EntryId> {
    let zone = fields.required("zone", fields::name);
    let key = fields.required("key", fields::name);
    zone.zip(key).map(|(zone, key)| EntryId::new(zone, key))
}

/// An entry written `zone/key`.
pub(crate) fn entry_id_of(text: &str) -> Read<EntryId> {
    let Some((zone, key)) = text.split_once('/') else {
        return Err(crate::ErrorItem::new(ErrorCode::InvalidName, "an entry is named `zone/key`").into());
    };
    let zone = zone.parse().map_err(|broken| invalid_name(&broken))?;
    let key = key.parse().map_err(|broken| invalid_name(&broken))?;
    Ok(EntryId::new(zone, key))
}
