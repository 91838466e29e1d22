//! Scenarios of writes: conditions, equality, marks, what comes back of an entry as read, order of checks.

use serde_json::json;

use crate::entry::SourceKind;
use crate::ids::Version;
use crate::rejection::{Condition, Rejection};
use crate::reply::{Outcome, Warning};
use crate::scenario::{Stage, acquire, agent, delete, id, mv, patch, put, status, touch, transact};

const PLAIN: &str = "schema_version = 3\n[zones.work]\n[zones.scratch]\ntier = \"scratch\"";

fn named(expected: u64, actual: Option<u64>) -> Rejection {
    let (expected, actual) = (Some(Version(expected)), actual.map(Version));
    Rejection::VersionConflict { condition: Condition::Named, expected, actual }
}

fn by_header(actual: Option<u64>) -> Rejection {
    Rejection::VersionConflict { condition: Condition::Header, expected: None, actual: actual.map(Version) }
}

/// `work/a` at version 2, in epoch e0.
fn stage() -> Stage {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", put("work/a", json!(2)).version(1));
    stage
}

#[test]
fn an_absent_entry_is_created_without_a_condition() {
    let mut stage = Stage::with(PLAIN);
    let done = stage.ok("ra", put("work/a", json!({"x": 1})).reason("first"));
    let receipt = done.receipt();
    assert_eq!((receipt.version, receipt.outcome), (Version(1), Outcome::Created));
    assert_eq!(receipt.owner, Some(agent("ra")));
    assert_eq!(done.tags(), ["entry_written"]);
    let entry = stage.entry("work/a");
    assert_eq!((entry.created.by.as_str(), entry.updated.by.as_str()), ("ra", "ra"));
    assert_eq!((entry.value_version, entry.schema_version, entry.reason.as_deref()), (Version(1), 3, Some("first")));
}

#[test]
fn the_version_read_admits_one_write() {
    let mut stage = stage();
    assert_eq!(stage.ok("rb", put("work/a", json!(3)).version(2)).version(), 3);
    let refusal = stage.refusal("ra", put("work/a", json!(4)).version(2));
    assert_eq!(refusal.first(), &named(2, Some(3)));
    let current = refusal.current.expect("a conflict shows what stands");
    assert_eq!((current.entry.version, current.yours, current.same_value), (Version(3), false, false));
    assert_eq!(stage.value("work/a"), json!(3));
}

#[test]
fn a_conflict_tells_the_caller_that_its_own_write_stands() {
    let mut stage = stage();
    let refusal = stage.refusal("ra", put("work/a", json!(2)).version(1));
    let current = refusal.current.expect("a conflict shows what stands");
    assert_eq!((current.yours, current.same_value), (true, true));
}

#[test]
fn a_write_without_a_condition_overwrites_nothing() {
    let mut stage = stage();
    let required = Rejection::PreconditionRequired { id: id("work/a") };
    assert_eq!(stage.refused("ra", put("work/a", json!(3))), required);
    assert_eq!(stage.refused("ra", put("work/a", json!(2))), required, "also where it would change nothing");
    assert_eq!(stage.refused("ra", touch("work/a").summary("s")), required);
}

#[test]
fn version_0_means_that_nothing_stands() {
    let mut stage = stage();
    assert_eq!(stage.refused("ra", put("work/a", json!(3)).version(0)), named(0, Some(2)));
    assert_eq!(stage.ok("ra", put("work/b", json!(3)).version(0)).version(), 1);
}

#[test]
fn a_condition_on_a_missing_entry_never_holds() {
    let mut stage = stage();
    assert_eq!(stage.refused("ra", put("work/b", json!(1)).version(2)), named(2, None));
    assert_eq!(stage.refused("ra", put("work/b", json!(1)).if_match_any()), by_header(None));
    assert_eq!(stage.refused("ra", put("work/b", json!(1)).if_match(&[(1, 0xe0)])), by_header(None));
    assert_eq!(stage.ok("ra", put("work/b", json!(1)).if_none_match_any()).version(), 1);
}

#[test]
fn an_entity_tag_is_a_version_in_an_epoch() {
    let mut stage = stage();
    assert_eq!(stage.refused("ra", put("work/a", json!(3)).if_match(&[(1, 0xe0)])), by_header(Some(2)));
    assert_eq!(stage.refused("ra", put("work/a", json!(3)).if_match(&[(2, 0xe1)])), by_header(Some(2)));
    assert_eq!(stage.ok("ra", put("work/a", json!(3)).if_match(&[(9, 0xe0), (2, 0xe0)])).version(), 3);
    assert_eq!(stage.ok("ra", put("work/a", json!(4)).if_match_any()).version(), 4);
}

