//! Confidence, arbitration, triggers, message kinds and retention of a blueprint.
//!
//! Invariant: caps name levels; shares lie between 0 and 1.
//! Not known here: how any of it is judged.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::flaw::{FlawKind, Flaws};
use super::read::{self, Members, Node};
use super::slot::Share;
use crate::ids::{AgentName, RoleName, Status, ZoneName};

/// The levels of confidence, lowest first, and the highest that a role may claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Confidence {
    pub levels: Vec<String>,
    /// A role that is not named is not capped. `agent` is every caller.
    pub cap: BTreeMap<RoleName, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arbitration {
    /// Conflicts in a row after which `on_conflict` takes effect.
    pub max_conflicts: u64,
    /// Share of differing leaves from which open candidates are in conflict.
    pub difference: Share,
    /// Replacements of each other's value within `window_ms` that raise a flag; off unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternations: Option<u64>,
    pub window_ms: u64,
    pub lock_on_conflict: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<OnConflict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<ArbitrationRule>,
}

/// What becomes of a write whose conflict budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    Arbitrate,
    Yield,
}

/// Decides between candidates without an arbiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArbitrationRule {
    Newest,
    HighestConfidence,
    Union,
}

/// A rule that wakes an agent (contract §9.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trigger {
    pub agent: AgentName,
    pub on: TriggerFilter,
    /// CEL, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    pub coalesce_ms: u64,
    pub coalesce_by: CoalesceBy,
    pub cooldown_ms: u64,
    pub max_hops: u64,
    pub priority: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
}

/// An empty list admits all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TriggerFilter {
    pub zones: Vec<ZoneName>,
    pub keys: Vec<String>,
    pub statuses: Vec<Status>,
    pub kinds: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CoalesceBy {
    Entry,
    Zone,
}

/// A kind of message and the schemas of its versions (contract §11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MessageKind {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// By `schema_version`; as written.
    pub schemas: BTreeMap<u64, Value>,
}

/// How much history a board keeps. Nothing set keeps everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Retention {
    /// The history keeps at least so many of the newest revisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisions: Option<u64>,
}

impl Default for Confidence {
    fn default() -> Self {
        let levels = ["inferred", "stated", "verified"].map(str::to_owned).to_vec();
        let cap = default_caps(&levels);
        Self { levels, cap }
    }
}

impl Default for Arbitration {
    fn default() -> Self {
        Self {
            max_conflicts: 3,
            difference: Share { millionths: 500_000 },
            alternations: None,
            window_ms: 60_000,
            lock_on_conflict: false,
            on_conflict: None,
            rule: None,
        }
    }
}

/// Longest window of time that a rule may name: a day.
const RULE_MS_MAX: u64 = 86_400_000;
const LEVELS_MAX: usize = 16;
const FILTER_ITEMS_MAX: usize = 64;
const MESSAGE_VERSIONS_MAX: usize = 16;

/// What the levels of the contract cap each role at; a level that is not there caps nobody.
fn default_caps(levels: &[String]) -> BTreeMap<RoleName, String> {
    let caps = [("agent", "stated"), ("user", "verified"), ("arbiter", "verified")];
    let named = caps.into_iter().filter(|(_, level)| levels.iter().any(|known| known == level));
    named.map(|(role, level)| (RoleName::new(role).expect("a plain ASCII word"), level.to_owned())).collect()
}

