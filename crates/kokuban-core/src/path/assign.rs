//! Setting and removing one leaf.
//!
//! Invariant: an assignment that fails changed nothing, because only members that are missing are made
//! on the way, and below a missing one nothing can be in the way.

use std::fmt;

use serde_json::map::Entry;
use serde_json::{Map, Value};
use smol_str::SmolStr;

use super::{Path, index};

/// What an assignment did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assigned {
    /// The place was absent.
    Added,
    Replaced,
    Removed,
    /// The place to remove was absent.
    Unchanged,
}

/// Why a place cannot be assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathError {
    /// The value at `at` has no members, so nothing can be set inside it.
    ThroughScalar { at: Path },
    /// `at` names no existing item of an array.
    IndexOutOfRange { at: Path },
    /// The whole value cannot be removed, only the entry.
    RemovesWhole,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ThroughScalar { at } => write!(f, "the value at `{at}` is no object, nothing can be set inside it"),
            Self::IndexOutOfRange { at } => write!(f, "`{at}` is no existing item; an array is written as a whole"),
            Self::RemovesWhole => f.write_str("the whole value cannot be removed; delete the entry"),
        }
    }
}

impl std::error::Error for PathError {}

/// Sets the leaf at `path`, or removes it when `new` is `None`. Missing objects on the way are made.
/// Removing what is absent, for whatever reason, is [`Assigned::Unchanged`].
///
/// # Errors
/// Something is in the way; `value` is then as it was.
pub fn assign(value: &mut Value, path: &Path, new: Option<Value>) -> Result<Assigned, PathError> {
    match (new, path.segments.split_last()) {
        (Some(new), None) => {
            *value = new;
            Ok(Assigned::Replaced)
        }
        (None, None) => Err(PathError::RemovesWhole),
        (Some(new), Some(_)) => set(value, path, new),
        (None, Some((last, parents))) => Ok(remove(value, parents, last)),
    }
}

fn set(value: &mut Value, path: &Path, new: Value) -> Result<Assigned, PathError> {
    let mut at = value;
    for (depth, segment) in path.segments.iter().enumerate() {
        at = match at {
            Value::Array(items) => index(segment)
                .and_then(|index| items.get_mut(index))
                .ok_or_else(|| PathError::IndexOutOfRange { at: path.first(depth + 1) })?,
            Value::Object(members) => match members.entry(segment.as_str()) {
                Entry::Occupied(member) => member.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(nested(&path.segments[depth + 1..], new));
                    return Ok(Assigned::Added);
                }
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Err(PathError::ThroughScalar { at: path.first(depth) });
            }
        };
    }
    *at = new;
    Ok(Assigned::Replaced)
}

/// `leaf` inside objects of one member each.
fn nested(segments: &[SmolStr], leaf: Value) -> Value {
    segments.iter().rev().fold(leaf, |inner, segment| {
        let mut object = Map::new();
        object.insert(segment.as_str().to_owned(), inner);
        Value::Object(object)
    })
}

fn remove(value: &mut Value, parents: &[SmolStr], last: &str) -> Assigned {
    let parent = parents.iter().try_fold(value, |at, segment| match at {
        Value::Object(members) => members.get_mut(segment.as_str()),
        Value::Array(items) => items.get_mut(index(segment)?),
        _ => None,
    });
    let removed = match parent {
        Some(Value::Object(members)) => members.remove(last).is_some(),
        Some(Value::Array(items)) => match index(last) {
            Some(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    };
    if removed { Assigned::Removed } else { Assigned::Unchanged }
}
