//! Writing one entry: its whole value, some leaves of it, its status, or marks on it.
//!
//! Invariant: all failed checks are reported, in the order rights, existence, lease, version, status, content.
//! A write that changes nothing makes no version.
//! Not known here: HTTP methods. PUT and PATCH are both this.

use serde_json::Value;
use smol_str::SmolStr;

use super::size::{self, Growth};
use super::{lease, refuse, status};
use crate::board::owner_of;
use crate::caller::{Act, authorise};
use crate::command::{Drafted, Failures, Scene};
use crate::entry::{DerivedFrom, Entry, Lease, LeaseKind, Marks, Payload, Source};
use crate::event::{Assignment, EntryWritten, Event};
use crate::ids::{EntryId, LeaseToken, Sha256, Status, Version};
use crate::json::{Bounds, Json, check};
use crate::reduce::{Operation, Standing, reduce};
use crate::rejection::{Failure, Item, Refusal, Rejection};
use crate::reply::{Grant, OperationReceipt, Outcome, Receipt, Reply, Warning};

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
    Replace(Payload),
    Patch(Vec<Operation>),
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

impl NamedMarks {
    /// The marks of the entry after the write. A new value begins without any.
    fn over(&self, old: Option<&Entry>, value_changed: bool, change: &Change) -> Marks {
        let mut marks = match old {
            Some(old) if !value_changed => old.marks().clone(),
            // What is left of an untrusted value is no more to be trusted for a leaf that changed beside it.
            Some(old) if matches!(change, Change::Patch(_)) => {
                Marks { untrusted: old.is_untrusted(), ..Marks::default() }
            }
            _ => Marks::default(),
        };
        if self.confidence.is_some() {
            marks.confidence.clone_from(&self.confidence);
        }
        if self.source.is_some() {
            marks.source.clone_from(&self.source);
        }
        if let Some(derived_from) = &self.derived_from {
            marks.derived_from.clone_from(derived_from);
        }
        if self.summary.is_some() {
            marks.summary.clone_from(&self.summary);
        }
        marks.untrusted |= self.untrusted;
        marks
    }
}

