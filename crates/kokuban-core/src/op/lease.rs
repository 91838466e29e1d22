//! Leases: the exclusive right to write an entry until a deadline.
//!
//! Invariant: at most one live lease per entry; its token is the revision of the grant, and works only together
//! with the holder's identity. A lease that is not live never writes, renews or releases.
//! Not known here: timers. `Tick` has ended everything overdue before a command is judged.

use smol_str::SmolStr;

use super::{refuse, status};
use crate::blueprint::Zone;
use crate::caller::{Act, authorise};
use crate::command::{Drafted, Failures, Scene, Write};
use crate::entry::{Lease, LeaseEnd, LeaseKind};
use crate::event::{Event, token_of};
use crate::ids::{BoardTime, EntryId, LeaseToken};
use crate::rejection::{Forbidden, Item, Refusal, Rejection};
use crate::reply::{Grant, Reply};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acquire {
    pub id: EntryId,
    pub ttl_ms: u64,
    /// Fence off the caller's own lease, whose token it lost.
    pub takeover: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renew {
    pub id: EntryId,
    pub token: LeaseToken,
    pub ttl_ms: u64,
}

/// Ends a lease: with its token by the holder, without by an arbiter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub id: EntryId,
    pub token: Option<LeaseToken>,
    pub reason: Option<SmolStr>,
}

/// The caller's own `lease` on the entry, if it has one that this token (or none) opens.
///
/// # Errors
/// Another's lease, a token that is not live, or a token that is missing.
pub(crate) fn judge<'b>(
    scene: &Scene<'_>,
    id: &EntryId,
    lease: Option<&'b Lease>,
    token: Option<LeaseToken>,
) -> Result<Option<&'b Lease>, Rejection> {
    let mine = lease.filter(|lease| lease.holder == scene.actor.agent);
    match (token, lease, mine) {
        (Some(token), _, Some(mine)) if mine.token == token && mine.kind == LeaseKind::Lease => Ok(Some(mine)),
        (Some(token), _, _) => Err(lost(scene, id, token)),
        (None, None, _) => Ok(None),
        (None, _, Some(mine)) if mine.kind == LeaseKind::Hold => Ok(Some(mine)),
        (None, _, Some(mine)) => {
            Err(Rejection::LeaseTokenRequired { remaining_ms: scene.ctx.now.ms_until(mine.deadline) })
        }
        (None, Some(_), None) if scene.is_arbiter() => Ok(None),
        (None, Some(lease), None) => Err(held(scene, lease)),
    }
}

fn held(scene: &Scene<'_>, lease: &Lease) -> Rejection {
    Rejection::LeaseHeld {
        held_by: lease.holder.clone(),
        remaining_ms: scene.ctx.now.ms_until(lease.deadline),
        by_you: lease.holder == scene.actor.agent,
    }
}

fn lost(scene: &Scene<'_>, id: &EntryId, token: LeaseToken) -> Rejection {
    let reason = match scene.board.lease(id) {
        // Live, but somebody else's: knowing a token does not make a holder.
        Some(lease) if lease.token == token => LeaseEnd::NeverHeld,
        _ => scene.board.lease_end(id, &scene.actor.agent, token),
    };
    Rejection::LeaseLost { token, reason, held_by: scene.board.lease(id).map(|lease| lease.holder.clone()) }
}

/// The lease event that belongs to a write: what it asks for, or what its zone gives.
///
/// # Errors
/// A lease asked for while another holds one.
pub(crate) fn for_write(
    scene: &Scene<'_>,
    write: &Write,
    lease: Option<&Lease>,
    mine: Option<&Lease>,
    value_changed: bool,
) -> Result<Option<Event>, Rejection> {
    let id = &write.id;
    let Some(zone) = scene.board.blueprint().zone(&id.zone) else { return Ok(None) };
    let others = lease.filter(|lease| lease.holder != scene.actor.agent);
    if let Some(ttl_ms) = write.lease.ttl_ms {
        if zone.tier == crate::blueprint::Tier::Scratch {
            return Err(Rejection::Forbidden { why: Forbidden::ScratchHasNoLeases });
        }
        return match (others, mine) {
            (Some(others), _) => Err(held(scene, others)),
            (None, Some(mine)) if mine.kind == LeaseKind::Lease => Ok(Some(renewal(scene, zone, id, mine, ttl_ms))),
            _ => Ok(Some(grant(scene, zone, id, LeaseKind::Lease, ttl_ms, held_since(scene, lease)))),
        };
    }
    match (zone.hold_ms, others, mine) {
        (Some(hold_ms), None, mine) if value_changed && mine.is_none_or(|mine| mine.kind == LeaseKind::Hold) => {
            let since = mine.map_or(scene.ctx.now, |mine| mine.granted);
            Ok(Some(grant(scene, zone, id, LeaseKind::Hold, hold_ms, since)))
        }
        _ => Ok(None),
    }
}

