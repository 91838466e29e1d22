//! Entries, receipts and leases as they are shown.
//!
//! Invariant: what is shown of an entry is complete for its view; `held_by` and `remaining_ms` are judged at the time
//! of the answer, all else is the state at the position.
//! Not known here: HTTP headers.

use bytes::Bytes;
use kokuban_core::board::Board;
use kokuban_core::entry::{self as core, LeaseKind};
use kokuban_core::ids::{BoardTime, EntryId, Position};
use kokuban_core::reply::{self, Grant};

use crate::answers::{
    Claimed, Entry, EntryDetails, Lease, Note, OperationReceipt, Receipt, TransactionReceipt, Trust, Warning,
};
use crate::headers::EntityTag;
use crate::names;
use crate::problem::SHOWN_VALUE_BYTES_MAX;

/// How much of an entry is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Without the value: lists.
    Listed,
    Brief,
    Full,
}

/// An entry of `board` as it is shown at `now`.
#[must_use]
pub fn entry(board: &Board, id: &EntryId, entry: &core::Entry, now: BoardTime, view: View) -> Entry {
    let held_by = board.live_lease(id, now).map(|lease| lease.holder.clone());
    let owner = board.owner(id, entry);
    let notes = board.n_notes(id);
    let mut shown = brief(id, entry, view);
    shown.owner = owner;
    shown.held_by = held_by;
    shown.notes = notes;
    if view == View::Full {
        shown.details = board.position().map(|position| Box::new(details(board, id, entry, position)));
    }
    shown
}

fn brief(id: &EntryId, entry: &core::Entry, view: View) -> Entry {
    let marks = entry.marks();
    Entry {
        zone: id.zone.clone(),
        key: id.key.clone(),
        value: entry.value().filter(|_| view != View::Listed),
        version: entry.version,
        status: entry.status(),
        owner: None,
        updated_by: entry.updated_by(),
        updated_at: entry.updated_at,
        held_by: None,
        conflict: false,
        trust: marks.untrusted.then_some(Trust::Untrusted),
        confidence: marks.confidence.as_ref().map(ToString::to_string),
        notes: 0,
        attempts: u64::from(entry.attempts()),
        summary: marks.summary.as_ref().map(ToString::to_string),
        details: None,
    }
}

fn details(board: &Board, id: &EntryId, entry: &core::Entry, position: Position) -> EntryDetails {
    let marks = entry.marks();
    EntryDetails {
        board: board.name().clone(),
        href: names::entry_href(board.name(), id),
        etag: EntityTag { version: entry.version, epoch: position.epoch }.text().as_str().to_owned(),
        revision: entry.revision,
        created_by: entry.created_by(),
        created_at: entry.created_at,
        value_version: entry.value_version,
        value_by: entry.value_by(),
        source: marks.source.clone(),
        derived_from: marks.derived_from.clone(),
        schema_version: entry.schema_version(),
        sha256: entry.sha256,
        bytes: entry.bytes(),
        ticket: None,
        reason: entry.reason().map(ToString::to_string),
    }
}

/// The bytes of an entry's answer.
#[must_use]
pub fn entry_json(entry: &Entry, pretty: bool) -> Bytes {
    let bytes = if pretty { serde_json::to_vec_pretty(entry) } else { serde_json::to_vec(entry) };
    bytes.expect("the types of the wire serialise").into()
}

/// How much of the value a receipt shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptValue {
    Never,
    UpTo4KiB,
    Always,
}

/// The answer to one write. A patch shows its result, a put does not; `Prefer` decides otherwise.
#[must_use]
pub fn receipt(
    receipt: &reply::Receipt,
    position: Position,
    now: BoardTime,
    shows: ReceiptValue,
    dry_run: bool,
) -> Receipt {
    let small = |bytes: usize| bytes <= SHOWN_VALUE_BYTES_MAX;
    let value = receipt.value.clone().filter(|value| match shows {
        ReceiptValue::Never => false,
        ReceiptValue::UpTo4KiB => small(value.len()),
        ReceiptValue::Always => true,
    });
    Receipt {
        zone: receipt.id.zone.clone(),
        key: receipt.id.key.clone(),
        version: receipt.version,
        position,
        etag: EntityTag { version: receipt.version, epoch: position.epoch }.text().as_str().to_owned(),
        status: receipt.status.clone(),
        owner: receipt.owner.clone(),
        sha256: receipt.sha256,
        outcome: receipt.outcome,
        operations: receipt.operations.iter().map(operation).collect(),
        value,
        warnings: receipt.warnings.iter().map(warning).collect(),
        lease: receipt.lease.as_ref().map(|grant| lease(grant, now)).map(|l| if dry_run { l.tried() } else { l }),
        completeness: receipt.completeness.as_ref().map(super::typed::completeness),
        dry_run,
    }
}

