//! Operation patches: what a list of operations makes of a value.
//!
//! Invariant: reducing is a function of the value and the operations. Operations touch the leaf they name and never
//! its siblings; what cannot be applied says so and leaves everything as it was.
//! Not known here: who may write, statuses, versions. This file grows with the typed slots.

use serde_json::Value;
use smol_str::SmolStr;

use crate::event::Assignment;
use crate::ids::Version;
use crate::path::{Path, PathError, assign};
use crate::rejection::Rejection;
use crate::reply::{OperationOutcome, OperationReceipt};

/// One operation of a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub op: Op,
    pub path: Path,
    /// The leaf must not have changed after this version.
    pub unchanged_since: Option<Version>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    Set(Value),
    Unset,
}

impl Op {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Set(_) => "set",
            Self::Unset => "unset",
        }
    }
}

/// What is known of the leaves of the value that a patch meets. An undeclared entry is one leaf.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing<'a> {
    /// The version at which the leaf changed last, and who changed it; `None` for an absent entry.
    pub(crate) last: Option<(Version, &'a crate::ids::AgentName)>,
    pub(crate) caller: &'a crate::ids::AgentName,
    /// The write names the version of the entry, so no operation needs a condition of its own.
    pub(crate) versioned: bool,
}

/// A patch applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reduced {
    pub(crate) value: Value,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) receipts: Vec<OperationReceipt>,
    /// Operations that would have put nothing in the place of something, wholly or in one of their leaves.
    pub(crate) guarded: Vec<usize>,
}

/// Applies the operations in order. An absent entry begins as an empty object.
///
/// # Errors
/// Every operation that may not be applied, with its index.
pub(crate) fn reduce(
    value: Option<Value>,
    operations: &[Operation],
    standing: Standing<'_>,
) -> Result<Reduced, Vec<(usize, Rejection)>> {
    let begin = || Value::Object(serde_json::Map::new());
    let value = value.unwrap_or_else(begin);
    let mut reduced = Reduced { value, assignments: Vec::new(), receipts: Vec::new(), guarded: Vec::new() };
    let mut refused = Vec::new();
    // Conditions are judged on the value as it stood, not as earlier operations of the same patch left it.
    let before = reduced.value.clone();
    for (index, operation) in operations.iter().enumerate() {
        let applied = condition(&before, operation, standing).and_then(|()| apply(&mut reduced, operation));
        if let Err(rejection) = applied {
            refused.push((index, rejection));
        }
    }
    if refused.is_empty() { Ok(reduced) } else { Err(refused) }
}

/// Nothing that stands is overwritten blind.
fn condition(before: &Value, operation: &Operation, standing: Standing<'_>) -> Result<(), Rejection> {
    let Some((version, by)) = standing.last else { return Ok(()) };
    let unchanged = operation.unchanged_since.map(|since| version <= since);
    if standing.versioned || unchanged == Some(true) {
        return Ok(());
    }
    if let (Some(false), Some(since)) = (unchanged, operation.unchanged_since) {
        let condition = crate::rejection::Condition::Named;
        return Err(Rejection::VersionConflict { condition, expected: Some(since), actual: Some(version) });
    }
    let guarded = match &operation.op {
        Op::Unset => Some(operation.path.clone()),
        Op::Set(_) if by == standing.caller => None,
        Op::Set(new) => overwritten(before, &operation.path, new),
    };
    match guarded {
        Some(path) => Err(Rejection::LeafConditionRequired { path: path.to_string(), version, by: by.clone() }),
        None => Ok(()),
    }
}

/// The first leaf that setting `new` would replace by another value. An object over an object sets its leaves.
fn overwritten(before: &Value, path: &Path, new: &Value) -> Option<Path> {
    let mut pending = vec![(path.clone(), new)];
    while let Some((at, new)) = pending.pop() {
        match (at.get(before), new) {
            (None, _) => {}
            (Some(Value::Object(_)), Value::Object(members)) => {
                pending.extend(members.iter().rev().map(|(name, member)| (at.join(name), member)));
            }
            (Some(old), new) if is_ignored(Some(old), new) || crate::json::equal(old, new) => {}
            (Some(_), _) => return Some(at),
        }
    }
    None
}

