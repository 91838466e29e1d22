//! Scenarios of lifecycles: who may move what, what is locked, what an edit does; and who owns an entry then.

use serde_json::json;

use crate::rejection::Rejection;
use crate::reply::Outcome;
use crate::scenario::{Stage, acquire, delete, mv, patch, put, release, revoke, status, statuses, touch};

const REVIEW: &str = r#"
[roles]
arbiter = ["rv"]
[lifecycles.review]
initial = ["raw", "processing"]
transitions = [
  { from = "raw", to = "processing" },
  { from = "processing", to = "pending" },
  { from = "pending", to = "confirmed", by = ["zone_owner", "arbiter"] },
  { from = "pending", to = "rejected", by = ["not_author"] },
  { from = "pending", to = "withdrawn", by = ["owner"] },
  { from = "pending", to = "raw", by = ["agent:rx"] },
  { from = "rejected", to = "processing" },
]
[zones.work]
owners = ["ra"]
lifecycle = "review"
"#;

fn stage() -> Stage {
    Stage::with(REVIEW)
}

/// `work/a` of `author`, pending at version 2.
fn pending(author: &str) -> Stage {
    let mut stage = stage();
    stage.ok(author, put("work/a", json!(1)).status("processing"));
    stage.ok(author, mv("work/a", 1, "pending"));
    stage
}

fn illegal(from: Option<&str>, to: &str, allowed: &[&str]) -> Rejection {
    Rejection::IllegalTransition { from: from.map(status), to: status(to), allowed: statuses(allowed) }
}

#[test]
fn a_new_entry_takes_an_initial_status() {
    let mut stage = stage();
    stage.ok("ra", put("work/a", json!(1)));
    assert_eq!(stage.status("work/a").as_deref(), Some("raw"), "the first is the default");
    stage.ok("ra", put("work/b", json!(1)).status("processing"));
    assert_eq!(stage.status("work/b").as_deref(), Some("processing"));
    assert_eq!(
        stage.refused("ra", put("work/c", json!(1)).status("pending")),
        illegal(None, "pending", &["raw", "processing"])
    );
}

#[test]
fn an_unknown_status_is_told_the_known_ones() {
    let known = statuses(&["raw", "processing", "pending", "confirmed", "rejected", "withdrawn"]);
    let refused = stage().refused("ra", put("work/a", json!(1)).status("gone"));
    assert_eq!(refused, Rejection::UnknownStatus { status: status("gone"), known });
}

#[test]
fn a_move_is_an_event_of_its_own_and_keeps_author_and_owner() {
    let mut stage = stage();
    stage.ok("ra", put("work/a", json!(1)));
    let done = stage.ok("rb", mv("work/a", 1, "processing"));
    assert_eq!((done.version(), done.tags()), (2, vec!["entry_moved".to_owned()]));
    let entry = stage.entry("work/a");
    assert_eq!((entry.value_by.as_str(), entry.updated.by.as_str()), ("ra", "rb"));
    assert_eq!(stage.owner("work/a").as_deref(), Some("ra"));
}

#[test]
fn staying_is_no_move() {
    let mut stage = pending("rb");
    let done = stage.ok("rc", mv("work/a", 2, "pending"));
    assert_eq!((done.receipt().outcome, done.revision), (Outcome::Unchanged, None));
    stage.ok("rc", put("work/a", json!(2)).status("pending").version(2));
}

#[test]
fn a_move_that_is_not_in_the_table_is_illegal() {
    let mut stage = stage();
    stage.ok("ra", put("work/a", json!(1)));
    assert_eq!(stage.refused("ra", mv("work/a", 1, "confirmed")), illegal(Some("raw"), "confirmed", &["processing"]));
    assert_eq!(stage.status("work/a").as_deref(), Some("raw"));
}

#[test]
fn what_is_allowed_is_said_of_this_caller() {
    let mut stage = pending("rb");
    let mut allowed = |agent: &str| match stage.refused(agent, mv("work/a", 2, "processing")) {
        Rejection::IllegalTransition { allowed, .. } => allowed,
        other => panic!("{other:?}"),
    };
    assert_eq!(allowed("rb"), statuses(&["withdrawn"]), "the author and owner");
    assert_eq!(allowed("ra"), statuses(&["confirmed", "rejected"]), "the owner of the zone");
    assert_eq!(allowed("rv"), statuses(&["confirmed", "rejected"]), "the arbiter");
    assert_eq!(allowed("rx"), statuses(&["rejected", "raw"]), "the named agent");
    assert_eq!(allowed("rc"), statuses(&["rejected"]), "anybody else");
}

