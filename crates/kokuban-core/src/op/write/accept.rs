//! What an accepted write leaves: its events, and what its author is told.
//!
//! Invariant: a write that changes nothing makes no version; what was held back is kept as a note.
//! Not known here: whether the write was in order.

use smol_str::{SmolStr, format_smolstr};

use super::value::NewValue;
use super::{Accepted, Write};
use crate::board::owner_of;
use crate::command::Scene;
use crate::entry::{Entry, HeldBack, Lease, LeaseKind, Leaves, Marks, Note};
use crate::event::{EntryWritten, Event};
use crate::ids::{EntryId, Status, Version};
use crate::op::size::{self, Growth};
use crate::reply::{Grant, Outcome, Receipt, Warning};

/// The receipt of a patch that found nothing and left nothing.
pub(super) fn nothing(id: &EntryId, value: NewValue) -> Accepted {
    let receipt = Receipt {
        id: id.clone(),
        version: Version::ZERO,
        status: None,
        owner: None,
        sha256: None,
        outcome: Outcome::Unchanged,
        operations: value.operations,
        warnings: value.warnings,
        lease: None,
        completeness: None,
        value: None,
    };
    Accepted { events: Vec::new(), receipt }
}

/// A write of which everything was found to be in order.
pub(super) struct Judgement<'a> {
    pub(super) entry: Option<&'a Entry>,
    pub(super) lease: Option<&'a Lease>,
    pub(super) value: NewValue,
    pub(super) value_changed: bool,
    pub(super) status: Option<Status>,
    pub(super) held: Option<&'a Lease>,
    pub(super) granted: Option<Event>,
}

pub(super) fn accept(scene: &Scene<'_>, write: &Write, mut judged: Judgement<'_>, growth: &mut Growth) -> Accepted {
    let entry = judged.entry;
    let marks = judged.value.marks(scene, write, entry);
    let standing = entry.map(|entry| Marks { leaves: Leaves::default(), ..entry.marks().clone() });
    let raised = judged.value.per_leaf && !judged.value_changed && !judged.value.assignments.is_empty();
    let marks_changed = raised || standing.as_ref() != Some(&marks);
    let moved = entry.is_some_and(|entry| entry.status() != judged.status);
    let under_lease = judged.held.is_some_and(|held| held.kind == LeaseKind::Lease);
    let version = scene.board.next_version(&write.id);
    let mut events = Vec::new();
    let outcome = match entry {
        Some(_) if !judged.value_changed && !marks_changed && !moved => Outcome::Unchanged,
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
            events.push(Event::EntryWritten(Box::new(written(scene, write, &judged, version, marks, under_lease))));
            if entry.is_some() { Outcome::Updated } else { Outcome::Created }
        }
    };
    events.extend(judged.granted.clone());
    note_what_was_held(scene, write, &mut judged, growth, &mut events);
    let receipt = receipt(scene, write, &judged, version, outcome);
    Accepted { events, receipt }
}

/// Each operation that was held back becomes a note; the oldest such notes make room.
fn note_what_was_held(
    scene: &Scene<'_>,
    write: &Write,
    judged: &mut Judgement<'_>,
    growth: &mut Growth,
    events: &mut Vec<Event>,
) {
    let held = std::mem::take(&mut judged.value.held);
    let max = scene.board.blueprint().limits.notes_per_entry_max;
    let open = scene.board.n_notes(&write.id) + held.len() as u64;
    let standing = scene.board.notes(&write.id).into_iter().flatten();
    let oldest =
        standing.filter(|note| note.held.is_some()).take(usize::try_from(open.saturating_sub(max)).unwrap_or(0));
    events.extend(oldest.map(|note| Event::NoteClosed { id: write.id.clone(), note: note.id.clone() }));
    for (index, back) in held {
        let id = format_smolstr!("n{}-{}", scene.revision, growth.next_note());
        if let Some(receipt) = judged.value.operations.get_mut(index) {
            receipt.note = Some(id.clone());
        }
        let refers_to_version = judged.entry.map(|entry| entry.version);
        let note = Note {
            id,
            by: scene.actor.agent.clone(),
            at: scene.ctx.at,
            text: in_words(&back),
            refers_to_version,
            held: Some(Box::new(back)),
        };
        events.push(Event::Noted { id: write.id.clone(), note });
    }
}

fn in_words(back: &HeldBack) -> SmolStr {
    format_smolstr!("held back: {} {}", back.op, back.path)
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
        per_leaf: judged.value.per_leaf,
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
    warnings.extend(judged.value.warnings.iter().cloned());
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
        completeness: None,
        value: judged.value.payload.json.clone(),
    }
}

/// An undeclared entry that gets a second author may be a scalar that two agents fight over.
fn second_producer(scene: &Scene<'_>, write: &Write, judged: &Judgement<'_>) -> Option<Warning> {
    let first = judged.entry.filter(|_| judged.value_changed).map(Entry::created_by)?;
    let declared = scene.board.blueprint().slot_of(&write.id).is_some();
    (first != scene.actor.agent && !declared).then_some(Warning::SecondProducer { first })
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
