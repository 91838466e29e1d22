//! Scenarios of leases: fences, renewals, takeovers, revocations, holds.

use serde_json::json;

use crate::entry::{LeaseEnd, LeaseKind};
use crate::ids::LeaseToken;
use crate::rejection::{Forbidden, Rejection};
use crate::reply::Outcome;
use crate::scenario::{
    Stage, acquire, agent, close, delete, id, mv, note, put, release, renew, revoke, touch, transact,
};

const RULES: &str = r#"
[roles]
arbiter = ["rv"]
[zones.work]
[zones.capped]
max_hold_ms = 5000
[zones.held]
hold_ms = 1000
max_hold_ms = 3000
[zones.own]
access = "shared"
owners = ["ra", "rv"]
"#;

/// `work/a`, `capped/a` at version 1.
fn stage() -> Stage {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", put("capped/a", json!(1)));
    stage
}

fn held(by: &str, remaining_ms: u64, by_you: bool) -> Rejection {
    Rejection::LeaseHeld { held_by: agent(by), remaining_ms, by_you }
}

fn lost(token: u64, reason: LeaseEnd, held_by: Option<&str>) -> Rejection {
    Rejection::LeaseLost { token: LeaseToken(token), reason, held_by: held_by.map(agent) }
}

#[test]
fn a_grant_is_a_commit_and_its_revision_the_token() {
    let mut stage = stage();
    let done = stage.ok("rb", acquire("work/a", 60_000));
    assert_eq!((done.tags(), Some(done.token())), (vec!["lease_granted".to_owned()], done.revision.map(|r| r.0)));
    let grant = done.grant();
    assert_eq!((grant.ttl_ms, grant.deadline), (60_000, stage.now().plus_ms(60_000)));
    assert_eq!(stage.entry("work/a").version.0, 1, "a grant makes no version");
}

#[test]
fn the_holder_alone_writes_and_only_with_its_token() {
    let mut stage = stage();
    let token = stage.ok("rb", acquire("work/a", 1_000)).token();
    stage.at(400);
    assert_eq!(stage.refused("ra", put("work/a", json!(2)).version(1)), held("rb", 600, false));
    assert_eq!(stage.refused("ra", delete("work/a").version(1)), held("rb", 600, false));
    let required = Rejection::LeaseTokenRequired { remaining_ms: 600 };
    assert_eq!(stage.refused("rb", put("work/a", json!(2)).version(1)), required);
    assert_eq!(stage.refused("rb", delete("work/a").version(1)), required);
    let stolen = stage.refused("ra", put("work/a", json!(2)).version(1).token(token));
    assert_eq!(stolen, lost(token, LeaseEnd::NeverHeld, Some("rb")), "a token is no secret");
    stage.ok("rb", put("work/a", json!(2)).version(1).token(token));
    assert_eq!(stage.refused("rb", put("work/a", json!(3)).version(1).token(token)).clone(), {
        let (expected, actual) = (Some(crate::ids::Version(1)), Some(crate::ids::Version(2)));
        Rejection::VersionConflict { condition: crate::rejection::Condition::Named, expected, actual }
    });
}

#[test]
fn a_lease_needs_something_to_hold() {
    let missing = Rejection::NotFound { id: id("work/b") };
    assert_eq!(stage().refused("rb", acquire("work/b", 1_000)), missing);
    assert_eq!(stage().refused("rb", renew("work/b", 1, 1_000)), missing);
    assert_eq!(stage().refused("rb", release("work/b", 1)), missing);
    assert_eq!(stage().refused("rv", revoke("work/b")), missing);
}

#[test]
fn a_lease_is_renewed_from_now_on() {
    let mut stage = stage();
    let token = stage.ok("rb", acquire("work/a", 1_000)).token();
    stage.at(900);
    let done = stage.ok("rb", renew("work/a", token, 1_000));
    assert_eq!((done.token(), done.tags()), (token, vec!["lease_renewed".to_owned()]));
    stage.at(1_800);
    let done = stage.ok("rb", put("work/a", json!(2)).version(1).token(token).ttl(500));
    assert_eq!((done.token(), done.tags()), (token, vec!["entry_written".to_owned(), "lease_renewed".to_owned()]));
    stage.at(2_299);
    stage.ok("rb", renew("work/a", token, 100));
    stage.at(2_399);
    assert_eq!(stage.refused("rb", renew("work/a", token, 1_000)), lost(token, LeaseEnd::Expired, None));
}