#[test]
fn weak_tags_are_left_out_and_so_match_nothing() {
    let mut stage = stage();
    assert_eq!(stage.refused("ra", put("work/a", json!(3)).if_match(&[])), by_header(Some(2)));
    // A condition that any entry meets is no permission to overwrite blindly.
    let required = Rejection::PreconditionRequired { id: id("work/a") };
    assert_eq!(stage.refused("ra", put("work/a", json!(3)).if_none_match(&[])), required);
    assert_eq!(stage.refused("ra", put("work/a", json!(3)).if_none_match(&[(1, 0xe0)])), required);
    stage.ok("ra", patch("work/a").set("", json!(3)));
    let leaf = stage.refused("rb", patch("work/a").set("", json!(4)).if_none_match(&[]));
    assert!(matches!(leaf, Rejection::LeafConditionRequired { .. }), "{leaf:?}");
}

#[test]
fn if_none_match_with_a_star_only_creates() {
    let mut stage = stage();
    assert_eq!(stage.failures("ra", put("work/a", json!(3)).if_none_match_any()), [by_header(Some(2))]);
}

#[test]
fn the_header_is_judged_before_the_body() {
    let mut stage = stage();
    let write = put("work/a", json!(3)).version(1).if_match(&[(1, 0xe0)]);
    assert_eq!(stage.failures("ra", write), [by_header(Some(2)), named(1, Some(2))]);
    let write = put("work/a", json!(3)).version(2).if_match(&[(1, 0xe0)]);
    assert_eq!(stage.failures("ra", write), [by_header(Some(2))], "both must hold");
}

#[test]
fn an_equal_value_makes_no_version() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!({"a": 1, "b": [2.0, {"c": 3, "d": null}]})));
    for same in [json!({"a": 1, "b": [2.0, {"c": 3, "d": null}]}), json!({"b": [2, {"d": null, "c": 3.0}], "a": 1.0})] {
        let done = stage.ok("rb", put("work/a", same).version(1));
        assert_eq!((done.receipt().outcome, done.version(), done.revision), (Outcome::Unchanged, 1, None));
    }
    assert_eq!(stage.owner("work/a").as_deref(), Some("ra"));
    let done = stage.ok("rb", put("work/a", json!({"b": [2, {"d": 0, "c": 3}], "a": 1})).version(1));
    assert_eq!(done.receipt().outcome, Outcome::Updated);
}

#[test]
fn a_large_integer_and_the_equal_double_are_one_value() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!(9_007_199_254_740_992_u64)));
    let same = stage.ok("ra", put("work/a", json!(9_007_199_254_740_992.0)).version(1));
    assert_eq!(same.receipt().outcome, Outcome::Unchanged);
    let other = stage.ok("ra", put("work/a", json!(9_007_199_254_740_993_u64)).version(1));
    assert_eq!(other.receipt().outcome, Outcome::Updated);
}

#[test]
fn a_named_mark_that_differs_makes_a_version() {
    let mut stage = stage();
    let write = || touch("work/a").confidence("stated").summary("s").source(SourceKind::Web, "u");
    assert_eq!(stage.ok("rb", write().version(2)).version(), 3);
    assert_eq!(stage.ok("rb", write().version(3)).receipt().outcome, Outcome::Unchanged);
    assert_eq!(stage.ok("rb", touch("work/a").derived_from(&[("work/x", 1)]).version(3)).version(), 4);
    assert_eq!(stage.ok("rb", touch("work/a").untrusted().version(4)).version(), 5);
    assert_eq!(stage.ok("rb", touch("work/a").derived_from(&[]).version(5)).version(), 6);
    let entry = stage.entry("work/a");
    let marks = entry.marks.expect("some are named");
    assert_eq!((marks.confidence.as_deref(), marks.untrusted, marks.derived_from.len()), (Some("stated"), true, 0));
    assert_eq!((entry.value_version, entry.value_by.as_str()), (Version(2), "ra"), "marks leave the value's author");
    assert_eq!(stage.owner("work/a").as_deref(), Some("ra"));
}

#[test]
fn a_new_value_begins_without_marks_but_a_patch_raises_no_trust() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!({"x": 1})).untrusted().summary("s"));
    stage.ok("ra", patch("work/a").set("y", json!(2)));
    let marks = stage.entry("work/a").marks.expect("one is set");
    assert_eq!((marks.untrusted, marks.summary), (true, None));
    stage.ok("ra", put("work/a", json!({"x": 1, "y": 2})).version(2));
    assert!(stage.entry("work/a").marks.is_some_and(|marks| marks.untrusted), "the same value, put again");
    stage.ok("ra", put("work/a", json!({"x": 3})).version(2));
    assert_eq!(stage.entry("work/a").marks, None);
}