impl Confidence {
    /// `roles` are those that the blueprint declares.
    pub(super) fn read(node: &Node<'_>, roles: &[&str], flaws: &mut Flaws) -> Option<Self> {
        let members = Members::open(node, &["levels", "cap"], flaws)?;
        let levels = match members.get("levels") {
            Some(node) => levels(&node, flaws)?,
            None => Self::default().levels,
        };
        let mut cap = default_caps(&levels);
        let caps = members.get("cap").map(|node| read::map(&node, super::ROLES_MAX, flaws)).unwrap_or_default();
        for (role, node) in caps {
            let Some(role) = read::member_name(&node.pointer, role, RoleName::new, flaws) else { continue };
            let standing = ["agent", "user", "arbiter"];
            if !standing.contains(&role.as_str()) && !roles.contains(&role.as_str()) {
                let known = roles.iter().copied().chain(standing);
                read::unknown_reference(&node.pointer, "role", role.as_str(), known, flaws);
            }
            let Some(level) = read::string(&node, flaws) else { continue };
            if !levels.iter().any(|known| known == level) {
                let known = levels.iter().map(String::as_str);
                read::unknown_reference(&node.pointer, "confidence level", level, known, flaws);
            }
            cap.insert(role, level.to_owned());
        }
        Some(Self { levels, cap })
    }

    /// How high a level stands; `None` if there is no such level.
    #[must_use]
    pub fn rank(&self, level: &str) -> Option<usize> {
        self.levels.iter().position(|known| known == level)
    }
}

fn levels(node: &Node<'_>, flaws: &mut Flaws) -> Option<Vec<String>> {
    let before = flaws.count();
    let found = read::distinct(node, LEVELS_MAX, flaws, |item, flaws| read::text(item, 64, flaws).map(str::to_owned));
    if found.is_empty() && flaws.count() == before {
        flaws.add(&node.pointer, FlawKind::OutOfRange { min: 1, max: 16 }, "must name at least one level");
    }
    (flaws.count() == before).then_some(found)
}

impl Arbitration {
    pub(super) fn read(node: &Node<'_>, flaws: &mut Flaws) -> Option<Self> {
        let known =
            ["max_conflicts", "difference", "alternations", "window_ms", "lock_on_conflict", "on_conflict", "rule"];
        let members = Members::open(node, &known, flaws)?;
        let default = Self::default();
        let rules = &[
            ("newest", ArbitrationRule::Newest),
            ("highest_confidence", ArbitrationRule::HighestConfidence),
            ("union", ArbitrationRule::Union),
        ];
        let on_conflict = &[("arbitrate", OnConflict::Arbitrate), ("yield", OnConflict::Yield)];
        Some(Self {
            max_conflicts: members.integer("max_conflicts", 1..=1_000, flaws).unwrap_or(default.max_conflicts),
            difference: members
                .get("difference")
                .and_then(|node| Share::read(&node, flaws))
                .unwrap_or(default.difference),
            alternations: members.integer("alternations", 2..=1_000, flaws),
            window_ms: members.integer("window_ms", 100..=RULE_MS_MAX, flaws).unwrap_or(default.window_ms),
            lock_on_conflict: members.boolean("lock_on_conflict", default.lock_on_conflict, flaws),
            on_conflict: members.one_of("on_conflict", on_conflict, flaws),
            rule: members.one_of("rule", rules, flaws),
        })
    }
}

impl Trigger {
    /// `zones` are those of the blueprint.
    pub(super) fn read(node: &Node<'_>, zones: &[&str], flaws: &mut Flaws) -> Option<Self> {
        let known =
            ["agent", "on", "when", "coalesce_ms", "coalesce_by", "cooldown_ms", "max_hops", "priority", "webhook"];
        let members = Members::open(node, &known, flaws)?;
        let agent = members.require("agent", flaws).and_then(|node| read::name(&node, AgentName::new, flaws));
        let on = members.require("on", flaws).and_then(|node| TriggerFilter::read(&node, zones, flaws));
        let when = members.get("when").and_then(|node| read::text(&node, 4_096, flaws)).map(str::to_owned);
        let coalesce_ms = members.integer("coalesce_ms", 0..=60_000, flaws).unwrap_or(0);
        let by = &[("entry", CoalesceBy::Entry), ("zone", CoalesceBy::Zone)];
        let coalesce_by = members.one_of("coalesce_by", by, flaws).unwrap_or(CoalesceBy::Entry);
        let cooldown_ms = members.integer("cooldown_ms", 0..=RULE_MS_MAX, flaws).unwrap_or(0);
        let max_hops = members.integer("max_hops", 1..=1_000, flaws).unwrap_or(8);
        let priority = members.integer("priority", 0..=1_000_000, flaws).unwrap_or(0);
        let webhook = members.get("webhook").and_then(|node| webhook(&node, flaws));
        Some(Self { agent: agent?, on: on?, when, coalesce_ms, coalesce_by, cooldown_ms, max_hops, priority, webhook })
    }
}

