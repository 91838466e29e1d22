//! Claiming: find free work and lease it in one step.
//!
//! Invariant: the entry that has waited longest since its last change goes first; an expiry counts as a change, so an
//! entry that kills its workers goes to the end.
//! Not known here: waiting for work to appear.

use super::{lease, status};
use crate::blueprint::{Tier, Zone};
use crate::caller::{Act, authorise, readable_zone};
use crate::command::{Drafted, Scene, preview};
use crate::entry::{Entry, LeaseKind};
use crate::event::Event;
use crate::ids::{EntryId, Key, Status, ZoneName};
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
    if let Some(refused) = zone_refuses(scene, zone, claim) {
        return Err(Refusal::of(refused));
    }
    known_statuses(scene, claim)?;
    let fits_prefix = |key: &Key| claim.prefix.as_ref().is_none_or(|prefix| key.as_str().starts_with(prefix.as_str()));
    let waiting = scene.board.queue(&claim.zone, |status| may_start_in(scene, claim, status));
    let ids = waiting.filter(|key| fits_prefix(key)).map(|key| EntryId::new(claim.zone.clone(), key.clone()));
    let mut entries = ids.filter_map(|id| scene.board.entry(&id).map(|entry| (id, &**entry)));
    let found = entries.find(|(id, entry)| fits(scene, claim, id, entry));
    let Some((id, entry)) = found else { return Ok(None) };
    let mut events = Vec::new();
    if let Some(to) = claim.to_status.as_ref().filter(|to| entry.status().as_ref() != Some(to)) {
        events.push(Event::EntryMoved {
            id: id.clone(),
            version: scene.board.next_version(&id),
            from: entry.status().expect("an entry that may move has a status"),
            to: to.clone(),
            under_lease: false,
            reason: None,
        });
    }
    events.push(lease::grant(scene, zone, &id, LeaseKind::Lease, claim.ttl_ms, scene.ctx.now));
    let grant = lease::told(scene, events.last().expect("just pushed"), None);
    let after = preview(scene.board, scene.ctx, events.clone(), scene.revision);
    let entry = Box::new(after.entry(&id).expect("a claim deletes nothing").parts());
    let notes = after.n_notes(&id);
    Ok(Some((events, Reply::Claimed { id, grant, entry, notes })))
}

/// Whether entries in this status are worth a look: those that are closed, or lead nowhere, may be many.
fn may_start_in(scene: &Scene<'_>, claim: &Claim, status: Option<&Status>) -> bool {
    let (Some(lifecycle), Some(status)) = (scene.board.lifecycle(&claim.zone), status) else {
        return claim.status.is_none();
    };
    let leads = |to: &Status| to == status || lifecycle.find(status, to).is_some();
    claim.status.as_ref().is_none_or(|wanted| wanted == status)
        && (!lifecycle.is_locked(status) || scene.is_arbiter())
        && claim.to_status.as_ref().is_none_or(leads)
}

fn fits(scene: &Scene<'_>, claim: &Claim, id: &EntryId, entry: &Entry) -> bool {
    scene.board.lease(id).is_none()
        && authorise(scene.board, scene.actor, id, Act::Hold(Some(entry))).is_ok()
        && status::locked(scene, id, entry).is_none()
        && claim.to_status.as_ref().is_none_or(|to| status::may_move(scene, id, entry, to))
}

/// Why the zone refuses this caller whatever its entries are, if it does: waiting there would be for ever.
fn zone_refuses(scene: &Scene<'_>, zone: &Zone, claim: &Claim) -> Option<Rejection> {
    if zone.tier == Tier::Scratch {
        return Some(Rejection::Forbidden { why: Forbidden::ScratchHasNoLeases });
    }
    // Without an entry only the zone itself and the role of the caller can refuse; the key says nothing there.
    let anywhere = EntryId::new(claim.zone.clone(), Key::new("any").expect("a plain name"));
    authorise(scene.board, scene.actor, &anywhere, Act::Hold(None)).err()
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

#[cfg(test)]
mod tests;
