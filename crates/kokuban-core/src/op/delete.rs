//! Deleting an entry: a tombstone keeps its counter.
//!
//! Invariant: deleting needs a condition, like every change of something that stands; it ends the lease.
//! Not known here: when tombstones are collected.

use smol_str::SmolStr;

use super::{lease, refuse, status};
use crate::caller::{Act, authorise};
use crate::command::{Conditions, Drafted, Failures, LeaseUse, Scene};
use crate::event::Event;
use crate::ids::EntryId;
use crate::rejection::{Failure, Item, Refusal, Rejection};
use crate::reply::{Outcome, Receipt, Reply};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    pub id: EntryId,
    pub conditions: Conditions,
    pub lease: LeaseUse,
    pub reason: Option<SmolStr>,
}

pub(crate) fn decide(scene: &Scene<'_>, delete: &Delete) -> Result<Drafted, Refusal> {
    let (event, receipt) = judge(scene, delete, Item::Whole)
        .map_err(|failures| refuse(scene, failures, |_| Some((delete.id.clone(), None))))?;
    Ok((vec![event], Reply::Receipt(Box::new(receipt))))
}

pub(crate) fn judge(scene: &Scene<'_>, delete: &Delete, item: Item) -> Result<(Event, Receipt), Vec<Failure>> {
    let id = &delete.id;
    let entry = scene.board.entry(id).map(|entry| &**entry);
    let mut failures = Failures::of(item);
    failures.keep(authorise(scene.board, scene.actor, id, Act::Write(entry)));
    if entry.is_none() {
        failures.add(Rejection::NotFound { id: id.clone() });
    }
    failures.keep(lease::judge(scene, id, scene.board.lease(id), delete.lease.token));
    if let Some(entry) = entry {
        delete.conditions.require(scene, id, Some(entry), &mut failures);
        if let Some(locked) = status::locked(scene, id, entry) {
            failures.add(locked);
        }
    }
    if !failures.is_empty() {
        return Err(failures.into_list());
    }
    let version = scene.board.version_after(entry, id);
    let receipt = Receipt {
        id: id.clone(),
        version,
        status: None,
        owner: None,
        sha256: None,
        outcome: Outcome::Deleted,
        operations: Vec::new(),
        warnings: Vec::new(),
        lease: None,
        completeness: None,
        value: None,
    };
    Ok((Event::EntryDeleted { id: id.clone(), version, reason: delete.reason.clone() }, receipt))
}

#[cfg(test)]
mod tests;
