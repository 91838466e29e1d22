//! Reads a whole blueprint from its members.
//!
//! Invariant: a `Blueprint` leaves here only if no flaw was found, and every flaw that was found is reported.
//! Not known here: what stands inside a zone, lifecycle, slot or rule; each reads itself.

use std::collections::BTreeMap;

use serde_json::Value;

use super::flaw::{Flaw, FlawKind, Flaws};
use super::lifecycle::Lifecycle;
use super::limits::Limits;
use super::read::{self, Members, Node};
use super::rules::{Arbitration, Confidence, MessageKind, Retention, Trigger};
use super::slot::{self, Slot};
use super::source;
use super::zone::{Known, Tier, Zone};
use super::{
    BLUEPRINT_BYTES_MAX, Blueprint, LIFECYCLES_MAX, MESSAGE_KINDS_MAX, ROLE_MEMBERS_MAX, ROLES_MAX, SLOTS_MAX,
    TRIGGERS_MAX, TomlFlaw, Written, ZONES_MAX,
};
use crate::ids::{AgentName, BlueprintName, LifecycleName, RoleName, ZoneName};

const MEMBERS: [&str; 14] = [
    "name",
    "title",
    "schema_version",
    "prompt_zones",
    "roles",
    "lifecycles",
    "zones",
    "slots",
    "confidence",
    "arbitration",
    "triggers",
    "messages",
    "retention",
    "limits",
];

impl Blueprint {
    /// Reads and validates a blueprint as it comes over HTTP.
    ///
    /// # Errors
    /// Every flaw, up to a bound of 100.
    pub fn from_value(value: &Value) -> Result<Self, Vec<Flaw>> {
        let mut flaws = Flaws::default();
        refuse_large(value, "", &mut flaws);
        if flaws.count() > 0 {
            return Err(flaws.into_vec());
        }
        let blueprint = read_members(value, &mut flaws);
        if let (Some(blueprint), 0) = (&blueprint, flaws.count()) {
            // It is stored with its defaults, and what is stored must read back.
            refuse_large(&blueprint.to_value(), " with its defaults filled in", &mut flaws);
        }
        match (blueprint, flaws.into_vec()) {
            (Some(blueprint), flaws) if flaws.is_empty() => Ok(blueprint),
            (_, flaws) => Err(flaws),
        }
    }

    /// Reads and validates a blueprint file.
    ///
    /// # Errors
    /// Every flaw with its place in the file.
    pub fn from_toml(text: &str) -> Result<Self, Vec<TomlFlaw>> {
        let source = source::Source::parse(text)?;
        Self::from_value(source.value()).map_err(|flaws| flaws.into_iter().map(|flaw| source.place(flaw)).collect())
    }
}

fn refuse_large(value: &Value, form: &str, flaws: &mut Flaws) {
    let bytes = serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len());
    if bytes > BLUEPRINT_BYTES_MAX {
        let detail = format!("a blueprint is at most {BLUEPRINT_BYTES_MAX} bytes of JSON, not {bytes}{form}");
        flaws.add("", FlawKind::TooLarge { bytes_max: BLUEPRINT_BYTES_MAX }, detail);
    }
}

fn read_members(value: &Value, flaws: &mut Flaws) -> Option<Blueprint> {
    let members = Members::open(&Node::root(value), &MEMBERS, flaws)?;
    let name = members.require("name", flaws).and_then(|node| read::name(&node, BlueprintName::new, flaws));
    let roles = members.get("roles").map(|node| roles(&node, flaws)).unwrap_or_default();
    let known = Known { roles: member_names(&members, "roles"), lifecycles: member_names(&members, "lifecycles") };
    let zone_names = member_names(&members, "zones");
    let blueprint = Blueprint {
        name: name.unwrap_or_else(|| BlueprintName::new("unnamed").expect("a plain ASCII word")),
        title: members.title(flaws),
        schema_version: members.integer("schema_version", 1..=u64::MAX, flaws).unwrap_or(1),
        prompt_zones: members.get("prompt_zones").map(|node| prompt_zones(&node, &zone_names, flaws)),
        roles,
        lifecycles: lifecycles(&members, flaws),
        zones: zones(&members, &known, flaws),
        slots: slots(&members, &known, &zone_names, flaws),
        confidence: members
            .get("confidence")
            .and_then(|node| Confidence::read(&node, &known.roles, flaws))
            .unwrap_or_default(),
        arbitration: members.get("arbitration").and_then(|node| Arbitration::read(&node, flaws)).unwrap_or_default(),
        triggers: named(&members, "triggers", "trigger name", TRIGGERS_MAX, flaws, |node, flaws| {
            Trigger::read(node, &zone_names, flaws)
        }),
        messages: named(&members, "messages", "message kind", MESSAGE_KINDS_MAX, flaws, MessageKind::read),
        retention: members.get("retention").and_then(|node| Retention::read(&node, flaws)).unwrap_or_default(),
        limits: members.get("limits").map(|node| Limits::read(&node, flaws)).unwrap_or_default(),
        written: Written::default(),
    };
    let written = Written {
        schema_version: members.get("schema_version").is_some(),
        not_enforced: not_enforced(&members, &blueprint),
    };
    Some(Blueprint { written, ..blueprint })
}

/// The names under a member, wrong ones too: what a reference may have meant.
fn member_names<'a>(members: &Members<'a>, name: &str) -> Vec<&'a str> {
    let object = members.get(name).and_then(|node| node.value.as_object());
    object.map(|object| object.keys().map(String::as_str).collect()).unwrap_or_default()
}