#[test]
fn each_by_admits_whom_it_says() {
    for (to, admitted, others) in [
        ("confirmed", &["ra", "rv"][..], &["rb", "rc", "rx"][..]),
        ("rejected", &["ra", "rc", "rv"], &["rb"]),
        ("withdrawn", &["rb"], &["ra", "rv", "rc"]),
        ("raw", &["rx"], &["ra", "rb", "rv"]),
    ] {
        for agent in admitted {
            assert_eq!(pending("rb").ok(agent, mv("work/a", 2, to)).version(), 3, "{agent} to {to}");
        }
        for agent in others {
            let refused = pending("rb").refused(agent, mv("work/a", 2, to));
            assert!(matches!(refused, Rejection::IllegalTransition { .. }), "{agent} to {to}: {refused:?}");
        }
    }
}

#[test]
fn without_an_owner_zone_owners_and_arbiters_stand_in() {
    let ownerless = || {
        let mut stage = pending("rb");
        stage.ok("rb", acquire("work/a", 1_000));
        stage.at(2_000).tick();
        assert_eq!(stage.owner("work/a").as_deref(), None);
        stage
    };
    for agent in ["ra", "rv"] {
        ownerless().ok(agent, mv("work/a", 2, "withdrawn"));
    }
    for agent in ["rb", "rc"] {
        ownerless().refused(agent, mv("work/a", 2, "withdrawn"));
    }
}

#[test]
fn an_owner_is_the_holder_then_the_author_then_nobody_after_an_expiry_or_revocation() {
    let mut stage = pending("rb");
    let token = stage.ok("rc", acquire("work/a", 1_000)).token();
    assert_eq!(stage.owner("work/a").as_deref(), Some("rc"));
    stage.ok("rc", release("work/a", token));
    assert_eq!(stage.owner("work/a").as_deref(), Some("rb"), "a release gives it back to the author");
    stage.ok("rc", acquire("work/a", 1_000));
    stage.ok("rv", revoke("work/a"));
    assert_eq!(stage.owner("work/a").as_deref(), None);
    stage.ok("rc", touch("work/a").summary("s").version(2));
    assert_eq!(stage.owner("work/a").as_deref(), None, "marks and moves make no owner");
    let token = stage.ok("rc", acquire("work/a", 1_000)).token();
    assert_eq!(stage.owner("work/a").as_deref(), Some("rc"));
    stage.ok("rc", release("work/a", token));
    assert_eq!(stage.owner("work/a").as_deref(), Some("rb"));
    stage.ok("rc", acquire("work/a", 1_000));
    stage.at(2_000);
    let done = stage.ok("rd", put("work/a", json!(7)).version(3));
    assert_eq!(done.receipt().owner, Some(crate::scenario::agent("rd")), "until the next value");
    assert_eq!(stage.owner("work/a").as_deref(), Some("rd"));
}

#[test]
fn statuses_without_a_way_out_are_locked() {
    let mut stage = pending("rb");
    stage.ok("ra", mv("work/a", 2, "confirmed"));
    let locked = Rejection::Locked { status: status("confirmed"), allowed: Vec::new() };
    assert_eq!(stage.refused("rb", put("work/a", json!(2)).version(3)), locked);
    assert_eq!(stage.refused("rb", patch("work/a").set("", json!(2)).version(3)), locked);
    assert_eq!(stage.refused("ra", delete("work/a").version(3)), locked);
    assert_eq!(stage.refused("ra", acquire("work/a", 1_000)), locked);
    assert_eq!(stage.ok("rb", put("work/a", json!(1)).version(3)).receipt().outcome, Outcome::Unchanged);
    stage.ok("rb", touch("work/a").summary("s").version(3));
    stage.ok("rv", put("work/a", json!(2)).version(4));
    assert_eq!(stage.status("work/a").as_deref(), Some("confirmed"), "an arbiter's edit is no move");
    stage.ok("rv", delete("work/a").version(5));
}