fn operation(operation: &reply::OperationReceipt) -> OperationReceipt {
    OperationReceipt {
        op: operation.op.to_string().into(),
        path: operation.path.clone(),
        outcome: operation.outcome,
        reason: operation.reason.as_ref().map(|reason| reason.to_string().into()),
        note: operation.note.as_ref().map(ToString::to_string),
    }
}

#[must_use]
pub fn transaction_receipt(
    receipts: &[reply::Receipt],
    position: Position,
    now: BoardTime,
    shows: ReceiptValue,
    dry_run: bool,
) -> TransactionReceipt {
    let receipts = receipts.iter().map(|one| receipt(one, position, now, shows, dry_run)).collect();
    TransactionReceipt { revision: position.revision, position, receipts, dry_run }
}

/// A lease for its holder.
#[must_use]
pub fn lease(grant: &Grant, now: BoardTime) -> Lease {
    Lease {
        holder: grant.holder.clone(),
        lease_token: (grant.kind == LeaseKind::Lease).then_some(grant.token),
        ttl_ms: grant.ttl_ms,
        remaining_ms: now.ms_until(grant.deadline),
        dry_run: false,
    }
}

/// A claimed entry with its lease.
#[must_use]
pub fn claimed(
    id: &EntryId,
    entry: &core::EntryParts,
    grant: &Grant,
    notes: u64,
    now: BoardTime,
    dry_run: bool,
) -> Claimed {
    let mut shown = brief(id, &core::Entry::pack(entry), View::Brief);
    shown.owner = Some(grant.holder.clone());
    shown.held_by = Some(grant.holder.clone());
    shown.notes = notes;
    let lease = lease(grant, now);
    Claimed { entry: shown, lease: if dry_run { lease.tried() } else { lease }, dry_run }
}

#[must_use]
pub fn note(note: &core::Note) -> Note {
    Note {
        id: note.id.to_string(),
        by: note.by.clone(),
        at: note.at,
        text: note.text.to_string(),
        refers_to_version: note.refers_to_version,
        held: note.held.as_ref().map(|back| Box::new(super::typed::held(back))),
    }
}

/// A warning in words.
#[must_use]
pub fn warning(warning: &reply::Warning) -> Warning {
    match warning {
        reply::Warning::BoardCreated { blueprint } => Warning::new(
            "board_created",
            format!("the board did not exist; it was created with blueprint `{blueprint}`"),
        ),
        reply::Warning::ValueLarge { bytes } => Warning::new(
            "value_large",
            format!("the value has {bytes} bytes; values over 32 KiB make prompts slow and dear"),
        ),
        reply::Warning::SecondProducer { first } => Warning::new(
            "second_producer",
            format!(
                "{first} created this entry and you wrote it too; an entry with two authors wants a slot or a key for each"
            ),
        ),
        reply::Warning::NotEnforced { members } => {
            Warning::new("not_enforced", format!("stored, but not enforced by this server yet: {}", members.join(", ")))
        }
        reply::Warning::ConfidenceCapped { asked, given } => Warning::new(
            "confidence_capped",
            format!("you may claim `{given}` at the most, so that was taken for `{asked}`"),
        ),
        reply::Warning::Nested { depth, max } => Warning::new(
            "nested",
            format!(
                "the value is {depth} levels deep; beyond {max} models lose their way in it: make entries of its parts"
            ),
        ),
        reply::Warning::Ignored { members } => {
            Warning::new("ignored", format!("the board exists already; ignored: {}", members.join(", ")))
        }
    }
}
