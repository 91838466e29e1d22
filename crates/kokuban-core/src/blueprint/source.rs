//! A blueprint file: TOML text as the JSON members it stands for, and where each of them was written.
//!
//! Invariant: every member of the value has a place in the text; a pointer to a missing one has that of its parent.
//! Not known here: what the members mean.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::flaw::{FLAWS_MAX, Flaw, FlawKind, Flaws, TomlFlaw};
use super::read::join;

/// Largest file. It may hold comments, so it is larger than a blueprint.
const FILE_BYTES_MAX: usize = 4 * super::BLUEPRINT_BYTES_MAX;
/// Deepest nesting, as for any value of ours (contract §3.4).
const DEPTH_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct Source<'t> {
    text: &'t str,
    value: Value,
    /// Byte offsets of members (at their names) and items, by pointer.
    places: BTreeMap<String, usize>,
}

impl<'t> Source<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Self, Vec<TomlFlaw>> {
        let mut source = Self { text, value: Value::Null, places: BTreeMap::new() };
        if text.len() > FILE_BYTES_MAX {
            let detail = format!("a blueprint file is at most {FILE_BYTES_MAX} bytes, not {}", text.len());
            let kind = FlawKind::TooLarge { bytes_max: FILE_BYTES_MAX };
            return Err(vec![source.place(Flaw { pointer: String::new(), detail, kind })]);
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let flaw = |error: &toml::de::Error| {
                let flaw = Flaw { pointer: String::new(), detail: error.message().to_owned(), kind: FlawKind::Syntax };
                source.place_at(error.span().map_or(0, |span: Range<usize>| span.start), flaw)
            };
            return Err(errors.iter().take(FLAWS_MAX).map(flaw).collect());
        }
        let mut flaws = Flaws::default();
        let value = source.table("", table.get_ref(), &mut flaws);
        source.value = Value::Object(value);
        let flaws = flaws.into_vec();
        if flaws.is_empty() { Ok(source) } else { Err(flaws.into_iter().map(|flaw| source.place(flaw)).collect()) }
    }

    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// A flaw with the line and column where its member, or the nearest that contains it, was written.
    pub(super) fn place(&self, flaw: Flaw) -> TomlFlaw {
        self.place_at(self.offset(&flaw.pointer), flaw)
    }

    fn offset(&self, pointer: &str) -> usize {
        let mut pointer = pointer;
        loop {
            if let Some(offset) = self.places.get(pointer) {
                return *offset;
            }
            let Some((parent, _)) = pointer.rsplit_once('/') else { return 0 };
            pointer = parent;
        }
    }

    fn place_at(&self, offset: usize, flaw: Flaw) -> TomlFlaw {
        let (line, column) = line_and_column(self.text, offset);
        TomlFlaw { line, column, flaw }
    }

    fn table(&mut self, pointer: &str, table: &DeTable<'_>, flaws: &mut Flaws) -> Map<String, Value> {
        let mut members = Map::new();
        for (name, value) in table {
            let pointer = join(pointer, name.get_ref());
            self.places.insert(pointer.clone(), name.span().start);
            members.insert(name.get_ref().to_string(), self.value_of(&pointer, value, flaws));
        }
        members
    }

    fn value_of(&mut self, pointer: &str, value: &Spanned<DeValue<'_>>, flaws: &mut Flaws) -> Value {
        if pointer.split('/').count() > DEPTH_MAX + 1 {
            flaws.add(pointer, FlawKind::TooMany { max: DEPTH_MAX }, format!("is nested deeper than {DEPTH_MAX}"));
            return Value::Null;
        }
        match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Integer(number) => integer(pointer, number.as_str(), number.radix(), flaws),
            DeValue::Float(number) => float(pointer, number.as_str(), flaws),
            DeValue::Datetime(_) => {
                let kind = FlawKind::WrongType { expected: "a text" };
                flaws.add(pointer, kind, "a blueprint has no dates; write it as a text in quotes");
                Value::Null
            }
            DeValue::Array(items) => {
                let mut values = Vec::new();
                for (i, item) in items.iter().enumerate() {
                    let pointer = format!("{pointer}/{i}");
                    self.places.insert(pointer.clone(), item.span().start);
                    values.push(self.value_of(&pointer, item, flaws));
                }
                Value::Array(values)
            }
            DeValue::Table(table) => Value::Object(self.table(pointer, table, flaws)),
        }
    }
}

fn integer(pointer: &str, digits: &str, radix: u32, flaws: &mut Flaws) -> Value {
    let signed = i64::from_str_radix(digits, radix).map(Number::from);
    signed.or_else(|_| u64::from_str_radix(digits, radix).map(Number::from)).map_or_else(
        |_| {
            flaws.add(pointer, FlawKind::OutOfRange { min: 0, max: u64::MAX }, "is too large for an integer");
            Value::Null
        },
        Value::Number,
    )
}

fn float(pointer: &str, digits: &str, flaws: &mut Flaws) -> Value {
    digits.parse().ok().and_then(Number::from_f64).map_or_else(
        || {
            flaws.add(pointer, FlawKind::WrongType { expected: "a number" }, "must be a finite number");
            Value::Null
        },
        Value::Number,
    )
}

/// Both count from 1, columns in characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The line of a blueprint file on which `pointer`, or the nearest member that contains it, was written.
#[must_use]
pub fn toml_line_of(text: &str, pointer: &str) -> usize {
    Source::parse(text).map_or(1, |source| line_and_column(text, source.offset(pointer)).0)
}
