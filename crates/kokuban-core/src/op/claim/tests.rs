//! Scenarios of claims: what waits longest goes first, to whoever may work on it.

use serde_json::json;

use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::scenario::{
    Outcome, Stage, acquire, claim, id, mv, note, put, release, renew, status, statuses, touch, zone_name,
};

const RULES: &str = r#"
[roles]
arbiter = ["rv"]
[lifecycles.l]
initial = ["raw", "processing"]
transitions = [
  { from = "raw", to = "processing" },
  { from = "processing", to = "done", by = ["not_author"] },
]
on_lease_expired = { processing = "raw" }
[zones.work]
lifecycle = "l"
[zones.plain]
[zones.shared]
access = "shared"
owners = ["ra"]
"#;

fn stage() -> Stage {
    let mut stage = Stage::with(RULES);
    for key in ["c", "a", "b"] {
        stage.ok("ra", put(&format!("work/{key}"), json!(key)));
    }
    stage
}

fn claimed(stage: &mut Stage, agent: &str, what: crate::command::Claim) -> Option<String> {
    match stage.decide(agent, what).unwrap_or_else(|refusal| panic!("{refusal:?}")) {
        Outcome::Nothing => None,
        Outcome::Done(done) => match done.reply {
            Reply::Claimed { id, .. } => Some(id.to_string()),
            other => panic!("{other:?}"),
        },
        Outcome::Replay(_) => panic!("a replay"),
    }
}

#[test]
fn what_changed_longest_ago_goes_first() {
    let mut stage = stage();
    stage.ok("rx", touch("work/c").summary("s").version(1));
    let order: Vec<_> = (0..4).map(|_| claimed(&mut stage, "rb", claim("work", 1_000))).collect();
    assert_eq!(order, [Some("work/a".into()), Some("work/b".into()), Some("work/c".into()), None]);
}

#[test]
fn a_claim_shows_the_entry_as_it_is_then() {
    let mut stage = stage();
    stage.ok("rx", note("work/c", "look here"));
    let done = stage.ok("rb", claim("work", 1_000).in_status("raw").to("processing"));
    assert_eq!(done.tags(), ["entry_moved", "lease_granted"]);
    let Reply::Claimed { id: place, grant, entry, notes } = &done.reply else { panic!("{done:?}") };
    assert_eq!((place, *notes, grant.ttl_ms), (&id("work/c"), 1, 1_000));
    assert_eq!((entry.version.0, entry.status.as_ref()), (2, Some(&status("processing"))));
    assert_eq!(**entry, stage.entry("work/c"));
    assert_eq!((stage.owner("work/c").as_deref(), grant.token.0), (Some("rb"), done.revision.expect("a commit").0));
}

#[test]
fn an_entry_that_kills_its_workers_goes_to_the_end() {
    let mut stage = stage();
    assert_eq!(claimed(&mut stage, "rb", claim("work", 1_000).to("processing")), Some("work/c".into()));
    stage.at(1_000);
    let order: Vec<_> = (0..3).map(|_| claimed(&mut stage, "rb", claim("work", 60_000).to("processing"))).collect();
    assert_eq!(order, [Some("work/a".into()), Some("work/b".into()), Some("work/c".into())]);
    assert_eq!(stage.entry("work/c").attempts, 1, "the claim itself is no success");
}

#[test]
fn a_renewal_is_no_change_but_a_release_is() {
    let mut stage = stage();
    let token = stage.ok("rb", acquire("work/c", 1_000)).token();
    stage.ok("rb", renew("work/c", token, 1_000));
    stage.ok("rb", release("work/c", token));
    assert_eq!(claimed(&mut stage, "rb", claim("work", 1_000)), Some("work/a".into()));
}