#[test]
fn scratch_needs_no_condition_but_keeps_one_that_is_given() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("scratch/ra/draft", json!(1)));
    assert_eq!(stage.ok("ra", put("scratch/ra/draft", json!(2))).version(), 2);
    assert_eq!(stage.ok("ra", patch("scratch/ra/draft").set("", json!(3))).version(), 3);
    assert_eq!(stage.refused("ra", put("scratch/ra/draft", json!(4)).version(1)), named(1, Some(3)));
    stage.ok("ra", delete("scratch/ra/draft"));
}

#[test]
fn an_entry_as_read_may_be_sent_back() {
    let mut stage = stage();
    let entry = stage.entry("work/a").clone();
    let write = put("work/a", json!(5))
        .version(2)
        .echo("board", json!("b"))
        .echo("zone", json!("work"))
        .echo("key", json!("a"))
        .echo("owner", json!("ra"))
        .echo("held_by", json!("whoever"))
        .echo("notes", json!(7))
        .echo("attempts", json!(7))
        .echo("conflict", json!(true))
        .echo("etag", json!("\"2-00000000000000e0\""))
        .echo("revision", json!(entry.revision.0))
        .echo("value_version", json!(2))
        .echo("value_by", json!("ra"))
        .echo("created_by", json!("ra"))
        .echo("created_at", json!(entry.created.at.to_string()))
        .echo("updated_by", json!("ra"))
        .echo("updated_at", json!(entry.updated.at.to_string()))
        .echo("sha256", json!(entry.value.sha256.to_string()))
        .echo("bytes", json!(1))
        .echo("ticket", json!(null));
    assert_eq!(stage.ok("rb", write).version(), 3);
}

#[test]
fn the_owner_that_comes_back_may_be_past() {
    let mut stage = stage();
    stage.ok("rb", acquire("work/a", 1_000));
    stage.at(5_000);
    // Read while rb held the lease, or before that; now nobody owns the entry.
    for (version, owner) in [(2, json!("rb")), (3, json!("ra")), (4, json!(null))] {
        let write = touch("work/a").summary(&format!("s{version}")).version(version).echo("owner", owner);
        assert_eq!(stage.ok("rc", write).version(), version + 1);
    }
    let refused = stage.refused("rc", touch("work/a").summary("s").version(5).echo("owner", json!("rz")));
    assert_eq!(refused, Rejection::ReservedMember { member: "owner".into() });
}

#[test]
fn a_reserved_member_that_says_something_else_is_refused_after_the_version() {
    let mut stage = stage();
    let reserved = |member: &str| Rejection::ReservedMember { member: member.into() };
    for (member, value) in [
        ("updated_by", json!("rz")),
        ("revision", json!(99)),
        ("revision", json!("3")),
        ("etag", json!("\"1-00000000000000e0\"")),
        ("sha256", json!("00")),
        ("created_at", json!("2001-01-01T00:00:00.000Z")),
        ("zone", json!("other")),
        ("key", json!("b")),
        ("board", json!("c")),
        ("ticket", json!("t1")),
        ("bytes", json!(null)),
    ] {
        let refusal = stage.refusal("ra", put("work/a", json!(3)).version(2).echo(member, value));
        assert_eq!(refusal.first(), &reserved(member));
        assert_eq!(refusal.failures[0].pointer, Some(format!("/{member}")));
    }
    let write = put("work/a", json!(3)).version(1).echo("revision", json!(2));
    assert_eq!(stage.failures("ra", write), [named(1, Some(2)), reserved("revision")]);
    let write = put("work/new", json!(3)).echo("updated_by", json!("ra"));
    assert_eq!(stage.refused("ra", write), reserved("updated_by"), "nothing stands that it could equal");
}

#[test]
fn a_write_may_name_this_schema_version_or_the_one_before() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!(1)).schema_version(2));
    assert_eq!(stage.entry("work/a").schema_version, 2);
    stage.ok("ra", put("work/a", json!(2)).schema_version(3).version(1));
    assert_eq!(stage.entry("work/a").schema_version, 3);
    for given in [0, 1, 4, u64::MAX] {
        let refused = stage.refused("ra", put("work/a", json!(3)).schema_version(given).version(2));
        assert_eq!(refused, Rejection::UnknownSchemaVersion { given, current: 3 });
    }
}

#[test]
fn the_largest_numbers_a_caller_may_name_are_only_wrong() {
    let mut stage = stage();
    let write = put("work/a", json!(3)).version(u64::MAX).token(u64::MAX).if_match(&[(u64::MAX, u64::MAX)]);
    let failures = stage.failures("ra", write);
    assert!(matches!(failures[0], Rejection::LeaseLost { .. }), "{failures:?}");
    assert_eq!(failures[1..], [by_header(Some(2)), named(u64::MAX, Some(2))]);
    stage.ok("ra", put("work/a", json!(3)).version(2).ttl(u64::MAX));
    stage.refused("rb", touch("work/a").derived_from(&[("work/x", u64::MAX)]).version(u64::MAX));
}

