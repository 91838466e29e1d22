//! PUT of a board: its rules, and what it begins with.

use std::collections::BTreeMap;

use kokuban_core::ids::{BlueprintName, EntryId};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::fields::{self, Fields, Read, invalid};
use crate::limits::{INPUTS_PER_BOARD_MAX, LABEL_CHARS_MAX, LABELS_PER_BOARD_MAX, TITLE_CHARS_MAX};
use crate::sources::entry_id_of;

/// Creates a board.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CreateBoard {
    pub blueprint: BlueprintRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Entries of the first commit.
    #[serde(serialize_with = "by_path", skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<EntryId, Value>,
}

/// Rules by the name the server knows them by, or in full.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum BlueprintRef {
    Name(BlueprintName),
    Inline(Value),
}

fn by_path<S: Serializer>(inputs: &BTreeMap<EntryId, Value>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(inputs.iter().map(|(id, value)| (id.to_string(), value)))
}

fn blueprint(value: Value) -> Read<BlueprintRef> {
    match value {
        Value::String(_) => fields::name(value).map(BlueprintRef::Name),
        Value::Object(_) => Ok(BlueprintRef::Inline(value)),
        _ => Err(invalid("this must be the name of a blueprint, or a blueprint as an object")),
    }
}

fn label(name: &str, value: Value) -> Read<(String, String)> {
    if name.is_empty() || name.contains('=') || name.chars().count() > LABEL_CHARS_MAX {
        return Err(invalid(format!("a label has a name of 1 to {LABEL_CHARS_MAX} characters without `=`")));
    }
    Ok((name.to_owned(), fields::text_chars(LABEL_CHARS_MAX)(value)?))
}

impl CreateBoard {
    /// A board by a blueprint of the server.
    #[must_use]
    pub fn by(blueprint: BlueprintName) -> Self {
        Self { blueprint: BlueprintRef::Name(blueprint), title: None, labels: BTreeMap::new(), inputs: BTreeMap::new() }
    }

    /// # Errors
    /// All mistakes of the body but those of an inline blueprint, which is not looked at.
    pub fn read(body: Value) -> Read<Self> {
        let mut fields = Fields::of(body)?;
        let blueprint = fields.required("blueprint", blueprint);
        let title = fields.nullable("title", fields::text_chars(TITLE_CHARS_MAX));
        let labels = fields.optional("labels", fields::map("labels_max", LABELS_PER_BOARD_MAX, label));
        let inputs = fields.optional(
            "inputs",
            fields::map("inputs_max", INPUTS_PER_BOARD_MAX, |path, value| Ok((entry_id_of(path)?, value))),
        );
        fields.finish(blueprint.map(|blueprint| Self {
            blueprint,
            title,
            labels: labels.unwrap_or_default().into_iter().collect(),
            inputs: inputs.unwrap_or_default().into_iter().collect(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bodies::{mistakes, pairs};

    #[test]
    fn what_a_client_sends_the_server_reads() {
        let body = json!({"blueprint": "orders", "title": "t", "labels": {"team": "x"}, "inputs": {"z/a/b": [1], "z/c": null}});
        let create = CreateBoard::read(body.clone()).expect("a good body");
        assert_eq!(serde_json::to_value(&create).expect("serialises"), body);
        let inline = CreateBoard::read(json!({"blueprint": {"name": "x"}})).expect("inline");
        assert_eq!(inline.blueprint, BlueprintRef::Inline(json!({"name": "x"})));
    }

    #[test]
    fn every_mistake_is_pointed_at() {
        let body = json!({"blueprint": 7, "labels": {"a=b": "x", "c": 1}, "inputs": {"z": 1, "z/": 2, "z y/k": 3}, "input": {}});
        assert_eq!(
            mistakes(CreateBoard::read(body)),
            pairs(&[
                ("invalid_value", "/blueprint"),
                ("invalid_value", "/labels/a=b"),
                ("invalid_value", "/labels/c"),
                ("invalid_name", "/inputs/z"),
                ("invalid_name", "/inputs/z y~1k"),
                ("invalid_name", "/inputs/z~1"),
                ("unknown_member", "/input"),
            ])
        );
    }

    #[test]
    fn inputs_are_bounded() {
        let inputs: serde_json::Map<_, _> = (0..129).map(|i| (format!("z/k{i}"), json!(i))).collect();
        let refused = CreateBoard::read(json!({"blueprint": "b", "inputs": inputs}));
        assert_eq!(mistakes(refused), pairs(&[("limit_reached", "/inputs")]));
    }
}
