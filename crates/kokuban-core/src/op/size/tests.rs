//! Scenarios of limits: entries with their tombstones, bytes, prompt-visible state, sources.

use serde_json::json;

use super::TOMBSTONE_MS_MIN;
use crate::event::Event;
use crate::ids::Version;
use crate::rejection::Rejection;
use crate::scenario::{Stage, create, delete, id, patch, put, tag, transact, zone_name};

fn with(limits: &str) -> Stage {
    Stage::with(&format!("[zones.work]\n[zones.scratch]\ntier = \"scratch\"\n[limits]\n{limits}"))
}

fn limit(limit: &'static str, max: u64) -> Rejection {
    Rejection::LimitReached { limit, max }
}

#[test]
fn a_value_has_a_longest_form() {
    let mut stage = with("value_bytes_max = 10");
    stage.ok("ra", put("work/a", json!("12345678")));
    let large = |bytes| Rejection::ValueTooLarge { bytes, max: 10 };
    assert_eq!(stage.refused("ra", put("work/a", json!("123456789")).version(1)), large(11));
    assert_eq!(stage.refused("ra", put("work/b", json!("国国国"))), large(11), "bytes, not characters");
    stage.ok("ra", put("work/c", json!({"x": 1})));
    assert_eq!(stage.refused("ra", patch("work/c").set("y", json!(2))), large(13), "the same on every route");
}

#[test]
fn a_board_holds_so_many_entries_tombstones_included() {
    let mut stage = with("entries_max = 2");
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", put("work/b", json!(1)));
    assert_eq!(stage.refused("ra", put("work/c", json!(1))), limit("entries_max", 2));
    stage.ok("ra", put("work/b", json!(2)).version(1));
    stage.ok("ra", delete("work/b").version(2));
    assert_eq!(stage.refused("ra", put("work/c", json!(1))), limit("entries_max", 2), "the tombstone keeps the place");
    stage.ok("ra", put("work/b", json!(3)));
}

#[test]
fn old_tombstones_make_room_and_raise_the_floor() {
    let mut stage = with("entries_max = 2");
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", put("work/b", json!(1)));
    stage.ok("ra", delete("work/b").version(1));
    stage.at(TOMBSTONE_MS_MIN - 1);
    assert_eq!(stage.refused("ra", put("work/c", json!(1))), limit("entries_max", 2));
    stage.at(TOMBSTONE_MS_MIN);
    let done = stage.ok("ra", put("work/c", json!(1)));
    assert_eq!(done.tags(), ["tombstones_collected", "entry_written"]);
    let Event::TombstonesCollected { floor, .. } = done.events[0] else { panic!("first") };
    assert_eq!((floor, stage.board.n_places()), (Version(4), 2));
    assert_eq!(stage.entry("work/c").version, Version(1));
    stage.ok("ra", delete("work/c").version(1));
    stage.at(3 * TOMBSTONE_MS_MIN);
    let version = stage.ok("ra", put("work/b", json!(1))).version();
    assert!(version > 2, "the key that was forgotten goes on above the floor: {version}");
}

#[test]
fn a_key_written_again_keeps_its_place_also_where_tombstones_go() {
    let mut stage = with("entries_max = 3");
    for key in ["a", "b", "c"] {
        stage.ok("ra", put(&format!("work/{key}"), json!(1)));
    }
    stage.ok("ra", delete("work/b").version(1));
    stage.at(2 * TOMBSTONE_MS_MIN);
    let both = || transact().and(put("work/new", json!(1))).and(put("work/b", json!(1)));
    assert_eq!(stage.refused("ra", both()), limit("entries_max", 3));
    stage.ok("ra", delete("work/c").version(1));
    stage.at(4 * TOMBSTONE_MS_MIN);
    let done = stage.ok("ra", both());
    assert_eq!((stage.board.n_places(), done.events.len()), (3, 3));
    assert!(stage.entry("work/b").version > Version(2));
}

#[test]
fn many_tombstones_go_in_portions() {
    let mut stage = with("entries_max = 2501").quick();
    for n in 0..2_500 {
        stage.ok("ra", put(&format!("work/k{n}"), json!(1)));
        stage.ok("ra", delete(&format!("work/k{n}")).version(1));
    }
    stage.at(2 * TOMBSTONE_MS_MIN);
    stage.ok("ra", put("work/x", json!(1)));
    assert_eq!(stage.board.n_places(), 2_501);
    stage.ok("ra", put("work/y", json!(1)));
    assert_eq!(stage.board.n_places(), 1_502);
    stage.check();
}

