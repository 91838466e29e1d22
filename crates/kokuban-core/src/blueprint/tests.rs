//! What a blueprint may be: what it reads back as, what its defaults are, what it answers.

mod files;
mod flaws;
mod review;
mod toml_files;

use serde_json::{Value, json};

use super::check::questions;
use super::*;
use crate::ids::{Key, Status};

/// Valid, with something of everything.
fn whole() -> Value {
    json!({
        "name": "whole", "title": "全部", "schema_version": 3, "prompt_zones": ["analysis"],
        "roles": {"arbiter": ["rv"], "user": ["lin"], "analyst": ["ra", "rb"]},
        "lifecycles": {"review": {
            "initial": ["raw", "processing"],
            "transitions": [
                {"from": "raw", "to": "processing"},
                {"from": "processing", "to": "pending_review", "by": ["owner", "not_author", "agent:ta"]},
                {"from": "pending_review", "to": "confirmed", "by": ["zone_owner", "arbiter"]},
                {"from": "pending_review", "to": "degraded", "by": ["anyone"], "via": "late"},
            ],
            "on_lease_expired": {"processing": "raw"},
            "on_edit": {"confirmed": "processing"},
        }},
        "zones": {
            "analysis": {
                "access": "shared", "tier": "working", "owners": ["ra", "role:analyst"], "readers": ["*", "role:observer"],
                "lifecycle": "review", "hold_ms": 500, "max_hold_ms": 60000, "slots": "closed", "sanitize": "strip",
            },
            "desk": {"tier": "scratch"}, "final": {"tier": "result"}, "post": {"tier": "mailbox", "hold_ms": 0},
        },
        "slots": {
            "analysis/profile": {"kind": "document", "title": "档案", "schema": {"type": "object"}, "weight": 0.3, "fields": {
                "gpa": {"title": "GPA 绩点", "weight": 0.2}, "countries": {"kind": "set", "weight": 1, "max_items": 20},
            }},
            "analysis/drafts/*": {"per_producer": true, "candidates": true, "producers": ["ra", "*"], "trusted_only": true,
                "required": true, "null_guard": false, "trim": true, "max_depth": 5},
            "analysis/log": {"kind": "list", "on_full": "drop_oldest"},
        },
        "confidence": {"levels": ["guess", "stated"], "cap": {"agent": "guess", "analyst": "stated"}},
        "arbitration": {"max_conflicts": 5, "difference": 0.25, "alternations": 4, "window_ms": 1000,
            "lock_on_conflict": true, "on_conflict": "arbitrate", "rule": "union"},
        "triggers": {"on-ready": {"agent": "ra", "on": {"zones": ["analysis"], "keys": ["a/*"], "statuses": ["raw"],
            "kinds": ["created"]}, "when": "entry.version > 1", "coalesce_ms": 5, "coalesce_by": "zone",
            "cooldown_ms": 7, "max_hops": 2, "priority": 9, "webhook": "https://example.test/hook"}},
        "messages": {"report": {"title": "Report", "schemas": {"1": {"type": "object"}, "2": {}}}},
        "retention": {"revisions": 1000},
        "limits": {"value_bytes_max": 1000, "state_bytes_max": 262144},
    })
}

fn read(value: &Value) -> Blueprint {
    Blueprint::from_value(value).expect("valid")
}

fn name(text: &str) -> ZoneName {
    ZoneName::new(text).expect("a name")
}

fn status(text: &str) -> Status {
    Status::new(text).expect("a status")
}

/// `whole()` with the member at `pointer` set (or added), and the flaws of that.
fn flaws_with(pointer: &str, value: Value) -> Vec<Flaw> {
    let mut blueprint = whole();
    put(&mut blueprint, pointer, value);
    Blueprint::from_value(&blueprint).expect_err(pointer)
}

