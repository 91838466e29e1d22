//! A refusal with the entry that it is about.
//!
//! Invariant: the entry is shown only to callers who may read its zone.
//! Not known here: how much of a value is shown.

use crate::caller::{Act, authorise};
use crate::command::Scene;
use crate::ids::{EntryId, Sha256};
use crate::rejection::{Current, Failure, Item, Refusal, Rejection};

/// Puts the failures in the order in which they are judged, and adds the entry that the first is about.
pub(crate) fn refuse(
    scene: &Scene<'_>,
    mut failures: Vec<Failure>,
    about: impl Fn(Item) -> Option<(EntryId, Option<Sha256>)>,
) -> Refusal {
    failures.sort_by_key(|failure| rank(&failure.rejection));
    let first = failures.first().expect("only failures are refused");
    let current = about(first.item).and_then(|(id, wanted)| current(scene, &id, wanted));
    Refusal { failures, current }
}

fn current(scene: &Scene<'_>, id: &EntryId, wanted: Option<Sha256>) -> Option<Box<Current>> {
    let board = scene.board;
    authorise(board, scene.actor, id, Act::Read).ok()?;
    let current = Current::of(board, id, &scene.actor.agent)?;
    let same_value = wanted == Some(current.entry.sha256);
    Some(Box::new(Current { same_value, ..current }))
}

/// The place of a failure in the order of checks: rights, existence, lease, version, status, content.
fn rank(rejection: &Rejection) -> u8 {
    match rejection {
        Rejection::AgentRequired { .. } | Rejection::DuplicateKey { .. } => 0,
        Rejection::BoardNotFound | Rejection::ZoneNotFound { .. } | Rejection::BoardExists => 1,
        Rejection::IdempotencyMismatch => 2,
        Rejection::Forbidden { .. } | Rejection::ZoneRestricted { .. } | Rejection::ArbiterOnly { .. } => 3,
        Rejection::NotFound { .. } | Rejection::NoteNotFound { .. } | Rejection::NoLease { .. } => 4,
        Rejection::LeaseHeld { .. } | Rejection::LeaseTokenRequired { .. } | Rejection::LeaseLost { .. } => 5,
        Rejection::PreconditionRequired { .. }
        | Rejection::LeafConditionRequired { .. }
        | Rejection::VersionConflict { .. } => 6,
        Rejection::UnknownStatus { .. } | Rejection::IllegalTransition { .. } | Rejection::Locked { .. } => 7,
        Rejection::ReservedMember { .. } => 8,
        Rejection::InvalidValue { .. }
        | Rejection::WrongKind { .. }
        | Rejection::PathNotFound { .. }
        | Rejection::TooComplex { .. }
        | Rejection::NullGuarded
        | Rejection::UnknownSchemaVersion { .. }
        | Rejection::StillCurrent { .. } => 9,
        Rejection::ValueTooLarge { .. } | Rejection::StateFull { .. } | Rejection::LimitReached { .. } => 10,
    }
}
