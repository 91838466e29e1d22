//! How single members are read: each reader takes the value and gives what it means, or the mistake.
//!
//! Invariant: no mistake repeats the value.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use kokuban_core::ids::{InvalidName, LeaseToken, Version};
use serde_json::Value;

use super::{BodyErrors, Read};
use crate::code::ErrorCode;
use crate::problem::ErrorItem;
use crate::spelling::{listed, nearest};

/// A member name as one token of a JSON Pointer.
#[must_use]
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// `invalid_value`, without the value.
#[must_use]
pub fn invalid(detail: impl Into<String>) -> BodyErrors {
    ErrorItem::new(ErrorCode::InvalidValue, detail).into()
}

pub(super) fn wrong_type(what: &str, wanted: &str, found: &Value) -> BodyErrors {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction or exponent",
        Value::Number(_) => "an integer",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    invalid(format!("{what} must be {wanted}, not {found}"))
}

/// Any value.
///
/// # Errors
/// Never.
pub fn any(value: Value) -> Read<Value> {
    Ok(value)
}

/// # Errors
/// `invalid_value` when it is no boolean.
pub fn boolean(value: Value) -> Read<bool> {
    value.as_bool().ok_or_else(|| wrong_type("this", "true or false", &value))
}

/// An integer that is not negative.
///
/// # Errors
/// `invalid_value` for anything else.
pub fn integer(value: Value) -> Read<u64> {
    match &value {
        Value::Number(number) if number.is_i64() && !number.is_u64() => Err(invalid("this must not be negative")),
        _ => value.as_u64().ok_or_else(|| wrong_type("this", "an integer", &value)),
    }
}

/// # Errors
/// `invalid_value` when it is no version.
pub fn version(value: Value) -> Read<Version> {
    integer(value).map(Version)
}

/// # Errors
/// `invalid_value` when it is no token.
pub fn lease_token(value: Value) -> Read<LeaseToken> {
    integer(value).map(LeaseToken)
}

/// An integer in a range.
pub fn within(range: RangeInclusive<u64>) -> impl FnOnce(Value) -> Read<u64> {
    move |value| {
        let n = integer(value)?;
        if range.contains(&n) {
            Ok(n)
        } else {
            Err(invalid(format!("this must be from {} to {}", range.start(), range.end())))
        }
    }
}

/// # Errors
/// `invalid_value` when it is no text.
pub fn text(value: Value) -> Read<String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong_type("this", "a text", &other)),
    }
}

/// A text of at most so many characters.
pub fn text_chars(max: usize) -> impl FnOnce(Value) -> Read<String> {
    move |value| {
        let text = text(value)?;
        // Bytes are at least characters: the count is needed only near the bound.
        if text.len() > max && text.chars().count() > max {
            return Err(invalid(format!("this must have at most {max} characters")));
        }
        Ok(text)
    }
}

/// A text of at most so many bytes that is not empty.
pub fn text_bytes(max: usize) -> impl FnOnce(Value) -> Read<String> {
    move |value| {
        let text = text(value)?;
        if text.is_empty() {
            return Err(invalid("this must not be empty"));
        }
        if text.len() > max {
            return Err(invalid(format!("this must have at most {max} bytes")));
        }
        Ok(text)
    }
}

/// A name of the domain.
///
/// # Errors
/// `invalid_name` with the rule, `invalid_value` when it is no text.
pub fn name<T: FromStr<Err = InvalidName>>(value: Value) -> Read<T> {
    text(value)?.parse().map_err(|broken| invalid_name(&broken).into())
}

/// The rule that a name breaks, and the right form where there is one.
#[must_use]
pub fn invalid_name(broken: &InvalidName) -> ErrorItem {
    ErrorItem::new(ErrorCode::InvalidName, broken.to_string()).with_nearest(broken.suggestion.clone())
}

/// One word of a closed list.
pub fn one_of<T: Copy>(words: &[(&'static str, T)]) -> impl FnOnce(Value) -> Read<T> {
    move |value| {
        let text = text(value)?;
        word(words, &text).ok_or_else(|| unknown_word(ErrorCode::InvalidValue, &text, words).into())
    }
}

/// The meaning of `text` in a closed list of words.
pub fn word<T: Copy>(words: &[(&'static str, T)], text: &str) -> Option<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning)
}

/// `text` is none of `words`.
pub(crate) fn unknown_word<T>(code: ErrorCode, text: &str, words: &[(&'static str, T)]) -> ErrorItem {
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let near = nearest(text, names.iter().copied());
    ErrorItem::new(code, format!("this must be one of {}", listed(&names))).with_nearest(near).with_allowed(names)
}

/// An array of at most `max` items, each read with its own pointer.
pub fn list<T>(
    limit: &'static str,
    max: usize,
    mut read: impl FnMut(Value) -> Read<T>,
) -> impl FnOnce(Value) -> Read<Vec<T>> {
    move |value| {
        let Value::Array(items) = value else { return Err(wrong_type("this", "an array", &value)) };
        at_most(limit, max, items.len())?;
        let read = items.into_iter().enumerate().map(|(i, item)| (format!("/{i}"), read(item)));
        collected(read)
    }
}

/// An object whose member names are data, of at most `max` members; `read` gets name and value.
pub fn map<T>(
    limit: &'static str,
    max: usize,
    mut read: impl FnMut(&str, Value) -> Read<T>,
) -> impl FnOnce(Value) -> Read<Vec<T>> {
    move |value| {
        let Value::Object(members) = value else { return Err(wrong_type("this", "an object", &value)) };
        at_most(limit, max, members.len())?;
        let read = members.into_iter().map(|(name, value)| (format!("/{}", escaped(&name)), read(&name, value)));
        collected(read)
    }
}

/// `limit_reached` when there are more than `max`.
///
/// # Errors
/// The limit by name.
pub fn at_most(limit: &'static str, max: usize, n: usize) -> Read<()> {
    if n <= max {
        return Ok(());
    }
    let detail = format!("at most {max} are allowed here, not {n}");
    let max = u64::try_from(max).unwrap_or(u64::MAX);
    Err(ErrorItem::new(ErrorCode::LimitReached, detail).with_limit(limit, max).into())
}

fn collected<T>(read: impl Iterator<Item = (String, Read<T>)>) -> Read<Vec<T>> {
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    for (pointer, item) in read {
        match item {
            Ok(item) => items.push(item),
            Err(mistakes) => errors.extend(mistakes.below(&pointer).into_items()),
        }
    }
    match BodyErrors::new(errors) {
        Some(errors) => Err(errors),
        None => Ok(items),
    }
}

/// `text` parsed, with the parser's own words as the detail.
///
/// # Errors
/// `code` with those words.
pub fn parsed<T: FromStr<Err: Display>>(code: ErrorCode, text: &str) -> Read<T> {
    text.parse().map_err(|error: T::Err| ErrorItem::new(code, error.to_string()).into())
}