#[test]
fn a_lease_that_ran_out_is_lost_also_where_nobody_took_over() {
    // cases.md, H1
    let mut stage = stage();
    let t1 = stage.ok("ra", acquire("work/a", 1_000)).token();
    stage.at(1_200);
    assert_eq!(stage.refused("ra", renew("work/a", t1, 1_000)), lost(t1, LeaseEnd::Expired, None));
    let t2 = stage.ok("rb", acquire("work/a", 1_000)).token();
    assert!(t2 > t1);
    let refusal = stage.refusal("ra", put("work/a", json!(2)).version(1).token(t1));
    assert_eq!(refusal.first(), &lost(t1, LeaseEnd::Expired, Some("rb")));
    assert_eq!(stage.value("work/a"), json!(1));
    assert_eq!(stage.refused("ra", release("work/a", t1)), lost(t1, LeaseEnd::Expired, Some("rb")));
    assert_eq!(stage.holder("work/a"), Some("rb"));
}

#[test]
fn a_lease_is_live_until_its_deadline_and_not_at_it() {
    let mut stage = stage();
    let token = stage.ok("rb", acquire("work/a", 1_000)).token();
    stage.at(999).ok("rb", put("work/a", json!(2)).version(1).token(token));
    let refused = stage.at(1_000).refused("rb", put("work/a", json!(3)).version(2).token(token));
    assert_eq!(refused, lost(token, LeaseEnd::Expired, None));
}

#[test]
fn the_same_agent_asks_again_and_may_take_over_its_own() {
    let mut stage = stage();
    let old = stage.ok("rb", acquire("work/a", 1_000)).token();
    assert_eq!(stage.refused("rb", acquire("work/a", 1_000)), held("rb", 1_000, true));
    assert_eq!(stage.refused("ra", acquire("work/a", 1_000).takeover()), held("rb", 1_000, false));
    let new = stage.ok("rb", acquire("work/a", 1_000).takeover()).token();
    assert!(new > old);
    let fenced = stage.refused("rb", put("work/a", json!(2)).version(1).token(old));
    assert_eq!(fenced, lost(old, LeaseEnd::Superseded, Some("rb")));
    stage.ok("rb", put("work/a", json!(2)).version(1).token(new));
}

#[test]
fn every_way_to_lose_a_lease_is_told_by_name() {
    let mut stage = stage();
    let token = stage.ok("rb", acquire("work/a", 1_000)).token();
    stage.ok("rb", release("work/a", token));
    assert_eq!(stage.refused("rb", renew("work/a", token, 1_000)), lost(token, LeaseEnd::Released, None));
    assert_eq!(stage.refused("rc", renew("work/a", token, 1_000)), lost(token, LeaseEnd::NeverHeld, None));
    let token = stage.ok("rb", acquire("work/a", 1_000)).token();
    let done = stage.ok("rv", revoke("work/a"));
    assert_eq!(done.tags(), ["lease_revoked"]);
    assert_eq!(stage.refused("rb", release("work/a", token)), lost(token, LeaseEnd::Revoked, None));
    let token = stage.ok("rb", acquire("work/a", 1_000)).token();
    stage.ok("rb", delete("work/a").version(1).token(token));
    assert_eq!(stage.refused("rb", renew("work/a", token, 1_000)), lost(token, LeaseEnd::Deleted, None));
    assert_eq!(stage.refused("rb", release("work/a", token)), lost(token, LeaseEnd::Deleted, None));
    assert_eq!(stage.refused("rb", put("work/a", json!(1)).token(token)), lost(token, LeaseEnd::Deleted, None));
    assert_eq!(stage.refused("rb", renew("work/a", 999, 1_000)), lost(999, LeaseEnd::NeverHeld, None));
}

#[test]
fn a_lease_so_old_that_it_is_forgotten_was_superseded() {
    let mut stage = stage();
    let first = stage.ok("rb", acquire("work/a", 1_000)).token();
    for _ in 0..crate::board::ENDED_LEASES_MAX + 1 {
        stage.ok("rb", acquire("work/a", 1_000).takeover());
    }
    let refused = stage.refused("rb", renew("work/a", first, 1_000));
    assert_eq!(refused, lost(first, LeaseEnd::Superseded, Some("rb")));
}

