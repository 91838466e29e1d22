//! Scenarios of repeats, and the proof that every refusal and every event has a scenario.

use serde_json::json;

use crate::board::{KEYS_MAX, KEYS_MIN, KEYS_MS};
use crate::event::{Commit, Standing};
use crate::ids::Revision;
use crate::record::decode;
use crate::rejection::Rejection;
use crate::reply::{Outcome as Result, Reply};
use crate::scenario::{Outcome, Stage, acquire, claim, id, put, transact};

const PLAIN: &str = "[zones.work]";

fn replayed(outcome: std::result::Result<Outcome, crate::rejection::Refusal>) -> Revision {
    match outcome {
        Ok(Outcome::Replay(revision)) => revision,
        other => panic!("no replay: {other:?}"),
    }
}

#[test]
fn a_repeat_has_the_first_answer_and_no_second_effect() {
    let mut stage = Stage::with(PLAIN);
    let first = stage.key("task:1", "put a 1").ok("ra", put("work/a", json!(1)));
    stage.ok("rb", put("work/a", json!(2)).version(1));
    let again = stage.key("task:1", "put a 1").decide("ra", put("work/a", json!(1)));
    assert_eq!(Some(replayed(again)), first.revision);
    assert_eq!(stage.value("work/a"), json!(2));
}

#[test]
fn a_key_that_asks_something_else_is_refused() {
    let mut stage = Stage::with(PLAIN);
    stage.key("k", "one").ok("ra", put("work/a", json!(1)));
    let refused = stage.key("k", "two").refused("ra", put("work/b", json!(1)));
    assert_eq!(refused, Rejection::IdempotencyMismatch);
    stage.key("k", "two").ok("rb", put("work/b", json!(1)));
    assert!(stage.board.key_record(&crate::scenario::agent("rb"), "k").is_some(), "each caller has its own");
}

#[test]
fn the_zone_is_asked_for_before_the_key() {
    let mut stage = Stage::with("[zones.work]\nowners = [\"ra\"]\nreaders = [\"ra\"]");
    stage.key("k", "one").ok("ra", put("work/a", json!(1)));
    let refused = stage.key("k", "one").refused("rb", put("work/a", json!(1)));
    assert!(matches!(refused, Rejection::ZoneNotFound { .. }), "{refused:?}");
}

#[test]
fn a_write_that_changed_nothing_commits_its_key_alone() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!(1)));
    let done = stage.key("k", "same").ok("ra", put("work/a", json!(1)).version(1));
    assert_eq!((done.receipt().outcome, done.events.len(), done.revision), (Result::Unchanged, 0, Some(Revision(3))));
    let again = stage.key("k", "same").decide("ra", put("work/a", json!(1)).version(1));
    assert_eq!(replayed(again), Revision(3));
}

#[test]
fn refusals_and_empty_claims_are_judged_anew() {
    let mut stage = Stage::with(PLAIN);
    assert!(matches!(stage.key("k", "claim").decide("ra", claim("work", 1_000)), Ok(Outcome::Nothing)));
    stage.key("w", "put").refused("ra", put("work/a", json!(1)).version(1));
    stage.ok("rb", put("work/a", json!(0)));
    stage.key("w", "put").ok("ra", put("work/a", json!(1)).version(1));
    let done = stage.key("k", "claim").ok("ra", claim("work", 1_000));
    assert!(matches!(done.reply, Reply::Claimed { .. }));
    assert_eq!(Some(replayed(stage.key("k", "claim").decide("ra", claim("work", 1_000)))), done.revision);
}

#[test]
fn a_repeat_of_a_grant_leads_to_the_commit_that_made_it() {
    let mut stage = Stage::with(PLAIN);
    stage.ok("ra", put("work/a", json!(1)));
    let token = stage.key("k", "lease").ok("ra", acquire("work/a", 1_000)).token();
    stage.at(5_000);
    assert_eq!(replayed(stage.key("k", "lease").decide("ra", acquire("work/a", 1_000))).0, token);
    assert_eq!(stage.holder("work/a"), None);
}

#[test]
fn the_nameless_have_no_keys() {
    let mut stage = Stage::with(PLAIN);
    let refused = stage.key("k", "x").refused("anonymous", put("work/a", json!(1)));
    assert_eq!(refused, Rejection::AgentRequired { what: "an Idempotency-Key" });
    stage.ok("anonymous", put("work/a", json!(1)));
}

#[test]
fn keys_survive_a_restart() {
    let mut stage = Stage::with(PLAIN);
    let first = stage.key("k", "x").ok("ra", put("work/a", json!(1)));
    stage.restart();
    assert_eq!(Some(replayed(stage.key("k", "x").decide("ra", put("work/a", json!(1))))), first.revision);
}

