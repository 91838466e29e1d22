//! Moves between statuses.
//!
//! Invariant: an entry moves only along a transition that admits the caller; staying is no move.
//! Not known here: values and versions.

use crate::blueprint::{By, Lifecycle, Transition};
use crate::command::Scene;
use crate::entry::Entry;
use crate::ids::{EntryId, Status};
use crate::rejection::Rejection;

/// The status that an entry has after a write.
///
/// # Errors
/// A status that the zone does not know, a move that is not allowed, or a value that is locked.
pub(crate) fn judge(
    scene: &Scene<'_>,
    id: &EntryId,
    entry: Option<&Entry>,
    wanted: Option<&Status>,
    edits: bool,
) -> Result<Option<Status>, Rejection> {
    let Some(lifecycle) = scene.board.lifecycle(&id.zone) else {
        return match wanted {
            Some(status) => Err(Rejection::UnknownStatus { status: status.clone(), known: Vec::new() }),
            None => Ok(entry.and_then(Entry::status)),
        };
    };
    if let Some(status) = wanted
        && !lifecycle.knows(status)
    {
        let known = lifecycle.statuses().into_iter().cloned().collect();
        return Err(Rejection::UnknownStatus { status: status.clone(), known });
    }
    match entry {
        None => initial(lifecycle, wanted),
        Some(entry) => next(scene, lifecycle, id, entry, wanted, edits),
    }
    .map(Some)
}

fn initial(lifecycle: &Lifecycle, wanted: Option<&Status>) -> Result<Status, Rejection> {
    match wanted {
        None => Ok(lifecycle.default_status().clone()),
        Some(status) if lifecycle.is_initial(status) => Ok(status.clone()),
        Some(status) => {
            Err(Rejection::IllegalTransition { from: None, to: status.clone(), allowed: lifecycle.initial.clone() })
        }
    }
}

fn next(
    scene: &Scene<'_>,
    lifecycle: &Lifecycle,
    id: &EntryId,
    entry: &Entry,
    wanted: Option<&Status>,
    edits: bool,
) -> Result<Status, Rejection> {
    let from = &entry.status().unwrap_or_else(|| lifecycle.default_status().clone());
    let reopened = lifecycle.on_edit.get(from).filter(|_| edits);
    if edits && lifecycle.is_locked(from) && !scene.is_arbiter() {
        return Err(Rejection::Locked { status: from.clone(), allowed: allowed(scene, lifecycle, id, entry, from) });
    }
    let to = match (wanted, reopened) {
        (Some(status), _) if status != from => status,
        (_, Some(reopened)) => return Ok(reopened.clone()),
        _ => return Ok(from.clone()),
    };
    let legal = lifecycle.find(from, to).is_some_and(|transition| admits(scene, id, entry, transition));
    if legal || reopened == Some(to) {
        return Ok(to.clone());
    }
    Err(Rejection::IllegalTransition {
        from: Some(from.clone()),
        to: to.clone(),
        allowed: allowed(scene, lifecycle, id, entry, from),
    })
}

/// Whether the caller may move the entry to `to`.
pub(crate) fn may_move(scene: &Scene<'_>, id: &EntryId, entry: &Entry, to: &Status) -> bool {
    let Some(lifecycle) = scene.board.lifecycle(&id.zone) else { return false };
    let from = &entry.status().unwrap_or_else(|| lifecycle.default_status().clone());
    from == to || lifecycle.find(from, to).is_some_and(|transition| admits(scene, id, entry, transition))
}

/// Whether the value of the entry is closed to this caller.
pub(crate) fn locked(scene: &Scene<'_>, id: &EntryId, entry: &Entry) -> Option<Rejection> {
    let lifecycle = scene.board.lifecycle(&id.zone)?;
    let status = &entry.status()?;
    if !lifecycle.is_locked(status) || scene.is_arbiter() {
        return None;
    }
    Some(Rejection::Locked { status: status.clone(), allowed: allowed(scene, lifecycle, id, entry, status) })
}

/// The moves that this caller could make now.
fn allowed(scene: &Scene<'_>, lifecycle: &Lifecycle, id: &EntryId, entry: &Entry, from: &Status) -> Vec<Status> {
    let moves = lifecycle.transitions_from(from).filter(|transition| admits(scene, id, entry, transition));
    moves.map(|transition| transition.to.clone()).collect()
}

fn admits(scene: &Scene<'_>, id: &EntryId, entry: &Entry, transition: &Transition) -> bool {
    let agent = &scene.actor.agent;
    let owns_zone = || {
        let blueprint = scene.board.blueprint();
        blueprint.zone(&id.zone).is_some_and(|zone| scene.actor.owns_zone(blueprint, zone))
    };
    transition.by.iter().any(|by| match by {
        By::Anyone => true,
        By::Owner => match scene.board.owner(id, entry) {
            Some(owner) => owner == *agent,
            None => owns_zone() || scene.is_arbiter(),
        },
        By::ZoneOwner => owns_zone(),
        By::Arbiter => scene.is_arbiter(),
        By::NotAuthor => entry.value_by() != *agent,
        By::Agent(name) => name == agent,
    })
}

#[cfg(test)]
mod tests;
