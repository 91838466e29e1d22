//! What each operation does, and what it refuses.

use serde_json::{Value, json};

use super::{of, outcomes};
use crate::rejection::Rejection;
use crate::reply::OperationOutcome::{Applied, Ignored};
use crate::scenario::{Draft, Stage, patch, put};

/// A document with one field of each kind, and one that is not declared.
pub(super) const TYPED: &str = r#"
[zones.z]
[slots."z/doc"]
kind = "document"
[slots."z/doc".fields]
name = { required = true }
tags = { kind = "set", max_items = 4 }
log = { kind = "list", max_items = 3, on_full = "drop_oldest" }
todo = { kind = "list", max_items = 2 }
hits = { kind = "counter" }
nick = { trim = true }
[slots."z/tags"]
kind = "set"
[slots."z/hits"]
kind = "counter"
[slots."z/name"]
[slots."z/log"]
kind = "list"
"#;

pub(super) fn typed(value: Value) -> Stage {
    let mut stage = Stage::with(TYPED);
    stage.ok("ra", put("z/doc", value));
    stage
}

fn patched(old: Value, draft: Draft) -> Value {
    let mut stage = typed(old);
    stage.ok("rb", draft);
    stage.value("z/doc")
}

fn doc() -> Draft {
    patch("z/doc")
}

#[test]
fn a_set_keeps_each_item_once_and_in_one_order() {
    let added =
        patched(json!({"tags": ["b"]}), doc().add("tags", &[json!("a"), json!("b"), json!(2), json!(10), json!(2.0)]));
    assert_eq!(added, json!({"tags": [2, 10, "a", "b"]}));
    let objects = patched(json!({"tags": [{"x": 1, "y": 2}]}), doc().add("tags", &[json!({"y": 2.0, "x": 1})]));
    assert_eq!(objects, json!({"tags": [{"x": 1, "y": 2}]}), "the order of members is no difference");
    assert_eq!(
        patched(json!({"tags": ["a", "b"]}), doc().remove("tags", &[json!("b"), json!("zz")])),
        json!({"tags": ["a"]})
    );
    assert_eq!(
        patched(json!({}), doc().add("tags", &[json!("a")])),
        json!({"tags": ["a"]}),
        "a declared set begins empty"
    );
}

#[test]
fn numbers_beside_2_to_the_53_stay_apart() {
    let near = [json!(9_007_199_254_740_992_u64), json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0)];
    let added = patched(json!({}), doc().add("tags", &near));
    assert_eq!(added["tags"].as_array().map(Vec::len), Some(2), "{added}");
}

#[test]
fn a_full_set_refuses_and_a_full_list_refuses_or_drops_the_oldest() {
    let mut stage = typed(json!({"tags": [1, 2, 3, 4], "todo": [1, 2], "log": [1, 2, 3]}));
    let full = stage.refused("rb", doc().add("tags", &[json!(5)]));
    assert_eq!(full, Rejection::ListFull { path: "/tags".into(), max: 4 });
    assert_eq!(
        stage.refused("rb", doc().append("todo", &[json!(3)])),
        Rejection::ListFull { path: "/todo".into(), max: 2 }
    );
    stage.ok("rb", doc().append("log", &[json!(4), json!(5)]));
    assert_eq!(stage.value("z/doc")["log"], json!([3, 4, 5]));
    let whole =
        stage.refusal("ra", put("z/doc", json!({"tags": [1, 2, 3, 4, 5], "todo": [1, 2], "log": [1]})).version(2));
    assert_eq!((whole.first(), whole.failures[0].pointer.as_deref()), (&full, Some("/value/tags")));
}

#[test]
fn append_keeps_order_and_repetition() {
    assert_eq!(patched(json!({"todo": ["a"]}), doc().append("todo", &[json!("a")])), json!({"todo": ["a", "a"]}));
    let mut stage = Stage::with(TYPED);
    stage.ok("ra", patch("z/log").append("", &[json!(1)]));
    stage.ok("rb", patch("z/log").append("", &[json!(1)]));
    assert_eq!(stage.value("z/log"), json!([1, 1]));
}

#[test]
fn reset_replaces_also_by_nothing_and_needs_a_condition() {
    let mut stage = typed(json!({"tags": ["a"], "todo": [1]}));
    assert!(matches!(stage.refused("rb", doc().reset("tags", &[])), Rejection::LeafConditionRequired { .. }));
    stage.ok("rb", doc().reset("tags", &[]).reset("todo", &[json!(2), json!(1)]).version(1));
    assert_eq!(stage.value("z/doc"), json!({"tags": [], "todo": [2, 1]}));
    assert!(matches!(stage.refused("rb", doc().reset("name", &[]).version(2)), Rejection::WrongKind { .. }));
}

#[test]
fn increments_add_up_exactly_or_not_at_all() {
    let mut stage = Stage::with(TYPED);
    stage.ok("ra", patch("z/hits").increment("", json!(2)));
    stage.ok("rb", patch("z/hits").increment("", json!(-3)));
    assert_eq!(stage.value("z/hits"), json!(-1));
    stage.ok("rb", patch("z/hits").increment("", json!(9_223_372_036_854_775_807_i64)));
    stage.ok("rb", patch("z/hits").increment("", json!(9_223_372_036_854_775_807_i64)));
    assert_eq!(stage.value("z/hits"), json!(18_446_744_073_709_551_613_u64));
    let over = stage.refused("rb", patch("z/hits").increment("", json!(3)));
    assert_eq!(over, Rejection::NumberNotRepresentable { path: String::new() });
    stage.ok("rb", patch("z/hits").increment("", json!(0.5)));
    assert_eq!(
        stage.refused("ra", patch("z/doc").increment("n", json!(1))),
        Rejection::PathNotFound { path: "/n".into() }
    );
    let huge = typed(json!({"n": 1e308})).refused("ra", doc().increment("n", json!(1e308)));
    assert_eq!(huge, Rejection::NumberNotRepresentable { path: "/n".into() });
}

