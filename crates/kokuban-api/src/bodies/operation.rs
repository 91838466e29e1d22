//! One operation of a patch: what it does, where, and with what.
//!
//! Invariant: an operation that was read has the operand that its kind takes; only `values` carries several items,
//! so that an array in `value` is never taken for one or the other.

use kokuban_core::ids::Version;
use kokuban_core::path::Path;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::code::ErrorCode;
use crate::fields::{self, Fields, Read, invalid};
use crate::limits::{LABEL_CHARS_MAX, REASON_CHARS_MAX};
use crate::sources::{Source, read_source};

/// One change at one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Operation {
    pub op: Op,
    pub path: Path,
    #[serde(flatten)]
    pub operand: Operand,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// The leaf must not have changed after this version of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged_since: Option<Version>,
    /// Where it stands in the body.
    #[serde(skip)]
    pub pointer: String,
}

/// What an operation works with: nothing (`unset`), one value (`set`, `merge`, `increment`), or items.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    Nothing,
    Value(Value),
    Values(Vec<Value>),
}

impl Serialize for Operand {
    /// As the members `value` or `values` of the operation.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.collect_map(std::iter::empty::<(&str, &Value)>()),
            Self::Value(value) => serializer.collect_map([("value", value)]),
            Self::Values(values) => serializer.collect_map([("values", values)]),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Unset,
    Reset,
    Remove,
    Add,
    Append,
    Increment,
    Set,
    Merge,
}

/// What happens to the value that a leaf has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    #[default]
    Overwrite,
    /// The old value stays, the new one becomes a note.
    Append,
    /// Recorded only.
    Ignore,
}

/// In the order in which the short form runs.
pub(super) const OPS: [(&str, Op); 8] = [
    ("unset", Op::Unset),
    ("reset", Op::Reset),
    ("remove", Op::Remove),
    ("add", Op::Add),
    ("append", Op::Append),
    ("increment", Op::Increment),
    ("set", Op::Set),
    ("merge", Op::Merge),
];
const INTENTS: [(&str, Intent); 3] =
    [("overwrite", Intent::Overwrite), ("append", Intent::Append), ("ignore", Intent::Ignore)];

impl Op {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unset => "unset",
            Self::Reset => "reset",
            Self::Remove => "remove",
            Self::Add => "add",
            Self::Append => "append",
            Self::Increment => "increment",
            Self::Set => "set",
            Self::Merge => "merge",
        }
    }

    pub(super) fn takes(self) -> Takes {
        match self {
            Self::Unset => Takes::Nothing,
            Self::Reset => Takes::ItemsOrNothing,
            Self::Remove | Self::Add | Self::Append => Takes::Items,
            Self::Increment => Takes::Number,
            Self::Set => Takes::Anything,
            Self::Merge => Takes::Object,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Items,
    ItemsOrNothing,
    Number,
    Anything,
    Object,
}

impl Takes {
    pub(super) fn is_items(self) -> bool {
        matches!(self, Self::Items | Self::ItemsOrNothing)
    }

    pub(super) fn check(self, value: Value) -> Read<Operand> {
        match self {
            Self::Number if !value.is_number() => Err(invalid("this must be a number")),
            Self::Object if !value.is_object() => {
                Err(invalid("this must be an object: its members are merged into the one at the path"))
            }
            _ => Ok(Operand::Value(value)),
        }
    }
}

impl Operation {
    /// An operation with nothing but its operand.
    #[must_use]
    pub fn new(op: Op, path: Path, operand: Operand) -> Self {
        Self {
            op,
            path,
            operand,
            confidence: None,
            source: None,
            reason: None,
            intent: None,
            unchanged_since: None,
            pointer: String::new(),
        }
    }

    pub(super) fn read(value: Value) -> Read<Self> {
        let mut fields = Fields::of_member(value)?;
        let op = fields.required("op", fields::one_of(&OPS));
        let path = fields.required("path", read_path);
        let operand = match op {
            Some(op) => operand(&mut fields, op),
            None => {
                fields.raw(&["value", "values"]);
                None
            }
        };
        let confidence = fields.optional("confidence", fields::text_bytes(LABEL_CHARS_MAX));
        let source = fields.optional("source", read_source);
        let reason = fields.optional("reason", fields::text_chars(REASON_CHARS_MAX));
        let intent = fields.optional("intent", fields::one_of(&INTENTS));
        let unchanged_since = fields.optional("unchanged_since", fields::version);
        let built = op.zip(path).zip(operand).map(|((op, path), operand)| Self {
            confidence,
            source,
            reason,
            intent,
            unchanged_since,
            ..Self::new(op, path, operand)
        });
        fields.finish(built)
    }
}

pub(super) fn read_path(value: Value) -> Read<Path> {
    fields::parsed(ErrorCode::InvalidPath, &fields::text(value)?)
}

fn operand(fields: &mut Fields, op: Op) -> Option<Operand> {
    let (takes, name) = (op.takes(), op.as_str());
    let items = takes.is_items();
    match (fields.has("value"), fields.has("values")) {
        (true, true) => {
            fields.raw(&["value", "values"]);
            fields.mistake("values", one_mistake("`value` and `values` exclude each other"));
            None
        }
        (given, many) if takes == Takes::Nothing => {
            fields.raw(&["value", "values"]);
            if given || many {
                let member = if given { "value" } else { "values" };
                fields.mistake(member, one_mistake(&format!("`{name}` takes no value")));
            }
            Some(Operand::Nothing)
        }
        (false, true) if !items => {
            fields.raw(&["value", "values"]);
            fields.mistake("values", one_mistake(&format!("`{name}` takes one `value`")));
            None
        }
        (false, false) if takes == Takes::ItemsOrNothing => Some(Operand::Values(Vec::new())),
        (true, false) if items => fields.optional("value", one_item).map(|item| Operand::Values(vec![item])),
        (false, _) if items => fields.required("values", all_items).map(Operand::Values),
        (_, false) | (false, true) => fields.required("value", |value| takes.check(value)),
    }
}

pub(super) fn one_mistake(detail: &str) -> crate::ErrorItem {
    crate::ErrorItem::new(ErrorCode::InvalidValue, detail)
}

/// An array in `value` may mean one item or many; only `values` is clear.
fn one_item(value: Value) -> Read<Value> {
    if value.is_array() {
        return Err(invalid("several items stand in `values`; one item that is an array in `values: [[…]]`"));
    }
    Ok(value)
}

fn all_items(value: Value) -> Read<Vec<Value>> {
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(invalid("this must be an array of items")),
    }
}