impl Write {
    /// The hash of the value that the write wants, where it names a whole one.
    pub(crate) fn wanted(&self) -> Option<Sha256> {
        if let Change::Replace(payload) = &self.change { Some(payload.sha256) } else { None }
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
    let value = new_value(scene, write, entry, &mut failures);
    let of_nothing = entry.is_none() && value.as_ref().is_some_and(|value| value.is_of_nothing(write));
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
        (Some(_), Some(value)) if failures.is_empty() && of_nothing => {
            Ok(Accepted { events: Vec::new(), receipt: nothing(id, value.operations) })
        }
        (Some(status), Some(value)) if failures.is_empty() => {
            let held = held.flatten();
            Ok(accept(scene, write, &Judgement { entry, lease, value, value_changed, status, held, granted }))
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

/// The value after a write, and how it came to be.
struct NewValue {
    payload: Payload,
    assignments: Vec<Assignment>,
    operations: Vec<OperationReceipt>,
}

impl NewValue {
    fn whole(payload: Payload) -> Self {
        Self { payload, assignments: Vec::new(), operations: Vec::new() }
    }

    /// A patch of which nothing was applied makes no entry.
    fn is_of_nothing(&self, write: &Write) -> bool {
        matches!(write.change, Change::Patch(_)) && self.assignments.is_empty()
    }

    /// Equal values have equal hashes, whatever the order of members or the spelling of numbers.
    fn differs_from(&self, entry: Option<&Entry>) -> bool {
        entry.is_none_or(|entry| entry.sha256 != self.payload.sha256)
    }
}

fn new_value(scene: &Scene<'_>, write: &Write, entry: Option<&Entry>, failures: &mut Failures) -> Option<NewValue> {
    match &write.change {
        Change::Replace(payload) => Some(NewValue::whole(payload.clone())),
        Change::Keep => entry.map(|entry| NewValue::whole(entry.payload())),
        Change::Patch(operations) => patched(scene, write, operations, entry, failures),
    }
}

fn patched(
    scene: &Scene<'_>,
    write: &Write,
    operations: &[Operation],
    entry: Option<&Entry>,
    failures: &mut Failures,
) -> Option<NewValue> {
    let author = entry.map(Entry::value_by);
    let standing = Standing {
        last: entry.map(|entry| entry.value_version).zip(author.as_ref()),
        caller: &scene.actor.agent,
        versioned: write.conditions.is_about_what_stands() || scene.board.is_scratch(&write.id.zone),
    };
    let old = entry.and_then(Entry::value).map(|value| value.to_value());
    let reduced = match reduce(old, operations, standing) {
        Ok(reduced) => reduced,
        Err(refused) => {
            for (index, rejection) in refused {
                failures.add_at(format!("/operations/{index}"), rejection);
            }
            return None;
        }
    };
    if write.atomic && !reduced.guarded.is_empty() {
        for index in reduced.guarded {
            failures.add_at(format!("/operations/{index}"), Rejection::NullGuarded);
        }
        return None;
    }
    if let (Some(entry), true) = (entry, reduced.assignments.is_empty()) {
        return Some(NewValue { operations: reduced.receipts, ..NewValue::whole(entry.payload()) });
    }
    if !bounded(&reduced.value, failures) {
        return None;
    }
    let payload = Payload::new(Json::from_value(&reduced.value));
    Some(NewValue { payload, assignments: reduced.assignments, operations: reduced.receipts })
}

fn bounded(value: &Value, failures: &mut Failures) -> bool {
    let bounds = Bounds::default();
    let fits = check(value, &bounds, "").is_ok();
    if !fits {
        failures.add(Rejection::TooComplex { what: "the value after the patch", max: bounds.depth_max as u64 });
    }
    fits
}

/// The receipt of a patch that found nothing and left nothing.
fn nothing(id: &EntryId, operations: Vec<OperationReceipt>) -> Receipt {
    Receipt {
        id: id.clone(),
        version: Version::ZERO,
        status: None,
        owner: None,
        sha256: None,
        outcome: Outcome::Unchanged,
        operations,
        warnings: Vec::new(),
        lease: None,
        value: None,
    }
}

/// A write of which everything was found to be in order.
struct Judgement<'a> {
    entry: Option<&'a Entry>,
    lease: Option<&'a Lease>,
    value: NewValue,
    value_changed: bool,
    status: Option<Status>,
    held: Option<&'a Lease>,
    granted: Option<Event>,
}

fn accept(scene: &Scene<'_>, write: &Write, judged: &Judgement<'_>) -> Accepted {
    let entry = judged.entry;
    let marks = write.marks.over(entry, judged.value_changed, &write.change);
    let marks_changed = entry.is_none_or(|entry| *entry.marks() != marks);
    let moved = entry.is_some_and(|entry| entry.status() != judged.status);
    let under_lease = judged.held.is_some_and(|held| held.kind == LeaseKind::Lease);
    let version = scene.board.version_after(entry, &write.id);
    let mut events = Vec::new();
    let outcome = match entry {
        Some(entry) if !judged.value_changed && !marks_changed && !moved => {
            let _ = entry;
            Outcome::Unchanged
        }
        Some(entry) if !judged.value_changed && !marks_changed => {
            events.push(Event::EntryMoved {
                id: write.id.clone(),
                version,
                from: entry.status().expect("an entry that moves has a status"),
                to: judged.status.clone().expect("a move has a target"),
                under_lease,
                reason: write.reason.clone(),
            });
            Outcome::Updated
        }
        _ => {
            events.push(Event::EntryWritten(Box::new(written(scene, write, judged, version, marks, under_lease))));
            if entry.is_some() { Outcome::Updated } else { Outcome::Created }
        }
    };
    events.extend(judged.granted.clone());
    let receipt = receipt(scene, write, judged, version, outcome);
    Accepted { events, receipt }
}

fn written(
    scene: &Scene<'_>,
    write: &Write,
    judged: &Judgement<'_>,
    version: Version,
    marks: Marks,
    under_lease: bool,
) -> EntryWritten {
    EntryWritten {
        id: write.id.clone(),
        version,
        value: judged.value.payload.clone(),
        value_changed: judged.value_changed,
        created: judged.entry.is_none(),
        status_from: judged.entry.and_then(Entry::status),
        status: judged.status.clone(),
        marks,
        schema_version: write.schema_version.unwrap_or_else(|| scene.board.blueprint().schema_version),
        reason: write.reason.clone(),
        under_lease,
        assignments: judged.value.assignments.clone(),
    }
}

fn receipt(scene: &Scene<'_>, write: &Write, judged: &Judgement<'_>, version: Version, outcome: Outcome) -> Receipt {
    let entry = judged.entry;
    let lease = judged.granted.as_ref().and_then(|event| grant_of(scene, judged.held, event));
    let granted_to = judged.granted.is_some().then_some(&scene.actor.agent);
    let standing = || entry.and_then(|entry| owner_of(entry, judged.lease));
    let holder = judged.lease.map(|lease| &lease.holder);
    let author = judged.value_changed.then_some(&scene.actor.agent);
    let mut warnings: Vec<Warning> =
        size::warning(&judged.value.payload).filter(|_| judged.value_changed).into_iter().collect();
    warnings.extend(second_producer(scene, write, judged));
    Receipt {
        id: write.id.clone(),
        version: match (outcome, entry) {
            (Outcome::Unchanged, Some(entry)) => entry.version,
            _ => version,
        },
        status: judged.status.clone(),
        owner: granted_to.or(holder).or(author).cloned().or_else(standing),
        sha256: Some(judged.value.payload.sha256),
        outcome,
        operations: judged.value.operations.clone(),
        warnings,
        lease,
        value: judged.value.payload.json.clone(),
    }
}

/// An undeclared entry that gets a second author may be a scalar that two agents fight over.
fn second_producer(scene: &Scene<'_>, write: &Write, judged: &Judgement<'_>) -> Option<Warning> {
    let first = judged.entry.filter(|_| judged.value_changed).map(Entry::created_by)?;
    let second = first != scene.actor.agent && scene.board.blueprint().slot_of(&write.id).is_none();
    second.then_some(Warning::SecondProducer { first })
}

/// What the caller is told of the lease that its write granted or renewed. A hold has no token to tell.
fn grant_of(scene: &Scene<'_>, held: Option<&Lease>, event: &Event) -> Option<Grant> {
    let holder = scene.actor.agent.clone();
    match event {
        Event::LeaseGranted { kind: LeaseKind::Lease, ttl_ms, deadline, .. } => Some(Grant {
            holder,
            token: crate::event::token_of(scene.revision),
            kind: LeaseKind::Lease,
            ttl_ms: *ttl_ms,
            deadline: *deadline,
        }),
        Event::LeaseRenewed { ttl_ms, deadline, .. } => {
            let token = held.map(|held| held.token)?;
            Some(Grant { holder, token, kind: LeaseKind::Lease, ttl_ms: *ttl_ms, deadline: *deadline })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