/// A grant to the caller. `since` is when it began to hold the entry, for the cap on holding.
pub(crate) fn grant(
    scene: &Scene<'_>,
    zone: &Zone,
    id: &EntryId,
    kind: LeaseKind,
    ttl_ms: u64,
    since: BoardTime,
) -> Event {
    let deadline = capped(zone, since, scene.ctx.now.plus_ms(ttl_ms));
    Event::LeaseGranted { id: id.clone(), holder: scene.actor.agent.clone(), kind, ttl_ms, deadline }
}

fn renewal(scene: &Scene<'_>, zone: &Zone, id: &EntryId, lease: &Lease, ttl_ms: u64) -> Event {
    let deadline = capped(zone, lease.granted, scene.ctx.now.plus_ms(ttl_ms));
    Event::LeaseRenewed { id: id.clone(), holder: lease.holder.clone(), ttl_ms, deadline }
}

fn capped(zone: &Zone, since: BoardTime, deadline: BoardTime) -> BoardTime {
    zone.max_hold_ms.map_or(deadline, |max| deadline.min(since.plus_ms(max)))
}

pub(crate) fn acquire(scene: &Scene<'_>, acquire: &Acquire) -> Result<Drafted, Refusal> {
    let id = &acquire.id;
    let mut failures = Failures::of(Item::Whole);
    let event = judge_acquire(scene, acquire, &mut failures);
    match event {
        Some(event) if failures.is_empty() => {
            let grant = told(scene, &event, None);
            Ok((vec![event], Reply::Lease { id: id.clone(), grant }))
        }
        _ => Err(refuse(scene, failures.into_list(), |_| Some((id.clone(), None)))),
    }
}

/// The grant, if everything is in order; else the failures say why not.
pub(crate) fn judge_acquire(scene: &Scene<'_>, acquire: &Acquire, failures: &mut Failures) -> Option<Event> {
    let id = &acquire.id;
    let entry = scene.board.entry(id).map(|entry| &**entry);
    failures.keep(authorise(scene.board, scene.actor, id, Act::Hold(entry)));
    let Some(entry) = entry else {
        failures.add(Rejection::NotFound { id: id.clone() });
        return None;
    };
    let lease = scene.board.lease(id);
    let free = match lease {
        None => true,
        Some(lease) if lease.holder == scene.actor.agent => lease.kind == LeaseKind::Hold || acquire.takeover,
        Some(_) => false,
    };
    if let Some(lease) = lease.filter(|_| !free) {
        failures.add(held(scene, lease));
    }
    if let Some(locked) = status::locked(scene, id, entry) {
        failures.add(locked);
    }
    let zone = scene.board.blueprint().zone(&id.zone)?;
    Some(grant(scene, zone, id, LeaseKind::Lease, acquire.ttl_ms, held_since(scene, lease)))
}

/// When the caller began to hold the entry: a new token, or a lease for a hold, does not begin it anew.
fn held_since(scene: &Scene<'_>, lease: Option<&Lease>) -> BoardTime {
    let own = lease.filter(|lease| lease.holder == scene.actor.agent);
    own.map_or(scene.ctx.now, |lease| lease.granted)
}

