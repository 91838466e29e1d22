//! JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7396), by the letter.
//!
//! Invariant: applied whole or not at all. A `test` compares as everything here does: numbers by their size, objects
//! without order.
//! Not known here: guards and levels. What comes out is a whole value, and is judged as one.

use serde_json::{Map, Value};
use smol_str::SmolStr;

use crate::json::equal;
use crate::path::Path;
use crate::rejection::Rejection;

/// A patch in one of the forms of the RFCs.
#[derive(Debug, Clone, PartialEq)]
pub enum RfcPatch {
    Json(Vec<RfcOp>),
    Merge(Value),
}

#[derive(Debug, Clone, PartialEq)]
pub enum RfcOp {
    Add { path: Path, value: Value },
    Remove { path: Path },
    Replace { path: Path, value: Value },
    Move { from: Path, path: Path },
    Copy { from: Path, path: Path },
    Test { path: Path, value: Value },
}

impl RfcPatch {
    #[must_use]
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Json(_) => "json_patch",
            Self::Merge(_) => "merge_patch",
        }
    }

    /// What the patch makes of `old`.
    ///
    /// # Errors
    /// The first operation that cannot be done, with its index.
    pub(crate) fn apply(&self, old: Option<Value>) -> Result<Value, (usize, Rejection)> {
        match self {
            Self::Merge(patch) => {
                let mut value = old.unwrap_or(Value::Null);
                merge(&mut value, patch);
                Ok(value)
            }
            Self::Json(operations) => {
                // An absent entry has no value; only `add` of the whole can begin one.
                let mut value = old;
                for (index, operation) in operations.iter().enumerate() {
                    apply(&mut value, operation).map_err(|rejection| (index, rejection))?;
                }
                value.ok_or((0, Rejection::PathNotFound { path: String::new() }))
            }
        }
    }
}

/// RFC 7396 §2.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let members = target.as_object_mut().expect("it is one now");
    for (name, value) in patch {
        if value.is_null() {
            members.remove(name);
        } else {
            merge(members.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

fn apply(value: &mut Option<Value>, operation: &RfcOp) -> Result<(), Rejection> {
    match operation {
        RfcOp::Add { path, value: new } => add(value, path, new.clone()),
        RfcOp::Remove { path } => remove(value, path).map(drop),
        RfcOp::Replace { path, value: new } => {
            *place(value, path)? = new.clone();
            Ok(())
        }
        RfcOp::Move { from, path } => {
            if path.starts_with(from) && path != from {
                let what = "a value cannot be moved into itself";
                return Err(Rejection::WrongKind { path: path.to_string(), what });
            }
            let moved = remove(value, from)?;
            add(value, path, moved)
        }
        RfcOp::Copy { from, path } => {
            let copied = place(value, from)?.clone();
            add(value, path, copied)
        }
        RfcOp::Test { path, value: expected } => match place(value, path) {
            Ok(found) if equal(found, expected) => Ok(()),
            Ok(_) => Err(Rejection::TestFailed { path: path.to_string() }),
            Err(absent) => Err(absent),
        },
    }
}

fn absent(path: &Path) -> Rejection {
    Rejection::PathNotFound { path: path.to_string() }
}

fn place<'v>(value: &'v mut Option<Value>, path: &Path) -> Result<&'v mut Value, Rejection> {
    let whole = value.as_mut().ok_or_else(|| absent(path))?;
    path.segments().iter().try_fold(whole, step).ok_or_else(|| absent(path))
}

fn step<'v>(at: &'v mut Value, segment: &SmolStr) -> Option<&'v mut Value> {
    match at {
        Value::Object(members) => members.get_mut(segment.as_str()),
        Value::Array(items) => crate::path::index(segment).and_then(|index| items.get_mut(index)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn add(value: &mut Option<Value>, path: &Path, new: Value) -> Result<(), Rejection> {
    let Some((parent, last)) = path.split_last() else {
        *value = Some(new);
        return Ok(());
    };
    match place(value, &parent)? {
        Value::Object(members) => {
            members.insert(last.to_string(), new);
            Ok(())
        }
        Value::Array(items) => {
            let index = if last == "-" { Some(items.len()) } else { crate::path::index(last) };
            let index = index.filter(|index| *index <= items.len()).ok_or_else(|| absent(path))?;
            items.insert(index, new);
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(absent(path)),
    }
}

fn remove(value: &mut Option<Value>, path: &Path) -> Result<Value, Rejection> {
    let Some((parent, last)) = path.split_last() else {
        return value.take().ok_or_else(|| absent(path));
    };
    let removed = match place(value, &parent)? {
        Value::Object(members) => members.remove(last.as_str()),
        Value::Array(items) => {
            crate::path::index(last).filter(|index| *index < items.len()).map(|index| items.remove(index))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    removed.ok_or_else(|| absent(path))
}
