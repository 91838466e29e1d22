//! What a declaration asks of every write: who, what kind, what schema, and that nothing is wiped.

use serde_json::{Value, json};

use super::ops::{TYPED, typed};
use crate::command::{RfcOp, RfcPatch};
use crate::path::Path;
use crate::rejection::Rejection;
use crate::reply::{Outcome, Warning};
use crate::scenario::{Stage, id, patch, put, rfc};

fn guarded(path: &str) -> Rejection {
    Rejection::NullGuarded { path: path.into() }
}

#[test]
fn a_rewrite_that_forgets_members_wipes_nothing() {
    let old = json!({"name": "Lin", "o": {"a": 1, "b": ""}, "tags": ["x"]});
    for (new, lost) in [
        (json!({"o": {"a": 1}, "tags": ["x"]}), "/name"),
        (json!({"name": null, "o": {"a": 1}, "tags": ["x"]}), "/name"),
        (json!({"name": " ", "o": {"a": 1}, "tags": ["x"]}), "/name"),
        (json!({"name": "Lin", "tags": ["x"]}), "/o/a"),
        (json!({"name": "Lin", "o": {}, "tags": ["x"]}), "/o/a"),
        (json!({"name": "Lin", "o": null, "tags": ["x"]}), "/o/a"),
        (json!({"name": "Lin", "o": {"a": null}, "tags": ["x"]}), "/o/a"),
        (json!({"name": "Lin", "o": {"a": 1}, "tags": []}), "/tags"),
        (json!({"name": "Lin", "o": {"a": 1}}), "/tags"),
    ] {
        let mut stage = typed(old.clone());
        let refusal = stage.refusal("ra", put("z/doc", new.clone()).version(1));
        let pointer = format!("/value{lost}");
        assert_eq!((refusal.first(), refusal.failures[0].pointer.as_deref()), (&guarded(lost), Some(pointer.as_str())));
        let merge = stage.refused("ra", rfc("z/doc", RfcPatch::Merge(nulls_for_missing(&old, &new))).version(1));
        assert_eq!(merge, guarded(lost), "the same by a merge patch");
        stage.ok("ra", put("z/doc", new.clone()).version(1).wiping());
        assert_eq!(stage.value("z/doc"), new, "on purpose it may");
    }
}

/// The merge patch that makes `new` of `old`.
fn nulls_for_missing(old: &Value, new: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return new.clone() };
    let mut patch = serde_json::Map::new();
    for (name, value) in old {
        patch.insert(name.clone(), new.get(name).map_or(Value::Null, |new| nulls_for_missing(value, new)));
    }
    Value::Object(patch)
}

#[test]
fn all_leaves_that_would_be_wiped_are_told() {
    let mut stage = typed(json!({"name": "x", "nick": "y", "o": 1}));
    let failures = stage.failures("ra", put("z/doc", json!({"o": 1})).version(1));
    assert_eq!(failures, [guarded("/name"), guarded("/nick")]);
}

#[test]
fn a_removal_of_rfc_6902_is_guarded_too_and_a_move_is_none() {
    let mut stage = typed(json!({"a": {"x": 1}, "b": {}}));
    let path = |text: &str| Path::parse(text).expect("a path");
    let remove = RfcPatch::Json(vec![RfcOp::Remove { path: path("/a/x") }]);
    assert_eq!(stage.refused("ra", rfc("z/doc", remove).version(1)), guarded("/a/x"));
    assert!(matches!(
        stage.refused("ra", rfc("z/doc", RfcPatch::Json(Vec::new()))),
        Rejection::PreconditionRequired { .. }
    ));
}

#[test]
fn where_the_guard_is_off_content_may_go() {
    let rules = r#"
[zones.z]
[slots."z/doc"]
kind = "document"
[slots."z/doc".fields]
draft = { null_guard = false }
"#;
    let mut stage = Stage::with(rules);
    stage.ok("ra", put("z/doc", json!({"draft": "x", "name": "y"})));
    assert_eq!(stage.failures("ra", put("z/doc", json!({})).version(1)), [guarded("/name")]);
    stage.ok("ra", put("z/doc", json!({"name": "y"})).version(1));
    let mut plain = Stage::with("[zones.z]");
    plain.ok("ra", put("z/doc", json!({"a": 1})));
    plain.ok("ra", put("z/doc", json!(null)).version(1));
}