fn roles(node: &Node<'_>, flaws: &mut Flaws) -> BTreeMap<RoleName, Vec<AgentName>> {
    let mut found = BTreeMap::new();
    for (name, node) in read::map(node, ROLES_MAX, flaws) {
        let members =
            read::distinct(&node, ROLE_MEMBERS_MAX, flaws, |item, flaws| read::name(item, AgentName::new, flaws));
        let Some(role) = read::member_name(&node.pointer, name, RoleName::new, flaws) else { continue };
        let why = match name {
            // A board must not be able to grant what reaches beyond it.
            "admin" | "observer" => "this role reaches beyond one board and is given by the server's configuration",
            "agent" => "every caller is an agent; the role needs no members",
            _ => {
                found.insert(role, members);
                continue;
            }
        };
        flaws.add(&node.pointer, FlawKind::Contradiction, why);
    }
    found
}

fn prompt_zones(node: &Node<'_>, zones: &[&str], flaws: &mut Flaws) -> Vec<ZoneName> {
    read::distinct(node, ZONES_MAX, flaws, |item, flaws| {
        let zone = read::name(item, ZoneName::new, flaws)?;
        if !zones.contains(&zone.as_str()) {
            read::unknown_reference(&item.pointer, "zone", zone.as_str(), zones.iter().copied(), flaws);
        }
        Some(zone)
    })
}

fn lifecycles(members: &Members<'_>, flaws: &mut Flaws) -> BTreeMap<LifecycleName, Lifecycle> {
    let mut found = BTreeMap::new();
    let Some(node) = members.get("lifecycles") else { return found };
    for (name, node) in read::map(&node, LIFECYCLES_MAX, flaws) {
        let name = read::member_name(&node.pointer, name, LifecycleName::new, flaws);
        if let (Some(lifecycle), Some(name)) = (Lifecycle::read(&node, flaws), name) {
            found.insert(name, lifecycle);
        }
    }
    found
}

fn zones(members: &Members<'_>, known: &Known<'_>, flaws: &mut Flaws) -> BTreeMap<ZoneName, Zone> {
    let mut found = BTreeMap::new();
    let Some(node) = members.require("zones", flaws) else { return found };
    for (name, node) in read::map(&node, ZONES_MAX, flaws) {
        let name = read::member_name(&node.pointer, name, ZoneName::new, flaws);
        if let (Some(zone), Some(name)) = (Zone::read(&node, known, flaws), name) {
            found.insert(name, zone);
        }
    }
    if node.value.as_object().is_some_and(serde_json::Map::is_empty) {
        flaws.add(&node.pointer, FlawKind::OutOfRange { min: 1, max: 128 }, "a board needs at least one zone");
    }
    found
}

fn slots(members: &Members<'_>, known: &Known<'_>, zones: &[&str], flaws: &mut Flaws) -> BTreeMap<String, Slot> {
    let mut found = BTreeMap::new();
    let Some(node) = members.get("slots") else { return found };
    for (name, node) in read::map(&node, SLOTS_MAX, flaws) {
        slot::check_pattern(&node.pointer, name, zones, flaws);
        if let Some(slot) = Slot::read(&node, known, 0, flaws) {
            found.insert(name.to_owned(), slot);
        }
    }
    found
}

/// Members under ASCII names that have no type of their own.
fn named<T>(
    members: &Members<'_>,
    name: &str,
    what: &'static str,
    max: usize,
    flaws: &mut Flaws,
    mut read: impl FnMut(&Node<'_>, &mut Flaws) -> Option<T>,
) -> BTreeMap<String, T> {
    let mut found = BTreeMap::new();
    let Some(node) = members.get(name) else { return found };
    for (name, node) in read::map(&node, max, flaws) {
        let new = |text: &str| {
            AgentName::new(text).map_err(|mut error| {
                error.what = what;
                error
            })
        };
        let valid = read::member_name(&node.pointer, name, new, flaws).is_some();
        if let (Some(value), true) = (read(&node, flaws), valid) {
            found.insert(name.to_owned(), value);
        }
    }
    found
}

/// Pointers of what was written and no rule of this server reads. Shrinks as the rules come.
fn not_enforced(members: &Members<'_>, blueprint: &Blueprint) -> Vec<String> {
    let mut found = Vec::new();
    for name in ["arbitration", "triggers", "messages"] {
        let written = members.get(name).and_then(|node| node.value.as_object());
        if written.is_some_and(|object| !object.is_empty()) {
            found.push(format!("/{name}"));
        }
    }
    for (name, zone) in &blueprint.zones {
        let pointer = read::join("/zones", name.as_str());
        let unread = [("tier", zone.tier == Tier::Mailbox), ("sanitize", zone.sanitize.is_some())];
        found.extend(unread.iter().filter(|(_, given)| *given).map(|(member, _)| read::join(&pointer, member)));
    }
    for (name, slot) in &blueprint.slots {
        let unread = [("trusted_only", slot.trusted_only), ("candidates", slot.candidates)];
        let pointer = read::join("/slots", name);
        found.extend(unread.iter().filter(|(_, given)| *given).map(|(member, _)| read::join(&pointer, member)));
    }
    for (name, lifecycle) in &blueprint.lifecycles {
        let pointer = read::join("/lifecycles", name.as_str());
        let via = lifecycle.transitions.iter().enumerate().filter(|(_, transition)| transition.via.is_some());
        found.extend(via.map(|(i, _)| format!("{pointer}/transitions/{i}/via")));
    }
    let proposals = members.get("limits").and_then(|node| node.value.get("open_proposals_max").cloned());
    if proposals.is_some() {
        found.push("/limits/open_proposals_max".to_owned());
    }
    found
}