#[test]
fn keys_are_kept_for_a_day_within_bounds() {
    let mut stage = Stage::with(PLAIN).quick();
    let touch = |stage: &mut Stage, n: usize| {
        stage.key(&format!("k{n}"), "x").ok("ra", transact());
    };
    let known =
        |stage: &Stage, n: usize| stage.board.key_record(&crate::scenario::agent("ra"), &format!("k{n}")).is_some();
    for n in 0..KEYS_MAX {
        touch(&mut stage, n);
    }
    assert!(known(&stage, 0));
    touch(&mut stage, KEYS_MAX);
    assert!(!known(&stage, 0) && known(&stage, 1), "at most so many");
    stage.at(KEYS_MS);
    touch(&mut stage, KEYS_MAX + 1);
    assert!(known(&stage, 2), "a day is not over");
    stage.at(KEYS_MS + 1);
    touch(&mut stage, KEYS_MAX + 2);
    let kept = (0..KEYS_MAX + 3).filter(|n| known(&stage, *n)).count();
    assert_eq!(kept, KEYS_MIN, "at least so many, however old");
    stage.check();
}

#[test]
fn a_commit_says_who_asked_and_when() {
    let mut stage = Stage::with(PLAIN);
    stage.at(7);
    stage.ok("ra", put("work/a", json!(1)));
    let entry = stage.entry("work/a");
    assert_eq!(
        (entry.updated.by.as_str(), entry.updated.at.0, entry.request_id.as_str()),
        ("ra", 1_700_001_000_007, "q2")
    );
    assert_eq!((stage.board.time(), stage.board.n_entries()), (stage.now(), 1));
    assert!(stage.board.entry(&id("work/a")).is_some());
}

#[test]
fn a_commit_says_once_how_it_left_each_entry() {
    let rules = "[lifecycles.l]\ninitial = [\"raw\"]\ntransitions = [{ from = \"raw\", to = \"busy\" }]\n[zones.work]\nlifecycle = \"l\"";
    let mut stage = Stage::with(rules);
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", put("work/gone", json!(1)));
    stage.ok("rb", claim("work", 1_000).to("busy"));
    stage.ok("ra", transact().and(crate::scenario::delete("work/gone").version(1)));
    let touched = |at: usize| {
        let commit = decode::<Commit>(&stage.log()[at].0).expect("it reads back").content;
        commit
            .touched
            .into_iter()
            .map(|touched| {
                let standing = |standing: Option<Standing>| {
                    standing.map(|s| format!("{}/{}", s.status.expect("a status"), s.owner.expect("an owner")))
                };
                let held_by = touched.held_by.map(|holder| holder.to_string());
                (touched.id.to_string(), touched.version.0, standing(touched.before), standing(touched.after), held_by)
            })
            .collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(touched(0), []);
    assert_eq!(touched(1), [("work/a".into(), 1, None, text("raw/ra"), None)]);
    assert_eq!(touched(3), [("work/a".into(), 2, text("raw/ra"), text("busy/rb"), text("rb"))]);
    assert_eq!(touched(4), [("work/gone".into(), 2, text("raw/ra"), None, None)]);
}

/// The scenarios, as text.
const SCENARIOS: [&str; 15] = [
    include_str!("tests.rs"),
    include_str!("../caller/tests.rs"),
    include_str!("../reduce/tests.rs"),
    include_str!("../op/claim/tests.rs"),
    include_str!("../op/create_board/tests.rs"),
    include_str!("../op/delete/tests.rs"),
    include_str!("../op/lease/tests.rs"),
    include_str!("../op/note/tests.rs"),
    include_str!("../op/restore/tests.rs"),
    include_str!("../op/size/tests.rs"),
    include_str!("../op/status/tests.rs"),
    include_str!("../op/tick/tests.rs"),
    include_str!("../op/transact/tests.rs"),
    include_str!("../op/write/tests.rs"),
    include_str!("../scenario/properties.rs"),
];

/// The names of the variants of an enum, read from its source.
fn variants(source: &str, name: &str) -> Vec<String> {
    let lines = source.lines().skip_while(|line| !line.trim_start().starts_with(&format!("pub enum {name} ")));
    let indent = lines.clone().next().expect("the enum").find("pub").expect("just seen");
    let body = lines.skip(1).take_while(|line| *line != format!("{:indent$}}}", ""));
    let starts = body.filter_map(|line| line.get(indent + 4..)).filter(|line| line.starts_with(char::is_uppercase));
    starts.map(|line| line.split(|c: char| !c.is_alphanumeric()).next().expect("a name").to_owned()).collect()
}

fn without_scenario(source: &str, name: &str, shown: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let all = variants(source, name);
    assert!(all.len() > 5, "{all:?}");
    let has_one = |variant: &String| shown(variant).iter().any(|text| SCENARIOS.iter().any(|file| file.contains(text)));
    all.into_iter().filter(|variant| !has_one(variant)).collect()
}

#[test]
fn every_refusal_has_a_scenario() {
    let missing =
        without_scenario(include_str!("../rejection.rs"), "Rejection", |name| vec![format!("Rejection::{name}")]);
    assert_eq!(missing, Vec::<String>::new());
    let missing =
        without_scenario(include_str!("../rejection.rs"), "Forbidden", |name| vec![format!("Forbidden::{name}")]);
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_event_has_a_scenario() {
    let snake = |name: &str| {
        name.chars().fold(String::new(), |text, c| {
            let gap = if c.is_uppercase() && !text.is_empty() { "_" } else { "" };
            format!("{text}{gap}{}", c.to_lowercase())
        })
    };
    let missing = without_scenario(include_str!("../event.rs"), "Event", |name| {
        vec![format!("\"{}\"", snake(name)), format!("Event::{name}")]
    });
    assert_eq!(missing, Vec::<String>::new());
}