/// What the holder is told of a grant or renewal.
pub(crate) fn told(scene: &Scene<'_>, event: &Event, renewed: Option<&Lease>) -> Grant {
    let (Event::LeaseGranted { ttl_ms, deadline, .. } | Event::LeaseRenewed { ttl_ms, deadline, .. }) = event else {
        unreachable!("only grants and renewals are told")
    };
    Grant {
        holder: scene.actor.agent.clone(),
        token: renewed.map_or(token_of(scene.revision), |lease| lease.token),
        kind: LeaseKind::Lease,
        ttl_ms: *ttl_ms,
        deadline: *deadline,
    }
}

pub(crate) fn renew(scene: &Scene<'_>, renew: &Renew) -> Result<Drafted, Refusal> {
    let id = &renew.id;
    let mine = judge_own(scene, id, renew.token, Purpose::Keep)?;
    let zone = authorise(scene.board, scene.actor, id, Act::Read).map_err(Refusal::of)?;
    let event = renewal(scene, zone, id, mine, renew.ttl_ms);
    let grant = told(scene, &event, Some(mine));
    Ok((vec![event], Reply::Lease { id: id.clone(), grant }))
}

pub(crate) fn release(scene: &Scene<'_>, release: &Release) -> Result<Drafted, Refusal> {
    let id = &release.id;
    let event = match release.token {
        Some(token) => {
            let mine = judge_own(scene, id, token, Purpose::GiveUp)?;
            Event::LeaseReleased { id: id.clone(), holder: mine.holder.clone() }
        }
        None => revocation(scene, release)?,
    };
    Ok((vec![event], Reply::LeaseEnded))
}

/// What a holder wants with its lease.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Keep,
    GiveUp,
}

/// The caller's live lease with this token. A deleted entry has no lease, but its last holder learns why.
fn judge_own<'b>(scene: &Scene<'b>, id: &EntryId, token: LeaseToken, purpose: Purpose) -> Result<&'b Lease, Refusal> {
    let mut failures = Failures::of(Item::Whole);
    let entry = scene.board.entry(id).map(|entry| &**entry);
    let lease = scene.board.lease(id);
    let holds = lease.is_some_and(|lease| lease.holder == scene.actor.agent);
    // Whoever holds a lease may give it up, even if it may no longer write the entry.
    let act = if holds && purpose == Purpose::GiveUp { Act::Comment } else { Act::Hold(entry) };
    failures.keep(authorise(scene.board, scene.actor, id, act));
    let never_was = scene.board.entry(id).is_none() && scene.board.tombstone(id).is_none();
    if never_was {
        failures.add(Rejection::NotFound { id: id.clone() });
    }
    match failures.keep(judge(scene, id, lease, Some(token))).flatten() {
        Some(lease) if failures.is_empty() => Ok(lease),
        _ => Err(refuse(scene, failures.into_list(), |_| Some((id.clone(), None)))),
    }
}

fn revocation(scene: &Scene<'_>, release: &Release) -> Result<Event, Refusal> {
    let id = &release.id;
    let refuse_with = |rejection| {
        let mut failures = Failures::of(Item::Whole);
        failures.add(rejection);
        refuse(scene, failures.into_list(), |_| Some((id.clone(), None)))
    };
    authorise(scene.board, scene.actor, id, Act::Comment).map_err(refuse_with)?;
    let own = scene.board.lease(id).is_some_and(|lease| lease.holder == scene.actor.agent);
    if !scene.is_arbiter() && !own {
        return Err(refuse_with(Rejection::Forbidden { why: Forbidden::NotYourLease }));
    }
    if scene.board.entry(id).is_none() {
        return Err(refuse_with(Rejection::NotFound { id: id.clone() }));
    }
    let Some(lease) = scene.board.lease(id) else {
        return Err(refuse_with(Rejection::NoLease { id: id.clone() }));
    };
    let holder = lease.holder.clone();
    match (own, lease.kind) {
        (true, LeaseKind::Hold) => Ok(Event::LeaseReleased { id: id.clone(), holder }),
        (true, LeaseKind::Lease) if !scene.is_arbiter() => {
            let remaining_ms = scene.ctx.now.ms_until(lease.deadline);
            Err(refuse_with(Rejection::LeaseTokenRequired { remaining_ms }))
        }
        _ => Ok(Event::LeaseRevoked { id: id.clone(), holder, reason: release.reason.clone() }),
    }
}

#[cfg(test)]
mod tests;
