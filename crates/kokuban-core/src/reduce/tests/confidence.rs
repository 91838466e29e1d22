//! A lower level never replaces a higher one, leaf by leaf.

use serde_json::json;

use super::outcomes;
use crate::command::Intent;
use crate::entry::HeldWhy;
use crate::path::Path;
use crate::rejection::Rejection;
use crate::reply::OperationOutcome::{Applied, Ignored, Noted};
use crate::reply::{Outcome, Warning};
use crate::scenario::{Stage, agent, id, patch, put, touch};

const RULES: &str = r#"
[roles]
user = ["lin"]
[zones.z]
[slots."z/doc"]
kind = "document"
[slots."z/doc".fields]
tags = { kind = "set" }
hits = { kind = "counter" }
"#;

/// `gpa` verified by the user, `city` inferred by ra.
fn stage() -> Stage {
    let mut stage = Stage::with(RULES);
    stage.ok("lin", put("z/doc", json!({"gpa": 3.8})).confidence("verified"));
    stage.ok("ra", patch("z/doc").set("city", json!("Leeds")).at_level("inferred"));
    stage
}

fn level(stage: &Stage, path: &str) -> Option<String> {
    let path = Path::parse(path).expect("a path");
    let marks = stage.entry("z/doc").marks.expect("marks");
    let mark = marks.leaves.touching(&path).next().map(|(_, mark)| mark.confidence.clone());
    mark.expect("a leaf").map(|level| level.to_string())
}

#[test]
fn a_lower_level_becomes_a_note_that_names_what_was_tried() {
    let mut stage = stage();
    let done = stage.ok("ra", patch("z/doc").set("gpa", json!(2.5)).at_level("inferred").set("city", json!("York")));
    assert_eq!(outcomes(&done), [Noted, Applied]);
    assert_eq!(stage.value("z/doc"), json!({"gpa": 3.8, "city": "York"}));
    let notes: Vec<_> = stage.board.notes(&id("z/doc")).into_iter().flatten().cloned().collect();
    let held = notes[0].held.as_ref().expect("what was tried");
    assert_eq!((held.op.as_str(), held.path.to_string().as_str()), ("set", "/gpa"));
    assert_eq!(
        held.value.as_ref().and_then(|value| value.json.as_ref()).map(crate::json::Json::to_value),
        Some(json!(2.5))
    );
    assert_eq!(held.why, HeldWhy::LowerConfidence { stands: "verified".into() });
    assert_eq!((notes.len(), &notes[0].by), (1, &agent("ra")));
    assert_eq!(done.receipt().operations[0].note.as_deref(), Some(notes[0].id.as_str()));
}

#[test]
fn if_none_applied_nothing_but_the_notes_is_committed() {
    let mut stage = stage();
    let done = stage.ok("rb", patch("z/doc").set("gpa", json!(1)));
    assert_eq!(
        (done.receipt().outcome, done.version(), done.tags()),
        (Outcome::Unchanged, 2, vec!["noted".to_owned()])
    );
}

#[test]
fn a_put_that_would_lower_is_refused_and_leaves_nothing() {
    let mut stage = stage();
    let refusal = stage.refusal("ra", put("z/doc", json!({"gpa": 2, "city": "York"})).version(2).confidence("stated"));
    let lower =
        Rejection::LowerConfidence { path: "/gpa".into(), stands: "verified".into(), given: Some("stated".into()) };
    assert_eq!((refusal.first(), refusal.failures[0].pointer.as_deref()), (&lower, Some("/value/gpa")));
    assert_eq!(stage.board.n_notes(&id("z/doc")), 0);
    let atomic = stage.refused("ra", patch("z/doc").set("gpa", json!(2)).version(2).atomic());
    assert_eq!(atomic, Rejection::LowerConfidence { path: "/gpa".into(), stands: "verified".into(), given: None });
}

#[test]
fn leaves_that_did_not_change_keep_their_level() {
    let mut stage = stage();
    stage.ok("ra", put("z/doc", json!({"gpa": 3.8, "city": "York"})).version(2).confidence("stated"));
    assert_eq!(level(&stage, "gpa").as_deref(), Some("verified"));
    assert_eq!(level(&stage, "city").as_deref(), Some("stated"));
    assert_eq!(
        stage.entry("z/doc").marks.and_then(|marks| marks.confidence).as_deref(),
        Some("stated"),
        "that of the lowest leaf"
    );
}

#[test]
fn a_higher_level_replaces_a_lower_one_without_a_condition() {
    let mut stage = stage();
    stage.ok("rb", patch("z/doc").set("city", json!("York")).at_level("stated"));
    let equal = stage.refused("rc", patch("z/doc").set("city", json!("Hull")).at_level("stated"));
    assert!(matches!(equal, Rejection::LeafConditionRequired { .. }), "{equal:?}");
}

