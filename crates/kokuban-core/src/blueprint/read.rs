//! Takes a JSON value apart member by member and collects every flaw on the way.
//!
//! Invariant: a reader answers `None` only after it added a flaw, so nothing wrong passes in silence.
//! Not known here: what a blueprint contains.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::flaw::{FlawKind, Flaws, Shown, hint, nearest};
use crate::ids::InvalidName;
use crate::json::Json;

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    pub(super) pointer: String,
    pub(super) value: &'a Value,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { pointer: String::new(), value }
    }
}

/// `pointer` extended by one token, escaped as RFC 6901 wants it.
pub(super) fn join(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"))
}

/// An object whose members are known by name.
#[derive(Debug)]
pub(super) struct Members<'a> {
    pub(super) pointer: String,
    object: &'a Map<String, Value>,
}

impl<'a> Members<'a> {
    /// Opens an object and flags each member that is not in `known`.
    pub(super) fn open(node: &Node<'a>, known: &[&str], flaws: &mut Flaws) -> Option<Self> {
        let object = object(node, flaws)?;
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            let nearest = nearest(name, known.iter().copied());
            let detail = format!("unknown member {}{}", Shown(name), hint(nearest.as_ref()));
            flaws.add(&join(&node.pointer, name), FlawKind::UnknownMember { nearest }, detail);
        }
        Some(Self { pointer: node.pointer.clone(), object })
    }

    pub(super) fn get(&self, name: &str) -> Option<Node<'a>> {
        self.object.get(name).map(|value| Node { pointer: join(&self.pointer, name), value })
    }

    pub(super) fn require(&self, name: &str, flaws: &mut Flaws) -> Option<Node<'a>> {
        let found = self.get(name);
        if found.is_none() {
            flaws.add(&join(&self.pointer, name), FlawKind::MissingMember, format!("`{name}` is required"));
        }
        found
    }

    pub(super) fn boolean(&self, name: &str, default: bool, flaws: &mut Flaws) -> bool {
        let Some(node) = self.get(name) else { return default };
        node.value.as_bool().unwrap_or_else(|| {
            wrong_type(&node, "true or false", flaws);
            default
        })
    }

    pub(super) fn integer(&self, name: &str, range: RangeInclusive<u64>, flaws: &mut Flaws) -> Option<u64> {
        integer(&self.get(name)?, range, flaws)
    }

    pub(super) fn title(&self, flaws: &mut Flaws) -> Option<String> {
        text(&self.get("title")?, 200, flaws).map(str::to_owned)
    }

    pub(super) fn one_of<T: Copy>(&self, name: &str, words: &[(&str, T)], flaws: &mut Flaws) -> Option<T> {
        one_of(&self.get(name)?, words, flaws)
    }
}

pub(super) fn wrong_type(node: &Node<'_>, expected: &'static str, flaws: &mut Flaws) {
    let found = match node.value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    flaws.add(&node.pointer, FlawKind::WrongType { expected }, format!("must be {expected}, not {found}"));
}

pub(super) fn object<'a>(node: &Node<'a>, flaws: &mut Flaws) -> Option<&'a Map<String, Value>> {
    let found = node.value.as_object();
    if found.is_none() {
        wrong_type(node, "an object", flaws);
    }
    found
}

/// The members of an object whose names are data, at most `max`.
pub(super) fn map<'a>(node: &Node<'a>, max: usize, flaws: &mut Flaws) -> Vec<(&'a str, Node<'a>)> {
    let Some(object) = object(node, flaws) else { return Vec::new() };
    if object.len() > max {
        too_many(node, object.len(), max, flaws);
    }
    let member =
        |(name, value): (&'a String, &'a Value)| (name.as_str(), Node { pointer: join(&node.pointer, name), value });
    object.iter().take(max).map(member).collect()
}

/// The items of a list, at most `max`.
pub(super) fn list<'a>(node: &Node<'a>, max: usize, flaws: &mut Flaws) -> Vec<Node<'a>> {
    let Some(items) = node.value.as_array() else {
        wrong_type(node, "a list", flaws);
        return Vec::new();
    };
    if items.len() > max {
        too_many(node, items.len(), max, flaws);
    }
    let item = |(i, value)| Node { pointer: format!("{}/{i}", node.pointer), value };
    items.iter().take(max).enumerate().map(item).collect()
}

fn too_many(node: &Node<'_>, found: usize, max: usize, flaws: &mut Flaws) {
    flaws.add(&node.pointer, FlawKind::TooMany { max }, format!("has {found} members; at most {max} are allowed"));
}

