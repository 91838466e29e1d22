//! Scenarios of boards: creation with inputs, creation by a first write, deletion, erasure.

use serde_json::json;

use crate::command::Command;
use crate::event::Event;
use crate::ids::Epoch;
use crate::rejection::{Forbidden, Rejection};
use crate::reply::{Reply, Warning};
use crate::scenario::{
    Outcome, Stage, acquire, blueprint, claim, create, delete, erase, id, note, patch, put, transact, zone_name,
};

const RULES: &str = r#"
[lifecycles.l]
initial = ["raw"]
transitions = [{ from = "raw", to = "done" }]
[zones.input]
access = "read_only"
[zones.work]
lifecycle = "l"
"#;

fn board(reply: &Reply) -> (bool, &[Warning]) {
    let Reply::Board { created, warnings } = reply else { panic!("{reply:?}") };
    (*created, warnings)
}

#[test]
fn inputs_are_entries_of_the_creator_whatever_the_access() {
    let mut stage = Stage::empty();
    let done = stage.ok("ra", create(RULES).input("input/request", &json!("build")).input("work/a/b", &json!(1)));
    assert_eq!((board(&done.reply), done.tags().len(), done.revision.map(|r| r.0)), ((true, &[][..]), 3, Some(1)));
    assert_eq!((stage.owner("input/request").as_deref(), stage.entry("input/request").version.0), (Some("ra"), 1));
    assert_eq!(stage.status("work/a/b").as_deref(), Some("raw"));
}

#[test]
fn an_input_into_no_zone_is_refused_with_its_place() {
    let mut stage = Stage::empty();
    let refusal = stage.refusal("ra", create(RULES).input("nowhere/a~b", &json!(1)));
    assert!(matches!(refusal.first(), Rejection::InvalidValue { .. }), "{refusal:?}");
    assert_eq!(refusal.failures[0].pointer.as_deref(), Some("/inputs/nowhere~1a~0b"));
}

#[test]
fn an_input_that_comes_twice_is_refused() {
    let twice = create(RULES).input("work/a", &json!(1)).input("work/a", &json!(2));
    assert_eq!(Stage::empty().refused("ra", twice), Rejection::DuplicateKey { id: id("work/a") });
}

#[test]
fn a_board_that_is_there_stays_as_it_is() {
    let mut stage = Stage::with(RULES);
    let mut again = create(RULES).input("work/a", &json!(1));
    again.title = Some("new".into());
    again.labels.insert("k".into(), "v".into());
    let done = stage.ok("rb", again);
    let ignored = Warning::Ignored { members: vec!["title".into(), "labels".into(), "inputs".into()] };
    assert_eq!((board(&done.reply), done.revision), ((false, &[ignored][..]), None));
    assert_eq!(board(&stage.ok("rb", create(RULES)).reply), (false, &[][..]));
    assert_eq!(stage.refused("rb", create("[zones.other]")), Rejection::BoardExists);
    assert!(stage.board.entry(&id("work/a")).is_none());
}

#[test]
fn members_that_are_not_enforced_yet_are_named() {
    let done = Stage::empty().ok("ra", create("[zones.work]\nsanitize = \"strip\""));
    let (_, warnings) = board(&done.reply);
    assert!(matches!(warnings, [Warning::NotEnforced { members }] if !members.is_empty()), "{warnings:?}");
}

#[test]
fn an_observer_makes_no_board() {
    let observer = Rejection::Forbidden { why: Forbidden::Observer };
    assert_eq!(Stage::empty().refused("an-observer", create(RULES)), observer);
    Stage::empty().ok("admin-observer", create(RULES));
}

#[test]
fn on_an_absent_board_nothing_is_found() {
    let mut stage = Stage::empty();
    for command in [
        Command::from(put("work/a", json!(1))),
        delete("work/a").version(1).into(),
        transact().check("work/a", 0).into(),
        acquire("work/a", 1_000).into(),
        claim("work", 1_000).into(),
        note("work/a", "?").into(),
        erase(&json!(1)),
        Command::DeleteBoard,
    ] {
        assert_eq!(stage.refused("admin", command), Rejection::BoardNotFound);
    }
}

fn in_dev() -> Stage {
    let mut stage = Stage::empty();
    stage.create_with = Some(blueprint(RULES));
    stage
}

#[test]
fn a_first_write_may_create_the_board_in_its_own_commit() {
    let mut stage = in_dev();
    let done = stage.ok("ra", put("work/a", json!(1)));
    assert_eq!((done.tags(), done.version()), (vec!["board_created".to_owned(), "entry_written".to_owned()], 1));
    let created = Warning::BoardCreated { blueprint: "test".into() };
    assert_eq!(done.receipt().warnings, std::slice::from_ref(&created));
    assert_eq!(stage.ok("ra", put("work/b", json!(1))).receipt().warnings, []);
    let mut stage = in_dev();
    let done = stage.ok("ra", transact().check("work/z", 0).and(patch("work/a").set("x", json!(1))));
    assert_eq!(done.receipts()[0].warnings, [created]);
}

