//! When two values are the same: by number, not by spelling, and whatever the order of members.
//!
//! Invariant: an equivalence relation; integers and doubles compare exactly, never through rounding.

use serde_json::{Number, Value};

/// Whether two values are equal as the contract says: `1` is `1.0`, members have no order, items have.
#[must_use]
pub fn equal(a: &Value, b: &Value) -> bool {
    // An own stack, so that depth is no concern here.
    let mut rest = Vec::new();
    let mut next = Some((a, b));
    while let Some((a, b)) = next {
        if !equal_or_deferred(a, b, &mut rest) {
            return false;
        }
        next = rest.pop();
    }
    true
}

/// Compares one level; pairs of arrays and objects below it are left in `rest`.
fn equal_or_deferred<'v>(a: &'v Value, b: &'v Value, rest: &mut Vec<(&'v Value, &'v Value)>) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal_scalars_or_defer(a, b, rest))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal_scalars_or_defer(a, b, rest)))
        }
        _ => equal_scalars_or_defer(a, b, rest),
    }
}

fn equal_scalars_or_defer<'v>(a: &'v Value, b: &'v Value, rest: &mut Vec<(&'v Value, &'v Value)>) -> bool {
    match (a, b) {
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
            rest.push((a, b));
            true
        }
        (Value::Number(a), Value::Number(b)) => equal_numbers(a, b),
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Null, Value::Null) => true,
        _ => false,
    }
}

fn equal_numbers(a: &Number, b: &Number) -> bool {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        (Some(integer), None) => b.as_f64().is_some_and(|double| equals_double(integer, double)),
        (None, Some(integer)) => a.as_f64().is_some_and(|double| equals_double(integer, double)),
        (None, None) => a.as_f64() == b.as_f64(),
    }
}

/// Sign and size.
fn integer(number: &Number) -> Option<(bool, u64)> {
    match number.as_u64() {
        Some(size) => Some((false, size)),
        None => number.as_i64().map(|n| (n < 0, n.unsigned_abs())),
    }
}

fn equals_double((negative, size): (bool, u64), double: f64) -> bool {
    // A double has 53 significant bits: an integer with more equals none, one with less converts exactly.
    let significant_bits = u64::BITS - size.leading_zeros().saturating_add(size.trailing_zeros()).min(u64::BITS);
    let converted = size as f64;
    significant_bits <= f64::MANTISSA_DIGITS && double == if negative { -converted } else { converted }
}
