//! Writing one entry: its whole value, some leaves of it, its status, or marks on it.
//!
//! Invariant: all failed checks are reported, in the order rights, existence, lease, version, status, content.
//! A write that changes nothing makes no version.
//! Not known here: HTTP methods. PUT and PATCH are both this. `value` says what becomes of the value, `accept` what of
//! everything beside it.

mod accept;
mod value;

use smol_str::SmolStr;

use super::size::Growth;
use super::{lease, refuse, status};
use crate::blueprint::Slots;
use crate::caller::{Act, authorise};
use crate::command::{Drafted, Failures, Scene};
use crate::entry::{DerivedFrom, Entry, Payload, Source};
use crate::event::Event;
use crate::ids::{EntryId, LeaseToken, Sha256, Status};
use crate::reduce::{Operation, RfcPatch};
use crate::rejection::{Failure, Item, Refusal, Rejection};
use crate::reply::{Receipt, Reply};

use accept::Judgement;
use value::new_value;

pub use super::condition::{Conditions, TagMatch};
pub use super::echo::EchoedMember;

#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    pub id: EntryId,
    pub change: Change,
    pub conditions: Conditions,
    pub lease: LeaseUse,
    pub status: Option<Status>,
    pub marks: NamedMarks,
    pub schema_version: Option<u64>,
    pub reason: Option<SmolStr>,
    pub echoed: Vec<EchoedMember>,
    /// An operation that would be left out refuses the whole patch.
    pub atomic: bool,
}

/// What happens to the value.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Replace {
        value: Payload,
        /// Content may go without a word: `replace: true`.
        wipes: bool,
    },
    Patch(Vec<Operation>),
    /// A patch of RFC 6902 or RFC 7396.
    Rfc(RfcPatch),
    /// Status or marks alone.
    Keep,
}

/// The lease that a write is made under, and the one that it asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeaseUse {
    pub token: Option<LeaseToken>,
    pub ttl_ms: Option<u64>,
}

/// Marks as far as the write names them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedMarks {
    pub confidence: Option<SmolStr>,
    pub untrusted: bool,
    pub source: Option<Source>,
    pub derived_from: Option<Vec<DerivedFrom>>,
    pub summary: Option<SmolStr>,
}

impl Write {
    /// The hash of the value that the write wants, where it names a whole one.
    pub(crate) fn wanted(&self) -> Option<Sha256> {
        if let Change::Replace { value, .. } = &self.change { Some(value.sha256) } else { None }
    }
}

pub(crate) fn decide(scene: &Scene<'_>, write: &Write) -> Result<Drafted, Refusal> {
    let mut growth = Growth::default();
    let judged = judge(scene, write, Item::Whole, &mut growth)
        .map_err(|failures| refuse(scene, failures, |_| Some((write.id.clone(), write.wanted()))))?;
    let mut events = judged.events;
    if let Some(collection) = growth.collection(scene) {
        events.insert(0, collection);
    }
    Ok((events, Reply::Receipt(Box::new(judged.receipt))))
}

/// What the declaration of the entry asks of whoever writes it.
fn judge_slot(scene: &Scene<'_>, write: &Write, failures: &mut Failures) {
    let blueprint = scene.board.blueprint();
    let id = &write.id;
    let Some((_, slot)) = blueprint.slot_of(id) else {
        let closed = blueprint.zone(&id.zone).is_some_and(|zone| zone.slots == Slots::Closed);
        if closed && !scene.board.is_scratch(&id.zone) {
            failures.add(Rejection::UnknownSlot { id: id.clone(), known: blueprint.slots_in(&id.zone) });
        }
        return;
    };
    if scene.is_arbiter() {
        return;
    }
    let own = id.key.segments().last() == Some(scene.actor.agent.as_str());
    if slot.per_producer && !own {
        failures.add(Rejection::ProducerMismatch { producers: Vec::new() });
    } else if !slot.producers.is_empty() && !scene.actor.is_one_of(blueprint, &slot.producers) {
        let producers = slot.producers.iter().map(|party| SmolStr::new(party.to_string())).collect();
        failures.add(Rejection::ProducerMismatch { producers });
    }
}

