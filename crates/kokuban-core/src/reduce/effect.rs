//! What one operation would do to a value: the leaves that it assigns.
//!
//! Invariant: an effect names leaves, whose values are complete; it depends on the value, the operation and the slot
//! alone. Null, blank text, and empty collections over content never become a step of `set` or `merge`.
//! Not known here: whether a step may be taken.

use serde_json::{Number, Value};

use super::gate::Rules;
use super::{Op, Operation, items};
use crate::blueprint::{Kind, Slot};
use crate::json::equal;
use crate::path::{Path, PathError};
use crate::rejection::Rejection;

/// One leaf and what it becomes; `None` takes it away.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) path: Path,
    pub(super) new: Option<Value>,
    pub(super) kept: Kept,
}

/// What a step leaves of what stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    Nothing,
    /// It adds to the leaf: in whatever order, the result is the same. Needs no condition and no level.
    Level,
    /// The value is equal; only what is known of it may rise.
    Value,
}

#[derive(Debug, Default)]
pub(super) struct Effect {
    pub(super) steps: Vec<Step>,
    /// Why the operation does nothing, where no step is taken.
    pub(super) nothing: &'static str,
    /// A leaf was left out because it would have wiped content, or was no content.
    pub(super) guarded: bool,
}

impl Effect {
    fn none(nothing: &'static str) -> Self {
        Self { nothing, ..Self::default() }
    }

    fn step(path: &Path, new: Option<Value>, kept: Kept) -> Self {
        Self { steps: vec![Step { path: path.clone(), new, kept }], nothing: STANDS, guarded: false }
    }
}

const STANDS: &str = "the value stands already";
const BLANK: &str = "null, blank text and empty collections never wipe a value; use `unset` or `reset`";

/// What `operation` would do to `value`.
///
/// # Errors
/// The operation does not fit what stands at its path, or what the slot declares there.
pub(super) fn effect(value: Option<&Value>, operation: &Operation, rules: &Rules<'_>) -> Result<Effect, Rejection> {
    let path = &operation.path;
    way_is_open(value, path)?;
    let field = rules.slot.and_then(|slot| slot.field_at(path));
    let old = value.and_then(|value| path.get(value));
    match &operation.op {
        Op::Set(new) => spread(value, path, new, rules),
        Op::Merge(members) => {
            if old.is_some_and(|old| !old.is_object() && !old.is_null()) {
                return Err(wrong_kind(path, "only an object can be merged into, and none stands here"));
            }
            spread(value, path, &Value::Object(members.clone()), rules)
        }
        Op::Unset => unset(old, path, rules),
        Op::Add(items) => collect(old, path, field, items, &items::SET, items::union),
        Op::Remove(_) if old.is_none() => Ok(Effect::none("nothing stands here")),
        Op::Remove(items) => collect(old, path, field, items, &items::SET, items::difference).map(gated),
        Op::Append(items) => append(old, path, field, items),
        Op::Reset(items) => reset(old, path, field, items),
        Op::Increment(by) => increment(old, path, field, by),
    }
}