#[test]
fn a_claim_takes_what_fits() {
    let mut stage = stage();
    stage.ok("ra", put("work/x/1", json!(1)).status("processing"));
    stage.ok("ra", put("work/x/2", json!(1)));
    assert_eq!(claimed(&mut stage, "rb", claim("work", 1_000).in_status("processing")), Some("work/x/1".into()));
    assert_eq!(claimed(&mut stage, "rb", claim("work", 1_000).in_status("processing")), None);
    assert_eq!(claimed(&mut stage, "rb", claim("work", 1_000).under("x/")), Some("work/x/2".into()));
    assert_eq!(claimed(&mut stage, "rb", claim("work", 1_000).under("x/")), None);
    assert_eq!(claimed(&mut stage, "rb", claim("work", 1_000).in_status("done")), None);
}

#[test]
fn only_who_may_make_the_move_gets_the_entry() {
    let mut stage = stage();
    stage.ok("ra", mv("work/a", 1, "processing"));
    stage.ok("rb", put("work/d", json!(1)).status("processing"));
    let finish = || claim("work", 1_000).in_status("processing").to("done");
    assert_eq!(claimed(&mut stage, "rb", finish()), Some("work/a".into()));
    assert_eq!(claimed(&mut stage, "ra", finish()), Some("work/d".into()));
    assert_eq!(claimed(&mut stage, "rc", claim("work", 1_000).in_status("raw").to("done")), None);
    assert_eq!(claimed(&mut stage, "rc", claim("work", 1_000).to("raw")), Some("work/c".into()), "staying is no move");
}

#[test]
fn locked_entries_are_left_but_for_an_arbiter() {
    let mut stage = stage();
    stage.ok("ra", mv("work/a", 1, "processing"));
    stage.ok("rb", mv("work/a", 2, "done"));
    assert_eq!(claimed(&mut stage, "rb", claim("work", 1_000).in_status("done")), None);
    assert_eq!(claimed(&mut stage, "rv", claim("work", 1_000).in_status("done")), Some("work/a".into()));
}

#[test]
fn what_one_may_not_write_one_does_not_get() {
    let mut stage = stage();
    stage.ok("ra", put("shared/a", json!(1)));
    stage.ok("rc", put("shared/b", json!(1)));
    assert_eq!(claimed(&mut stage, "rb", claim("shared", 1_000)), Some("shared/b".into()));
    assert_eq!(claimed(&mut stage, "rb", claim("shared", 1_000)), None);
}

#[test]
fn a_zone_without_lifecycle_can_be_claimed_from() {
    let mut stage = stage();
    assert_eq!(claimed(&mut stage, "rb", claim("plain", 1_000)), None);
    stage.ok("ra", put("plain/a", json!(1)));
    assert_eq!(claimed(&mut stage, "rb", claim("plain", 1_000)), Some("plain/a".into()));
    let unknown = Rejection::UnknownStatus { status: status("raw"), known: Vec::new() };
    assert_eq!(stage.refused("rb", claim("plain", 1_000).in_status("raw")), unknown);
}

#[test]
fn what_can_never_fit_is_refused_at_once() {
    let mut stage = stage();
    let known = statuses(&["raw", "processing", "done"]);
    let unknown = |name: &str| Rejection::UnknownStatus { status: status(name), known: known.clone() };
    assert_eq!(stage.refused("rb", claim("work", 1_000).in_status("gone")), unknown("gone"));
    assert_eq!(stage.refused("rb", claim("work", 1_000).to("gone")), unknown("gone"));
    let missing = Rejection::ZoneNotFound { zone: zone_name("nowhere") };
    assert_eq!(stage.refused("rb", claim("nowhere", 1_000)), missing);
}

#[test]
fn entries_of_one_revision_go_in_order_of_their_keys() {
    let mut stage = Stage::with(RULES);
    let both = crate::scenario::transact()
        .and(put("work/z", json!(1)))
        .and(put("work/y", json!(1)).status("processing"))
        .and(put("work/x", json!(1)));
    stage.ok("ra", both);
    let order: Vec<_> = (0..3).filter_map(|_| claimed(&mut stage, "rb", claim("work", 1_000))).collect();
    assert_eq!(order, ["work/x", "work/y", "work/z"]);
}