#[test]
fn a_blueprint_may_lock_nothing() {
    let mut stage = Stage::with(
        "[lifecycles.l]\ninitial = [\"a\"]\ntransitions = [{ from = \"a\", to = \"z\" }]\nlocked = []\n[zones.work]\nlifecycle = \"l\"",
    );
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", put("work/a", json!(2)).status("z").version(1));
    stage.ok("ra", put("work/a", json!(3)).version(2));
}

const ON_EDIT: &str = r#"
[lifecycles.l]
initial = ["processing"]
transitions = [{ from = "processing", to = "confirmed" }, { from = "processing", to = "dropped" }]
locked = ["confirmed"]
on_edit = { confirmed = "processing" }
[zones.work]
lifecycle = "l"
"#;

#[test]
fn an_edit_may_be_a_move() {
    let mut stage = Stage::with(ON_EDIT);
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", mv("work/a", 1, "confirmed"));
    assert_eq!(stage.ok("ra", put("work/a", json!(1)).version(2)).receipt().outcome, Outcome::Unchanged);
    assert_eq!(stage.status("work/a").as_deref(), Some("confirmed"), "nothing was edited");
    let done = stage.ok("rb", put("work/a", json!(2)).version(2));
    assert_eq!(done.tags(), ["entry_written"]);
    assert_eq!(stage.status("work/a").as_deref(), Some("processing"));
    stage.ok("ra", mv("work/a", 3, "confirmed"));
    stage.ok("ra", put("work/a", json!(3)).status("confirmed").version(4));
    assert_eq!(stage.status("work/a").as_deref(), Some("processing"), "also where the old status came back with it");
    stage.ok("ra", mv("work/a", 5, "confirmed"));
    stage.ok("ra", put("work/a", json!(4)).status("processing").version(6));
    stage.ok("ra", mv("work/a", 7, "confirmed"));
    let refused = stage.refused("ra", put("work/a", json!(5)).status("dropped").version(8));
    assert_eq!(refused, illegal(Some("confirmed"), "dropped", &[]));
}

#[test]
fn a_deleted_entry_starts_again() {
    let mut stage = pending("rb");
    stage.ok("rb", delete("work/a").version(2));
    assert_eq!(
        stage.refused("rb", put("work/a", json!(1)).status("pending")),
        illegal(None, "pending", &["raw", "processing"])
    );
    stage.ok("rb", put("work/a", json!(1)));
    assert_eq!((stage.status("work/a").as_deref(), stage.entry("work/a").version.0), (Some("raw"), 4));
}

#[test]
fn a_patch_that_moves_names_the_version() {
    let mut stage = stage();
    stage.ok("ra", put("work/a", json!({"x": 1})));
    let failures = stage.failures("ra", patch("work/a").set("x", json!(2)).status("processing"));
    assert!(matches!(failures[..], [Rejection::PreconditionRequired { .. }]), "{failures:?}");
    let done = stage.ok("ra", patch("work/a").set("x", json!(2)).status("processing").version(1));
    assert_eq!(
        (done.tags(), stage.status("work/a").as_deref()),
        (vec!["entry_written".to_owned()], Some("processing"))
    );
    stage.ok("ra", patch("work/a").set("x", json!(3)));
    assert_eq!(stage.status("work/a").as_deref(), Some("processing"));
}

#[test]
fn a_move_by_way_of_something_else_is_nobodys_write() {
    let mut stage = Stage::with(
        "[lifecycles.l]\ninitial = [\"a\"]\ntransitions = [{ from = \"a\", to = \"b\", via = \"late\" }]\n[zones.work]\nlifecycle = \"l\"",
    );
    stage.ok("ra", put("work/a", json!(1)));
    assert_eq!(stage.refused("ra", mv("work/a", 1, "b")), illegal(Some("a"), "b", &[]));
}

#[test]
fn a_status_that_cannot_be_had_is_pointed_at() {
    let mut stage = stage();
    for write in [put("work/a", json!(1)).status("gone"), put("work/a", json!(1)).status("pending")] {
        assert_eq!(stage.refusal("ra", write).failures[0].pointer.as_deref(), Some("/status"));
    }
}
