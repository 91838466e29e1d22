//! Scenarios of patches: what `set` and `unset` do, and when they need a condition.

mod confidence;
mod laws;
mod ops;
mod rfc;
mod slots;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::ids::Version;
use crate::path::Path;
use crate::rejection::{Condition, Rejection};
use crate::reply::{OperationOutcome, Outcome};
use crate::scenario::{Stage, agent, patch, put};

const PLAIN: &str = "[zones.work]";

/// `work/a` of ra.
fn of(value: Value) -> Stage {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", value));
    stage
}

fn guarded(path: &str) -> Rejection {
    Rejection::LeafConditionRequired { path: path.to_owned(), version: Version(1), by: agent("ra") }
}

fn outcomes(done: &crate::scenario::Done) -> Vec<OperationOutcome> {
    done.receipt().operations.iter().map(|operation| operation.outcome).collect()
}

#[test]
fn a_patch_touches_the_leaf_it_names_and_no_sibling() {
    let mut stage = of(json!({"a": {"x": 1, "y": 2}, "b": 3}));
    let done = stage.ok("ra", patch("work/a").set("/a/x", json!(10)).set("c.d", json!(4)).unset("b").version(1));
    assert_eq!(stage.value("work/a"), json!({"a": {"x": 10, "y": 2}, "c": {"d": 4}}));
    assert_eq!((done.version(), outcomes(&done)), (2, vec![OperationOutcome::Applied; 3]));
    let crate::event::Event::EntryWritten(written) = &done.events[0] else { panic!("{done:?}") };
    let assigned: Vec<_> = written.assignments.iter().map(|a| (a.op.as_str(), a.path.to_string())).collect();
    assert_eq!(assigned, [("set", "/a/x".into()), ("set", "/c/d".into()), ("unset", "/b".into())]);
}

#[test]
fn a_patch_on_nothing_begins_with_an_object() {
    let mut stage = Stage::with(PLAIN);
    let done = stage.ok("ra", patch("work/a").set("a.b", json!(1)));
    assert_eq!((stage.value("work/a"), done.receipt().outcome), (json!({"a": {"b": 1}}), Outcome::Created));
    stage.ok("ra", patch("work/b").set("", json!({"x": 1})));
    assert_eq!(stage.value("work/b"), json!({"x": 1}));
}

#[test]
fn null_and_blank_text_are_never_written_and_nothing_wipes_content() {
    for (old, new) in [
        (json!("x"), json!(null)),
        (json!("x"), json!("")),
        (json!("x"), json!(" \t")),
        (json!([1]), json!([])),
        (json!({"y": 1}), json!({})),
        (json!(0), json!([])),
        (json!(false), json!("")),
        (json!(null), json!(" ")),
    ] {
        let mut stage = of(json!({"a": old}));
        for caller in ["ra", "rb"] {
            let done = stage.ok(caller, patch("work/a").set("a", new.clone()));
            assert_eq!(outcomes(&done), [OperationOutcome::Ignored], "{old} <- {new}");
            assert!(done.receipt().operations[0].reason.is_some());
            assert_eq!((done.receipt().outcome, done.revision), (Outcome::Unchanged, None));
        }
    }
    let mut stage = of(json!({"a": 1}));
    for blank in [json!(null), json!(""), json!(" ")] {
        let done = stage.ok("rb", patch("work/a").set("b", blank));
        assert_eq!(outcomes(&done), [OperationOutcome::Ignored], "nothing stands there, and nothing comes");
    }
}

#[test]
fn an_empty_collection_may_begin_where_no_content_is() {
    let mut stage = of(json!({"a": null}));
    stage.ok("rb", patch("work/a").set("list", json!([])).set("map", json!({})));
    stage.ok("ra", patch("work/a").set("a", json!([])).version(2));
    assert_eq!(stage.value("work/a"), json!({"a": [], "list": [], "map": {}}));
}

#[test]
fn an_equal_value_is_ignored() {
    let mut stage = of(json!({"a": 1, "b": {"x": [1.0]}}));
    let done = stage.ok("rb", patch("work/a").set("a", json!(1.0)).set("b", json!({"x": [1]})));
    assert_eq!(outcomes(&done), [OperationOutcome::Ignored; 2]);
    assert_eq!(done.receipt().outcome, Outcome::Unchanged);
}

#[test]
fn some_operations_may_apply_where_others_are_ignored() {
    let mut stage = of(json!({"a": 1}));
    let done = stage.ok("rb", patch("work/a").set("a", json!(null)).set("b", json!(2)));
    assert_eq!(outcomes(&done), [OperationOutcome::Ignored, OperationOutcome::Applied]);
    assert_eq!((stage.value("work/a"), done.version()), (json!({"a": 1, "b": 2}), 2));
}

#[test]
fn an_object_over_an_object_is_merged() {
    let mut stage = of(json!({"a": {"x": 1, "y": {"z": 2}, "w": "text"}}));
    let new = json!({"y": {"z": 3, "v": 4}, "w": "", "u": 5, "x": null});
    stage.ok("ra", patch("work/a").set("a", new));
    assert_eq!(stage.value("work/a"), json!({"a": {"x": 1, "y": {"z": 3, "v": 4}, "w": "text", "u": 5}}));
    let done = stage.ok("ra", patch("work/a").set("", json!({"a": {"x": 1}})));
    assert_eq!(outcomes(&done), [OperationOutcome::Ignored], "nothing in it differs");
}