#[test]
fn a_first_write_that_is_refused_creates_nothing() {
    let mut stage = in_dev();
    assert!(matches!(stage.refused("ra", put("input/a", json!(1))), Rejection::ArbiterOnly { .. }));
    let missing = Rejection::ZoneNotFound { zone: zone_name("nowhere") };
    assert_eq!(stage.refused("ra", put("nowhere/a", json!(1))), missing);
    assert_eq!(stage.refused("ra", acquire("work/a", 1_000)), Rejection::NotFound { id: id("work/a") });
    assert_eq!(stage.refused("an-observer", put("work/a", json!(1))), Rejection::BoardNotFound);
    assert!(!stage.board.exists());
}

#[test]
fn what_is_no_write_creates_nothing() {
    let mut stage = in_dev();
    assert!(matches!(stage.decide("ra", claim("work", 1_000)), Ok(Outcome::Nothing)));
    assert_eq!(stage.ok("ra", transact().check("work/a", 0)).revision, None);
    assert_eq!(stage.refused("admin", Command::DeleteBoard), Rejection::BoardNotFound);
    assert_eq!(stage.refused("admin", erase(&json!(1))), Rejection::BoardNotFound);
    assert!(!stage.board.exists());
}

#[test]
fn a_key_is_remembered_by_a_board_that_exists() {
    let mut stage = in_dev();
    let done = stage.key("k", "checks").ok("ra", transact().check("work/a", 0));
    assert_eq!(done.tags(), ["board_created"]);
    let again = stage.key("k", "checks").decide("ra", transact().check("work/a", 0));
    assert!(matches!(again, Ok(Outcome::Replay(_))), "{again:?}");
}

#[test]
fn only_an_admin_deletes_a_board() {
    let mut stage = Stage::with(RULES);
    let admin = Rejection::Forbidden { why: Forbidden::AdminOnly };
    assert_eq!(stage.refused("creator", Command::DeleteBoard), admin);
    let done = stage.ok("admin", Command::DeleteBoard);
    assert_eq!(done.tags(), ["board_deleted"]);
    assert_eq!((stage.board.exists(), stage.board.position()), (false, None));
    assert_eq!(stage.refused("ra", put("work/a", json!(1))), Rejection::BoardNotFound);
}

#[test]
fn a_board_made_again_is_empty_in_a_new_epoch_and_goes_on_counting() {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("work/a", json!(1)).ttl(60_000));
    stage.ok("ra", note("work/a", "?"));
    stage.ok("ra", put("work/gone", json!(1)));
    stage.ok("ra", delete("work/gone").version(1));
    stage.ok("admin", Command::DeleteBoard);
    assert_eq!((stage.board.next_deadline(), stage.board.n_places()), (None, 0));
    let done = stage.ok("rb", create("[zones.other]"));
    let position = stage.board.position().expect("it exists");
    assert_eq!((position.epoch, position.revision.0), (Epoch(0xe1), 7));
    let Event::BoardCreated(created) = &done.events[0] else { panic!("{done:?}") };
    assert_eq!((created.floor.0, stage.board.bytes(), stage.board.tombstones().count()), (6, 0, 0));
}

#[test]
fn a_late_repeat_neither_makes_nor_deletes_a_board_a_second_time() {
    let mut stage = Stage::empty();
    stage.key("make", "1").ok("ra", create(RULES));
    stage.key("drop", "1").ok("admin", Command::DeleteBoard);
    assert!(matches!(stage.key("make", "1").decide("ra", create(RULES)), Ok(Outcome::Replay(_))));
    assert!(matches!(stage.key("drop", "1").decide("admin", Command::DeleteBoard), Ok(Outcome::Replay(_))));
    stage.key("make", "2").refused("ra", put("work/a", json!(1)));
    stage.ok("ra", create(RULES));
    assert!(matches!(stage.key("drop", "1").decide("admin", Command::DeleteBoard), Ok(Outcome::Replay(_))));
    assert!(stage.board.exists());
}

#[test]
fn only_past_values_are_erased_and_by_an_admin() {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("work/a", json!("secret")));
    assert_eq!(stage.refused("ra", erase(&json!("secret"))), Rejection::Forbidden { why: Forbidden::AdminOnly });
    assert_eq!(stage.refused("admin", erase(&json!("secret"))), Rejection::StillCurrent { id: id("work/a") });
    stage.ok("ra", put("work/a", json!("public")).version(1));
    let done = stage.ok("admin", erase(&json!("secret")));
    assert_eq!(done.tags(), ["erased"]);
    assert_eq!(stage.value("work/a"), json!("public"));
}

#[test]
fn a_limit_that_the_blueprint_lowers_holds_for_labels_and_is_pointed_at_in_inputs() {
    let rules = "[zones.z]\n[limits]\nlabels_max = 1\nvalue_bytes_max = 4";
    let mut stage = Stage::empty();
    let mut labelled = create(rules);
    labelled.labels.extend([("a".into(), "x".into()), ("b".into(), "y".into())]);
    assert_eq!(stage.refused("ra", labelled), Rejection::LimitReached { limit: "labels_max", max: 1 });
    let refusal = stage.refusal("ra", create(rules).input("z/a", &json!(1)).input("z/b", &json!("too long")));
    assert_eq!(refusal.failures[0].pointer.as_deref(), Some("/inputs/z~1b"));
}