/// A path leads through objects, existing items of arrays, and what is not there yet.
fn way_is_open(value: Option<&Value>, path: &Path) -> Result<(), Rejection> {
    let Some(mut at) = value else { return Ok(()) };
    for (depth, segment) in path.segments().iter().enumerate() {
        let next = match at {
            Value::Object(members) => members.get(segment.as_str()),
            Value::Array(_) => match path.first(depth + 1).get(value.expect("it stands")) {
                None => return Err(Rejection::PathNotFound { path: path.first(depth + 1).to_string() }),
                found => found,
            },
            // An empty place is no obstacle: it becomes an object.
            Value::Null if depth > 0 => None,
            _ => {
                let what = "a scalar stands here, so no path leads through it";
                return Err(wrong_kind(&path.first(depth), what));
            }
        };
        match next {
            Some(found) => at = found,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Sets every leaf of `new` that has content.
fn spread(value: Option<&Value>, path: &Path, new: &Value, rules: &Rules<'_>) -> Result<Effect, Rejection> {
    let mut effect = Effect::none("nothing in it differs");
    let mut pending = vec![(path.clone(), new)];
    let mut single = true;
    while let Some((at, new)) = pending.pop() {
        let old = value.and_then(|value| at.get(value));
        let field = rules.slot.and_then(|slot| slot.field_at(&at));
        match (old, new) {
            (Some(Value::Object(old)), Value::Object(new)) if new.is_empty() && !old.is_empty() => {
                effect.guarded = true
            }
            (Some(Value::Object(_)), Value::Object(members)) => {
                single = false;
                pending.extend(members.iter().rev().map(|(name, member)| (at.join(name), member)));
            }
            (None | Some(Value::Null), Value::Object(members)) if !members.is_empty() => {
                single = false;
                pending.extend(members.iter().rev().map(|(name, member)| (at.join(name), member)));
            }
            _ if is_ignored(old, new) => effect.guarded = true,
            (Some(Value::Object(_)), _) => {
                return Err(wrong_kind(&at, "an object stands here, and a scalar was given"));
            }
            (Some(old), Value::Object(_)) if !old.is_null() => {
                return Err(wrong_kind(&at, "a scalar stands here, and an object was given"));
            }
            _ => effect.steps.push(leaf(&at, old, new, field)),
        }
    }
    effect.nothing = match (effect.guarded, single) {
        (true, _) => BLANK,
        (false, true) => STANDS,
        (false, false) => "nothing in it differs",
    };
    Ok(effect)
}

fn leaf(path: &Path, old: Option<&Value>, new: &Value, field: Option<&Slot>) -> Step {
    let new = match (new, field) {
        (Value::String(text), Some(field)) if field.trim => Value::String(text.trim().to_owned()),
        (Value::Array(items), Some(field)) if field.kind == Kind::Set => Value::Array(items::canonical(items)),
        _ => new.clone(),
    };
    let kept = if old.is_some_and(|old| equal(old, &new)) { Kept::Value } else { Kept::Nothing };
    Step { path: path.clone(), new: Some(new), kept }
}

fn unset(old: Option<&Value>, path: &Path, rules: &Rules<'_>) -> Result<Effect, Rejection> {
    if path.is_root() {
        return Err(wrong_kind(path, "the whole value cannot be unset: delete the entry, or put another value"));
    }
    let Some(old) = old else { return Ok(Effect::none("nothing stands here")) };
    if !rules.arbiter
        && let Some(required) = rules.slot.and_then(|slot| slot.required_within(path, old))
    {
        return Err(Rejection::RequiredLeaf { path: required.to_string() });
    }
    Ok(Effect::step(path, None, Kept::Nothing))
}

fn collect(
    old: Option<&Value>,
    path: &Path,
    field: Option<&Slot>,
    items: &[Value],
    wanted: &items::Wanted,
    join: impl FnOnce(&[Value], &[Value]) -> Vec<Value>,
) -> Result<Effect, Rejection> {
    let standing = items::standing(old, path, field, wanted)?;
    let joined = join(standing, items);
    if joined.len() == standing.len() && old.is_some() {
        return Ok(Effect::none("that is so already"));
    }
    items::bounded(path, field, joined.len())?;
    Ok(Effect::step(path, Some(Value::Array(joined)), Kept::Level))
}

/// Taking away is no addition: the level of the leaf speaks.
fn gated(mut effect: Effect) -> Effect {
    effect.steps.iter_mut().for_each(|step| step.kept = Kept::Nothing);
    effect
}

fn append(old: Option<&Value>, path: &Path, field: Option<&Slot>, items: &[Value]) -> Result<Effect, Rejection> {
    let standing = items::standing(old, path, field, &items::LIST)?;
    if items.is_empty() && old.is_some() {
        return Ok(Effect::none("there is nothing to append"));
    }
    let mut all: Vec<Value> = standing.iter().chain(items).cloned().collect();
    items::drop_oldest(field, &mut all);
    items::bounded(path, field, all.len())?;
    Ok(Effect::step(path, Some(Value::Array(all)), Kept::Level))
}

fn reset(old: Option<&Value>, path: &Path, field: Option<&Slot>, items: &[Value]) -> Result<Effect, Rejection> {
    items::resettable(old, path, field)?;
    let is_set = field.is_some_and(|field| field.kind == Kind::Set);
    let new = Value::Array(if is_set { items::canonical(items) } else { items.to_vec() });
    if let Value::Array(all) = &new {
        items::bounded(path, field, all.len())?;
    }
    let kept = if old.is_some_and(|old| equal(old, &new)) { Kept::Value } else { Kept::Nothing };
    Ok(Effect::step(path, Some(new), kept))
}

fn increment(old: Option<&Value>, path: &Path, field: Option<&Slot>, by: &Number) -> Result<Effect, Rejection> {
    let counter = field.is_some_and(|field| field.kind == Kind::Counter);
    if field.is_some_and(|field| !matches!(field.kind, Kind::Counter | Kind::Scalar)) {
        return Err(wrong_kind(path, "only a number can be incremented, and none is declared here"));
    }
    let zero = Number::from(0);
    let standing = match old {
        Some(Value::Number(number)) => number,
        None | Some(Value::Null) if counter => &zero,
        None => return Err(Rejection::PathNotFound { path: path.to_string() }),
        Some(_) => return Err(wrong_kind(path, "only a number can be incremented, and none stands here")),
    };
    let Some(sum) = items::sum(standing, by) else {
        return Err(Rejection::NumberNotRepresentable { path: path.to_string() });
    };
    if old.is_some() && equal(&Value::Number(standing.clone()), &Value::Number(sum.clone())) {
        return Ok(Effect::none("the number stays the same"));
    }
    let kept = if counter { Kept::Level } else { Kept::Nothing };
    Ok(Effect::step(path, Some(Value::Number(sum)), kept))
}

/// What a model writes when it has nothing to say: null and blank text anywhere, empty collections over content.
fn is_ignored(old: Option<&Value>, new: &Value) -> bool {
    match new {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(_) | Value::Object(_) => is_blank(new) && old.is_some_and(|old| !is_blank(old)),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Null, blank text, nothing in a list or object. 0 and false are content.
pub(crate) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

pub(super) fn wrong_kind(path: &Path, what: &'static str) -> Rejection {
    Rejection::WrongKind { path: path.to_string(), what }
}

pub(super) fn path_error(path: &Path, error: PathError) -> Rejection {
    match error {
        PathError::ThroughScalar { at } => wrong_kind(&at, "a scalar stands here, so no path leads through it"),
        PathError::IndexOutOfRange { at } => Rejection::PathNotFound { path: at.to_string() },
        PathError::RemovesWhole => wrong_kind(path, "the whole value cannot be removed"),
    }
}