#[test]
fn the_items_of_a_transaction_count_together() {
    let mut stage = with("entries_max = 3\nboard_bytes_max = 100");
    let three = (0..3).fold(transact(), |all, n| all.and(put(&format!("work/{n}"), json!(1))));
    let four = three.clone().and(put("work/4", json!(1)));
    assert_eq!(stage.refused("ra", four), limit("entries_max", 3));
    stage.ok("ra", three);
    let text = "x".repeat(48);
    let both = transact().and(put("work/0", json!(text)).version(1)).and(put("work/1", json!(text)).version(1));
    assert_eq!(stage.refused("ra", both), limit("board_bytes_max", 100), "101 with the one that stays");
}

#[test]
fn a_full_board_may_shrink() {
    let mut stage = with("board_bytes_max = 20");
    stage.ok("ra", put("work/a", json!("12345678")));
    stage.ok("ra", put("work/b", json!("12345678")));
    assert_eq!(stage.refused("ra", put("work/c", json!(1))), limit("board_bytes_max", 20));
    assert_eq!(stage.refused("ra", put("work/a", json!("123456789")).version(1)), limit("board_bytes_max", 20));
    stage.ok("ra", put("work/a", json!("1234567")).version(1));
    stage.ok("ra", delete("work/b").version(1));
    stage.ok("ra", put("work/c", json!(1)));
    assert_eq!(stage.board.bytes(), 10);
}

#[test]
fn the_prompt_visible_state_may_be_bounded() {
    let mut stage = with("state_bytes_max = 10");
    stage.ok("ra", put("work/a", json!("1234567")));
    assert_eq!(stage.refused("ra", put("work/b", json!("12"))), Rejection::StateFull { bytes: 13, max: 10 });
    stage.ok("ra", put("work/b", json!(1)));
    stage.ok("ra", put("scratch/ra/x", json!("it is not part of the prompt")));
    assert_eq!(stage.board.state_bytes(), 10);
}

#[test]
fn a_value_has_so_many_sources() {
    let mut stage = with("derived_from_max = 1");
    stage.ok("ra", put("work/a", json!(1)).derived_from(&[("work/x", 1)]));
    let two = put("work/b", json!(1)).derived_from(&[("work/x", 1), ("work/y", 1)]);
    assert_eq!(stage.refused("ra", two), limit("derived_from_max", 1));
}

#[test]
fn inputs_are_bounded_like_writes() {
    let rules = "[zones.work]\n[limits]\ninputs_max = 2\nvalue_bytes_max = 4\nentries_max = 1";
    let mut stage = Stage::empty();
    let inputs = create(rules).input("work/a", &json!(1)).input("work/b", &json!("long")).input("work/c", &json!(1));
    let failures = stage.failures("ra", inputs);
    let large = Rejection::ValueTooLarge { bytes: 6, max: 4 };
    assert_eq!(failures, [limit("inputs_max", 2), large, limit("entries_max", 1)]);
    assert!(!stage.board.exists());
}

#[test]
fn a_zone_that_was_emptied_counts_like_one_that_never_held_anything() {
    let mut stage = with("");
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", delete("work/a").version(1));
    assert_eq!(stage.board.tally(&zone_name("work")), None);
    assert_eq!(stage.board.tombstones().map(|(place, _)| place.clone()).collect::<Vec<_>>(), [id("work/a")]);
}

#[test]
fn collecting_does_not_happen_where_there_is_room() {
    let mut stage = with("entries_max = 3");
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", delete("work/a").version(1));
    stage.at(2 * TOMBSTONE_MS_MIN);
    let done = stage.ok("ra", put("work/b", json!(1)));
    assert_eq!(done.events.iter().map(tag).collect::<Vec<_>>(), ["entry_written"]);
}

#[test]
fn a_collection_moves_no_counter_of_what_stands() {
    let mut stage = with("entries_max = 2");
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", put("work/b", json!(1)));
    stage.ok("ra", delete("work/b").version(1));
    stage.at(2 * TOMBSTONE_MS_MIN);
    stage.ok("ra", put("work/c", json!(1)));
    assert_eq!(stage.ok("ra", put("work/a", json!(2)).version(1)).version(), 2);
}
