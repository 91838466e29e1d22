//! Patches in the forms of RFC 6902 and RFC 7396.
//!
//! Invariant: as the RFCs want it, members of an operation that they do not name are ignored, and a path is a JSON
//! Pointer; dotted paths belong to our own form.
//! Not known here: what a patch does.

use kokuban_core::command::{RfcOp, RfcPatch};
use kokuban_core::json;
use kokuban_core::path::Path;
use serde_json::Value;

use crate::code::ErrorCode;
use crate::fields::{self, BodyErrors, Read, invalid};
use crate::limits::OPERATIONS_PER_PATCH_MAX;
use crate::problem::ErrorItem;

/// A JSON Patch.
///
/// # Errors
/// All mistakes, each with its pointer.
pub fn json_patch(body: Value) -> Read<RfcPatch> {
    let Value::Array(operations) = body else { return Err(invalid("a JSON Patch is an array of operations")) };
    fields::at_most("operations_per_patch_max", OPERATIONS_PER_PATCH_MAX, operations.len())?;
    let mut read = Vec::with_capacity(operations.len());
    let mut errors = Vec::new();
    for (index, value) in operations.into_iter().enumerate() {
        match operation(value) {
            Ok(operation) => read.push(operation),
            Err(mistakes) => errors.extend(mistakes.below(&format!("/{index}")).into_items()),
        }
    }
    match BodyErrors::new(errors) {
        None => Ok(RfcPatch::Json(read)),
        Some(errors) => Err(errors),
    }
}

/// A JSON Merge Patch: any value.
///
/// # Errors
/// The value is too complex.
pub fn merge_patch(body: Value) -> Read<RfcPatch> {
    judged(&body).map(|()| RfcPatch::Merge(body))
}

fn operation(value: Value) -> Read<RfcOp> {
    let Value::Object(mut members) = value else { return Err(invalid("an operation is an object")) };
    let name = match members.get("op") {
        Some(Value::String(name)) => name.clone(),
        Some(_) => return Err(invalid("`op` must be a text").below("/op")),
        None => return Err(invalid("an operation needs `op`")),
    };
    let path = pointer(&members, "path")?;
    let mut value = || match members.remove("value") {
        Some(value) => judged(&value).map(|()| value).map_err(|errors| errors.below("/value")),
        None => Err(invalid(format!("`{name}` needs `value`"))),
    };
    match name.as_str() {
        "add" => Ok(RfcOp::Add { path, value: value()? }),
        "remove" => Ok(RfcOp::Remove { path }),
        "replace" => Ok(RfcOp::Replace { path, value: value()? }),
        "test" => Ok(RfcOp::Test { path, value: value()? }),
        "move" => Ok(RfcOp::Move { from: pointer(&members, "from")?, path }),
        "copy" => Ok(RfcOp::Copy { from: pointer(&members, "from")?, path }),
        _ => Err(invalid("`op` is one of add, remove, replace, move, copy and test").below("/op")),
    }
}

fn pointer(members: &serde_json::Map<String, Value>, name: &'static str) -> Read<Path> {
    let Some(value) = members.get(name) else { return Err(invalid(format!("the operation needs `{name}`"))) };
    let Value::String(text) = value else { return Err(invalid("a path is a text").below(&format!("/{name}"))) };
    if !text.is_empty() && !text.starts_with('/') {
        let detail = "in a JSON Patch a path is a JSON Pointer: empty, or beginning with `/`";
        return Err(BodyErrors::from(ErrorItem::new(ErrorCode::InvalidPath, detail)).below(&format!("/{name}")));
    }
    fields::parsed(ErrorCode::InvalidPath, text).map_err(|errors: BodyErrors| errors.below(&format!("/{name}")))
}

fn judged(value: &Value) -> Read<()> {
    json::check(value, &json::Bounds::default(), "").map_err(|error| {
        let pointer =
            if let json::Error::TooComplex { pointer, .. } = &error { pointer.clone() } else { String::new() };
        BodyErrors::from(ErrorItem::at(ErrorCode::TooComplex, pointer, error.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bodies::{mistakes, pairs};

    #[test]
    fn a_patch_of_the_rfc_is_read_and_other_members_are_ignored() {
        let body = json!([
            {"op": "test", "path": "", "value": null, "comment": "ignored"},
            {"op": "add", "path": "/a/-", "value": [1]},
            {"op": "move", "from": "/a~1b", "path": "/~01"},
        ]);
        let path = |text: &str| Path::parse(text).expect("a pointer");
        let expected = RfcPatch::Json(vec![
            RfcOp::Test { path: Path::ROOT, value: json!(null) },
            RfcOp::Add { path: path("/a/-"), value: json!([1]) },
            RfcOp::Move { from: path("/a~1b"), path: path("/~01") },
        ]);
        assert_eq!(json_patch(body), Ok(expected));
    }

    #[test]
    fn every_mistake_is_told_with_its_place() {
        let body = json!([
            {"op": "adds", "path": "/a"},
            {"op": "add", "path": "a.b", "value": 1},
            {"op": "replace", "path": "/a"},
            {"op": "copy", "path": "/a"},
            {"op": "remove", "path": "/~2"},
            7,
        ]);
        assert_eq!(
            mistakes(json_patch(body)),
            pairs(&[
                ("invalid_value", "/0/op"),
                ("invalid_path", "/1/path"),
                ("invalid_value", "/2"),
                ("invalid_value", "/3"),
                ("invalid_path", "/4/path"),
                ("invalid_value", "/5"),
            ])
        );
        assert_eq!(mistakes(json_patch(json!({}))), pairs(&[("invalid_value", "")]));
        let many = vec![json!({"op": "remove", "path": "/a"}); 257];
        assert_eq!(mistakes(json_patch(json!(many))), pairs(&[("limit_reached", "")]));
    }
}