#[test]
fn a_scalar_and_an_object_do_not_replace_each_other() {
    let mut stage = of(json!({"o": {"x": 1}, "s": 1, "l": [1]}));
    for (path, new, at) in [
        ("o", json!(1), "/o"),
        ("o", json!([1]), "/o"),
        ("s", json!({"x": 1}), "/s"),
        ("l", json!({"x": 1}), "/l"),
        ("s.x", json!(1), "/s"),
        ("", json!({"o": {"x": {"y": 1}}}), "/o/x"),
        ("", json!(1), ""),
    ] {
        let refusal = stage.refusal("ra", patch("work/a").set("new", json!(0)).set(path, new).version(1));
        let Rejection::WrongKind { path: told, .. } = refusal.first() else { panic!("{refusal:?}") };
        assert_eq!((told.as_str(), refusal.failures[0].pointer.as_deref()), (at, Some("/operations/1")));
    }
    assert_eq!(stage.value("work/a"), json!({"o": {"x": 1}, "s": 1, "l": [1]}), "nothing half-applied");
}

#[test]
fn an_array_is_one_leaf_that_a_path_may_enter() {
    let mut stage = of(json!({"l": [1, 2]}));
    stage.ok("ra", patch("work/a").set("/l/1", json!(3)));
    assert_eq!(stage.value("work/a"), json!({"l": [1, 3]}));
    let refused = stage.refused("ra", patch("work/a").set("/l/2", json!(3)));
    assert!(matches!(&refused, Rejection::PathNotFound { path } if path == "/l/2"), "{refused:?}");
    assert!(matches!(stage.refused("ra", patch("work/a").set("/l/2/x", json!(3))), Rejection::PathNotFound { .. }));
}

#[test]
fn unset_takes_a_leaf_away_under_a_condition() {
    let mut stage = of(json!({"a": 1, "b": 2}));
    assert_eq!(stage.refused("ra", patch("work/a").unset("a")), guarded("/a"), "also from its author");
    let done = stage.ok("rb", patch("work/a").unset("a").unset("zzz").version(1));
    assert_eq!(outcomes(&done), [OperationOutcome::Applied, OperationOutcome::Ignored]);
    assert_eq!(stage.value("work/a"), json!({"b": 2}));
    assert!(matches!(stage.refused("ra", patch("work/a").unset("").version(2)), Rejection::WrongKind { .. }));
}

#[test]
fn agents_on_different_leaves_never_conflict_but_nobody_overwrites_blind() {
    // cases.md, H12
    let mut stage = of(json!({"files": {"a.txt": "one"}}));
    stage.ok("rb", patch("work/a").set("/files/b.txt", json!("two")));
    assert_eq!(stage.value("work/a"), json!({"files": {"a.txt": "one", "b.txt": "two"}}));
    let refusal = stage.refusal("rc", patch("work/a").set("/files/b.txt", json!("three")));
    let told = Rejection::LeafConditionRequired { path: "/files/b.txt".into(), version: Version(2), by: agent("rb") };
    assert_eq!((refusal.first(), refusal.failures[0].pointer.as_deref()), (&told, Some("/operations/0")));
    assert_eq!(refusal.current.expect("what stands").entry.version, Version(2));
}

#[test]
fn merging_absent_leaves_needs_no_condition_either() {
    let mut stage = of(json!({"files": {"a.txt": "one"}}));
    stage.ok("rb", patch("work/a").set("", json!({"files": {"b.txt": "two", "a.txt": "one", "c.txt": null}})));
    assert_eq!(stage.value("work/a"), json!({"files": {"a.txt": "one", "b.txt": "two"}}));
    let both = patch("work/a").set("files", json!({"d.txt": 1, "a.txt": "other"}));
    let told = Rejection::LeafConditionRequired { path: "/files/a.txt".into(), version: Version(2), by: agent("rb") };
    assert_eq!(stage.refused("rc", both), told);
}

#[test]
fn the_last_author_needs_no_condition() {
    let mut stage = of(json!({"a": 1}));
    stage.ok("ra", patch("work/a").set("a", json!(2)));
    assert_eq!(stage.refused("rb", patch("work/a").set("a", json!(3))), {
        Rejection::LeafConditionRequired { path: "/a".into(), version: Version(2), by: agent("ra") }
    });
    stage.ok("rb", patch("work/a").set("a", json!(3)).version(2));
    stage.ok("rb", patch("work/a").set("a", json!(4)));
    stage.ok("ra", patch("work/a").set("a", json!(5)).if_match_any());
}

