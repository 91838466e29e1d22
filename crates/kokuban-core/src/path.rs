//! Places inside a value, and what can be done at one: look, compare, assign.
//!
//! Invariant: a path that was read from text has at most 32 segments of at most 256 bytes; a failed
//! assignment changes nothing. Segments are data: no name means anything special.
//! An array is one leaf: a path may reach into one that exists, never make or lengthen one.
//! Not known here: slots, marks, who may assign.

mod assign;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use smol_str::SmolStr;

use crate::json::{self, equal};

pub use assign::{Assigned, PathError, assign};

/// Most segments of a path: no value is deeper.
pub const SEGMENTS_MAX: usize = json::DEPTH_MAX;
/// Longest segment, in bytes: no member name is longer.
pub const SEGMENT_BYTES_MAX: usize = json::MEMBER_NAME_BYTES_MAX;

/// A place in a value. The empty path is the whole value. Shown and serialised as an RFC 6901 pointer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Path {
    segments: Vec<SmolStr>,
}

/// Why a text is not a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidPath {
    /// In a pointer, `~` stands only in `~0` and `~1`.
    Tilde,
    /// In a dotted path, `\` stands only in `\.` and `\\`.
    Backslash,
    EmptySegment,
    TooManySegments,
    SegmentTooLong,
}

impl fmt::Display for InvalidPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tilde => f.write_str("in a JSON Pointer `~` is written `~0` and `/` in a name `~1`"),
            Self::Backslash => f.write_str(r"in a dotted path a dot in a name is written `\.` and a backslash `\\`"),
            Self::EmptySegment => f.write_str(
                "a dotted path has no empty segment: no dot at the start, the end or twice in a row; \
                 a JSON Pointer begins with `/`",
            ),
            Self::TooManySegments => write!(f, "a path has at most {SEGMENTS_MAX} segments"),
            Self::SegmentTooLong => write!(f, "a segment of a path is at most {SEGMENT_BYTES_MAX} bytes long"),
        }
    }
}

impl std::error::Error for InvalidPath {}

impl Path {
    /// The whole value.
    pub const ROOT: Self = Self { segments: Vec::new() };

    /// Reads `""`, a JSON Pointer (`/a/b`) or a dotted path (`a.b`).
    ///
    /// # Errors
    /// The rule that `text` breaks.
    pub fn parse(text: &str) -> Result<Self, InvalidPath> {
        if text.is_empty() {
            return Ok(Self::ROOT);
        }
        let segments = match text.strip_prefix('/') {
            Some(rest) => bounded(rest.split('/').map(unescape_pointer))?,
            None => bounded(DottedSegments { rest: Some(text) })?,
        };
        Ok(Self { segments })
    }

    /// Goes one step deeper. Unlike [`Path::parse`] it is for names that a value already has, and unbounded.
    pub fn push(&mut self, segment: &str) {
        self.segments.push(SmolStr::new(segment));
    }

    /// This path and one step more.
    #[must_use]
    pub fn join(&self, segment: &str) -> Self {
        let mut path = self.clone();
        path.push(segment);
        path
    }

    #[must_use]
    pub fn is_root(&self) -> bool {
        self.segments.is_empty()
    }

    #[must_use]
    pub fn segments(&self) -> &[SmolStr] {
        &self.segments
    }

    /// Whether this path is `prefix` or a place inside it.
    #[must_use]
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.segments.starts_with(&prefix.segments)
    }

    /// What `value` has at this place.
    #[must_use]
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.segments.iter().try_fold(value, |at, segment| match at {
            Value::Object(members) => members.get(segment.as_str()),
            Value::Array(items) => items.get(index(segment)?),
            _ => None,
        })
    }

    /// Goes back one step.
    pub(crate) fn pop(&mut self) {
        self.segments.pop();
    }

    /// The first `count` steps.
    pub(crate) fn first(&self, count: usize) -> Self {
        Self { segments: self.segments[..count].to_vec() }
    }

    /// The way to the last step, and that.
    pub(crate) fn split_last(&self) -> Option<(Self, &SmolStr)> {
        let (last, parents) = self.segments.split_last()?;
        Some((Self { segments: parents.to_vec() }, last))
    }
}

/// The index that a segment names in an array: digits without a leading zero.
pub(crate) fn index(segment: &str) -> Option<usize> {
    let digits = segment.bytes().all(|b| b.is_ascii_digit()) && (segment == "0" || !segment.starts_with('0'));
    if digits { segment.parse().ok() } else { None }
}

fn bounded(segments: impl Iterator<Item = Result<SmolStr, InvalidPath>>) -> Result<Vec<SmolStr>, InvalidPath> {
    let mut out = Vec::new();
    for segment in segments {
        let segment = segment?;
        if segment.len() > SEGMENT_BYTES_MAX {
            return Err(InvalidPath::SegmentTooLong);
        }
        if out.len() == SEGMENTS_MAX {
            return Err(InvalidPath::TooManySegments);
        }
        out.push(segment);
    }
    Ok(out)
}

fn unescape_pointer(token: &str) -> Result<SmolStr, InvalidPath> {
    let mut parts = token.split('~');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (tail, meant) = match part.as_bytes().first() {
            Some(b'0') => (&part[1..], '~'),
            Some(b'1') => (&part[1..], '/'),
            _ => return Err(InvalidPath::Tilde),
        };
        out.push(meant);
        out.push_str(tail);
    }
    Ok(out.into())
}

/// Appends a member name as a token of a JSON Pointer.
pub(crate) fn escape_into(out: &mut String, name: &str) {
    for c in name.chars() {
        match c {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            _ => out.push(c),
        }
    }
}

struct DottedSegments<'t> {
    rest: Option<&'t str>,
}

impl Iterator for DottedSegments<'_> {
    type Item = Result<SmolStr, InvalidPath>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.rest.take()?;
        let mut segment = String::new();
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '.' => {
                    self.rest = Some(&text[at + 1..]);
                    break;
                }
                '\\' => match chars.next() {
                    Some((_, escaped @ ('.' | '\\'))) => segment.push(escaped),
                    _ => return Some(Err(InvalidPath::Backslash)),
                },
                _ => segment.push(c),
            }
        }
        Some(if segment.is_empty() { Err(InvalidPath::EmptySegment) } else { Ok(segment.into()) })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        for segment in &self.segments {
            out.push('/');
            escape_into(&mut out, segment);
        }
        f.write_str(&out)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

impl FromStr for Path {
    type Err = InvalidPath;
    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        Self::parse(text)
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = SmolStr::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Where two values differ, in the order of names: at most `max` places, none inside another.
/// Objects are compared member by member, anything else, arrays too, is one leaf.
#[must_use]
pub fn diff(old: &Value, new: &Value, max: usize) -> Vec<Path> {
    let mut out = Vec::new();
    diff_into(&mut out, &mut Path::default(), old, new, max);
    out
}

fn diff_into(out: &mut Vec<Path>, at: &mut Path, old: &Value, new: &Value, max: usize) {
    if out.len() >= max {
        return;
    }
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        if !equal(old, new) {
            out.push(at.clone());
        }
        return;
    };
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        if out.len() >= max {
            return;
        }
        at.push(name);
        match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) => diff_into(out, at, old, new, max),
            _ => out.push(at.clone()),
        }
        at.segments.pop();
    }
}

#[cfg(test)]
mod tests;
