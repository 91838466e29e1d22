//! The blueprints that are shipped: they are valid, and they rule as their comments say.

use super::*;

const REQUIREMENTS: &str = include_str!("../../../../../config/blueprints/requirements.toml");

#[test]
fn default_has_three_tiers_and_lets_anyone_make_every_move() {
    let default = builtin("default").expect("built in");
    let zones: Vec<(&str, Access, Tier)> =
        default.zones.iter().map(|(name, zone)| (name.as_str(), zone.access, zone.tier)).collect();
    assert_eq!(
        zones,
        [
            ("result", Access::ReadOnly, Tier::Result),
            ("scratch", Access::Public, Tier::Scratch),
            ("working", Access::Public, Tier::Working),
        ]
    );
    let review = default.lifecycle_of(&default.zones[&name("working")]).expect("review");
    assert!(review.transitions.iter().all(|t| t.by == [By::Anyone]));
    assert_eq!((review.transitions.len(), review.locked.len()), (5, 0));
    assert!(default.has_role(&AgentName::new("arbiter").expect("a name"), "arbiter"));
    assert_eq!(default.limits, Limits::SERVER);
    assert!(builtin("nothing").is_none());
}

#[test]
fn pipeline_has_four_steps_beside_scratch_and_result() {
    let pipeline = builtin("pipeline").expect("built in");
    let zones: Vec<&str> = pipeline.zones.keys().map(ZoneName::as_str).collect();
    assert_eq!(zones, ["analysis", "decision", "input", "output", "result", "scratch"]);
    for zone in ["analysis", "decision", "output"] {
        let lifecycle = pipeline.lifecycle_of(&pipeline.zones[&name(zone)]).expect("reviewed");
        assert!(lifecycle.is_locked(&status("confirmed")) && !lifecycle.is_locked(&status("processing")), "{zone}");
    }
}

#[test]
fn the_demonstration_lets_two_agents_race_and_only_the_owner_or_arbiter_confirm() {
    let board = Blueprint::from_toml(REQUIREMENTS).expect("valid");
    let analysis = &board.zones[&name("analysis")];
    let review = board.lifecycle_of(analysis).expect("review");
    assert_eq!(analysis.access, Access::Public);
    assert_eq!(review.find(&status("processing"), &status("pending_review")).expect("a move").by, [By::Anyone]);
    let confirm = review.find(&status("pending_review"), &status("confirmed")).expect("a move");
    assert_eq!(confirm.by, [By::ZoneOwner, By::Arbiter]);
    assert!(review.find(&status("raw"), &status("confirmed")).is_none());
    assert_eq!(review.on_lease_expired[&status("processing")], status("raw"));
    assert_eq!(board.zones[&name("input")].access, Access::Restricted);
    assert!(board.not_enforced().is_empty());
}

#[test]
fn no_shipped_blueprint_leaves_a_question_open_but_that_of_its_state_bound() {
    let shipped = [builtin("default"), builtin("pipeline")].map(|found| found.expect("built in").as_ref().clone());
    let demonstration = Blueprint::from_toml(REQUIREMENTS).expect("valid");
    for blueprint in shipped.iter().chain([&demonstration]) {
        let asked: Vec<String> = questions(blueprint).into_iter().map(|finding| finding.pointer).collect();
        assert_eq!(asked, ["/limits/state_bytes_max"], "{}", blueprint.name);
    }
}