fn apply(reduced: &mut Reduced, operation: &Operation) -> Result<(), Rejection> {
    let name = SmolStr::new_static(operation.op.name());
    let mut guarded = false;
    let outcome = match &operation.op {
        Op::Set(new) => set(&mut reduced.value, &operation.path, new, &mut guarded)?,
        Op::Unset => unset(&mut reduced.value, &operation.path)?,
    };
    let (outcome, reason) = match outcome {
        Ok(()) => {
            reduced.assignments.push(Assignment { op: name.clone(), path: operation.path.clone() });
            (OperationOutcome::Applied, None)
        }
        Err(reason) => (OperationOutcome::Ignored, Some(SmolStr::new_static(reason))),
    };
    if guarded {
        reduced.guarded.push(reduced.receipts.len());
    }
    reduced.receipts.push(OperationReceipt { op: name, path: operation.path.clone(), outcome, reason });
    Ok(())
}

/// `Ok(Err(reason))` is an operation that has no effect.
type Effect = Result<Result<(), &'static str>, Rejection>;

fn set(value: &mut Value, path: &Path, new: &Value, guarded: &mut bool) -> Effect {
    let old = path.get(value);
    if is_ignored(old, new) {
        *guarded = true;
        return Ok(Err("null, blank text and empty collections never wipe a value; use `unset`"));
    }
    match old {
        Some(old) if crate::json::equal(old, new) => return Ok(Err("the value stands already")),
        Some(Value::Object(_)) if new.is_object() => return merge(value, path, new, guarded),
        Some(Value::Object(_)) => return Err(wrong_kind(path, "an object stands here, and a scalar was given")),
        Some(Value::Null) | None => {}
        Some(_) if new.is_object() => return Err(wrong_kind(path, "a scalar stands here, and an object was given")),
        Some(_) => {}
    }
    assign(value, path, Some(new.clone())).map_err(|error| path_error(path, error))?;
    Ok(Ok(()))
}

/// Sets every leaf of `new` that has content, and leaves the others as they are.
fn merge(value: &mut Value, path: &Path, new: &Value, guarded: &mut bool) -> Effect {
    let mut effect = Err("nothing in it differs");
    let mut pending = vec![(path.clone(), new)];
    while let Some((at, new)) = pending.pop() {
        match (at.get(value), new) {
            (Some(Value::Object(_)), Value::Object(members)) => {
                pending.extend(members.iter().map(|(name, member)| (at.join(name), member)));
            }
            _ => {
                if set(value, &at, new, guarded)?.is_ok() {
                    effect = Ok(());
                }
            }
        }
    }
    Ok(effect)
}

fn unset(value: &mut Value, path: &Path) -> Effect {
    if path.is_root() {
        return Err(wrong_kind(path, "the whole value cannot be unset: delete the entry, or put another value"));
    }
    if path.get(value).is_none() {
        return Ok(Err("nothing stands here"));
    }
    assign(value, path, None).map_err(|error| path_error(path, error))?;
    Ok(Ok(()))
}

/// What a model writes when it has nothing to say: null and blank text anywhere, empty collections over content.
fn is_ignored(old: Option<&Value>, new: &Value) -> bool {
    match new {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(_) | Value::Object(_) => is_empty(new) && old.is_some_and(|old| !old.is_null() && !is_empty(old)),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn wrong_kind(path: &Path, what: &'static str) -> Rejection {
    Rejection::WrongKind { path: path.to_string(), what }
}

fn path_error(path: &Path, error: PathError) -> Rejection {
    match error {
        PathError::ThroughScalar { at } => {
            Rejection::WrongKind { path: at.to_string(), what: "a scalar stands here, so no path leads through it" }
        }
        PathError::IndexOutOfRange { at } => Rejection::PathNotFound { path: at.to_string() },
        _ => wrong_kind(path, "the path cannot be assigned"),
    }
}

#[cfg(test)]
mod tests;