#[test]
fn all_failures_are_told_and_the_first_in_order_decides() {
    let rules = "schema_version = 1
        [lifecycles.l]
        initial = [\"raw\"]
        transitions = [{ from = \"raw\", to = \"done\" }, { from = \"done\", to = \"raw\", by = [\"arbiter\"] }]
        [zones.own]
        access = \"restricted\"
        owners = [\"ra\"]
        lifecycle = \"l\"
        [limits]
        value_bytes_max = 8";
    let mut stage = Stage::with(rules);
    stage.ok("ra", put("own/a", json!(1)).ttl(60_000));
    let write = put("own/a", json!("far too large"))
        .version(9)
        .status("never")
        .schema_version(7)
        .echo("updated_by", json!("rz"));
    let codes: Vec<_> = stage.failures("rb", write).iter().map(name_of).collect();
    assert_eq!(
        codes,
        [
            "ZoneRestricted",
            "LeaseHeld",
            "VersionConflict",
            "UnknownStatus",
            "ReservedMember",
            "UnknownSchemaVersion",
            "ValueTooLarge",
        ]
    );
}

fn name_of(rejection: &Rejection) -> String {
    let shown = format!("{rejection:?}");
    shown.split([' ', '{']).next().expect("a name").to_owned()
}

#[test]
fn the_second_author_of_an_undeclared_entry_is_warned() {
    let mut stage = stage();
    let done = stage.ok("rb", put("work/a", json!(3)).version(2));
    assert_eq!(done.receipt().warnings, [Warning::SecondProducer { first: agent("ra") }]);
    assert_eq!(stage.ok("ra", put("work/a", json!(4)).version(3)).receipt().warnings, []);
}

#[test]
fn a_large_value_is_warned_of() {
    let mut stage = Stage::with(PLAIN);
    let done = stage.ok("ra", put("work/a", json!("x".repeat(32 * 1_024))));
    assert_eq!(done.receipt().warnings, [Warning::ValueLarge { bytes: 32 * 1_024 + 2 }]);
}

#[test]
fn changing_nothing_of_what_is_not_there_is_not_found() {
    let mut stage = stage();
    assert_eq!(stage.refused("ra", touch("work/b").summary("s")), Rejection::NotFound { id: id("work/b") });
    assert_eq!(stage.refused("ra", mv("work/b", 1, "x")), Rejection::NotFound { id: id("work/b") });
}

#[test]
fn a_zone_without_lifecycle_has_no_status() {
    let mut stage = stage();
    let refused = stage.refused("ra", mv("work/a", 2, "x"));
    assert_eq!(refused, Rejection::UnknownStatus { status: status("x"), known: Vec::new() });
    assert_eq!(stage.status("work/a").as_deref(), None);
}

#[test]
fn a_transaction_reports_where_each_item_failed() {
    let mut stage = stage();
    let refusal = stage.refusal("ra", transact().and(put("work/b", json!(1))).and(put("work/a", json!(3)).version(1)));
    assert_eq!(refusal.failures[0].item, crate::rejection::Item::Write(1));
    assert_eq!(refusal.current.expect("what stands").id, id("work/a"));
}

#[test]
fn a_patch_of_which_nothing_is_applied_makes_no_entry() {
    let mut stage = Stage::with(PLAIN);
    let done = stage.ok("ra", patch("work/a").set("x", json!("  ")).set("y", json!(null)));
    assert_eq!((done.receipt().outcome, done.version(), done.tags().len()), (Outcome::Unchanged, 0, 0));
    assert!(stage.board.entry(&id("work/a")).is_none());
}

#[test]
fn an_atomic_patch_is_refused_whole_where_something_would_be_left_out() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!({"n": 1, "o": {"k": 1}})));
    let blank = || patch("work/a").version(1).set("m", json!(1)).set("n", json!(null));
    assert_eq!(stage.refused("ra", blank().atomic()), Rejection::NullGuarded);
    let nested = patch("work/a").version(1).set("o", json!({"k": "", "l": 2})).atomic();
    assert_eq!(stage.refused("ra", nested), Rejection::NullGuarded);
    assert_eq!(stage.ok("ra", patch("work/a").version(1).set("m", json!(1)).set("n", json!(1)).atomic()).version(), 2);
    assert_eq!(stage.value("work/a"), json!({"m": 1, "n": 1, "o": {"k": 1}}));
}

#[test]
fn a_blueprint_may_lower_how_many_operations_a_patch_has() {
    let mut stage = Stage::with("[zones.z]\n[limits]\noperations_per_patch_max = 1");
    let refused = stage.refused("ra", patch("z/a").set("a", json!(1)).set("b", json!(2)));
    assert_eq!(refused, Rejection::LimitReached { limit: "operations_per_patch_max", max: 1 });
    stage.ok("ra", patch("z/a").set("a", json!(1)));
}
