//! The leaves of a value: everything that is no object with members.
//!
//! Invariant: an array is one leaf, whatever it holds; an empty object is one too.
//! Not known here: what is known of a leaf.

use serde_json::Value;

use crate::json::equal;
use crate::path::Path;

/// The leaves at and below `path`.
pub(crate) fn of(path: &Path, value: &Value) -> Vec<(Path, Value)> {
    let mut found = Vec::new();
    let mut pending = vec![(path.clone(), value)];
    while let Some((at, value)) = pending.pop() {
        match value {
            Value::Object(members) if !members.is_empty() => {
                pending.extend(members.iter().rev().map(|(name, member)| (at.join(name), member)));
            }
            leaf => found.push((at, leaf.clone())),
        }
    }
    found
}

/// One place where a whole value differs from the one before it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change<'v> {
    pub(super) path: Path,
    pub(super) old: Option<&'v Value>,
    pub(super) new: Option<&'v Value>,
}

/// What differs, leaf by leaf, or as one where `whole` is asked.
pub(super) fn changes<'v>(old: Option<&'v Value>, new: &'v Value, whole: bool) -> Vec<Change<'v>> {
    let mut found = Vec::new();
    let mut pending = vec![(Path::ROOT, old, Some(new))];
    while let Some((at, old, new)) = pending.pop() {
        match (old, new) {
            (Some(old), Some(new)) if equal(old, new) => {}
            (Some(Value::Object(old)), Some(Value::Object(new))) if !whole => {
                let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
                pending.extend(gone.rev().map(|(name, old)| (at.join(name), Some(old), None)));
                pending.extend(new.iter().rev().map(|(name, new)| (at.join(name), old.get(name), Some(new))));
            }
            (old, new) => found.push(Change { path: at, old, new }),
        }
    }
    found
}
