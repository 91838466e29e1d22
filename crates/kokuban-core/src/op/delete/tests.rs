//! Scenarios of deletion: conditions, tombstones, and versions that never come back.

use serde_json::json;

use crate::ids::Version;
use crate::rejection::{Condition, Rejection};
use crate::reply::Outcome;
use crate::scenario::{Stage, acquire, create, delete, id, note, patch, put};

const PLAIN: &str = "[zones.work]\n[zones.scratch]\ntier = \"scratch\"";

fn named(expected: u64, actual: Option<u64>) -> Rejection {
    let (expected, actual) = (Some(Version(expected)), actual.map(Version));
    Rejection::VersionConflict { condition: Condition::Named, expected, actual }
}

#[test]
fn deleting_needs_a_condition() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!(1)));
    assert_eq!(stage.refused("ra", delete("work/a")), Rejection::PreconditionRequired { id: id("work/a") });
    assert_eq!(stage.refused("ra", delete("work/a").version(2)), named(2, Some(1)));
    assert_eq!(stage.refused("ra", delete("work/a").version(0)), named(0, Some(1)));
    let done = stage.ok("rb", delete("work/a").version(1));
    assert_eq!(
        (done.receipt().outcome, done.version(), done.tags()),
        (Outcome::Deleted, 2, vec!["entry_deleted".to_owned()])
    );
    assert_eq!(stage.board.tombstone(&id("work/a")).map(|tombstone| tombstone.version), Some(Version(2)));
}

#[test]
fn what_is_not_there_is_not_found_whatever_the_condition() {
    let mut stage = Stage::with(PLAIN);
    let missing = Rejection::NotFound { id: id("work/a") };
    assert_eq!(stage.failures("ra", delete("work/a").version(1)), std::slice::from_ref(&missing));
    assert_eq!(stage.failures("ra", delete("work/a").if_match(&[(1, 0xe0)])), [missing]);
}

#[test]
fn a_deleted_entry_is_not_undeleted_by_an_old_version() {
    // cases.md, H9
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/k", json!(1)));
    stage.ok("ra", delete("work/k").version(1));
    assert_eq!(stage.refused("ra", put("work/k", json!(1)).version(1)), named(1, None));
    assert_eq!(
        stage.refused("ra", put("work/k", json!(1)).version(2)),
        named(2, None),
        "not even by that of the deletion"
    );
    let by_header = |actual| Rejection::VersionConflict { condition: Condition::Header, expected: None, actual };
    assert_eq!(stage.refused("ra", put("work/k", json!(1)).if_match(&[(1, 0xe0)])), by_header(None));
    assert_eq!(stage.ok("ra", put("work/k", json!(1)).version(0)).version(), 3);
    assert_eq!(stage.refused("ra", put("work/k", json!(2)).if_match(&[(1, 0xe0)])), by_header(Some(Version(3))));
    assert_eq!(stage.refused("ra", put("work/k", json!(2)).version(1)), named(1, Some(3)));
    assert_eq!(stage.refused("ra", delete("work/k").if_match(&[(1, 0xe0)])), by_header(Some(Version(3))));
}

#[test]
fn versions_go_on_when_the_board_is_made_again() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/k", json!(1)));
    stage.ok("ra", put("work/k", json!(2)).version(1));
    stage.ok("admin", crate::command::Command::DeleteBoard);
    stage.ok("admin", create(PLAIN));
    let version = stage.ok("ra", put("work/k", json!(1))).version();
    assert_eq!((version, stage.board.revision().0), (5, 6), "above all that the deleted board had given");
    assert!(matches!(
        stage.refused("ra", put("work/k", json!(3)).if_match(&[(5, 0xe0)])),
        Rejection::VersionConflict { .. }
    ));
    stage.ok("ra", put("work/k", json!(3)).if_match(&[(5, 0xe1)]));
}

#[test]
fn a_new_incarnation_begins_without_the_past() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!(1)).untrusted().ttl(100));
    stage.ok("rb", note("work/a", "hm"));
    stage.at(100).tick();
    assert_eq!(stage.entry("work/a").attempts, 1);
    stage.ok("ra", delete("work/a").version(1));
    assert_eq!(stage.board.n_notes(&id("work/a")), 0);
    stage.ok("rb", put("work/a", json!(1)));
    let entry = stage.entry("work/a");
    assert_eq!((entry.attempts, entry.marks, entry.created.by.as_str()), (0, None, "rb"));
    assert_eq!((entry.last_holder.as_ref(), stage.board.n_notes(&id("work/a"))), (None, 0));
}

#[test]
fn deleting_ends_the_lease_and_nobody_holds_what_comes_after() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!(1)));
    let token = stage.ok("ra", acquire("work/a", 1_000)).token();
    stage.ok("ra", delete("work/a").version(1).token(token));
    stage.ok("rb", put("work/a", json!(2)));
    assert_eq!((stage.board.n_leases(), stage.board.next_deadline()), (0, None));
}

#[test]
fn a_patch_may_create_again() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!({"x": 1})));
    stage.ok("ra", delete("work/a").version(1));
    stage.ok("rb", patch("work/a").set("y", json!(2)));
    assert_eq!((stage.value("work/a"), stage.entry("work/a").version.0), (json!({"y": 2}), 3));
}
