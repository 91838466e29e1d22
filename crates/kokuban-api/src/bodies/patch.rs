//! PATCH of an entry: operations on leaves, or their short form; and moves.
//!
//! Invariant: the short form becomes operations in the order unset, reset, remove, add, append, increment, set,
//! merge; each operation knows where in the body it stands.
//! Not known here: slots, and what an operation does to a value.

use serde::Serialize;
use serde_json::Value;

use super::operation::{OPS, Op, Operand, Operation, one_mistake, read_path};
use super::terms::Terms;
use crate::code::ErrorCode;
use crate::fields::{self, Fields, Read, at_most, escaped};
use crate::limits::OPERATIONS_PER_PATCH_MAX;

const LIMIT: &str = "operations_per_patch_max";

/// Changes of parts of a value, and of what stands beside it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Patch {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<Operation>,
    #[serde(flatten)]
    pub terms: Terms,
}

/// `unset` lists paths; every other member maps paths to operands.
fn short_form(fields: &mut Fields) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (name, op) in OPS {
        let pointer = fields.pointer_of(name);
        let read = if op == Op::Unset {
            fields.optional(
                name,
                fields::list(LIMIT, OPERATIONS_PER_PATCH_MAX, |path| {
                    Ok((None, Operation::new(op, read_path(path)?, Operand::Nothing)))
                }),
            )
        } else {
            fields.optional(
                name,
                fields::map(LIMIT, OPERATIONS_PER_PATCH_MAX, |path, value| {
                    let operation =
                        Operation::new(op, fields::parsed(ErrorCode::InvalidPath, path)?, short_operand(op, value)?);
                    Ok((Some(escaped(path)), operation))
                }),
            )
        };
        for (i, (place, operation)) in read.unwrap_or_default().into_iter().enumerate() {
            let place = place.unwrap_or_else(|| i.to_string());
            operations.push(Operation { pointer: format!("{pointer}/{place}"), ..operation });
        }
    }
    operations
}

fn short_operand(op: Op, value: Value) -> Read<Operand> {
    let takes = op.takes();
    if !takes.is_items() {
        return takes.check(value);
    }
    Ok(Operand::Values(match value {
        Value::Array(items) => items,
        item => vec![item],
    }))
}

impl Patch {
    /// # Errors
    /// All mistakes of the body.
    pub fn read(body: Value) -> Read<Self> {
        let mut fields = Fields::of(body)?;
        let patch = Self::take(&mut fields);
        fields.finish(Some(patch))
    }

    pub(super) fn take(fields: &mut Fields) -> Self {
        fields.refused("value", "PATCH takes `operations` or their short form; PUT replaces the `value`");
        fields.refused("replace", "PATCH replaces by `reset` and `unset`; `replace` belongs to PUT");
        let both = fields.has("operations").then(|| OPS.iter().find(|(name, _)| fields.has(name))).flatten();
        let both = both.map(|(name, _)| *name);
        let pointer = fields.pointer_of("operations");
        let listed = fields.optional("operations", fields::list(LIMIT, OPERATIONS_PER_PATCH_MAX, Operation::read));
        let mut operations = listed.unwrap_or_default();
        for (i, operation) in operations.iter_mut().enumerate() {
            operation.pointer = format!("{pointer}/{i}");
        }
        operations.extend(short_form(fields));
        if let Some(name) = both {
            fields.mistake(name, one_mistake("`operations` and the short form exclude each other"));
        }
        if let Err(errors) = at_most(LIMIT, OPERATIONS_PER_PATCH_MAX, operations.len()) {
            fields.mistakes(errors);
        }
        Self { operations, terms: Terms::take(fields) }
    }
}

#[cfg(test)]
mod tests {
    use kokuban_core::ids::Version;
    use kokuban_core::path::Path;
    use serde_json::json;

    use super::*;
    use crate::bodies::{Intent, mistakes, pairs};

    fn path(text: &str) -> Path {
        Path::parse(text).expect("a path")
    }

    #[test]
    fn the_short_form_runs_in_the_order_of_the_contract() {
        let patch =
            Patch::read(json!({"version": 7, "merge": {"": {"a": 1}}, "set": {"gpa": 3.8}, "increment": {"n": 2},
            "append": {"log": [{"x": 1}]}, "add": {"countries": ["英国", "x"]}, "remove": {"countries": "y"},
            "reset": {"tags": []}, "unset": ["a.b", "/c~1d"]}))
            .expect("a short form");
        let names: Vec<_> = patch.operations.iter().map(|operation| operation.op.as_str()).collect();
        assert_eq!(names, ["unset", "unset", "reset", "remove", "add", "append", "increment", "set", "merge"]);
        let pointers: Vec<_> = patch.operations.iter().map(|operation| operation.pointer.as_str()).collect();
        assert_eq!(pointers[..4], ["/unset/0", "/unset/1", "/reset/tags", "/remove/countries"]);
        assert_eq!(patch.operations[1].path, path("/c~1d"));
        assert_eq!(patch.operations[3].operand, Operand::Values(vec![json!("y")]));
        assert_eq!(patch.operations[7].operand, Operand::Value(json!(3.8)));
    }

