//! How complete a board is: which declared places with a weight have content.
//!
//! Invariant: a function of the board and of the zones that are counted; sums are exact. Empty text, list or object is
//! missing, 0 and false are there.
//! Not known here: who asks. A caller is shown the score of what he may read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::blueprint::Slot;
use crate::board::Board;
use crate::caller::{Actor, readable};
use crate::entry::Entry;
use crate::event::Event;
use crate::ids::{EntryId, Key, ZoneName};
use crate::path::Path;
use crate::reduce::is_blank;
use crate::reply::Reply;

/// The score of a board, and what is missing from it, the weightiest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completeness {
    /// 0 to 100.
    pub score_percent: u32,
    pub missing: Vec<Missing>,
}

/// A declared place without content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    pub zone: ZoneName,
    /// The key, or its pattern.
    pub key: String,
    pub path: Path,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub weight_millionths: u32,
}

/// `None` where no place that `actor` may read has a weight.
#[must_use]
pub fn of(board: &Board, actor: &Actor) -> Option<Completeness> {
    let blueprint = &board.life()?.blueprint;
    let (mut total, mut missing) = (0_u64, Vec::new());
    for (name, slot) in blueprint.slots.iter().filter(|(_, slot)| slot.is_weighed()) {
        let (zone, key) = name.split_once('/').expect("a slot is named zone/pattern");
        let zone = ZoneName::new(zone).expect("a slot names a zone of its blueprint");
        if readable(blueprint, actor, &zone).is_none() {
            continue;
        }
        let mut places = Vec::new();
        weighed(slot, &mut Path::default(), &mut places);
        total += places.iter().map(|(_, place)| u64::from(place.weight.millionths)).sum::<u64>();
        for value in values(board, &zone, name, key) {
            places.retain(|(path, _)| path.get(&value).is_none_or(is_blank));
            if places.is_empty() {
                break;
            }
        }
        missing.extend(places.into_iter().map(|(path, place)| Missing {
            zone: zone.clone(),
            key: key.to_owned(),
            path,
            title: place.title.clone(),
            weight_millionths: place.weight.millionths,
        }));
    }
    if total == 0 {
        return None;
    }
    let absent: u64 = missing.iter().map(|missing| u64::from(missing.weight_millionths)).sum();
    let percent = ((total - absent) * 100 + total / 2) / total;
    missing.sort_by_key(|missing: &Missing| std::cmp::Reverse(missing.weight_millionths));
    Some(Completeness { score_percent: u32::try_from(percent).expect("a part is at most the whole"), missing })
}

/// The slot and its fields, as far as they have a weight.
fn weighed<'s>(slot: &'s Slot, path: &mut Path, places: &mut Vec<(Path, &'s Slot)>) {
    if slot.weight.millionths > 0 {
        places.push((path.clone(), slot));
    }
    for (name, field) in &slot.fields {
        path.push(name);
        weighed(field, path, places);
        path.pop();
    }
}

/// The values of the entries that a slot declares: one lookup, or where its key is a pattern, a walk that ends where
/// the caller has seen enough.
fn values<'b>(
    board: &'b Board,
    zone: &'b ZoneName,
    name: &'b str,
    key: &'b str,
) -> Box<dyn Iterator<Item = Value> + 'b> {
    let value = |entry: &Arc<Entry>| entry.value().map(|value| value.to_value());
    if !key.split('/').any(|segment| segment == "*") {
        let id = Key::new(key).ok().map(|key| EntryId::new(zone.clone(), key));
        return Box::new(id.and_then(|id| board.entry(&id)).and_then(value).into_iter());
    }
    let blueprint = board.blueprint();
    let declared = move |id: &EntryId| blueprint.slot_of(id).is_some_and(|(slot, _)| slot == name);
    let all = board.entries_of_zone(zone).filter(move |(id, _)| declared(id));
    Box::new(all.filter_map(move |(_, entry)| value(entry)))
}