pub(super) fn string<'a>(node: &Node<'a>, flaws: &mut Flaws) -> Option<&'a str> {
    let found = node.value.as_str();
    if found.is_none() {
        wrong_type(node, "a text", flaws);
    }
    found
}

/// A text of 1 to `chars_max` characters without control characters.
pub(super) fn text<'a>(node: &Node<'a>, chars_max: u64, flaws: &mut Flaws) -> Option<&'a str> {
    let found = string(node, flaws)?;
    let chars = u64::try_from(found.chars().count()).unwrap_or(u64::MAX);
    if chars == 0 || chars > chars_max {
        let detail = format!("must be 1 to {chars_max} characters long, not {chars}");
        flaws.add(&node.pointer, FlawKind::OutOfRange { min: 1, max: chars_max }, detail);
        return None;
    }
    if found.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        flaws.add(&node.pointer, FlawKind::InvalidValue { nearest: None }, "may not contain control characters");
        return None;
    }
    Some(found)
}

pub(super) fn integer(node: &Node<'_>, range: RangeInclusive<u64>, flaws: &mut Flaws) -> Option<u64> {
    let (min, max) = (*range.start(), *range.end());
    let Some(number) = node.value.as_number() else {
        wrong_type(node, "an integer", flaws);
        return None;
    };
    if number.is_f64() {
        flaws.add(
            &node.pointer,
            FlawKind::WrongType { expected: "an integer" },
            "must be an integer, not a number with a fraction or exponent",
        );
        return None;
    }
    let found = number.as_u64().filter(|n| range.contains(n));
    if found.is_none() {
        let detail = format!("must be {min} to {max}, not {number}");
        flaws.add(&node.pointer, FlawKind::OutOfRange { min, max }, detail);
    }
    found
}

pub(super) fn one_of<T: Copy>(node: &Node<'_>, words: &[(&str, T)], flaws: &mut Flaws) -> Option<T> {
    let found = string(node, flaws)?;
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == found) {
        return Some(*value);
    }
    let nearest = nearest(found, words.iter().map(|(word, _)| *word));
    let allowed = words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let detail = format!("{} is none of {allowed}{}", Shown(found), hint(nearest.as_ref()));
    flaws.add(&node.pointer, FlawKind::InvalidValue { nearest }, detail);
    None
}

/// The text of a node as a name.
pub(super) fn name<T>(node: &Node<'_>, new: impl Fn(&str) -> Result<T, InvalidName>, flaws: &mut Flaws) -> Option<T> {
    let text = string(node, flaws)?;
    member_name(&node.pointer, text, new, flaws)
}

/// A member's own name, or any text, as a name.
pub(super) fn member_name<T>(
    pointer: &str,
    text: &str,
    new: impl Fn(&str) -> Result<T, InvalidName>,
    flaws: &mut Flaws,
) -> Option<T> {
    match new(text) {
        Ok(name) => Some(name),
        Err(error) => {
            flaws.add(pointer, FlawKind::InvalidName, format!("{}: {error}", Shown(text)));
            None
        }
    }
}

/// A list in which nothing stands twice.
pub(super) fn distinct<T: PartialEq + Display>(
    node: &Node<'_>,
    max: usize,
    flaws: &mut Flaws,
    mut read: impl FnMut(&Node<'_>, &mut Flaws) -> Option<T>,
) -> Vec<T> {
    let mut found: Vec<T> = Vec::new();
    for item in list(node, max, flaws) {
        let Some(value) = read(&item, flaws) else { continue };
        if found.contains(&value) {
            let detail = format!("{} stands here twice", Shown(&value.to_string()));
            flaws.add(&item.pointer, FlawKind::Duplicate, detail);
        } else {
            found.push(value);
        }
    }
    found
}

/// A JSON object kept as data: a schema. Its numbers get their one spelling, so that 1.0 and 1 rule alike and a
/// stored blueprint equals the one that was sent.
pub(super) fn schema(node: &Node<'_>, flaws: &mut Flaws) -> Option<Value> {
    object(node, flaws).map(|_| Json::from_value(node.value).to_value())
}

/// Flags a name that does not exist, with the nearest that does.
pub(super) fn unknown_reference<'a>(
    pointer: &str,
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    flaws: &mut Flaws,
) {
    let nearest = nearest(name, known);
    let detail = format!("there is no {what} {} in this blueprint{}", Shown(name), hint(nearest.as_ref()));
    flaws.add(pointer, FlawKind::UnknownReference { nearest }, detail);
}