/// One accepted write.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) events: Vec<Event>,
    pub(crate) receipt: Receipt,
}

/// Judges one write on the board as it stands.
pub(crate) fn judge(
    scene: &Scene<'_>,
    write: &Write,
    item: Item,
    growth: &mut Growth,
) -> Result<Accepted, Vec<Failure>> {
    let id = &write.id;
    let (entry, lease) = scene.board.at(id).map_or((None, None), |(entry, lease)| (Some(&**entry), lease));
    let mut failures = Failures::of(item);
    failures.keep(authorise(scene.board, scene.actor, id, Act::Write(entry)));
    if entry.is_none() && write.change == Change::Keep {
        failures.add(Rejection::NotFound { id: id.clone() });
        return Err(failures.into_list());
    }
    let held = failures.keep(lease::judge(scene, id, lease, write.lease.token));
    judge_version(scene, write, entry, &mut failures);
    judge_slot(scene, write, &mut failures);
    let value = new_value(scene, write, entry, &mut failures);
    let of_nothing = entry.is_none() && value.as_ref().is_some_and(|value| value.is_of_nothing());
    let value_changed = !of_nothing && value.as_ref().is_some_and(|value| value.differs_from(entry));
    let edits = value_changed && entry.is_some();
    let status = match status::judge(scene, id, entry, write.status.as_ref(), edits) {
        Ok(status) => Some(status),
        Err(locked @ Rejection::Locked { .. }) => failures.keep(Err(locked)),
        Err(rejection) => failures.keep_at("/status", Err(rejection)),
    };
    judge_content(scene, write, entry, &mut failures);
    if let Some(value) = value.as_ref().filter(|_| value_changed) {
        growth.judge(scene, id, entry, &value.payload, &mut failures);
    }
    let granted = failures.keep(lease::for_write(scene, write, lease, held.flatten(), value_changed)).flatten();
    match (status, value) {
        (Some(_), Some(value)) if failures.is_empty() && of_nothing => Ok(accept::nothing(id, value)),
        (Some(status), Some(value)) if failures.is_empty() => {
            let held = held.flatten();
            let judged = Judgement { entry, lease, value, value_changed, status, held, granted };
            Ok(accept::accept(scene, write, judged, growth))
        }
        _ => Err(failures.into_list()),
    }
}

fn judge_version(scene: &Scene<'_>, write: &Write, entry: Option<&Entry>, failures: &mut Failures) {
    match &write.change {
        // Operations carry conditions of their own; a move of the status beside them needs the version.
        Change::Patch(_) if write.status.is_none() => write.conditions.judge(scene, entry, failures),
        _ => write.conditions.require(scene, &write.id, entry, failures),
    }
}

fn judge_content(scene: &Scene<'_>, write: &Write, entry: Option<&Entry>, failures: &mut Failures) {
    for member in write.echoed.iter().filter(|member| !member.holds(scene, &write.id, entry)) {
        let rejection = Rejection::ReservedMember { member: member.name.clone() };
        failures.add_at(format!("/{}", member.name), rejection);
    }
    let current = scene.board.blueprint().schema_version;
    if let Some(given) = write.schema_version.filter(|given| *given != current && given.checked_add(1) != Some(current))
    {
        failures.add_at("/schema_version", Rejection::UnknownSchemaVersion { given, current });
    }
    let max = scene.board.blueprint().limits.operations_per_patch_max;
    if matches!(&write.change, Change::Patch(operations) if operations.len() as u64 > max) {
        failures.add(Rejection::LimitReached { limit: "operations_per_patch_max", max });
    }
    let max = scene.board.blueprint().limits.derived_from_max;
    if write.marks.derived_from.as_ref().is_some_and(|list| list.len() as u64 > max) {
        failures.add_at("/derived_from", Rejection::LimitReached { limit: "derived_from_max", max });
    }
}

#[cfg(test)]
mod tests;
