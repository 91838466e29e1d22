//! Claiming: find free work and lease it in one step.
//!
//! Invariant: the entry that has waited longest since its last change goes first; an expiry counts as a change, so an
//! entry that kills its workers goes to the end.
//! Not known here: waiting for work to appear.

use super::{lease, status};
use crate::caller::{Act, Actor, authorise, readable_zone};
use crate::command::{Drafted, Scene, preview};
use crate::entry::{Entry, LeaseKind};
use crate::event::Event;
use crate::ids::{EntryId, Status, ZoneName};
use crate::rejection::{Forbidden, Refusal, Rejection};
use crate::reply::Reply;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub zone: ZoneName,
    pub status: Option<Status>,
    /// Of keys, in characters.
    pub prefix: Option<String>,
    pub ttl_ms: u64,
    /// The status that the claimed entry moves to in the same commit.
    pub to_status: Option<Status>,
}

pub(crate) fn decide(scene: &Scene<'_>, claim: &Claim) -> Result<Option<Drafted>, Refusal> {
    let zone = readable_zone(scene.board, scene.actor, &claim.zone).map_err(Refusal::of)?;
    if zone.tier == crate::blueprint::Tier::Scratch {
        return Err(Refusal::of(Rejection::Forbidden { why: Forbidden::ScratchHasNoLeases }));
    }
    if may_never_write(scene.actor, zone, scene) {
        return Err(refused_by_zone(scene, claim));
    }
    known_statuses(scene, claim)?;
    let waiting = scene.board.queue(&claim.zone, claim.status.as_ref());
    let ids = waiting.into_iter().map(|(_, key)| EntryId::new(claim.zone.clone(), key.clone()));
    let found = ids.filter_map(|id| scene.board.entry(&id).map(|entry| (id, &**entry))).find(|(id, entry)| {
        claim.prefix.as_ref().is_none_or(|prefix| id.key.as_str().starts_with(prefix.as_str()))
            && fits(scene, claim, id, entry)
    });
    let Some((id, entry)) = found else { return Ok(None) };
    let mut events = Vec::new();
    if let Some(to) = claim.to_status.as_ref().filter(|to| entry.status.as_ref() != Some(to)) {
        events.push(Event::EntryMoved {
            id: id.clone(),
            version: scene.board.next_version(&id),
            from: entry.status.clone().expect("an entry that may move has a status"),
            to: to.clone(),
            under_lease: false,
            reason: None,
        });
    }
    events.push(lease::grant(scene, zone, &id, LeaseKind::Lease, claim.ttl_ms, scene.ctx.now));
    let grant = lease::told(scene, events.last().expect("just pushed"), None);
    let after = preview(scene.board, scene.ctx, events.clone(), scene.revision);
    let entry = Box::new(Entry::clone(after.entry(&id).expect("a claim deletes nothing")));
    let notes = after.n_notes(&id);
    Ok(Some((events, Reply::Claimed { id, grant, entry, notes })))
}

fn fits(scene: &Scene<'_>, claim: &Claim, id: &EntryId, entry: &Entry) -> bool {
    scene.board.lease(id).is_none()
        && authorise(scene.board, scene.actor, id, Act::Hold(Some(entry))).is_ok()
        && status::locked(scene, id, entry).is_none()
        && claim.to_status.as_ref().is_none_or(|to| status::may_move(scene, id, entry, to))
}

/// A zone that refuses this caller whatever its entries are: waiting there would be for ever.
fn may_never_write(actor: &Actor, zone: &crate::blueprint::Zone, scene: &Scene<'_>) -> bool {
    use crate::blueprint::Access;
    let blueprint = scene.board.blueprint();
    let restricted = match zone.access {
        Access::Public | Access::Shared => false,
        Access::Restricted => !actor.owns_zone(blueprint, zone),
        Access::ReadOnly => true,
    };
    actor.observer || (restricted && !actor.is_arbiter(blueprint))
}

fn refused_by_zone(scene: &Scene<'_>, claim: &Claim) -> Refusal {
    let probe = EntryId::new(claim.zone.clone(), crate::ids::Key::new("any").expect("a plain name"));
    let refused = authorise(scene.board, scene.actor, &probe, Act::Write(None));
    Refusal::of(refused.expect_err("asked only where the zone refuses"))
}

fn known_statuses(scene: &Scene<'_>, claim: &Claim) -> Result<(), Refusal> {
    let lifecycle = scene.board.lifecycle(&claim.zone);
    for status in [&claim.status, &claim.to_status].into_iter().flatten() {
        if lifecycle.is_none_or(|lifecycle| !lifecycle.knows(status)) {
            let known = lifecycle.map(|lifecycle| lifecycle.statuses().into_iter().cloned().collect());
            let known = known.unwrap_or_default();
            return Err(Refusal::of(Rejection::UnknownStatus { status: status.clone(), known }));
        }
    }
    Ok(())
}