fn put(blueprint: &mut Value, pointer: &str, value: Value) {
    if pointer.is_empty() {
        *blueprint = value;
        return;
    }
    let (parent, token) = pointer.rsplit_once('/').expect("a pointer");
    let token = token.replace("~1", "/").replace("~0", "~");
    match blueprint.pointer_mut(parent).expect(parent) {
        Value::Array(items) if token == items.len().to_string() => items.push(value),
        Value::Array(items) => items[token.parse::<usize>().expect("an index")] = value,
        Value::Object(members) => {
            members.insert(token, value);
        }
        other => panic!("{parent} is {other}"),
    }
}

#[test]
fn a_blueprint_reads_back_from_its_members() {
    for value in [whole(), json!({"name": "small", "zones": {"z": {}}})] {
        let blueprint = read(&value);
        assert_eq!(read(&blueprint.to_value()), blueprint);
        assert_eq!(read(&blueprint.to_value()).to_value(), blueprint.to_value());
    }
    for built_in in builtin_names() {
        let blueprint = builtin(built_in).expect("built in");
        assert_eq!(read(&blueprint.to_value()), *blueprint);
    }
}

#[test]
fn each_member_lands_where_it_belongs() {
    let blueprint = read(&whole());
    let zone = &blueprint.zones[&name("analysis")];
    assert_eq!((zone.access, zone.tier, zone.slots), (Access::Shared, Tier::Working, Slots::Closed));
    assert_eq!((zone.hold_ms, zone.max_hold_ms, zone.sanitize), (Some(500), Some(60_000), Some(Sanitize::Strip)));
    let written: Vec<String> = zone.owners.iter().chain(&zone.readers).map(ToString::to_string).collect();
    assert_eq!(written, ["ra", "role:analyst", "*", "role:observer"]);
    assert_eq!(blueprint.zones[&name("post")].hold_ms, None);
    assert_eq!(blueprint.slots["analysis/profile"].weight, Share { millionths: 300_000 });
    assert_eq!(blueprint.slots["analysis/profile"].fields["countries"].items_max(), 20);
    assert_eq!(blueprint.slots["analysis/log"].items_max(), 1_000);
    assert_eq!(blueprint.confidence.rank("stated"), Some(1));
    assert_eq!(blueprint.limits, Limits { value_bytes_max: 1_000, state_bytes_max: Some(262_144), ..Limits::SERVER });
    assert!(blueprint.has_role(&AgentName::new("rv").expect("a name"), "arbiter"));
    assert!(!blueprint.has_role(&AgentName::new("ra").expect("a name"), "arbiter"));
}

#[test]
fn equality_does_not_ask_whether_a_default_was_written() {
    let short = read(&json!({"name": "a", "zones": {"z": {}}}));
    let long = read(&json!({"name": "a", "schema_version": 1, "zones": {"z": {"access": "public", "tier": "working",
        "owners": [], "readers": ["*"], "hold_ms": 0, "slots": "open"}}, "confidence": {}, "arbitration":
        {"max_conflicts": 3, "difference": 0.5}, "limits": {"labels_max": 32}}));
    assert_eq!(short, long);
    assert_ne!(short, read(&json!({"name": "a", "zones": {"z": {"access": "shared"}}})));
}

#[test]
fn statuses_without_a_way_out_are_locked_unless_the_author_says_otherwise() {
    let lifecycle = |extra: Value| {
        let mut value = json!({"initial": ["raw"], "transitions":
            [{"from": "raw", "to": "done"}, {"from": "raw", "to": "dropped"}]});
        value.as_object_mut().expect("object").extend(extra.as_object().expect("object").clone());
        read(&json!({"name": "a", "zones": {"z": {"lifecycle": "l"}}, "lifecycles": {"l": value}}))
            .lifecycles
            .into_values()
            .next()
            .expect("one")
    };
    assert_eq!(lifecycle(json!({})).locked, [status("done"), status("dropped")]);
    assert_eq!(lifecycle(json!({"locked": []})).locked, []);
    assert_eq!(lifecycle(json!({"locked": ["raw"]})).locked, [status("raw")]);
    let edited = lifecycle(json!({"locked": ["done"], "on_edit": {"done": "raw"}}));
    assert!(!edited.is_locked(&status("done")), "on_edit unlocks");
    assert_eq!(lifecycle(json!({"on_edit": {"done": "raw"}})).locked, [status("dropped")]);
}

