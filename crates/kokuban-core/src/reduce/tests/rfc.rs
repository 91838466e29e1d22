//! RFC 6902 and RFC 7396 by their own examples and corners.

use serde_json::{Value, json};

use crate::command::{RfcOp, RfcPatch};
use crate::path::Path;
use crate::rejection::Rejection;

fn op(text: &Value) -> RfcOp {
    let path = |name: &str| Path::parse(text[name].as_str().expect("a pointer")).expect("a pointer");
    match text["op"].as_str().expect("an operation") {
        "add" => RfcOp::Add { path: path("path"), value: text["value"].clone() },
        "remove" => RfcOp::Remove { path: path("path") },
        "replace" => RfcOp::Replace { path: path("path"), value: text["value"].clone() },
        "move" => RfcOp::Move { from: path("from"), path: path("path") },
        "copy" => RfcOp::Copy { from: path("from"), path: path("path") },
        _ => RfcOp::Test { path: path("path"), value: text["value"].clone() },
    }
}

fn patched(old: &Value, ops: &Value) -> Result<Value, (usize, Rejection)> {
    let ops = ops.as_array().expect("a list").iter().map(op).collect();
    RfcPatch::Json(ops).apply(Some(old.clone()))
}

#[test]
fn json_patch_does_what_the_rfc_says() {
    for (old, ops, new) in [
        (
            json!({"foo": "bar"}),
            json!([{"op": "add", "path": "/baz", "value": "qux"}]),
            json!({"baz": "qux", "foo": "bar"}),
        ),
        (
            json!({"foo": ["bar", "baz"]}),
            json!([{"op": "add", "path": "/foo/1", "value": "qux"}]),
            json!({"foo": ["bar", "qux", "baz"]}),
        ),
        (json!({"foo": ["a"]}), json!([{"op": "add", "path": "/foo/-", "value": ["b"]}]), json!({"foo": ["a", ["b"]]})),
        (json!({"baz": 1, "foo": 2}), json!([{"op": "remove", "path": "/baz"}]), json!({"foo": 2})),
        (json!({"foo": [1, 2, 3]}), json!([{"op": "remove", "path": "/foo/1"}]), json!({"foo": [1, 3]})),
        (json!({"a": 1}), json!([{"op": "replace", "path": "", "value": [1]}]), json!([1])),
        (
            json!({"a": {"b": 1}, "c": {}}),
            json!([{"op": "move", "from": "/a/b", "path": "/c/d"}]),
            json!({"a": {}, "c": {"d": 1}}),
        ),
        (json!([1, 2, 3]), json!([{"op": "move", "from": "/0", "path": "/2"}]), json!([2, 3, 1])),
        (
            json!({"a": {"b": 1}}),
            json!([{"op": "copy", "from": "/a", "path": "/c"}]),
            json!({"a": {"b": 1}, "c": {"b": 1}}),
        ),
        (json!({"a": 1}), json!([{"op": "move", "from": "/a", "path": "/a"}]), json!({"a": 1})),
        (json!({"a": 1}), json!([{"op": "test", "path": "/a", "value": 1.0}]), json!({"a": 1})),
        (
            json!({"a": {"x": 1, "y": 2}}),
            json!([{"op": "test", "path": "/a", "value": {"y": 2, "x": 1}}]),
            json!({"a": {"x": 1, "y": 2}}),
        ),
        (
            json!({"/": 9, "~1": 10}),
            json!([{"op": "test", "path": "/~01", "value": 10}, {"op": "test", "path": "/~1", "value": 9}]),
            json!({"/": 9, "~1": 10}),
        ),
        (json!({"": 1}), json!([{"op": "replace", "path": "/", "value": 2}]), json!({"": 2})),
        (json!({"a": null}), json!([{"op": "test", "path": "/a", "value": null}]), json!({"a": null})),
        (json!({"a": [null]}), json!([{"op": "add", "path": "/a/0", "value": null}]), json!({"a": [null, null]})),
    ] {
        assert_eq!(patched(&old, &ops), Ok(new), "{old} {ops}");
    }
}

#[test]
fn json_patch_refuses_what_the_rfc_refuses_with_the_operation() {
    for (old, ops, at) in [
        (json!({"a": 1}), json!([{"op": "test", "path": "/a", "value": "1"}]), 0),
        (
            json!({"a": 1}),
            json!([{"op": "add", "path": "/b", "value": 1}, {"op": "test", "path": "/b", "value": 2}]),
            1,
        ),
        (json!({"a": 1}), json!([{"op": "remove", "path": "/b"}]), 0),
        (json!({"a": 1}), json!([{"op": "replace", "path": "/b", "value": 1}]), 0),
        (json!({"a": 1}), json!([{"op": "add", "path": "/b/c", "value": 1}]), 0),
        (json!({"a": [1]}), json!([{"op": "add", "path": "/a/2", "value": 1}]), 0),
        (json!({"a": [1]}), json!([{"op": "add", "path": "/a/01", "value": 1}]), 0),
        (json!({"a": [1]}), json!([{"op": "add", "path": "/a/+0", "value": 1}]), 0),
        (json!({"a": [1]}), json!([{"op": "remove", "path": "/a/-"}]), 0),
        (json!({"a": [1]}), json!([{"op": "replace", "path": "/a/1e0", "value": 1}]), 0),
        (json!({"a": {"b": 1}}), json!([{"op": "move", "from": "/a", "path": "/a/b/c"}]), 0),
        (json!({"a": 1}), json!([{"op": "copy", "from": "/b", "path": "/c"}]), 0),
        (json!({"a": "x"}), json!([{"op": "add", "path": "/a/0", "value": 1}]), 0),
    ] {
        let (index, _) = patched(&old, &ops).expect_err(&format!("{old} {ops}"));
        assert_eq!(index, at, "{old} {ops}");
    }
}

#[test]
fn a_failed_test_is_told_from_a_missing_place() {
    let test = |path: &str| {
        patched(&json!({"a": 1}), &json!([{"op": "test", "path": path, "value": 2}])).map_err(|(_, why)| why)
    };
    assert_eq!(test("/a"), Err(Rejection::TestFailed { path: "/a".into() }));
    assert_eq!(test("/b"), Err(Rejection::PathNotFound { path: "/b".into() }));
}

#[test]
fn merge_patch_does_what_the_rfc_says() {
    for (old, patch, new) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a": "b"}), json!(["c"]), json!(["c"])),
        (json!({"a": "foo"}), json!(null), json!(null)),
        (json!({"a": "foo"}), json!("bar"), json!("bar")),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
    ] {
        assert_eq!(RfcPatch::Merge(patch.clone()).apply(Some(old.clone())), Ok(new), "{old} {patch}");
    }
}