#[test]
fn an_arbiter_writes_past_a_lease_and_leaves_it_live() {
    let mut stage = stage();
    let token = stage.ok("rb", acquire("work/a", 1_000)).token();
    let done = stage.ok("rv", put("work/a", json!(2)).version(1));
    assert_eq!(done.receipt().owner, Some(agent("rb")));
    assert_eq!((stage.holder("work/a"), stage.owner("work/a").as_deref()), (Some("rb"), Some("rb")));
    assert_eq!(stage.refused("rv", put("work/a", json!(3)).version(2).ttl(1_000)), held("rb", 1_000, false));
    assert_eq!(stage.refused("rv", acquire("work/a", 1_000)), held("rb", 1_000, false));
    stage.ok("rb", put("work/a", json!(3)).version(2).token(token));
    stage.ok("rv", delete("work/a").version(3));
    assert_eq!(stage.holder("work/a"), None);
}

#[test]
fn only_an_arbiter_ends_the_lease_of_another() {
    let mut stage = stage();
    stage.ok("rb", acquire("work/a", 1_000));
    assert_eq!(stage.refused("ra", revoke("work/a")), Rejection::Forbidden { why: Forbidden::NotYourLease });
    assert_eq!(stage.refused("rb", revoke("work/a")), Rejection::LeaseTokenRequired { remaining_ms: 1_000 });
    stage.ok("rv", revoke("work/a"));
    assert_eq!(stage.refused("rv", revoke("work/a")), Rejection::NoLease { id: id("work/a") });
    assert_eq!(stage.owner("work/a").as_deref(), None);
}

#[test]
fn a_write_may_lease_what_it_creates_or_changes() {
    let mut stage = stage();
    let done = stage.ok("rb", put("work/b", json!(1)).ttl(1_000));
    assert_eq!(done.tags(), ["entry_written", "lease_granted"]);
    let token = done.token();
    stage.ok("rb", put("work/b", json!(2)).version(1).token(token));
    let done = stage.ok("rb", touch("work/a").version(1).ttl(1_000));
    assert_eq!((done.receipt().outcome, done.tags()), (Outcome::Unchanged, vec!["lease_granted".to_owned()]));
    assert_eq!(stage.refused("ra", touch("work/a").version(1).ttl(1_000)), held("rb", 1_000, false));
}

#[test]
fn no_renewal_passes_the_longest_hold_of_the_zone() {
    let mut stage = stage();
    let done = stage.ok("rb", acquire("capped/a", 60_000));
    let (token, end) = (done.token(), stage.now().plus_ms(5_000));
    assert_eq!(done.grant().deadline, end);
    stage.at(4_000);
    assert_eq!(stage.ok("rb", renew("capped/a", token, 60_000)).grant().deadline, end);
    assert_eq!(stage.ok("rb", renew("capped/a", token, 100)).grant().deadline, stage.now().plus_ms(100));
}

#[test]
fn a_release_or_a_move_under_the_lease_clears_the_attempts() {
    let rules = "[lifecycles.l]\ninitial = [\"a\"]\ntransitions = [{ from = \"a\", to = \"b\" }, { from = \"b\", to = \"a\" }]\n[zones.work]\nlifecycle = \"l\"";
    let mut stage = Stage::with(rules);
    stage.ok("ra", put("work/a", json!(1)));
    let expire = |stage: &mut Stage, ms| {
        stage.ok("rb", acquire("work/a", 100));
        stage.at(ms).tick();
    };
    expire(&mut stage, 1_000);
    expire(&mut stage, 2_000);
    assert_eq!(stage.entry("work/a").attempts, 2);
    let token = stage.ok("rb", acquire("work/a", 100)).token();
    stage.ok("rb", put("work/a", json!(2)).version(1).token(token));
    assert_eq!(stage.entry("work/a").attempts, 2, "a value written is no success yet");
    stage.ok("rb", release("work/a", token));
    assert_eq!(stage.entry("work/a").attempts, 0);
    expire(&mut stage, 3_000);
    stage.ok("ra", mv("work/a", 2, "b"));
    assert_eq!(stage.entry("work/a").attempts, 1, "not under a lease");
    let token = stage.ok("rb", acquire("work/a", 100)).token();
    stage.ok("rb", mv("work/a", 3, "a").token(token));
    assert_eq!(stage.entry("work/a").attempts, 0);
    stage.at(4_000).tick();
    let token = stage.ok("rb", acquire("work/a", 100)).token();
    stage.ok("rb", put("work/a", json!(3)).status("b").version(4).token(token));
    assert_eq!(stage.entry("work/a").attempts, 0);
}