/// Tells the receipts of a write what it did to the score, where it did something.
pub(crate) fn tell(board: &Board, after: impl FnOnce() -> Board, actor: &Actor, events: &[Event], reply: &mut Reply) {
    let weighed = |id: &EntryId| {
        let blueprint = board.life().map(|life| &life.blueprint)?;
        blueprint.slot_of(id).map(|(_, slot)| slot.is_weighed())
    };
    let touches = events.iter().filter_map(Event::entry).any(|id| weighed(id) == Some(true));
    let receipts = match reply {
        Reply::Receipt(receipt) if touches => std::slice::from_mut(&mut **receipt),
        Reply::Transaction { receipts } if touches => receipts.as_mut_slice(),
        _ => return,
    };
    let now = of(&after(), actor);
    if now != of(board, actor) {
        for receipt in receipts.iter_mut().filter(|receipt| weighed(&receipt.id) == Some(true)) {
            receipt.completeness.clone_from(&now);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Completeness, of};
    use crate::scenario::{Stage, patch, put, transact};

    /// The profile of the example: 0.3 + 0.3 + 0.2 + 0.2.
    const PROFILE: &str = r#"
[roles]
boss = ["ed"]
[zones.z]
[zones.secret]
readers = ["ed"]
[slots."z/profile"]
kind = "document"
[slots."z/profile".fields]
targetMajor = { title = "目标专业", weight = 0.3 }
targetCountries = { kind = "set", title = "意向国家", weight = 0.3 }
gpa = { title = "GPA 绩点", weight = 0.2 }
maxBudget = { title = "预算范围", weight = 0.2 }
"#;

    fn score(stage: &Stage) -> (u32, Vec<String>) {
        let Completeness { score_percent, missing } = of(&stage.board, &Stage::actor("ra")).expect("weights");
        (score_percent, missing.into_iter().filter_map(|missing| missing.title).collect())
    }

    #[test]
    fn the_score_of_the_example_comes_out_exactly() {
        let mut stage = Stage::with(PROFILE);
        let all = ["意向国家", "目标专业", "GPA 绩点", "预算范围"].map(str::to_owned).to_vec();
        assert_eq!(score(&stage), (0, all.clone()));
        let done = stage.ok("ra", patch("z/profile").set("targetMajor", json!("CS")).set("gpa", json!(0)));
        assert_eq!(score(&stage), (50, vec![all[0].clone(), all[3].clone()]), "0 is content");
        assert_eq!(done.receipt().completeness.as_ref().map(|told| told.score_percent), Some(50));
        stage.ok("ra", patch("z/profile").set("targetCountries", json!([])));
        assert_eq!(score(&stage).0, 50, "an empty set is missing");
        stage.ok("rb", patch("z/profile").add("targetCountries", &[json!("英国")]));
        stage.ok("rb", patch("z/profile").set("maxBudget", json!(300_000)));
        assert_eq!(score(&stage), (100, Vec::new()));
    }

    #[test]
    fn a_write_that_does_not_change_the_score_says_nothing() {
        let mut stage = Stage::with(PROFILE);
        stage.ok("ra", patch("z/profile").set("gpa", json!(3)));
        assert_eq!(stage.ok("ra", patch("z/profile").set("gpa", json!(4))).receipt().completeness, None);
        assert_eq!(stage.ok("ra", put("z/other", json!(4))).receipt().completeness, None);
    }

    #[test]
    fn a_transaction_tells_the_score_after_all_of_it() {
        let rules = "[zones.z]\n[slots.\"z/a\"]\nweight = 0.5\n[slots.\"z/b\"]\nweight = 0.5\n[slots.\"z/n\"]\n";
        let mut stage = Stage::with(rules);
        let write = transact().and(put("z/a", json!(1))).and(put("z/b", json!(1))).and(put("z/n", json!(1)));
        let done = stage.ok("ra", write);
        let told: Vec<_> = done.receipts().iter().map(|r| r.completeness.as_ref().map(|c| c.score_percent)).collect();
        assert_eq!(told, [Some(100), Some(100), None]);
        let delete = stage.ok("ra", crate::scenario::delete("z/a").version(1));
        assert_eq!(delete.receipt().completeness.as_ref().map(|c| c.score_percent), Some(50));
    }

    #[test]
    fn a_pattern_is_there_when_one_of_its_entries_is() {
        let mut stage = Stage::with("[zones.z]\n[slots.\"z/drafts/*\"]\nweight = 1\ntitle = \"a draft\"");
        assert_eq!(score(&stage), (0, vec!["a draft".to_owned()]));
        stage.ok("ra", put("z/drafts/ra", json!("text")));
        assert_eq!(score(&stage).0, 100);
    }

    #[test]
    fn what_the_caller_may_not_read_is_not_counted() {
        let rules = "[zones.z]\n[zones.secret]\nreaders = [\"ed\"]\n[slots.\"z/a\"]\nweight = 0.5\n[slots.\"secret/b\"]\nweight = 0.5";
        let stage = Stage::with(rules);
        assert_eq!(of(&stage.board, &Stage::actor("ra")).expect("weights").missing.len(), 1);
        assert_eq!(of(&stage.board, &Stage::actor("ed")).expect("weights").missing.len(), 2);
    }

    #[test]
    fn without_weights_there_is_no_score() {
        let stage = Stage::with("[zones.z]\n[slots.\"z/a\"]");
        assert_eq!(of(&stage.board, &Stage::actor("ra")), None);
    }
}