    #[test]
    fn what_a_client_sends_the_server_reads() {
        let mut patch = Patch {
            operations: vec![
                Operation::new(Op::Unset, path("a.b"), Operand::Nothing),
                Operation::new(Op::Reset, path("t"), Operand::Values(Vec::new())),
                Operation {
                    confidence: Some("stated".into()),
                    reason: Some("r".into()),
                    intent: Some(Intent::Append),
                    unchanged_since: Some(Version(3)),
                    ..Operation::new(Op::Set, Path::ROOT, Operand::Value(json!(null)))
                },
                Operation::new(Op::Increment, path("n"), Operand::Value(json!(-2))),
            ],
            terms: Terms::at_version(Version(9)),
        };
        let sent = serde_json::to_value(&patch).expect("serialises");
        assert_eq!(sent["operations"][0], json!({"op": "unset", "path": "/a/b"}));
        for (i, operation) in patch.operations.iter_mut().enumerate() {
            operation.pointer = format!("/operations/{i}");
        }
        assert_eq!(Patch::read(sent), Ok(patch));
    }

    #[test]
    fn each_operation_takes_its_own_operand() {
        let body = json!({"operations": [
            {"op": "unset", "path": "a", "value": 1},
            {"op": "set", "path": "a"},
            {"op": "set", "path": "a", "values": [1]},
            {"op": "add", "path": "a"},
            {"op": "add", "path": "a", "value": [1]},
            {"op": "add", "path": "a", "value": 1, "values": [1]},
            {"op": "append", "path": "a", "values": 1},
            {"op": "increment", "path": "a", "value": "1"},
            {"op": "merge", "path": "a", "value": 1},
            {"op": "reset", "path": "a"},
        ]});
        assert_eq!(
            mistakes(Patch::read(body)),
            pairs(&[
                ("invalid_value", "/operations/0/value"),
                ("invalid_value", "/operations/1/value"),
                ("invalid_value", "/operations/2/values"),
                ("invalid_value", "/operations/3/values"),
                ("invalid_value", "/operations/4/value"),
                ("invalid_value", "/operations/5/values"),
                ("invalid_value", "/operations/6/values"),
                ("invalid_value", "/operations/7/value"),
                ("invalid_value", "/operations/8/value"),
            ])
        );
    }

    #[test]
    fn a_path_that_cannot_be_read_is_pointed_at() {
        let body = json!({"set": {"a..b": 1}, "unset": [".a", 7]});
        assert_eq!(
            mistakes(Patch::read(body)),
            pairs(&[("invalid_path", "/unset/0"), ("invalid_value", "/unset/1"), ("invalid_path", "/set/a..b")])
        );
        let body = json!({"operations": [{"op": "st", "path": "a..b", "value": 1, "vaule": 2}]});
        assert_eq!(
            mistakes(Patch::read(body)),
            pairs(&[
                ("invalid_value", "/operations/0/op"),
                ("invalid_path", "/operations/0/path"),
                ("unknown_member", "/operations/0/vaule")
            ])
        );
    }

    #[test]
    fn a_patch_has_at_most_256_operations() {
        let one = json!({"op": "set", "path": "a", "value": 1});
        assert!(Patch::read(json!({"operations": vec![one.clone(); 256]})).is_ok());
        let many = json!({"operations": vec![one; 257]});
        assert_eq!(mistakes(Patch::read(many)), pairs(&[("limit_reached", "/operations")]));
        let paths: Vec<_> = (0..200).map(|i| format!("a{i}")).collect();
        let map: serde_json::Map<_, _> = paths.iter().map(|path| (path.clone(), json!(1))).collect();
        assert_eq!(mistakes(Patch::read(json!({"unset": paths, "set": map}))), pairs(&[("limit_reached", "")]));
    }

    #[test]
    fn a_move_alone_is_a_patch_without_operations() {
        let patch = Patch::read(json!({"status": "confirmed", "version": 7})).expect("a move");
        assert!(patch.operations.is_empty() && patch.terms.status.is_some());
    }

    #[test]
    fn a_patch_takes_neither_a_whole_value_nor_both_forms() {
        assert_eq!(mistakes(Patch::read(json!({"value": 1}))), pairs(&[("unknown_member", "/value")]));
        let both = json!({"operations": [], "set": {"a": 1}});
        assert_eq!(mistakes(Patch::read(both)), pairs(&[("invalid_value", "/set")]));
    }
}
