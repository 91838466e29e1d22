//! What a slot asks of a value that is about to stand: kinds, bounds, schema.
//!
//! Invariant: a value that conforms is stored as it leaves here: declared sets in their one order, texts trimmed where
//! that is declared.
//! Not known here: how the value came to be.

use serde_json::Value;
use smol_str::SmolStr;

use super::items;
use crate::blueprint::{Kind, Slot};
use crate::path::Path;
use crate::rejection::Rejection;

/// The value in its stored form.
///
/// # Errors
/// Every place where it does not fit, or would be too full.
pub(crate) fn conform(mut value: Value, slot: &Slot) -> Result<Value, Vec<(Path, Rejection)>> {
    let mut refused = Vec::new();
    shape(&mut value, slot, &mut Path::default(), &mut refused);
    if refused.is_empty() {
        check(&value, slot, &mut Path::default(), &mut refused);
    }
    if refused.is_empty() { Ok(value) } else { Err(refused) }
}

fn shape(value: &mut Value, slot: &Slot, at: &mut Path, refused: &mut Vec<(Path, Rejection)>) {
    let misfit = match (slot.kind, &mut *value) {
        // Nothing is of every kind; a schema may ask for more.
        (_, Value::Null) => None,
        (Kind::Scalar, Value::Array(_) | Value::Object(_)) => {
            Some("a scalar is declared here: text, number or boolean")
        }
        (Kind::Scalar, Value::String(text)) if slot.trim && text.trim().len() < text.len() => {
            *text = text.trim().to_owned();
            None
        }
        (Kind::Counter, Value::Number(_)) | (Kind::Scalar, _) => None,
        (Kind::Counter, _) => Some("a counter is declared here: a number"),
        (Kind::Set, Value::Array(all)) => {
            if !items::is_canonical(all) {
                *all = items::canonical(all);
            }
            full(all, slot, at, refused)
        }
        (Kind::List, Value::Array(all)) => full(all, slot, at, refused),
        (Kind::Set, _) => Some("a set is declared here: an array of items"),
        (Kind::List, _) => Some("a list is declared here: an array of items"),
        (Kind::Document, Value::Object(members)) => {
            for (name, field) in &slot.fields {
                if let Some(member) = members.get_mut(name) {
                    at.push(name);
                    shape(member, field, at, refused);
                    at.pop();
                }
            }
            None
        }
        (Kind::Document, _) => Some("a document is declared here: an object"),
    };
    if let Some(what) = misfit {
        refused.push((at.clone(), Rejection::WrongKind { path: at.to_string(), what }));
    }
}

fn full(all: &[Value], slot: &Slot, at: &Path, refused: &mut Vec<(Path, Rejection)>) -> Option<&'static str> {
    if let Err(rejection) = items::bounded(at, Some(slot), all.len()) {
        refused.push((at.clone(), rejection));
    }
    None
}

fn check(value: &Value, slot: &Slot, at: &mut Path, refused: &mut Vec<(Path, Rejection)>) {
    if let Some(schema) = &slot.schema {
        for violation in schema.violations(value) {
            let path = Path::parse(&format!("{at}{}", violation.pointer)).unwrap_or_else(|_| at.clone());
            let detail = SmolStr::new(&violation.detail);
            let shown = path.to_string();
            refused.push((path, Rejection::SchemaViolation { path: shown, detail }));
        }
    }
    for (name, field) in &slot.fields {
        if let Some(member) = value.get(name) {
            at.push(name);
            check(member, field, at, refused);
            at.pop();
        }
    }
}

/// How deep the value is, where that is deeper than the slot finds good.
pub(crate) fn depth_warning(value: &Value, slot: &Slot) -> Option<u64> {
    fn depth(value: &Value) -> u64 {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }
    let depth = depth(value);
    (depth > slot.max_depth).then_some(depth)
}