fn webhook(node: &Node<'_>, flaws: &mut Flaws) -> Option<String> {
    let url = read::text(node, 2_048, flaws)?;
    if !url.starts_with("https://") && !url.starts_with("http://") {
        let detail = "must be a URL that begins with `https://` or `http://`";
        flaws.add(&node.pointer, FlawKind::InvalidValue { nearest: None }, detail);
    }
    Some(url.to_owned())
}

impl TriggerFilter {
    fn read(node: &Node<'_>, zones: &[&str], flaws: &mut Flaws) -> Option<Self> {
        let members = Members::open(node, &["zones", "keys", "statuses", "kinds"], flaws)?;
        let zone = |item: &Node<'_>, flaws: &mut Flaws| {
            let zone = read::name(item, ZoneName::new, flaws)?;
            if !zones.contains(&zone.as_str()) {
                read::unknown_reference(&item.pointer, "zone", zone.as_str(), zones.iter().copied(), flaws);
            }
            Some(zone)
        };
        let text = |item: &Node<'_>, flaws: &mut Flaws| read::text(item, 512, flaws).map(str::to_owned);
        Some(Self {
            zones: distinct(&members, "zones", flaws, zone),
            keys: distinct(&members, "keys", flaws, text),
            statuses: distinct(&members, "statuses", flaws, |item, flaws| read::name(item, Status::new, flaws)),
            kinds: distinct(&members, "kinds", flaws, text),
        })
    }
}

fn distinct<T: PartialEq + std::fmt::Display>(
    members: &Members<'_>,
    name: &str,
    flaws: &mut Flaws,
    read: impl FnMut(&Node<'_>, &mut Flaws) -> Option<T>,
) -> Vec<T> {
    members.get(name).map(|node| read::distinct(&node, FILTER_ITEMS_MAX, flaws, read)).unwrap_or_default()
}

impl MessageKind {
    pub(super) fn read(node: &Node<'_>, flaws: &mut Flaws) -> Option<Self> {
        let members = Members::open(node, &["title", "schemas"], flaws)?;
        let title = members.title(flaws);
        let mut schemas = BTreeMap::new();
        let node = members.require("schemas", flaws)?;
        for (version, schema) in read::map(&node, MESSAGE_VERSIONS_MAX, flaws) {
            let number = version.parse::<u64>().ok().filter(|n| *n >= 1 && n.to_string() == version);
            if number.is_none() {
                let detail = "the schemas of a message kind stand under their versions: 1, 2, …";
                flaws.add(&schema.pointer, FlawKind::InvalidName, detail);
            }
            let schema = read::schema(&schema, flaws);
            if let (Some(number), Some(schema)) = (number, schema) {
                schemas.insert(number, schema);
            }
        }
        if node.value.as_object().is_some_and(serde_json::Map::is_empty) {
            flaws.add(&node.pointer, FlawKind::OutOfRange { min: 1, max: 16 }, "must hold at least one schema");
        }
        Some(Self { title, schemas })
    }
}

impl Retention {
    pub(super) fn read(node: &Node<'_>, flaws: &mut Flaws) -> Option<Self> {
        let members = Members::open(node, &["revisions"], flaws)?;
        Some(Self { revisions: members.integer("revisions", 1..=u64::MAX, flaws) })
    }
}