#[test]
fn a_scalar_slot_is_not_wiped_either() {
    let mut stage = Stage::with(TYPED);
    stage.ok("ra", put("z/name", json!("x")));
    assert_eq!(stage.refused("ra", put("z/name", json!("")).version(1)), guarded(""));
    stage.ok("ra", put("z/name", json!("")).version(1).wiping());
}

#[test]
fn the_schema_is_asked_about_the_result_of_every_write() {
    let rules = r#"
[zones.z]
[slots."z/doc"]
kind = "document"
schema = { properties = { gpa = { type = "number", maximum = 4 } } }
[slots."z/doc".fields]
year = { schema = { type = "integer", minimum = 2000 } }
"#;
    let mut stage = Stage::with(rules);
    let violation = |refused: Rejection| match refused {
        Rejection::SchemaViolation { path, .. } => path,
        other => panic!("{other:?}"),
    };
    assert_eq!(violation(stage.refused("ra", put("z/doc", json!({"gpa": 5})))), "/gpa");
    stage.ok("ra", put("z/doc", json!({"gpa": 3, "year": 2026})));
    let refusal = stage.refusal("ra", patch("z/doc").set("x", json!(1)).increment("gpa", json!(2)));
    assert_eq!(refusal.failures[0].pointer.as_deref(), Some("/operations/1"));
    assert_eq!(violation(refusal.first().clone()), "/gpa");
    assert_eq!(violation(stage.refused("ra", patch("z/doc").set("year", json!(1999)).version(1))), "/year");
    let merge = rfc("z/doc", RfcPatch::Merge(json!({"year": "soon"}))).version(1);
    assert_eq!(violation(stage.refused("ra", merge)), "/year");
    assert_eq!(stage.value("z/doc"), json!({"gpa": 3, "year": 2026}));
}

#[test]
fn a_closed_zone_takes_declared_keys_only() {
    let mut stage = Stage::with("[zones.z]\nslots = \"closed\"\n[zones.open]\n[slots.\"z/a\"]\n[slots.\"z/w/*\"]\n");
    let known = vec!["z/a".into(), "z/w/*".into()];
    assert_eq!(stage.refused("ra", put("z/b", json!(1))), Rejection::UnknownSlot { id: id("z/b"), known });
    stage.ok("ra", put("z/a", json!(1)));
    stage.ok("ra", put("z/w/x", json!(1)));
    stage.ok("ra", put("open/b", json!(1)));
}

#[test]
fn producers_write_their_own_entries() {
    let rules = r#"
[roles]
arbiter = ["chief"]
[zones.z]
[slots."z/drafts/*"]
per_producer = true
[slots."z/order"]
producers = ["ra"]
"#;
    let mut stage = Stage::with(rules);
    stage.ok("ra", put("z/drafts/ra", json!(1)));
    let not_yours = Rejection::ProducerMismatch { producers: Vec::new() };
    assert_eq!(stage.refused("rb", put("z/drafts/ra", json!(2)).version(1)), not_yours);
    assert_eq!(stage.refused("rb", patch("z/drafts/rc").set("", json!(2))), not_yours);
    stage.ok("ra", put("z/order", json!(1)));
    let producers = vec!["ra".into()];
    assert_eq!(stage.refused("rb", put("z/order", json!(2)).version(1)), Rejection::ProducerMismatch { producers });
    stage.ok("chief", put("z/order", json!(3)).version(1));
}

#[test]
fn a_deep_document_is_warned_of() {
    let mut stage = typed(json!({}));
    let done = stage.ok("rb", patch("z/doc").set("a.b.c", json!({"d": 1})));
    assert_eq!(done.receipt().warnings, [Warning::Nested { depth: 4, max: 3 }]);
}

#[test]
fn a_put_is_stored_in_the_form_of_its_slot() {
    let mut stage = Stage::with(TYPED);
    stage.ok("ra", put("z/tags", json!(["b", "a", "b"])));
    assert_eq!(stage.value("z/tags"), json!(["a", "b"]));
    let same = stage.ok("ra", put("z/tags", json!(["b", "a"])).version(1));
    assert_eq!(same.receipt().outcome, Outcome::Unchanged);
}
