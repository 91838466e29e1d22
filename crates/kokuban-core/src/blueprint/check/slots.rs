//! What is asked of slots: producers, bounds, content from outside, values that are `current`.
//!
//! Invariant: every question can be answered in the blueprint, so that one without questions is possible.
//! Not known here: values.

use serde_json::Value;

use super::words::{sounds_current, sounds_external};
use super::{Finding, ask};
use crate::blueprint::read::join;
use crate::blueprint::slot::{Kind, Slot};
use crate::blueprint::zone::{Access, Party, Tier, Zone};

pub(super) fn ask_slot(pointer: &str, name: &str, slot: &Slot, zone: Option<&Zone>, found: &mut Vec<Finding>) {
    let scalar = matches!(slot.kind, Kind::Scalar);
    if scalar && !slot.per_producer && zone.is_some_and(|zone| many_producers(slot, zone)) {
        let detail = "may two producers write this one value? Then split the key by producer (`per_producer`), name \
                      the one producer, or send messages";
        ask(found, join(pointer, "producers"), detail);
    }
    let key = name.split_once('/').map_or(name, |(_, key)| key);
    let sanitized = zone.is_some_and(|zone| zone.sanitize.is_some());
    ask_place(pointer, key, slot, sanitized, found);
}

/// What is asked of a slot and, where it is a document, of its fields and theirs.
fn ask_place(pointer: &str, name: &str, slot: &Slot, sanitized: bool, found: &mut Vec<Finding>) {
    if matches!(slot.kind, Kind::Scalar) && sounds_current(name) {
        let detail = "a `current` value is shared by everyone who runs at the same time: key it by session or task, \
                      or pass it in with the request";
        ask(found, pointer.to_owned(), detail);
    }
    let words = [name, slot.title.as_deref().unwrap_or_default()];
    if !slot.trusted_only && !sanitized && words.into_iter().any(sounds_external) {
        let detail = "this sounds like content from outside: its writers should send `source` or \
                      `trust: \"untrusted\"`, and the zone should `sanitize` it; if no outside content belongs here, set \
                      `trusted_only`";
        ask(found, pointer.to_owned(), detail);
    }
    ask_bounds(pointer, slot, found);
    for (field, slot) in &slot.fields {
        ask_place(&join(&join(pointer, "fields"), field), field, slot, sanitized, found);
    }
}

fn ask_bounds(pointer: &str, slot: &Slot, found: &mut Vec<Finding>) {
    if matches!(slot.kind, Kind::Set | Kind::List) && slot.max_items.is_none() {
        let detail = format!(
            "how long may this get? Only the default bound of {} items holds: set `max_items`",
            slot.items_max()
        );
        ask(found, join(pointer, "max_items"), detail);
    }
    if let (Some(schema), None) = (&slot.schema, slot.max_items) {
        ask_arrays(&join(pointer, "schema"), schema, found);
    }
}

/// Arrays without a bound, wherever a schema has them. A blueprint is no deeper than a value, so this ends.
fn ask_arrays(pointer: &str, schema: &Value, found: &mut Vec<Finding>) {
    let array = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        kind => kind.is_some_and(|kind| kind == "array"),
    };
    if array && schema.get("maxItems").is_none() {
        ask(found, pointer.to_owned(), "how long may this array get? Set `maxItems`, or declare a list");
    }
    for keyword in ["properties", "$defs", "patternProperties"] {
        let members = schema.get(keyword).and_then(Value::as_object);
        for (name, schema) in members.into_iter().flatten() {
            ask_arrays(&join(&join(pointer, keyword), name), schema, found);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(keyword) {
            ask_arrays(&join(pointer, keyword), schema, found);
        }
    }
    for keyword in ["allOf", "anyOf", "oneOf", "prefixItems"] {
        let members = schema.get(keyword).and_then(Value::as_array);
        for (i, schema) in members.into_iter().flatten().enumerate() {
            ask_arrays(&format!("{pointer}/{keyword}/{i}"), schema, found);
        }
    }
}

fn many_producers(slot: &Slot, zone: &Zone) -> bool {
    let many = |parties: &[Party]| match parties {
        [] => false,
        [one] => !matches!(one, Party::Agent(_)),
        _ => true,
    };
    if !slot.producers.is_empty() {
        return many(&slot.producers);
    }
    match zone.access {
        Access::Public | Access::Shared => zone.tier != Tier::Scratch,
        Access::Restricted => many(&zone.owners),
        Access::ReadOnly => false,
    }
}