#[test]
fn a_writer_of_a_zone_with_holds_keeps_others_out_for_a_while() {
    let mut stage = stage();
    let done = stage.ok("ra", put("held/a", json!(1)));
    assert_eq!(
        (done.tags(), done.receipt().lease.as_ref()),
        (vec!["entry_written".to_owned(), "lease_granted".to_owned()], None)
    );
    stage.at(600);
    assert_eq!(stage.refused("rb", put("held/a", json!(2)).version(1)), held("ra", 400, false));
    stage.ok("ra", put("held/a", json!(2)).version(1));
    stage.at(1_500);
    assert_eq!(stage.refused("rb", put("held/a", json!(3)).version(2)), held("ra", 100, false), "each write renews");
    stage.at(1_600);
    stage.ok("rb", put("held/a", json!(3)).version(2));
    assert_eq!(stage.holder("held/a"), Some("rb"));
}

#[test]
fn the_end_of_a_hold_clears_the_owner_and_nothing_else() {
    let mut stage = stage();
    stage.ok("ra", put("held/a", json!(1)));
    let events = stage.at(1_000).tick();
    assert_eq!(events.iter().map(crate::scenario::tag).collect::<Vec<_>>(), ["lease_expired"]);
    let entry = stage.entry("held/a");
    assert_eq!((entry.attempts, entry.version.0), (0, 1));
    assert_eq!(stage.owner("held/a").as_deref(), None);
}

#[test]
fn a_hold_lasts_no_longer_than_the_zone_allows() {
    let mut stage = stage();
    stage.ok("ra", put("held/a", json!(0)));
    for (version, ms) in [(1, 900), (2, 1_800), (3, 2_700)] {
        stage.at(ms).ok("ra", put("held/a", json!(version)).version(version));
    }
    stage.at(3_000);
    stage.ok("rb", put("held/a", json!(9)).version(4));
}

#[test]
fn a_hold_becomes_a_lease_for_the_asking() {
    let mut stage = stage();
    stage.ok("ra", put("held/a", json!(1)));
    assert_eq!(stage.refused("rb", acquire("held/a", 1_000)), held("ra", 1_000, false));
    let token = stage.ok("ra", acquire("held/a", 2_000)).token();
    assert_eq!(stage.board.lease(&id("held/a")).map(|lease| lease.kind), Some(LeaseKind::Lease));
    assert!(matches!(stage.refused("ra", put("held/a", json!(2)).version(1)), Rejection::LeaseTokenRequired { .. }));
    stage.ok("ra", put("held/a", json!(2)).version(1).token(token));
    assert_eq!(stage.board.lease(&id("held/a")).map(|lease| lease.token.0), Some(token), "and stays one");
    let done = stage.ok("rb", put("held/b", json!(1)));
    assert_eq!(done.receipt().lease, None);
    let done = stage.ok("rb", put("held/b", json!(2)).version(1).ttl(500));
    assert!(done.receipt().lease.is_some(), "a write may ask as well");
}

#[test]
fn a_hold_has_no_token_and_its_holder_may_let_go() {
    let mut stage = stage();
    let revision = stage.ok("ra", put("held/a", json!(1))).revision.expect("a commit").0;
    let refused = stage.refused("ra", put("held/a", json!(2)).version(1).token(revision));
    assert_eq!(refused, lost(revision, LeaseEnd::NeverHeld, Some("ra")));
    let done = stage.ok("ra", revoke("held/a"));
    assert_eq!(done.tags(), ["lease_released"]);
    stage.ok("rb", put("held/a", json!(2)).version(1));
    stage.ok("rv", revoke("held/a"));
    assert_eq!(stage.owner("held/a").as_deref(), None);
}

