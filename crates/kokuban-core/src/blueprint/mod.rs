//! The rules of a board as data: what its author wrote, validated once, with the defaults filled in.
//!
//! Invariant: a `Blueprint` is consistent: every lifecycle, zone, role and status that it names exists in it, and
//! it serialises to the members that it reads: `from_value(to_value(b)) == b`.
//! Not known here: entries, callers' credentials, and where a blueprint was stored.
//! Start at `Blueprint`; `flaw` says what a wrong one is told; `check` asks what a careful reviewer would.

mod builtin;
pub mod check;
mod flaw;
mod lifecycle;
mod limits;
mod parse;
mod read;
mod rules;
mod schema;
mod slot;
mod source;
mod zone;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use smol_str::SmolStr;

pub use builtin::{builtin, builtin_names};
pub use flaw::{Flaw, FlawKind, TomlFlaw};
pub use lifecycle::{By, Lifecycle, Transition, Via};
pub use limits::Limits;
pub use rules::{
    Arbitration, ArbitrationRule, CoalesceBy, Confidence, MessageKind, OnConflict, Retention, Trigger, TriggerFilter,
};
pub use schema::{Schema, Violation};
pub use slot::{Kind, MAX_ITEMS, OnFull, Share, Slot};
pub use source::toml_line_of;
pub use zone::{Access, HOLD_MS, Party, Sanitize, Slots, Tier, Zone};

use crate::ids::{AgentName, BlueprintName, EntryId, LifecycleName, RoleName, ZoneName};

/// Largest blueprint, in bytes of its JSON.
pub const BLUEPRINT_BYTES_MAX: usize = 262_144;
pub const ZONES_MAX: usize = 128;
pub const LIFECYCLES_MAX: usize = 64;
pub const SLOTS_MAX: usize = 512;
pub const ROLES_MAX: usize = 64;
pub const ROLE_MEMBERS_MAX: usize = 1_024;
pub const TRIGGERS_MAX: usize = 256;
pub const MESSAGE_KINDS_MAX: usize = 256;

/// The rules of a board. Two are equal if they rule alike, whether a default was written or left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Blueprint {
    pub name: BlueprintName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub schema_version: u64,
    /// As written; ask `is_prompt_visible`, which knows the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_zones: Option<Vec<ZoneName>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<RoleName, Vec<AgentName>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lifecycles: BTreeMap<LifecycleName, Lifecycle>,
    pub zones: BTreeMap<ZoneName, Zone>,
    /// By `zone/pattern`, where `*` in the pattern is one segment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub slots: BTreeMap<String, Slot>,
    #[serde(skip_serializing_if = "is_default")]
    pub confidence: Confidence,
    #[serde(skip_serializing_if = "is_default")]
    pub arbitration: Arbitration,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub triggers: BTreeMap<String, Trigger>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub messages: BTreeMap<String, MessageKind>,
    #[serde(skip_serializing_if = "is_default")]
    pub retention: Retention,
    #[serde(skip_serializing_if = "is_default")]
    pub limits: Limits,
    #[serde(skip)]
    written: Written,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What the author wrote, for what he is told. No part of the rules, so all are equal.
#[derive(Debug, Clone, Default)]
struct Written {
    schema_version: bool,
    /// Pointers of members that no rule of this server reads yet.
    not_enforced: Vec<String>,
}

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Blueprint {
    /// Pointers of the members that the author wrote and this server stores without enforcing them.
    #[must_use]
    pub fn not_enforced(&self) -> &[String] {
        &self.written.not_enforced
    }

    /// The members of this blueprint, with the defaults of zones and lifecycles filled in.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("every map key is a text and every number finite")
    }

    #[must_use]
    pub fn zone(&self, name: &ZoneName) -> Option<&Zone> {
        self.zones.get(name)
    }

    /// The lifecycle of a zone, if it has one.
    #[must_use]
    pub fn lifecycle_of(&self, zone: &Zone) -> Option<&Lifecycle> {
        zone.lifecycle.as_ref().and_then(|name| self.lifecycles.get(name))
    }

    /// Whether this board gives `agent` the role `role`. Roles of the server are not known here.
    #[must_use]
    pub fn has_role(&self, agent: &AgentName, role: &str) -> bool {
        self.roles.get(role).is_some_and(|members| members.contains(agent))
    }

    /// Whether values of this zone count as part of the prompt.
    #[must_use]
    pub fn is_prompt_visible(&self, name: &ZoneName) -> bool {
        match &self.prompt_zones {
            Some(zones) => zones.contains(name),
            None => self.zones.get(name).is_some_and(|zone| zone.tier != Tier::Scratch),
        }
    }

    /// The slots that a zone declares, as `zone/pattern`.
    pub(crate) fn slots_in(&self, zone: &ZoneName) -> Vec<SmolStr> {
        let within = |pattern: &&String| pattern.split_once('/').is_some_and(|(name, _)| name == zone.as_str());
        self.slots.keys().filter(within).map(SmolStr::new).collect()
    }

    /// The slot that declares an entry: of several patterns that fit, the one with the most literal segments,
    /// and of those the one whose first `*` comes last.
    #[must_use]
    pub fn slot_of(&self, id: &EntryId) -> Option<(&str, &Slot)> {
        let fitting = self.slots.iter().filter(|(pattern, _)| slot::pattern_fits(pattern, id));
        fitting.max_by_key(|(pattern, _)| slot::precision(pattern)).map(|(pattern, slot)| (pattern.as_str(), slot))
    }
}