#[test]
fn saying_the_same_with_more_certainty_raises_the_level() {
    let mut stage = stage();
    let done = stage.ok("rb", patch("z/doc").set("city", json!("Leeds")).at_level("stated"));
    assert_eq!((outcomes(&done), done.version()), (vec![Applied], 3));
    assert_eq!(level(&stage, "city").as_deref(), Some("stated"));
    let again = stage.ok("rb", patch("z/doc").set("city", json!("Leeds")).at_level("inferred"));
    assert_eq!((outcomes(&again), again.revision), (vec![Ignored], None));
    stage.ok("lin", touch("z/doc").confidence("verified").version(3));
    assert_eq!(level(&stage, "city").as_deref(), Some("verified"));
    let lower = stage.refused("ra", touch("z/doc").confidence("stated").version(4));
    assert!(matches!(lower, Rejection::LowerConfidence { .. }), "{lower:?}");
}

#[test]
fn nobody_claims_more_than_the_cap_of_the_role() {
    let mut stage = stage();
    let done = stage.ok("ra", patch("z/doc").set("year", json!(2026)).at_level("verified"));
    assert_eq!(
        done.receipt().warnings,
        [Warning::ConfidenceCapped { asked: "verified".into(), given: "stated".into() }]
    );
    assert_eq!(level(&stage, "year").as_deref(), Some("stated"));
    let unknown = stage.refusal("ra", put("z/new", json!(1)).confidence("certain"));
    assert!(matches!(unknown.first(), Rejection::UnknownConfidence { .. }), "{unknown:?}");
}

#[test]
fn what_adds_is_not_gated_and_leaves_the_level() {
    let mut stage = Stage::with(RULES);
    stage.ok("lin", put("z/doc", json!({"tags": ["a"], "hits": 1, "n": 1})).confidence("verified"));
    let done = stage.ok("ra", patch("z/doc").add("tags", &[json!("b")]).increment("hits", json!(1)));
    assert_eq!((outcomes(&done), level(&stage, "tags").as_deref()), (vec![Applied; 2], Some("verified")));
    let done = stage.ok("ra", patch("z/doc").remove("tags", &[json!("b")]).increment("n", json!(1)));
    assert_eq!(outcomes(&done), [Noted, Noted], "taking away, and what is no counter, are gated");
}

#[test]
fn an_undeclared_entry_is_one_leaf_with_one_level() {
    let mut stage = Stage::with(RULES);
    stage.ok("lin", put("z/free", json!({"a": 1, "b": 1})).confidence("verified"));
    let done = stage.ok("ra", patch("z/free").set("c", json!(1)).set("a", json!(2)));
    assert_eq!(outcomes(&done), [Noted, Noted], "a part of it would lower the whole");
    let refused = stage.refused("ra", put("z/free", json!(7)).version(1));
    assert!(matches!(refused, Rejection::VersionConflict { .. } | Rejection::LowerConfidence { .. }), "{refused:?}");
}

#[test]
fn an_intent_may_leave_what_stands() {
    let mut stage = stage();
    let beside =
        patch("z/doc").set("city", json!("York")).intent(Intent::Append).set("new", json!(1)).intent(Intent::Append);
    let done = stage.ok("ra", beside);
    assert_eq!(
        (outcomes(&done), stage.value("z/doc")),
        (vec![Noted, Applied], json!({"gpa": 3.8, "city": "Leeds", "new": 1}))
    );
    let done = stage.ok("ra", patch("z/doc").set("city", json!("York")).intent(Intent::Ignore));
    assert_eq!((outcomes(&done), done.tags()), (vec![Ignored], vec!["noted".to_owned()]), "recorded, and no more");
    let notes: Vec<_> = stage
        .board
        .notes(&id("z/doc"))
        .into_iter()
        .flatten()
        .map(|note| note.held.clone().expect("held").why)
        .collect();
    assert_eq!(notes, [HeldWhy::Append, HeldWhy::Ignore]);
}

#[test]
fn held_back_operations_never_crowd_out_remarks() {
    let mut stage = Stage::with(&format!("{RULES}[limits]\nnotes_per_entry_max = 2\n"));
    stage.ok("lin", put("z/doc", json!({"gpa": 3.8})).confidence("verified"));
    for n in 0..5 {
        stage.ok("ra", patch("z/doc").set("gpa", json!(n)));
    }
    let tried: Vec<_> = stage.board.notes(&id("z/doc")).into_iter().flatten().cloned().collect();
    let values: Vec<_> = tried
        .iter()
        .map(|note| note.payload().and_then(|p| p.json.as_ref()).map(crate::json::Json::to_value))
        .collect();
    assert_eq!(values, [Some(json!(3)), Some(json!(4))], "the oldest made room; the history has them");
}