#[test]
fn letting_go_of_a_hold_forgives_no_attempts() {
    let mut stage = stage();
    stage.ok("ra", put("held/a", json!(1)));
    stage.ok("ra", acquire("held/a", 100));
    stage.at(100).tick();
    assert_eq!(stage.entry("held/a").attempts, 1);
    stage.ok("ra", put("held/a", json!(2)).version(1));
    stage.ok("ra", revoke("held/a"));
    assert_eq!(stage.entry("held/a").attempts, 1);
}

#[test]
fn an_arbiters_write_takes_no_hold_from_another() {
    let mut stage = stage();
    stage.ok("ra", put("held/a", json!(1)));
    stage.ok("rv", put("held/a", json!(2)).version(1));
    assert_eq!(stage.holder("held/a"), Some("ra"));
    stage.ok("ra", put("held/a", json!(3)).version(2));
}

#[test]
fn marks_and_equal_values_begin_no_hold() {
    let mut stage = stage();
    stage.ok("ra", put("held/a", json!(1)));
    stage.at(1_000);
    stage.ok("rb", touch("held/a").summary("s").version(1));
    stage.ok("rb", put("held/a", json!(1)).version(2));
    assert_eq!(stage.holder("held/a"), None);
}

#[test]
fn notes_pass_a_lease() {
    let mut stage = stage();
    stage.ok("rb", acquire("work/a", 1_000));
    stage.ok("rc", note("work/a", "hurry"));
    let open = stage.board.notes(&id("work/a")).expect("one")[0].id.clone();
    stage.ok("rb", close("work/a", &open));
}

#[test]
fn the_nameless_have_no_leases() {
    let mut stage = stage();
    let named = Rejection::AgentRequired { what: "a lease" };
    assert_eq!(stage.refused("anonymous", acquire("work/a", 1_000)), named);
    assert_eq!(stage.refused("anonymous", renew("work/a", 1, 1_000)), named);
    assert_eq!(stage.refused("anonymous", release("work/a", 1)), named);
    assert_eq!(stage.refused("anonymous", crate::scenario::claim("work", 1_000)), named);
    assert_eq!(stage.refused("anonymous", put("work/b", json!(1)).ttl(1_000)), named);
    assert_eq!(stage.refused("anonymous", put("work/b", json!(1)).token(1)), named);
    assert_eq!(stage.refused("anonymous", delete("work/a").version(1).token(1)), named);
    assert_eq!(stage.refused("anonymous", transact().and(acquire("work/a", 1_000))), named);
    assert_eq!(stage.refused("anonymous", transact().and(delete("work/a").version(1).token(1))), named);
}

#[test]
fn rights_come_before_the_token_but_a_holder_may_always_let_go() {
    let mut stage = stage();
    stage.ok("rb", put("own/a", json!(1)));
    let token = stage.ok("rb", acquire("own/a", 60_000)).token();
    // The arbiter writes under the lease, and from now on the entry is the owners'.
    stage.ok("rv", put("own/a", json!(2)).version(1));
    let restricted = |rejection| matches!(rejection, Rejection::ZoneRestricted { .. });
    assert!(restricted(stage.refused("rc", renew("own/a", token, 1_000))), "who never had it learns nothing");
    assert!(restricted(stage.refused("rc", release("own/a", token))));
    assert!(restricted(stage.refused("rb", renew("own/a", token, 1_000))), "one leases only what one may write");
    stage.ok("rb", release("own/a", token));
}

#[test]
fn a_new_token_does_not_begin_the_cap_on_holding_anew() {
    let mut stage = stage();
    let end = stage.now().plus_ms(5_000);
    stage.ok("rb", acquire("capped/a", 60_000));
    stage.at(4_000);
    assert_eq!(stage.ok("rb", acquire("capped/a", 60_000).takeover()).grant().deadline, end);
    stage.at(5_000);
    let token = stage.ok("rc", acquire("capped/a", 60_000)).token();
    assert_eq!(stage.owner("capped/a").as_deref(), Some("rc"));
    assert_eq!(stage.board.lease(&id("capped/a")).expect("live").token.0, token);
}
