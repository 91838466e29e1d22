//! What must be true when the play is over.
//!
//! Invariant: pure, so that each way in which the end can be wrong is tested here.
//! Not known here: how it came to pass.

use kokuban_api::answers::Entry;
use serde_json::Value;

use super::script::{DESIGN, MARKET, PLAN, REQUEST, REQUIREMENTS};
use crate::args::Role;

/// What was seen on the way.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) plan_stands: bool,
    /// The server took a lease back from the dead.
    pub(super) taken_back: bool,
    /// Who was refused, with which code.
    pub(super) refusals: Vec<(Role, String)>,
    /// Of the commits in the order of the stream.
    pub(super) revisions: Vec<u64>,
}

/// Everything that is wrong with the end.
pub(super) fn judge(entries: &[Entry], evidence: &Evidence) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, status, owner) in [
        (REQUEST, Some("confirmed"), "lin"),
        (REQUIREMENTS, Some("confirmed"), "ra"),
        (DESIGN, Some("confirmed"), "ta"),
        (MARKET, Some("confirmed"), "w2"),
        (PLAN, None, "rv"),
    ] {
        wrong.extend(judge_entry(entries, place, status, owner));
    }
    wrong.extend(judge_values(entries));
    let refused = |codes: &[&str], roles: &[Role]| {
        evidence.refusals.iter().any(|(role, code)| roles.contains(role) && codes.contains(&code.as_str()))
    };
    let mut expect = |fact: bool, text: &str| {
        if !fact {
            wrong.push(text.to_owned());
        }
    };
    expect(
        refused(&["version_conflict"], &[Role::Ta, Role::Rv]),
        "neither ta nor rv lost the race on the requirements",
    );
    expect(refused(&["illegal_transition"], &[Role::Ta]), "the illegal move was not refused");
    expect(refused(&["arbiter_only", "zone_restricted"], &[Role::Ta]), "the write into a foreign zone was not refused");
    expect(evidence.taken_back, "the lease of the dead was not taken back");
    expect(evidence.revisions.is_sorted_by(|a, b| a < b), "the stream showed commits twice or out of order");
    wrong
}

fn find<'e>(entries: &'e [Entry], place: &str) -> Option<&'e Entry> {
    entries.iter().find(|entry| format!("{}/{}", entry.zone, entry.key) == place)
}

fn judge_entry(entries: &[Entry], place: &str, status: Option<&str>, owner: &str) -> Option<String> {
    let Some(entry) = find(entries, place) else { return Some(format!("{place} is missing")) };
    let found = (entry.status.as_ref().map(AsRef::as_ref), entry.owner.as_ref().map(AsRef::as_ref));
    (found != (status, Some(owner))).then(|| format!("{place} is {found:?}, not {:?}", (status, Some(owner))))
}

fn judge_values(entries: &[Entry]) -> Vec<String> {
    let value = |place| {
        let value = find(entries, place).and_then(|entry| entry.value.as_ref());
        value.map_or(Value::Null, kokuban_core::json::Json::to_value)
    };
    let mut wrong = Vec::new();
    let requirements = value(REQUIREMENTS);
    let features = requirements["features"].as_array().map_or(&[][..], Vec::as_slice);
    if !features.iter().any(|feature| feature.get("priorities").is_some()) {
        wrong.push(format!("{REQUIREMENTS} still has no reminder priorities"));
    }
    for (place, member) in [(DESIGN, "priority_rule"), (MARKET, "answer"), (PLAN, "verdict")] {
        if value(place).get(member).is_none() {
            wrong.push(format!("{place} has no `{member}`"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(place: &str, status: Option<&str>, owner: &str, value: &Value) -> Entry {
        let (zone, key) = place.split_once('/').expect("a slash");
        let entry = json!({
            "zone": zone, "key": key, "value": value, "version": 3, "status": status, "owner": owner,
            "updated_by": "rv", "updated_at": "2026-11-30T12:00:00.000Z",
        });
        serde_json::from_str(&entry.to_string()).expect("an entry")
    }

    fn right() -> (Vec<Entry>, Evidence) {
        let entries = vec![
            entry(REQUEST, Some("confirmed"), "lin", &json!({"text": "x"})),
            entry(REQUIREMENTS, Some("confirmed"), "ra", &json!({"features": [{"priorities": []}]})),
            entry(DESIGN, Some("confirmed"), "ta", &json!({"priority_rule": "x"})),
            entry(MARKET, Some("confirmed"), "w2", &json!({"answer": "x"})),
            entry(PLAN, None, "rv", &json!({"verdict": "x"})),
        ];
        let codes = ["version_conflict", "illegal_transition", "arbiter_only"];
        let refusals = codes.map(|code| (Role::Ta, code.to_owned())).to_vec();
        (entries, Evidence { plan_stands: true, taken_back: true, refusals, revisions: vec![1, 2, 4] })
    }

    #[test]
    fn the_right_end_is_right() {
        let (entries, evidence) = right();
        assert_eq!(judge(&entries, &evidence), Vec::<String>::new());
    }

    #[test]
    fn every_missing_entry_and_every_other_owner_is_noticed() {
        let (entries, evidence) = right();
        for place in [REQUEST, REQUIREMENTS, DESIGN, MARKET, PLAN] {
            let without: Vec<_> =
                entries.iter().filter(|e| format!("{}/{}", e.zone, e.key) != place).cloned().collect();
            assert!(!judge(&without, &evidence).is_empty(), "{place}");
        }
        let mut stolen = entries;
        stolen[1].owner = Some("ta".parse().expect("a name"));
        assert_eq!(judge(&stolen, &evidence).len(), 1);
    }

    #[test]
    fn a_play_without_its_conflict_is_not_the_play() {
        for missing in 0..3 {
            let (entries, mut evidence) = right();
            evidence.refusals.remove(missing);
            assert_eq!(judge(&entries, &evidence).len(), 1, "{missing}");
        }
        let (entries, evidence) = right();
        assert_eq!(judge(&entries, &Evidence { taken_back: false, ..evidence }).len(), 1);
        let (_, evidence) = right();
        assert_eq!(judge(&entries, &Evidence { revisions: vec![1, 1], ..evidence }).len(), 1);
    }
}
