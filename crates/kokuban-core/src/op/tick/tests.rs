//! Scenarios of time: expiries with and without a way back, many at once, and starts of the server.

use serde_json::json;

use crate::entry::LeaseEnd;
use crate::event::Event;
use crate::ids::LeaseToken;
use crate::rejection::Rejection;
use crate::scenario::{Stage, acquire, create, id, put, renew, tag, transact};

const RULES: &str = r#"
[lifecycles.l]
initial = ["raw", "processing"]
transitions = [{ from = "raw", to = "processing" }, { from = "processing", to = "done" }]
on_lease_expired = { processing = "raw" }
[zones.work]
lifecycle = "l"
[zones.plain]
[zones.held]
lifecycle = "l"
hold_ms = 1000
"#;

#[test]
fn an_expiry_gives_the_status_back_in_the_same_revision() {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("work/a", json!(1)).status("processing").ttl(1_000));
    let before = stage.board.revision();
    let events = stage.at(1_000).tick();
    let [Event::LeaseExpired { fallback: Some(fallback), .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((fallback.from.as_str(), fallback.to.as_str(), fallback.version.0), ("processing", "raw", 2));
    assert_eq!(stage.board.revision(), before.next());
    let entry = stage.entry("work/a");
    assert_eq!((entry.version.0, entry.attempts, entry.value_version.0), (2, 1, 1));
    assert_eq!((stage.status("work/a").as_deref(), stage.owner("work/a").as_deref()), (Some("raw"), None));
    let refusal = stage.refusal("ra", put("work/a", json!(2)).version(1));
    assert!(!refusal.current.expect("what stands").yours, "the server made this version");
}

#[test]
fn an_expiry_without_a_way_back_makes_no_version() {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("work/a", json!(1)).ttl(1_000));
    stage.ok("ra", put("plain/a", json!(1)).ttl(1_000));
    stage.at(1_000).tick();
    assert_eq!((stage.entry("work/a").version.0, stage.status("work/a").as_deref()), (1, Some("raw")));
    assert_eq!((stage.entry("plain/a").version.0, stage.entry("plain/a").attempts), (1, 1));
}

#[test]
fn the_end_of_a_hold_leaves_the_status() {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("held/a", json!(1)).status("processing"));
    stage.at(1_000).tick();
    assert_eq!((stage.status("held/a").as_deref(), stage.entry("held/a").version.0), (Some("processing"), 1));
}

#[test]
fn nothing_is_worked_off_before_its_time() {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("work/a", json!(1)).ttl(1_000));
    assert_eq!(stage.board.next_deadline(), Some(stage.now().plus_ms(1_000)));
    assert_eq!(stage.at(999).tick(), []);
    assert_eq!(stage.at(1_000).tick().len(), 1);
    assert_eq!((stage.board.next_deadline(), stage.tick()), (None, vec![]));
}

#[test]
fn two_thousand_leases_may_end_in_the_same_millisecond() {
    // cases.md, H2
    let mut stage = Stage::with(RULES).quick();
    for n in 0..2_000 {
        stage.ok("ra", put(&format!("plain/k{n}"), json!(n)).ttl(1_000));
    }
    let token = stage.board.lease(&id("plain/k1999")).expect("the last").token;
    let before = stage.board.revision().0;
    let guarded = transact()
        .and(put("plain/k1998", json!(0)).version(1))
        .and(put("plain/k1999", json!(0)).version(1).token(token.0));
    let refused = stage.at(1_001).refused("ra", guarded);
    assert_eq!(refused, Rejection::LeaseLost { token, reason: LeaseEnd::Expired, held_by: None });
    assert_eq!(stage.board.revision().0, before + 2, "a thousand in each commit, and nothing of the transaction");
    assert_eq!((stage.board.n_leases(), stage.owner("plain/k1999").as_deref()), (0, None));
    assert_eq!(stage.value("plain/k1998"), json!(1_998));
    stage.check();
}

fn resumed(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::LeaseResumed { .. })).count()
}

#[test]
fn a_start_gives_holders_a_moment_three_times_in_a_row() {
    let mut stage = Stage::with(RULES);
    let token = stage.ok("ra", put("plain/a", json!(1)).ttl(60_000)).token();
    assert_eq!(stage.at(8_000).restart(), [], "there is time enough");
    let lease = |stage: &Stage| stage.board.lease(&id("plain/a")).cloned();
    stage.at(59_000).restart();
    assert_eq!(lease(&stage).expect("live").deadline, stage.now().plus_ms(5_000));
    stage.at(63_000).restart();
    stage.at(67_000).restart();
    assert_eq!(lease(&stage).expect("live").resumed, 3);
    assert_eq!(resumed(&stage.at(71_000).restart()), 0);
    stage.at(71_999).ok("ra", renew("plain/a", token, 6_000));
    assert_eq!(lease(&stage).expect("live").resumed, 0, "a renewal begins the count anew");
    assert_eq!(resumed(&stage.at(75_000).restart()), 1);
    assert_eq!(stage.at(80_000).tick().len(), 1);
}

#[test]
fn a_crash_loop_makes_no_lease_immortal() {
    // cases.md, H3
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("plain/a", json!(1)).ttl(60_000));
    let mut expiries = 0;
    for n in 1..=10 {
        let events = stage.at(n * 8_000).restart();
        expiries += events.iter().filter(|event| tag(event) == "lease_expired").count();
    }
    assert_eq!((expiries, stage.board.n_leases()), (1, 0));
}

#[test]
fn a_short_lease_is_topped_up_to_its_own_length_only() {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("plain/a", json!(1)).ttl(500));
    stage.at(10_000).restart();
    assert_eq!(stage.board.next_deadline(), Some(stage.now().plus_ms(500)), "downtime alone ended it: once more");
}

#[test]
fn what_had_run_out_before_the_last_commit_is_not_resumed() {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("plain/a", json!(1)).ttl(1_000));
    let token = stage.ok("ra", put("plain/b", json!(1)).ttl(5_000)).token();
    // The server wrote at 1,000 but fell before its tick was recorded: only another commit shows the time.
    stage.at(1_000);
    let without_tick = crate::command::decide(
        &stage.board,
        &renew("plain/b", token, 5_000).into(),
        &crate::command::Context {
            now: stage.now(),
            at: crate::ids::Timestamp(0),
            actor: Some(Stage::actor("ra")),
            request_id: "q".into(),
            trace_id: None,
            repeat: None,
            fresh_epoch: crate::ids::Epoch(0),
            base: crate::ids::Revision::ZERO,
            create_with: None,
        },
    );
    let crate::command::Decision::Commit { commit, .. } = without_tick.expect("accepted") else { panic!("a commit") };
    stage.record(&commit);
    let events = stage.restart();
    assert_eq!(events.iter().map(tag).collect::<Vec<_>>(), ["lease_expired"]);
    assert_eq!(events[0].entry(), Some(&id("plain/a")));
}

#[test]
fn a_start_of_a_board_that_is_not_there_does_nothing() {
    let mut stage = Stage::empty();
    assert_eq!(stage.restart(), []);
    stage.ok("ra", create(RULES));
    stage.ok("ra", put("plain/a", json!(1)));
    assert_eq!(stage.restart(), []);
    stage.ok("ra", acquire("plain/a", 100));
    assert_eq!(stage.board.lease(&id("plain/a")).map(|lease| lease.token), Some(LeaseToken(3)));
}