#[test]
fn unchanged_since_is_a_condition_of_one_operation() {
    let mut stage = of(json!({"a": 1, "b": 1}));
    stage.ok("ra", patch("work/a").set("b", json!(2)));
    stage.ok("rx", crate::scenario::touch("work/a").summary("s").version(2));
    stage.ok("rb", patch("work/a").set_unchanged_since("a", json!(2), 2));
    assert_eq!(stage.entry("work/a").version, Version(4));
    let stale = stage.refused("rc", patch("work/a").set_unchanged_since("a", json!(3), 3));
    let (expected, actual) = (Some(Version(3)), Some(Version(4)));
    assert_eq!(stale, Rejection::VersionConflict { condition: Condition::Named, expected, actual });
    stage.ok("rc", patch("work/a").set_unchanged_since("a", json!(3), u64::MAX));
}

#[test]
fn every_leaf_that_lacks_a_condition_is_told() {
    let mut stage = of(json!({"a": 1, "b": 2}));
    let failures = stage.failures("rb", patch("work/a").set("a", json!(9)).set("c", json!(9)).set("b", json!(9)));
    assert_eq!(failures, [guarded("/a"), guarded("/b")]);
}

#[test]
fn conditions_are_judged_on_what_stood_before_the_patch() {
    let mut stage = of(json!({"a": 1}));
    stage.ok("rb", patch("work/a").set("n", json!(1)).set("n", json!(2)));
    assert_eq!(stage.value("work/a"), json!({"a": 1, "n": 2}));
}

#[test]
fn a_patch_that_makes_a_value_too_deep_is_refused() {
    let mut stage = Stage::with(PLAIN);
    let deep = (0..20).fold(json!(1), |inner, _| json!({ "x": inner }));
    let path = vec!["y"; 20].join(".");
    let refused = stage.refused("ra", patch("work/a").set(&path, deep));
    assert!(matches!(refused, Rejection::TooComplex { .. }), "{refused:?}");
}

#[test]
fn a_patch_of_nothing_at_all_changes_nothing() {
    let mut stage = of(json!({"a": 1}));
    assert_eq!(stage.ok("rb", patch("work/a")).revision, None);
}

#[test]
fn a_patch_back_and_forth_is_no_change() {
    let mut stage = of(json!({"a": 1}));
    let done = stage.ok("ra", patch("work/a").set("a", json!(2)).set("a", json!(1)));
    assert_eq!((done.receipt().outcome, done.revision), (Outcome::Unchanged, None));
}

/// Small values, of which many are blank.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!("")),
        Just(json!(" ")),
        Just(json!("text")),
        (0..3_i64).prop_map(|n| json!(n)),
        any::<bool>().prop_map(|b| json!(b)),
        Just(json!([])),
        Just(json!([1, null])),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        proptest::collection::btree_map("[abc]", inner, 0..4)
            .prop_map(|members| Value::Object(members.into_iter().collect()))
    })
}

/// Every leaf with its path; an array is one leaf.
fn leaves(value: &Value) -> Vec<(Path, &Value)> {
    let mut found = Vec::new();
    let mut pending = vec![(Path::ROOT, value)];
    while let Some((at, value)) = pending.pop() {
        match value {
            Value::Object(members) => pending.extend(members.iter().map(|(name, member)| (at.join(name), member))),
            leaf => found.push((at, leaf)),
        }
    }
    found
}

fn has_content(leaf: &Value) -> bool {
    match leaf {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// `work/a` of ra, and what setting it makes of it, where that is possible.
fn set_by(caller: &str, old: &Value, path: &Path, new: &Value, versioned: bool) -> Option<Stage> {
    let mut stage = of(old.clone()).quick();
    let set = patch("work/a").set(&path.to_string(), new.clone());
    let set = if versioned { set.version(1) } else { set };
    stage.run(caller, set).ok().map(|_| stage)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn setting_wipes_nothing_and_leaves_siblings_alone(
        old in value(),
        new in value(),
        path in proptest::collection::vec("[abc]", 0..3),
    ) {
        let path = Path::parse(&path.join(".")).expect("plain names");
        let Some(mut stage) = set_by("ra", &old, &path, &new, true) else { return Ok(()) };
        let after = stage.value("work/a");
        for (at, leaf) in leaves(&old) {
            let now = at.get(&after);
            if !at.starts_with(&path) {
                prop_assert!(now == Some(leaf) || path.starts_with(&at), "{at} is no place that was named");
            } else if has_content(leaf) {
                prop_assert!(now.is_some_and(has_content), "{at} was wiped");
            }
        }
        let again = stage.ok("ra", patch("work/a").set(&path.to_string(), new));
        prop_assert_eq!(again.receipt().outcome, Outcome::Unchanged, "setting twice is setting once");
    }

    /// Nobody but the last author replaces a leaf without a condition.
    #[test]
    fn nothing_that_stands_is_overwritten_blind(old in value(), new in value()) {
        let Some(stage) = set_by("rb", &old, &Path::ROOT, &new, false) else { return Ok(()) };
        let after = stage.value("work/a");
        for (at, leaf) in leaves(&old) {
            let kept = at.get(&after).is_some_and(|now| crate::json::equal(now, leaf));
            prop_assert!(kept || !has_content(leaf), "{at} was {leaf} in {old} and is another in {after}");
        }
    }
}
