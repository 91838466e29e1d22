//! Who calls, and the one function that says what a caller may do.
//!
//! Invariant: identity comes from the credential. Every path, direct or nested, asks `authorise`.
//! Not known here: tokens, headers, and which boards a credential reaches.

use smol_str::SmolStr;

use crate::blueprint::{Access, Blueprint, Party, Tier, Zone};
use crate::board::Board;
use crate::entry::Entry;
use crate::ids::{AgentName, EntryId, Key, ZoneName};
use crate::rejection::{Forbidden, Rejection};

/// A caller as its credential names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub agent: AgentName,
    /// False for the nameless caller of an open server.
    pub named: bool,
    /// May delete boards and erase values.
    pub admin: bool,
    /// Reads only.
    pub observer: bool,
}

/// What a caller wants of an entry.
#[derive(Debug, Clone, Copy)]
pub enum Act<'a> {
    Read,
    /// Write the entry as it stands, if there is one.
    Write(Option<&'a Entry>),
    Comment,
    /// Hold a lease on it.
    Hold(Option<&'a Entry>),
}

impl Actor {
    #[must_use]
    pub fn is_arbiter(&self, blueprint: &Blueprint) -> bool {
        blueprint.has_role(&self.agent, "arbiter")
    }

    #[must_use]
    pub fn is_one_of(&self, blueprint: &Blueprint, parties: &[Party]) -> bool {
        parties.iter().any(|party| match party {
            Party::Everyone => true,
            Party::Agent(name) => *name == self.agent,
            Party::Role(role) => match role.as_str() {
                "admin" => self.admin,
                "observer" => self.observer,
                name => blueprint.has_role(&self.agent, name),
            },
        })
    }

    #[must_use]
    pub fn owns_zone(&self, blueprint: &Blueprint, zone: &Zone) -> bool {
        self.is_one_of(blueprint, &zone.owners)
    }

    /// Arbiters and owners read what they may write.
    #[must_use]
    pub fn may_read(&self, blueprint: &Blueprint, zone: &Zone) -> bool {
        self.is_one_of(blueprint, &zone.readers) || self.is_arbiter(blueprint) || self.owns_zone(blueprint, zone)
    }

    /// Whether `key` lies in this caller's own part of a scratch zone.
    #[must_use]
    pub fn owns_scratch(&self, key: &Key) -> bool {
        let mut segments = key.segments();
        segments.next() == Some(self.agent.as_str()) && segments.next().is_some()
    }
}

/// Says whether `actor` may do `act`, and if not, why. The zone is returned so that nobody looks it up unasked.
///
/// # Errors
/// `ZoneNotFound` for a zone that is not there or may not be read; else what the zone's access says.
pub fn authorise<'b>(board: &'b Board, actor: &Actor, id: &EntryId, act: Act<'_>) -> Result<&'b Zone, Rejection> {
    let blueprint = board.blueprint();
    let zone = readable_zone(board, actor, &id.zone)?;
    if matches!(act, Act::Read) {
        return Ok(zone);
    }
    if actor.observer && !actor.admin {
        return Err(Rejection::Forbidden { why: Forbidden::Observer });
    }
    match act {
        Act::Read | Act::Comment => Ok(zone),
        Act::Hold(_) if zone.tier == Tier::Scratch => Err(Rejection::Forbidden { why: Forbidden::ScratchHasNoLeases }),
        Act::Write(entry) | Act::Hold(entry) => may_write(blueprint, zone, actor, id, entry).map(|()| zone),
    }
}

/// The zone, if it is there and the caller may read it.
///
/// # Errors
/// `ZoneNotFound`, the same for both.
pub fn readable_zone<'b>(board: &'b Board, actor: &Actor, name: &ZoneName) -> Result<&'b Zone, Rejection> {
    readable(board.blueprint(), actor, name).ok_or_else(|| Rejection::ZoneNotFound { zone: name.clone() })
}

/// The same by the rules alone, for readers of the log, who meet commits of boards that are gone.
#[must_use]
pub fn readable<'b>(blueprint: &'b Blueprint, actor: &Actor, name: &ZoneName) -> Option<&'b Zone> {
    blueprint.zone(name).filter(|zone| actor.may_read(blueprint, zone))
}

fn may_write(
    blueprint: &Blueprint,
    zone: &Zone,
    actor: &Actor,
    id: &EntryId,
    entry: Option<&Entry>,
) -> Result<(), Rejection> {
    if zone.tier == Tier::Scratch {
        let own = actor.owns_scratch(&id.key);
        return if own { Ok(()) } else { Err(Rejection::Forbidden { why: Forbidden::ScratchOfAnother }) };
    }
    if actor.is_arbiter(blueprint) {
        return Ok(());
    }
    let restricted = || {
        let owners = zone.owners.iter().map(|party| SmolStr::new(party.to_string())).collect();
        Err(Rejection::ZoneRestricted { zone: id.zone.clone(), owners })
    };
    match zone.access {
        Access::Public => Ok(()),
        Access::ReadOnly => Err(Rejection::ArbiterOnly { zone: id.zone.clone() }),
        Access::Restricted if actor.owns_zone(blueprint, zone) => Ok(()),
        Access::Restricted => restricted(),
        Access::Shared if actor.owns_zone(blueprint, zone) => Ok(()),
        Access::Shared => match entry {
            Some(entry) if is_owners(blueprint, zone, entry.value_by()) => restricted(),
            _ => Ok(()),
        },
    }
}

/// Whether `author` is an owner of the zone by name or by a role of the board.
fn is_owners(blueprint: &Blueprint, zone: &Zone, author: AgentName) -> bool {
    let author = Actor { agent: author, named: true, admin: false, observer: false };
    author.owns_zone(blueprint, zone)
}

#[cfg(test)]
mod tests;
