//! The JSON Schema of a slot: as written, bounded, and compiled once for all who share the blueprint.
//!
//! Invariant: a compiled schema reaches nothing but itself, its patterns run in linear time, and what one check of a
//! value can cost is bounded when the schema is read: `$ref` leads inwards and never in circles, and the schema with
//! every reference written out has at most `WEIGHT_MAX` parts.
//! Not known here: slots and values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jsonschema::Validator;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::flaw::{FlawKind, Flaws, Shown};
use super::read::{self, Node};
use crate::json::Json;

/// Deepest nesting of a schema as written.
const DEPTH_MAX: usize = 32;
/// Most subschemas that one check may visit per value, references counted as often as they are used.
pub(super) const WEIGHT_MAX: usize = 2_000;
/// Most violations that one check reports.
const VIOLATIONS_MAX: usize = 16;
/// Memory of one compiled pattern.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Keywords whose value is one subschema, a list of them, or a map to them.
const ONE: [&str; 11] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LISTED: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const NAMED: [&str; 3] = ["dependentSchemas", "patternProperties", "properties"];
/// Holds subschemas that count only where a `$ref` uses them.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Keywords that move the place from which references are read, or look them up while checking.
const REFUSED: [&str; 6] = ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor"];
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A schema that was found to be in order. Clones share the compiled form.
#[derive(Clone)]
pub struct Schema(Arc<Compiled>);

struct Compiled {
    written: Value,
    validator: Validator,
}

/// One place where a value breaks a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer into the value.
    pub pointer: String,
    /// What is wrong, without the value.
    pub detail: String,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.0.written).finish()
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.written == other.0.written
    }
}

impl Eq for Schema {}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.written.serialize(serializer)
    }
}

impl Schema {
    pub(super) fn read(node: &Node<'_>, flaws: &mut Flaws) -> Option<Self> {
        read::object(node, flaws)?;
        let written = Json::from_value(node.value).to_value();
        let before = flaws.count();
        let mut survey = Survey { root: &written, weights: BTreeMap::new(), flaws, at: &node.pointer };
        survey.weigh("", &written, 0);
        if flaws.count() > before {
            return None;
        }
        let options = jsonschema::draft202012::options()
            .with_pattern_options(
                jsonschema::PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX),
            )
            .should_validate_formats(true)
            .offline()
            .build(&written);
        match options {
            Ok(validator) => Some(Self(Arc::new(Compiled { written, validator }))),
            Err(error) => {
                let pointer = format!("{}{}", node.pointer, error.instance_path().as_str());
                let detail = format!("is no JSON Schema 2020-12 with linear patterns: {}", error.masked());
                flaws.add(&pointer, FlawKind::InvalidValue { nearest: None }, detail);
                None
            }
        }
    }

    /// As its author wrote it.
    #[must_use]
    pub fn written(&self) -> &Value {
        &self.0.written
    }

    #[must_use]
    pub fn admits(&self, value: &Value) -> bool {
        self.0.validator.is_valid(value)
    }

    /// Where and how `value` breaks the schema; at most a handful of places.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        if self.admits(value) {
            return Vec::new();
        }
        let errors = self.0.validator.iter_errors(value).take(VIOLATIONS_MAX);
        let violation = |error: jsonschema::ValidationError<'_>| Violation {
            pointer: error.instance_path().as_str().to_owned(),
            detail: error.masked().to_string(),
        };
        errors.map(violation).collect()
    }
}

/// One walk over a schema.
struct Survey<'s, 'f> {
    root: &'s Value,
    /// By pointer; `None` while the walk is inside, which is how a circle shows.
    weights: BTreeMap<String, Option<usize>>,
    flaws: &'f mut Flaws,
    at: &'f str,
}

impl<'s> Survey<'s, '_> {
    fn flaw(&mut self, pointer: &str, kind: FlawKind, detail: impl Into<String>) -> usize {
        self.flaws.add(&format!("{}{pointer}", self.at), kind, detail);
        0
    }

    /// How many parts the schema at `pointer` has once its references are written out.
    fn weigh(&mut self, pointer: &str, schema: &'s Value, depth: usize) -> usize {
        let Value::Object(members) = schema else {
            if schema.is_boolean() {
                return 1;
            }
            let detail = "a schema is an object, `true` or `false`";
            return self.flaw(pointer, FlawKind::WrongType { expected: "a schema" }, detail);
        };
        match self.weights.get(pointer) {
            Some(Some(weight)) => return *weight,
            Some(None) => {
                let detail = "refers to itself, so the cost of a check has no bound; write the levels out";
                return self.flaw(pointer, FlawKind::Contradiction, detail);
            }
            None => {}
        }
        if depth > DEPTH_MAX {
            let detail = format!("a schema is at most {DEPTH_MAX} levels deep, references written out");
            return self.flaw(pointer, FlawKind::TooMany { max: DEPTH_MAX }, detail);
        }
        self.weights.insert(pointer.to_owned(), None);
        let mut weight = 1_usize;
        for (name, value) in members {
            let place = read::join(pointer, name);
            let name = name.as_str();
            weight = weight.saturating_add(match value {
                _ if REFUSED.contains(&name) => {
                    let detail = format!("{}: references lead to `#/…` within this schema", Shown(name));
                    self.flaw(&place, FlawKind::InvalidValue { nearest: None }, detail)
                }
                Value::String(dialect) if name == "$schema" && dialect != DIALECT => {
                    let detail = format!("only {DIALECT} is understood");
                    self.flaw(&place, FlawKind::InvalidValue { nearest: None }, detail)
                }
                Value::String(target) if name == "$ref" => self.follow(&place, target, depth),
                one if ONE.contains(&name) => self.weigh(&place, one, depth + 1),
                Value::Array(list) if LISTED.contains(&name) => {
                    let each = list.iter().enumerate().map(|(i, one)| (i.to_string(), one));
                    self.sum(&place, each, depth)
                }
                Value::Object(map) if NAMED.contains(&name) => {
                    self.sum(&place, map.iter().map(|(name, one)| (name.clone(), one)), depth)
                }
                Value::Object(map) if DEFINITIONS.contains(&name) => {
                    // Unused definitions cost nothing in a check, but have to be in order.
                    self.sum(&place, map.iter().map(|(name, one)| (name.clone(), one)), depth);
                    0
                }
                _ => 0,
            });
        }
        self.weights.insert(pointer.to_owned(), Some(weight));
        if weight > WEIGHT_MAX && pointer.is_empty() {
            let detail = format!("has more than {WEIGHT_MAX} parts, references written out");
            return self.flaw(pointer, FlawKind::TooMany { max: WEIGHT_MAX }, detail);
        }
        weight
    }

    fn sum(&mut self, place: &str, each: impl Iterator<Item = (String, &'s Value)>, depth: usize) -> usize {
        each.fold(0, |sum: usize, (name, one)| {
            sum.saturating_add(self.weigh(&read::join(place, &name), one, depth + 1))
        })
    }

    fn follow(&mut self, place: &str, target: &str, depth: usize) -> usize {
        let within = target.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let plain = within.filter(|rest| !rest.contains('%'));
        let Some(pointer) = plain else {
            let detail = format!("{} is not within this schema; write `#/$defs/NAME`", Shown(target));
            return self.flaw(place, FlawKind::InvalidValue { nearest: None }, detail);
        };
        let Some(schema) = self.root.pointer(pointer) else {
            let detail = format!("{} is not there", Shown(target));
            return self.flaw(place, FlawKind::UnknownReference { nearest: None }, detail);
        };
        self.weigh(pointer, schema, depth + 1)
    }
}

#[cfg(test)]
mod tests;
