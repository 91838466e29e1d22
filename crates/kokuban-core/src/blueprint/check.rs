//! What a careful reviewer would ask about a valid blueprint. Asked by `kokuban check-config`, never enforced.
//!
//! Invariant: a question names one place and says what to do if the answer is yes.
//! Not known here: the entries of any board; every answer is the author's.
//! The questions about channels (producers, bounds, outside content, schema versions) are those of contract §13.

mod slots;
mod words;

use self::slots::ask_slot;
use self::words::sounds_external;
use super::lifecycle::{By, Lifecycle};
use super::read::join;
use super::zone::{Access, Party, Tier, Zone};
use super::{Blueprint, ZoneName};

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// JSON Pointer into the blueprint; of a missing member, where it would stand.
    pub pointer: String,
    pub detail: String,
}

/// Every question that this blueprint raises, in the order of its members.
#[must_use]
pub fn questions(blueprint: &Blueprint) -> Vec<Finding> {
    let mut found = Vec::new();
    ask_whole(blueprint, &mut found);
    for (name, lifecycle) in &blueprint.lifecycles {
        let used = blueprint.zones.values().any(|zone| zone.lifecycle.as_ref() == Some(name));
        ask_lifecycle(&join("/lifecycles", name.as_str()), lifecycle, used, &mut found);
    }
    for (name, zone) in &blueprint.zones {
        ask_zone(blueprint, name, zone, &mut found);
    }
    for (name, slot) in &blueprint.slots {
        let zone = name.split_once('/').and_then(|(zone, _)| blueprint.zones.get(zone));
        ask_slot(&join("/slots", name), name, slot, zone, &mut found);
    }
    found
}

fn ask(found: &mut Vec<Finding>, pointer: String, detail: impl Into<String>) {
    found.push(Finding { pointer, detail: detail.into() });
}

fn ask_whole(blueprint: &Blueprint, found: &mut Vec<Finding>) {
    if !blueprint.written.schema_version {
        let detail = "no schema version: how will a reader from before the next change notice it? \
                      Write `schema_version = 1` and raise it with each change";
        ask(found, "/schema_version".to_owned(), detail);
    }
    if blueprint.limits.state_bytes_max.is_none() {
        let detail = "no bound on what goes into the prompt: from 32 KiB on a board is warned, nothing refuses. \
                      Set `state_bytes_max` if agents read whole zones";
        ask(found, "/limits/state_bytes_max".to_owned(), detail);
    }
    let arbiters = blueprint.roles.get("arbiter").is_some_and(|members| !members.is_empty());
    if !arbiters {
        let needs = |(name, zone): (&ZoneName, &Zone)| (zone.access == Access::ReadOnly).then(|| name.to_string());
        let zones: Vec<String> = blueprint.zones.iter().filter_map(needs).collect();
        if !zones.is_empty() {
            let detail = format!("nobody is an arbiter: who is to write in {}?", zones.join(", "));
            ask(found, "/roles/arbiter".to_owned(), detail);
        }
    }
}

fn ask_lifecycle(pointer: &str, lifecycle: &Lifecycle, used: bool, found: &mut Vec<Finding>) {
    if !used {
        ask(found, pointer.to_owned(), "no zone uses this lifecycle: is it meant for one?");
    }
    let mut reached: Vec<_> = lifecycle.initial.iter().collect();
    let mut next = 0;
    while let Some(&status) = reached.get(next) {
        next += 1;
        let by_move = lifecycle.transitions.iter().filter(|t| t.from == *status).map(|t| &t.to);
        let by_server = [lifecycle.on_edit.get(status), lifecycle.on_lease_expired.get(status)];
        for to in by_move.chain(by_server.into_iter().flatten()) {
            if !reached.contains(&to) {
                reached.push(to);
            }
        }
    }
    for status in lifecycle.statuses().into_iter().filter(|status| !reached.contains(status)) {
        let detail = format!("no way leads from an initial status to `{status}`: is a transition missing?");
        ask(found, join(pointer, "transitions"), detail);
    }
}

fn ask_zone(blueprint: &Blueprint, name: &ZoneName, zone: &Zone, found: &mut Vec<Finding>) {
    let pointer = join("/zones", name.as_str());
    if zone.owners.is_empty() {
        let lonely = match zone.access {
            Access::Restricted => {
                Some("nobody owns this restricted zone, so only arbiters write in it: is that meant?")
            }
            Access::Shared => Some("nobody owns this shared zone, so it is no different from a public one: who does?"),
            Access::Public | Access::ReadOnly => None,
        };
        if let Some(detail) = lonely {
            ask(found, join(&pointer, "owners"), detail);
        }
        let waits = blueprint
            .lifecycle_of(zone)
            .is_some_and(|lifecycle| lifecycle.transitions.iter().any(|t| t.by.iter().all(|by| *by == By::ZoneOwner)));
        if waits {
            let detail = "nobody owns this zone, and its lifecycle has a move for zone owners alone: who makes it?";
            ask(found, join(&pointer, "owners"), detail);
        }
    }
    let absent = zone.owners.iter().filter_map(|party| match party {
        Party::Role(role) => Some(role),
        Party::Agent(_) | Party::Everyone => None,
    });
    for role in absent.filter(|role| !matches!(role.as_str(), "admin" | "observer")) {
        if blueprint.roles.get(role).is_none_or(Vec::is_empty) {
            let detail = format!("no agent has the role `{role}`, which owns this zone: who will?");
            ask(found, join(&pointer, "owners"), detail);
        }
    }
    let enters = matches!(zone.tier, Tier::Working | Tier::Result) && blueprint.is_prompt_visible(name);
    if enters && zone.sanitize.is_none() && sounds_external(name.as_str()) {
        let detail = "this sounds like content from outside, and it goes into prompts: set `sanitize`, and have its \
                      writers send `source` or `trust: \"untrusted\"`";
        ask(found, join(&pointer, "sanitize"), detail);
    }
}
