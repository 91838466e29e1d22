//! A zone: who may write and read in it, what is checked, how long a write holds.
//!
//! Invariant: a `Zone` inside a `Blueprint` agrees with its tier: a result zone is read-only, a scratch zone has
//! neither lifecycle nor holds.
//! Not known here: callers and entries. Whether a caller belongs to a party is asked of the `Blueprint`.

use std::fmt;

use serde::{Serialize, Serializer};

use super::flaw::{FlawKind, Flaws};
use super::read::{self, Members, Node};
use crate::ids::{AgentName, LifecycleName, RoleName};

/// Shortest and longest time of a hold or lease, in milliseconds (contract §5).
pub const HOLD_MS: std::ops::RangeInclusive<u64> = 100..=3_600_000;
/// Most owners, readers or producers of one place.
pub(super) const PARTIES_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Zone {
    pub access: Access,
    pub tier: Tier,
    pub owners: Vec<Party>,
    pub readers: Vec<Party>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<LifecycleName>,
    /// How long a value write keeps others out; `None` is not at all, written as absent or 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_ms: Option<u64>,
    /// The longest a lease may live from its grant, renewals included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_hold_ms: Option<u64>,
    pub slots: Slots,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sanitize: Option<Sanitize>,
}

/// Who may write (contract §4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Public,
    Shared,
    Restricted,
    ReadOnly,
}

/// What is checked of a write (contract §4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Working,
    Scratch,
    Result,
    Mailbox,
}

/// Whether keys without a declared slot may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Slots {
    Open,
    Closed,
}

/// What happens to control, bidirectional and zero-width characters of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sanitize {
    Strip,
    Refuse,
}

/// One or many callers, written `ra`, `role:arbiter` or `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    Agent(AgentName),
    Role(RoleName),
    Everyone,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(name) => write!(f, "{name}"),
            Self::Role(name) => write!(f, "role:{name}"),
            Self::Everyone => f.write_str("*"),
        }
    }
}

impl Serialize for Party {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a zone may refer to: the names that stand in the same blueprint.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) roles: Vec<&'a str>,
    pub(super) lifecycles: Vec<&'a str>,
}

/// Roles that exist without being declared: two that the server's configuration gives, two that a board may leave empty.
const STANDING_ROLES: [&str; 4] = ["admin", "observer", "user", "arbiter"];

const MEMBERS: [&str; 9] =
    ["access", "tier", "owners", "readers", "lifecycle", "hold_ms", "max_hold_ms", "slots", "sanitize"];

impl Zone {
    pub(super) fn read(node: &Node<'_>, known: &Known<'_>, flaws: &mut Flaws) -> Option<Self> {
        let members = Members::open(node, &MEMBERS, flaws)?;
        let tier = members.one_of("tier", TIERS, flaws).unwrap_or(Tier::Working);
        let parties = |name: &str, flaws: &mut Flaws| members.get(name).map(|list| parties(&list, known, flaws));
        let zone = Self {
            access: access(&members, tier, flaws),
            tier,
            owners: parties("owners", flaws).unwrap_or_default(),
            readers: parties("readers", flaws).unwrap_or_else(|| vec![Party::Everyone]),
            lifecycle: members.get("lifecycle").and_then(|node| lifecycle(&node, known, flaws)),
            hold_ms: members.get("hold_ms").and_then(|node| hold_ms(&node, flaws)),
            max_hold_ms: members.integer("max_hold_ms", HOLD_MS, flaws),
            slots: members
                .one_of("slots", &[("open", Slots::Open), ("closed", Slots::Closed)], flaws)
                .unwrap_or(Slots::Open),
            sanitize: members.one_of("sanitize", &[("strip", Sanitize::Strip), ("refuse", Sanitize::Refuse)], flaws),
        };
        if tier == Tier::Scratch {
            refuse_in_scratch(&members, &zone, flaws);
        }
        if let (Some(hold), Some(max)) = (zone.hold_ms, zone.max_hold_ms)
            && max < hold
        {
            let detail = format!("is shorter than `hold_ms` ({max} < {hold}), so no hold could run its time");
            flaws.add(&read::join(&members.pointer, "max_hold_ms"), FlawKind::Contradiction, detail);
        }
        Some(zone)
    }
}

const TIERS: &[(&str, Tier)] =
    &[("working", Tier::Working), ("scratch", Tier::Scratch), ("result", Tier::Result), ("mailbox", Tier::Mailbox)];

fn access(members: &Members<'_>, tier: Tier, flaws: &mut Flaws) -> Access {
    let words = &[
        ("public", Access::Public),
        ("shared", Access::Shared),
        ("restricted", Access::Restricted),
        ("read_only", Access::ReadOnly),
    ];
    let implied = if tier == Tier::Result { Access::ReadOnly } else { Access::Public };
    let Some(written) = members.one_of("access", words, flaws) else { return implied };
    let why = match tier {
        Tier::Result => "a zone of tier `result` is always `read_only`: leave `access` out",
        Tier::Scratch => "a zone of tier `scratch` is always `public`: each agent writes below its own name there",
        Tier::Working | Tier::Mailbox => return written,
    };
    if written != implied {
        flaws.add(&read::join(&members.pointer, "access"), FlawKind::Contradiction, why);
    }
    implied
}

fn refuse_in_scratch(members: &Members<'_>, zone: &Zone, flaws: &mut Flaws) {
    let refused = [
        ("lifecycle", zone.lifecycle.is_some(), "a zone of tier `scratch` has no statuses"),
        ("hold_ms", zone.hold_ms.is_some(), "a zone of tier `scratch` has no holds: only one agent writes each entry"),
        ("max_hold_ms", zone.max_hold_ms.is_some(), "a zone of tier `scratch` has no leases"),
    ];
    for (member, _, why) in refused.into_iter().filter(|(_, given, _)| *given) {
        flaws.add(&read::join(&members.pointer, member), FlawKind::Contradiction, why);
    }
}

fn hold_ms(node: &Node<'_>, flaws: &mut Flaws) -> Option<u64> {
    if node.value.as_u64() == Some(0) {
        return None;
    }
    read::integer(node, HOLD_MS, flaws)
}

fn lifecycle(node: &Node<'_>, known: &Known<'_>, flaws: &mut Flaws) -> Option<LifecycleName> {
    let name = read::name(node, LifecycleName::new, flaws)?;
    if !known.lifecycles.contains(&name.as_str()) {
        read::unknown_reference(&node.pointer, "lifecycle", name.as_str(), known.lifecycles.iter().copied(), flaws);
    }
    Some(name)
}

/// A list of `name`, `role:NAME` and `*`.
pub(super) fn parties(node: &Node<'_>, known: &Known<'_>, flaws: &mut Flaws) -> Vec<Party> {
    read::distinct(node, PARTIES_MAX, flaws, |item, flaws| party(item, known, flaws))
}

fn party(node: &Node<'_>, known: &Known<'_>, flaws: &mut Flaws) -> Option<Party> {
    let text = read::string(node, flaws)?;
    if text == "*" {
        return Some(Party::Everyone);
    }
    let Some(role) = text.strip_prefix("role:") else {
        return read::member_name(&node.pointer, text, AgentName::new, flaws).map(Party::Agent);
    };
    let role = read::member_name(&node.pointer, role, RoleName::new, flaws)?;
    if !STANDING_ROLES.contains(&role.as_str()) && !known.roles.contains(&role.as_str()) {
        let candidates = known.roles.iter().copied().chain(STANDING_ROLES);
        read::unknown_reference(&node.pointer, "role", role.as_str(), candidates, flaws);
    }
    Some(Party::Role(role))
}
