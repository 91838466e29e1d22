//! Items of sets and lists, and numbers that are added up.
//!
//! Invariant: a set is stored in one order, without two equal items, so that adding in any order gives the same value.
//! Integers add up exactly or not at all.
//! Not known here: who adds.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::effect::wrong_kind;
use crate::blueprint::{Kind, MAX_ITEMS, OnFull, Slot};
use crate::json::{equal, write_canonical};
use crate::path::Path;
use crate::rejection::Rejection;

/// What an operation on items needs to find.
pub(super) struct Wanted {
    kind: Kind,
    declared_otherwise: &'static str,
}

pub(super) const SET: Wanted =
    Wanted { kind: Kind::Set, declared_otherwise: "`add` and `remove` are for sets, and none is declared here" };
pub(super) const LIST: Wanted =
    Wanted { kind: Kind::List, declared_otherwise: "`append` is for lists, and none is declared here" };

/// The items that stand at a place; none where nothing stands.
pub(super) fn standing<'v>(
    old: Option<&'v Value>,
    path: &Path,
    field: Option<&Slot>,
    wanted: &Wanted,
) -> Result<&'v [Value], Rejection> {
    if field.is_some_and(|field| field.kind != wanted.kind) {
        return Err(wrong_kind(path, wanted.declared_otherwise));
    }
    match old {
        None | Some(Value::Null) => Ok(&[]),
        // Without a declaration nobody has said that order does not matter, so none is destroyed.
        Some(Value::Array(items)) if field.is_none() && wanted.kind == Kind::Set && !is_canonical(items) => Err(
            wrong_kind(path, "this list is in an order of its own, so it is no set; use `append`, or declare a slot"),
        ),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(wrong_kind(path, "items belong to a list or set, and none stands here")),
    }
}

pub(super) fn resettable(old: Option<&Value>, path: &Path, field: Option<&Slot>) -> Result<(), Rejection> {
    if field.is_some_and(|field| !matches!(field.kind, Kind::Set | Kind::List)) {
        return Err(wrong_kind(path, "`reset` is for sets and lists, and none is declared here"));
    }
    match old {
        None | Some(Value::Null | Value::Array(_)) => Ok(()),
        Some(_) => Err(wrong_kind(path, "`reset` is for sets and lists, and none stands here")),
    }
}

/// Whether so many items may stand here.
pub(super) fn bounded(path: &Path, field: Option<&Slot>, n_items: usize) -> Result<(), Rejection> {
    let max = field.map_or(MAX_ITEMS, Slot::items_max);
    if n_items as u64 > max { Err(Rejection::ListFull { path: path.to_string(), max }) } else { Ok(()) }
}

/// Makes room at the front of a list that says so.
pub(super) fn drop_oldest(field: Option<&Slot>, items: &mut Vec<Value>) {
    if let Some(field) = field.filter(|field| field.on_full == Some(OnFull::DropOldest)) {
        let max = usize::try_from(field.items_max()).unwrap_or(usize::MAX);
        items.drain(..items.len().saturating_sub(max));
    }
}

pub(super) fn union(old: &[Value], new: &[Value]) -> Vec<Value> {
    let all: Vec<Value> = old.iter().chain(new).cloned().collect();
    canonical(&all)
}

pub(super) fn difference(old: &[Value], gone: &[Value]) -> Vec<Value> {
    let gone = keyed(gone);
    let mut left = keyed(old);
    left.retain(|item| gone.binary_search_by(|other| other.cmp(item)).is_err());
    left.into_iter().map(|item| item.value.clone()).collect()
}

/// The items in the order of sets, each once.
pub(super) fn canonical(items: &[Value]) -> Vec<Value> {
    keyed(items).into_iter().map(|item| item.value.clone()).collect()
}

pub(super) fn is_canonical(items: &[Value]) -> bool {
    let keyed: Vec<_> = items.iter().map(Keyed::of).collect();
    keyed.is_sorted_by(|a, b| a.cmp(b).is_lt())
}

fn keyed(items: &[Value]) -> Vec<Keyed<'_>> {
    let mut keyed: Vec<_> = items.iter().map(Keyed::of).collect();
    keyed.sort_by(Keyed::cmp);
    keyed.dedup_by(|a, b| a.cmp(b).is_eq());
    keyed
}

/// An item with what orders it: kind, then number by size, then the one text that equal values share.
struct Keyed<'v> {
    value: &'v Value,
    rank: u8,
    size: f64,
    text: Vec<u8>,
}

impl<'v> Keyed<'v> {
    fn of(value: &'v Value) -> Self {
        let rank = match value {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Number(_) => 2,
            Value::String(_) => 3,
            Value::Array(_) => 4,
            Value::Object(_) => 5,
        };
        let mut text = Vec::new();
        write_canonical(&mut text, value);
        Self { value, rank, size: value.as_f64().unwrap_or(0.0), text }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        // Beyond 2^53 a double and the integer that it equals are spelt differently.
        if self.rank == 2 && other.rank == 2 && equal(self.value, other.value) {
            return Ordering::Equal;
        }
        let by_size = self.size.total_cmp(&other.size);
        self.rank.cmp(&other.rank).then(by_size).then_with(|| self.text.cmp(&other.text))
    }
}

/// The sum, if it is a number that can be kept: of integers exactly, else of doubles.
pub(super) fn sum(a: &Number, b: &Number) -> Option<Number> {
    if let (Some(a), Some(b)) = (integer(a), integer(b)) {
        let sum = a.checked_add(b)?;
        return i64::try_from(sum).map(Number::from).or_else(|_| u64::try_from(sum).map(Number::from)).ok();
    }
    Number::from_f64(a.as_f64()? + b.as_f64()?)
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}