#[test]
fn merge_is_a_set_of_every_leaf_with_content() {
    let merged = patched(
        json!({"name": "x", "o": {"a": 1}}),
        doc().merge("", json!({"name": null, "o": {"a": 1, "b": 2}, "nick": " n ", "empty": ""})),
    );
    assert_eq!(merged, json!({"name": "x", "o": {"a": 1, "b": 2}, "nick": "n"}));
    let refused = typed(json!({"name": "x"})).refused("ra", doc().merge("name", json!({"a": 1})).version(1));
    assert!(matches!(refused, Rejection::WrongKind { .. }));
}

#[test]
fn a_required_leaf_is_unset_by_an_arbiter_only() {
    let mut stage = Stage::with(&format!("[roles]\narbiter = [\"chief\"]\n{TYPED}"));
    stage.ok("ra", put("z/doc", json!({"name": "x", "nick": "n"})));
    let refused = stage.refused("ra", doc().unset("name").version(1));
    assert_eq!(refused, Rejection::RequiredLeaf { path: "/name".into() });
    stage.ok("ra", doc().unset("nick").version(1));
    stage.ok("chief", doc().unset("name").version(2));
    assert_eq!(stage.value("z/doc"), json!({}));
}

#[test]
fn each_operation_on_the_wrong_kind_is_refused_with_its_place() {
    let whole = json!({"name": "x", "tags": ["a"], "todo": [1], "hits": 1, "o": {"a": 1}, "list": ["b", "a"], "n": 1});
    let cases: Vec<Draft> = vec![
        doc().add("todo", &[json!(1)]),
        doc().add("name", &[json!(1)]),
        doc().add("o", &[json!(1)]),
        doc().add("list", &[json!("c")]),
        doc().remove("list", &[json!("a")]),
        doc().append("tags", &[json!(1)]),
        doc().append("n", &[json!(1)]),
        doc().increment("name", json!(1)),
        doc().increment("tags", json!(1)),
        doc().increment("o", json!(1)),
        doc().set("name.first", json!(1)),
        doc().set("o", json!(1)),
        doc().set("n", json!({"a": 1})),
        doc().set("name", json!([1])),
        doc().set("hits", json!("many")),
        doc().set("tags", json!("a")),
        doc().merge("n", json!({"a": 1})),
        doc().unset(""),
    ];
    for (index, draft) in cases.into_iter().enumerate() {
        let mut stage = typed(whole.clone());
        let refusal = stage.refusal("ra", draft.version(1));
        assert!(matches!(refusal.first(), Rejection::WrongKind { .. }), "{index}: {refusal:?}");
        assert_eq!(refusal.failures[0].pointer.as_deref(), Some("/operations/0"), "{index}");
        assert_eq!(stage.value("z/doc"), whole, "{index}: nothing half-applied");
    }
}

#[test]
fn a_list_without_a_declaration_is_a_set_only_if_it_looks_like_one() {
    let mut stage = of(json!({"a": ["x", "y"], "b": ["y", "x"]}));
    stage.ok("rb", patch("work/a").add("a", &[json!("w")]).append("b", &[json!("w")]));
    assert_eq!(stage.value("work/a"), json!({"a": ["w", "x", "y"], "b": ["y", "x", "w"]}));
    stage.ok("rc", patch("work/a").add("new", &[json!(2), json!(1)]));
    assert_eq!(stage.value("work/a")["new"], json!([1, 2]));
}

#[test]
fn what_is_so_already_is_ignored() {
    let mut stage = typed(json!({"tags": ["a"], "hits": 1, "todo": [1]}));
    let done = stage.ok(
        "rb",
        doc().add("tags", &[json!("a")]).remove("tags", &[json!("b")]).increment("hits", json!(0)).append("todo", &[]),
    );
    assert_eq!((outcomes(&done), done.revision), (vec![Ignored; 4], None));
}

#[test]
fn operations_of_one_patch_build_on_each_other() {
    let mut stage = typed(json!({}));
    let done =
        stage.ok("rb", doc().reset("tags", &[json!("x")]).remove("tags", &[json!("x")]).add("tags", &[json!("y")]));
    assert_eq!((outcomes(&done), stage.value("z/doc")), (vec![Applied; 3], json!({"tags": ["y"]})));
}

#[test]
fn names_that_mean_something_elsewhere_are_names() {
    let mut stage = typed(json!({}));
    stage.ok("rb", doc().set("__proto__.polluted", json!(1)).set("constructor", json!({"prototype": 2})));
    assert_eq!(stage.value("z/doc"), json!({"__proto__": {"polluted": 1}, "constructor": {"prototype": 2}}));
}

#[test]
fn a_slot_that_is_no_document_is_patched_as_a_whole() {
    let mut stage = Stage::with(TYPED);
    stage.ok("ra", patch("z/tags").add("", &[json!("b"), json!("a")]));
    stage.ok("rb", patch("z/tags").add("", &[json!("c")]));
    assert_eq!(stage.value("z/tags"), json!(["a", "b", "c"]));
    stage.ok("ra", patch("z/name").set("", json!("x")));
    assert!(matches!(
        stage.refused("ra", patch("z/name").set("first", json!("x")).version(1)),
        Rejection::WrongKind { .. }
    ));
    assert!(matches!(stage.refused("ra", patch("z/hits").set("a", json!(1))), Rejection::WrongKind { .. }));
}
