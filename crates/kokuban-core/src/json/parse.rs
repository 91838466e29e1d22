//! Strict reading: serde_json's lexer, our judgement of what it found.
//!
//! Invariant: whatever the text, the stack stays within the depth bound and nothing larger than
//! the text is built. What cannot be JSON is told before what cannot be a number.
//! The common case is one pass. serde_json hides the literal of a number, but every literal that
//! it would change shows as a double that is zero or at least 2^63; only then is the text looked at again.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::{Bound, Bounds, Error, Step, number, pointer};

/// The first double beyond every i64.
const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;

/// Reads one value that is the whole of `bytes`.
///
/// # Errors
/// The first fault in the text; an unrepresentable number only when there is no other fault.
pub fn parse(bytes: &[u8], bounds: &Bounds) -> Result<Value, Error> {
    let text = std::str::from_utf8(bytes).map_err(|e| not_utf8(&bytes[..e.valid_up_to()]))?;
    if text.starts_with('\u{feff}') {
        return Err(malformed(1, 1, "the text begins with a byte order mark"));
    }
    let mut reader = Reader::new(bounds, None);
    match reader.read(text) {
        Ok(value) if !reader.suspicious => Ok(value),
        Err(error) if !matches!(error, Error::Malformed { .. }) => Err(error),
        outcome => judge_numbers(text, bounds, outcome),
    }
}

/// The outcome, unless a number made it or is wrong in it. With the first such number replaced and all
/// others with it, the text shows its other faults at their places.
#[cold]
fn judge_numbers(text: &str, bounds: &Bounds, outcome: Result<Value, Error>) -> Result<Value, Error> {
    let Some(replaced) = number::replace_unrepresentable(text) else { return outcome };
    Reader::new(bounds, None).read(&replaced.text)?;
    Reader::new(bounds, Some(replaced.first)).read(&replaced.text)
}

fn malformed(line: usize, column: usize, what: &str) -> Error {
    Error::Malformed { line, column, what: what.to_owned() }
}

fn not_utf8(valid: &[u8]) -> Error {
    let line_start = valid.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let line = valid.iter().filter(|b| **b == b'\n').count() + 1;
    malformed(line, valid.len() - line_start + 1, "the text is not UTF-8")
}

/// What stopped the reading; the way there is in the trail.
#[derive(Debug)]
enum Fault {
    Duplicate,
    Bound(Bound, usize),
    Number,
}

#[derive(Debug)]
struct Reader<'b> {
    bounds: &'b Bounds,
    depth: usize,
    nodes: usize,
    numbers: usize,
    /// The number, counted from 0, to stop at.
    stop_at: Option<usize>,
    /// A number was seen that its literal may contradict.
    suspicious: bool,
    fault: Option<Fault>,
    /// The way to the fault, innermost first; filled while returning.
    trail: Vec<Step<String>>,
}

impl<'b> Reader<'b> {
    fn new(bounds: &'b Bounds, stop_at: Option<usize>) -> Self {
        let (depth, nodes, numbers) = (0, 0, 0);
        Self { bounds, depth, nodes, numbers, stop_at, suspicious: false, fault: None, trail: Vec::new() }
    }

    fn read(&mut self, text: &str) -> Result<Value, Error> {
        let mut lexer = serde_json::Deserializer::from_str(text);
        lexer.disable_recursion_limit(); // the depth bound is ours and comes first
        let read = Node(self).deserialize(&mut lexer).and_then(|value| lexer.end().map(|()| value));
        read.map_err(|error| self.error(&error))
    }

    #[cold]
    fn error(&mut self, error: &serde_json::Error) -> Error {
        let mut trail = std::mem::take(&mut self.trail);
        trail.reverse();
        let pointer = pointer("", trail);
        match self.fault.take() {
            Some(Fault::Duplicate) => Error::DuplicateMember { pointer },
            Some(Fault::Bound(what, max)) => Error::TooComplex { pointer, what, max },
            Some(Fault::Number) => Error::NumberNotRepresentable { pointer },
            None => {
                let what = error.to_string();
                let place = what.rfind(" at line ").unwrap_or(what.len());
                malformed(error.line(), error.column().max(1), &what[..place])
            }
        }
    }

    #[cold]
    fn stop<E: serde::de::Error>(&mut self, fault: Fault) -> E {
        self.fault = Some(fault);
        E::custom("stopped")
    }

    fn node<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.nodes += 1;
        if self.nodes > self.bounds.nodes_max {
            return Err(self.stop(Fault::Bound(Bound::Nodes, self.bounds.nodes_max)));
        }
        Ok(())
    }

    fn number<E: serde::de::Error>(&mut self, number: Number) -> Result<Value, E> {
        self.node()?;
        if self.stop_at == Some(self.numbers) {
            return Err(self.stop(Fault::Number));
        }
        self.numbers += 1;
        Ok(Value::Number(number))
    }

    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.node()?;
        if self.depth >= self.bounds.depth_max {
            return Err(self.stop(Fault::Bound(Bound::Depth, self.bounds.depth_max)));
        }
        self.depth += 1;
        Ok(())
    }
}

struct Node<'r, 'b>(&'r mut Reader<'b>);

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.0.node().map(|()| Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.0.node().map(|()| Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.0.number(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.0.number(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.0.suspicious |= value == 0.0 || value.abs() >= TWO_POW_63;
        if value == 0.0 && value.is_sign_negative() {
            return self.0.number(0_u64.into());
        }
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number that is not finite"))?;
        self.0.number(number)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.0.node().map(|()| Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let reader = self.0;
        reader.enter()?;
        let mut items = Vec::new();
        loop {
            match seq.next_element_seed(Node(reader)) {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(error) => {
                    reader.trail.push(Step::Index(items.len()));
                    return Err(error);
                }
            }
        }
        reader.depth -= 1;
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let reader = self.0;
        reader.enter()?;
        let mut members = Map::new();
        while let Some(name) = map.next_key_seed(Name(reader))? {
            match members.entry(name) {
                Entry::Occupied(first) => {
                    reader.trail.push(Step::Name(first.key().clone()));
                    return Err(reader.stop(Fault::Duplicate));
                }
                Entry::Vacant(place) => match map.next_value_seed(Node(reader)) {
                    Ok(member) => {
                        place.insert(member);
                    }
                    Err(error) => {
                        reader.trail.push(Step::Name(place.key().clone()));
                        return Err(error);
                    }
                },
            }
        }
        reader.depth -= 1;
        Ok(Value::Object(members))
    }
}

struct Name<'r, 'b>(&'r mut Reader<'b>);

impl<'de> DeserializeSeed<'de> for Name<'_, '_> {
    type Value = String;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_, '_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<String, E> {
        let max = self.0.bounds.member_name_bytes_max;
        if name.len() > max {
            return Err(self.0.stop(Fault::Bound(Bound::MemberNameBytes, max)));
        }
        Ok(name.to_owned())
    }
}