#[test]
fn a_lifecycle_answers_about_its_moves() {
    let blueprint = read(&whole());
    let lifecycle = blueprint.lifecycle_of(&blueprint.zones[&name("analysis")]).expect("has one");
    assert_eq!(*lifecycle.default_status(), status("raw"));
    assert!(lifecycle.is_initial(&status("processing")) && !lifecycle.is_initial(&status("confirmed")));
    let statuses: Vec<&str> = lifecycle.statuses().into_iter().map(Status::as_str).collect();
    assert_eq!(statuses, ["raw", "processing", "pending_review", "confirmed", "degraded"]);
    assert_eq!(lifecycle.find(&status("raw"), &status("processing")).expect("a move").by, [By::Anyone]);
    assert!(lifecycle.find(&status("raw"), &status("confirmed")).is_none());
    let pending = status("pending_review");
    assert!(lifecycle.find(&pending, &status("degraded")).is_none(), "only a late message may go there");
    assert_eq!(lifecycle.transitions_from(&pending).count(), 1);
}

#[test]
fn a_result_zone_is_read_only_and_a_scratch_zone_public() {
    let blueprint = read(&whole());
    assert_eq!(blueprint.zones[&name("final")].access, Access::ReadOnly);
    assert_eq!(blueprint.zones[&name("desk")].access, Access::Public);
    assert!(blueprint.is_prompt_visible(&name("analysis")) && !blueprint.is_prompt_visible(&name("final")));
    let open = read(&json!({"name": "a", "zones": {"z": {}, "s": {"tier": "scratch"}}}));
    assert!(open.is_prompt_visible(&name("z")) && !open.is_prompt_visible(&name("s")));
}

#[test]
fn the_most_precise_slot_declares_an_entry() {
    let slots = json!({"z/*/*": {}, "z/a/*": {}, "z/*/b": {}, "z/a/b": {}, "z/*": {}});
    let blueprint = read(&json!({"name": "a", "zones": {"z": {}}, "slots": slots}));
    let slot_of = |key: &str| {
        let id = EntryId::new(name("z"), Key::new(key).expect("a key"));
        blueprint.slot_of(&id).map(|(pattern, _)| pattern.to_owned())
    };
    for (key, pattern) in [("a/b", "z/a/b"), ("a/c", "z/a/*"), ("c/b", "z/*/b"), ("c/d", "z/*/*"), ("c", "z/*")] {
        assert_eq!(slot_of(key).as_deref(), Some(pattern), "{key}");
    }
    assert_eq!(slot_of("a/b/c"), None);
}

#[test]
fn a_board_takes_the_tighter_of_two_limits() {
    let mine = Limits { labels_max: 3, ..Limits::SERVER };
    let theirs = Limits { inputs_max: 5, state_bytes_max: Some(9), ..Limits::SERVER };
    let both = Limits { labels_max: 3, inputs_max: 5, state_bytes_max: Some(9), ..Limits::SERVER };
    assert_eq!(mine.lowered(&theirs), both);
    assert_eq!(theirs.lowered(&mine), both);
}

#[test]
fn what_is_stored_but_not_enforced_is_listed_only_if_it_was_written() {
    let whole = read(&whole());
    let expected = [
        "/arbitration",
        "/triggers",
        "/messages",
        "/zones/analysis/sanitize",
        "/zones/post/tier",
        "/slots/analysis~1drafts~1*/trusted_only",
        "/slots/analysis~1drafts~1*/candidates",
        "/lifecycles/review/transitions/3/via",
    ];
    assert_eq!(whole.not_enforced(), expected);
    for built_in in builtin_names() {
        assert!(builtin(built_in).expect("built in").not_enforced().is_empty(), "{built_in}");
    }
}

#[test]
fn a_number_of_a_schema_has_one_spelling() {
    let with = |number: Value| {
        read(&json!({"name": "a", "zones": {"z": {}}, "slots": {"z/a": {"schema": {"minimum": number}}}}))
    };
    assert_eq!(with(json!(1.0)), with(json!(1)));
    assert_ne!(with(json!(1.5)), with(json!(1)));
}
