//! Codes and texts of rejections.
//!
//! Invariant: one exhaustive match for each; texts name facts and never a value.
//! Not known here: boards and paths.

use kokuban_core::entry::LeaseEnd;
use kokuban_core::rejection::{Condition, Forbidden, Rejection};

use crate::code::ErrorCode;
use crate::spelling::listed;

pub(super) fn code(rejection: &Rejection) -> ErrorCode {
    match rejection {
        Rejection::BoardNotFound => ErrorCode::BoardNotFound,
        Rejection::ZoneNotFound { .. } => ErrorCode::ZoneNotFound,
        Rejection::BoardExists => ErrorCode::BoardExists,
        Rejection::IdempotencyMismatch => ErrorCode::IdempotencyMismatch,
        Rejection::AgentRequired { .. } => ErrorCode::AgentRequired,
        Rejection::Forbidden { .. } => ErrorCode::Forbidden,
        Rejection::ZoneRestricted { .. } => ErrorCode::ZoneRestricted,
        Rejection::ArbiterOnly { .. } => ErrorCode::ArbiterOnly,
        Rejection::NotFound { .. } | Rejection::NoteNotFound { .. } | Rejection::NoLease { .. } => ErrorCode::NotFound,
        Rejection::LeaseHeld { .. } => ErrorCode::LeaseHeld,
        Rejection::LeaseTokenRequired { .. } => ErrorCode::LeaseTokenRequired,
        Rejection::LeaseLost { .. } => ErrorCode::LeaseLost,
        Rejection::PreconditionRequired { .. } | Rejection::LeafConditionRequired { .. } => {
            ErrorCode::PreconditionRequired
        }
        Rejection::VersionConflict { .. } => ErrorCode::VersionConflict,
        Rejection::UnknownStatus { .. } => ErrorCode::UnknownStatus,
        Rejection::IllegalTransition { .. } => ErrorCode::IllegalTransition,
        Rejection::Locked { .. } => ErrorCode::Locked,
        Rejection::ReservedMember { .. } => ErrorCode::ReservedMember,
        Rejection::InvalidValue { .. } | Rejection::StillCurrent { .. } => ErrorCode::InvalidValue,
        Rejection::WrongKind { .. } => ErrorCode::WrongKind,
        Rejection::PathNotFound { .. } => ErrorCode::PathNotFound,
        Rejection::TooComplex { .. } => ErrorCode::TooComplex,
        Rejection::NullGuarded { .. } => ErrorCode::NullGuarded,
        Rejection::LowerConfidence { .. } => ErrorCode::LowerConfidence,
        Rejection::UnknownConfidence { .. } => ErrorCode::InvalidValue,
        Rejection::RequiredLeaf { .. } => ErrorCode::ArbiterOnly,
        Rejection::ProducerMismatch { .. } => ErrorCode::ProducerMismatch,
        Rejection::UnknownSlot { .. } => ErrorCode::UnknownSlot,
        Rejection::SchemaViolation { .. } => ErrorCode::SchemaViolation,
        Rejection::ListFull { .. } => ErrorCode::ListFull,
        Rejection::NumberNotRepresentable { .. } => ErrorCode::NumberNotRepresentable,
        Rejection::TestFailed { .. } => ErrorCode::TestFailed,
        Rejection::UnknownSchemaVersion { .. } => ErrorCode::SchemaViolation,
        Rejection::DuplicateKey { .. } => ErrorCode::DuplicateKey,
        Rejection::ValueTooLarge { .. } => ErrorCode::ValueTooLarge,
        Rejection::StateFull { .. } => ErrorCode::StateFull,
        Rejection::LimitReached { .. } => ErrorCode::LimitReached,
    }
}

pub(super) fn detail(rejection: &Rejection) -> String {
    match rejection {
        Rejection::BoardNotFound => "there is no such board; create it with PUT".to_owned(),
        Rejection::ZoneNotFound { zone } => format!("the board has no zone `{zone}`; its blueprint lists them"),
        Rejection::BoardExists => "the board exists with another blueprint".to_owned(),
        Rejection::IdempotencyMismatch => "this Idempotency-Key was used for another request".to_owned(),
        Rejection::AgentRequired { what } => {
            format!("{what} belongs to somebody: say who you are with the header Kokuban-Agent")
        }
        Rejection::Forbidden { why } => forbidden(*why).to_owned(),
        Rejection::ZoneRestricted { zone, owners } => {
            format!(
                "zone `{zone}` is written by its owners ({}); others may leave notes on its entries",
                listed(owners)
            )
        }
        Rejection::ArbiterOnly { zone } => format!("zone `{zone}` is written by arbiters only"),
        Rejection::NotFound { id } => format!("there is no entry `{id}`"),
        Rejection::NoteNotFound { note } => format!("the entry has no open note `{}`", shown(note)),
        Rejection::NoLease { id } => format!("nobody holds `{id}`"),
        Rejection::LeaseHeld { held_by, remaining_ms, by_you: true } => format!(
            "you ({held_by}) hold it for {remaining_ms} ms more; `takeover: true` grants a new token and fences off the old"
        ),
        Rejection::LeaseHeld { held_by, remaining_ms, .. } => {
            format!("{held_by} holds it for {remaining_ms} ms more")
        }
        Rejection::LeaseTokenRequired { remaining_ms } => format!(
            "you hold the lease for {remaining_ms} ms more: send its `lease_token`, or take it over if the token is lost"
        ),
        Rejection::LeaseLost { reason, held_by, .. } => {
            let now = match held_by {
                Some(holder) => format!("{holder} holds it now"),
                None => "nobody holds it now".to_owned(),
            };
            format!("this lease token is not live ({}); {now}", lease_end(*reason))
        }
        Rejection::PreconditionRequired { id } => {
            format!("`{id}` exists: name the `version` you read, or send If-Match")
        }
        Rejection::LeafConditionRequired { path, version, by } if path.is_empty() => format!(
            "the value was last written by {by} at version {version}: name the entry's `version` or `unchanged_since`"
        ),
        Rejection::LeafConditionRequired { path, version, by } => format!(
            "`{path}` was last written by {by} at version {version}: name the entry's `version` or `unchanged_since`"
        ),
        Rejection::VersionConflict { condition, expected, actual } => version_conflict(*condition, *expected, *actual),
        Rejection::UnknownStatus { status, known } if known.is_empty() => {
            format!("the zone has no lifecycle, so no status `{status}`")
        }
        Rejection::UnknownStatus { status, known } => {
            format!("the lifecycle has no status `{status}`; it has {}", listed(known))
        }
        Rejection::IllegalTransition { from: None, to, allowed } => {
            format!("a new entry may not begin as `{to}`; it may as {}", listed(allowed))
        }
        Rejection::IllegalTransition { from: Some(from), to, allowed } if allowed.is_empty() => {
            format!("you may not move it from `{from}` to `{to}`, nor anywhere else")
        }
        Rejection::IllegalTransition { from: Some(from), to, allowed } => {
            format!("you may not move it from `{from}` to `{to}`; you may to {}", listed(allowed))
        }
        Rejection::Locked { status, allowed } if allowed.is_empty() => {
            format!("status `{status}` closes the value to all but arbiters")
        }
        Rejection::Locked { status, allowed } => {
            format!("status `{status}` closes the value to all but arbiters; you may move it to {}", listed(allowed))
        }
        Rejection::ReservedMember { member } => {
            format!("`{member}` is set by the server and is not what you sent; leave it out")
        }
        Rejection::InvalidValue { what } => (*what).to_owned(),
        Rejection::StillCurrent { id } => {
            format!("the value stands in `{id}` now: overwrite or delete it first, then erase it from the history")
        }
        Rejection::WrongKind { path, what } if path.is_empty() => format!("at the whole value: {what}"),
        Rejection::WrongKind { path, what } => format!("at `{path}`: {what}"),
        Rejection::PathNotFound { path } => format!("`{path}` names no item that is there"),
        Rejection::TooComplex { what, max } => format!("{what} would be too complex; it may be {max} levels deep"),
        Rejection::NullGuarded { path } => format!(
            "{} has content, and nothing would take its place; leave it as it is, `unset` or `reset` it on purpose, or PUT with `replace: true`",
            place(path)
        ),
        Rejection::LowerConfidence { path, stands, given } => format!(
            "{} stands as `{stands}`, and {} does not replace that",
            place(path),
            given.as_ref().map_or_else(|| "a value without a confidence".to_owned(), |given| format!("`{given}`"))
        ),
        Rejection::UnknownConfidence { given, known } => {
            format!("there is no confidence `{}`; there are {}", shown(given), listed(known))
        }
        Rejection::RequiredLeaf { path } => format!("{} is required: only an arbiter takes it away", place(path)),
        Rejection::ProducerMismatch { producers } if producers.is_empty() => {
            "each producer has an entry of his own here: the last segment of the key is his name".to_owned()
        }
        Rejection::ProducerMismatch { producers } => format!("this entry is written by {}", listed(producers)),
        Rejection::UnknownSlot { id, known } if known.is_empty() => {
            format!("zone `{}` takes only declared slots, and declares none", id.zone)
        }
        Rejection::UnknownSlot { id, known } => {
            format!("zone `{}` takes only declared slots, and `{id}` is none; it declares {}", id.zone, listed(known))
        }
        Rejection::SchemaViolation { path, detail } => format!("at {}: {detail}", place(path)),
        Rejection::ListFull { path, max } => format!("{} would have more than {max} items", place(path)),
        Rejection::NumberNotRepresentable { path } => {
            format!("the sum at {} is no number that can be kept exactly", place(path))
        }
        Rejection::TestFailed { path } => format!("{} is not what the patch expects", place(path)),
        Rejection::UnknownSchemaVersion { given, current } => {
            format!("schema_version {given} is not served; {current} and the one before are")
        }
        Rejection::DuplicateKey { id } => format!("`{id}` is written twice in one transaction"),
        Rejection::ValueTooLarge { bytes, max } => format!(
            "the value has {bytes} bytes, at most {max} fit in an entry; keep the bulk elsewhere and store where it is, its sha256 and a summary"
        ),
        Rejection::StateFull { bytes, max } => {
            format!(
                "the prompt-visible state would have {bytes} bytes, at most {max} are allowed; shorten or delete the largest entries"
            )
        }
        Rejection::LimitReached { limit, max } => limit_reached(limit, *max),
    }
}

fn place(path: &str) -> String {
    if path.is_empty() { "the value".to_owned() } else { format!("`{path}`") }
}

/// A limit by its name in `GET /v1`, and what makes room where it is not plain.
fn limit_reached(limit: &str, max: u64) -> String {
    match limit {
        "entries_max" => format!(
            "the board has all the {max} entries that it may have (`{limit}`); one that was deleted counts for an hour more"
        ),
        "board_bytes_max" => {
            format!("the values of the board would exceed {max} bytes (`{limit}`); shorten or delete some")
        }
        "notes_per_entry_max" => format!("the entry has {max} open notes, the most it may (`{limit}`); close some"),
        _ if limit.contains("_bytes_") => format!("at most {max} bytes are allowed (`{limit}`)"),
        _ => format!("at most {max} are allowed (`{limit}`)"),
    }
}

fn forbidden(why: Forbidden) -> &'static str {
    match why {
        Forbidden::ScratchOfAnother => {
            "a scratch table belongs to the agent that its keys begin with: write under your own name, `<you>/…`"
        }
        Forbidden::Observer => "observers read and do not write",
        Forbidden::AdminOnly => "this is for admins",
        Forbidden::NotYourNote => {
            "a note is closed by its author, the owner of the entry, an owner of the zone or an arbiter"
        }
        Forbidden::NotYourLease => "a lease is ended by its holder with the token, or by an arbiter",
        Forbidden::ScratchHasNoLeases => "a scratch table is its agent's own and has no leases",
    }
}

fn version_conflict(
    condition: Condition,
    expected: Option<kokuban_core::ids::Version>,
    actual: Option<kokuban_core::ids::Version>,
) -> String {
    let stands = match actual {
        Some(version) => format!("the entry is at version {version}"),
        None => "there is no entry".to_owned(),
    };
    match (condition, expected) {
        (Condition::Header, _) => format!("the condition of the header does not hold: {stands}"),
        (Condition::Named, Some(expected)) if expected.0 == 0 => format!("the entry must not exist, but {stands}"),
        (Condition::Named, Some(expected)) => format!("you read version {expected}, but {stands}"),
        (Condition::Named, None) => stands,
    }
}

pub(super) fn is_header_condition(rejection: &Rejection) -> bool {
    matches!(rejection, Rejection::VersionConflict { condition: Condition::Header, .. })
}

pub(super) fn allowed(rejection: &Rejection) -> Option<Vec<String>> {
    match rejection {
        Rejection::UnknownStatus { known: statuses, .. }
        | Rejection::IllegalTransition { allowed: statuses, .. }
        | Rejection::Locked { allowed: statuses, .. } => Some(statuses.iter().map(ToString::to_string).collect()),
        Rejection::UnknownConfidence { known, .. } | Rejection::UnknownSlot { known, .. } => {
            Some(known.iter().map(ToString::to_string).collect())
        }
        _ => None,
    }
}

pub(super) fn limit(rejection: &Rejection) -> Option<(&'static str, u64)> {
    match rejection {
        Rejection::LimitReached { limit, max } => Some((limit, *max)),
        Rejection::ValueTooLarge { max, .. } => Some(("value_bytes_max", *max)),
        Rejection::StateFull { max, .. } => Some(("state_bytes_max", *max)),
        _ => None,
    }
}

pub(super) fn lease_end(end: LeaseEnd) -> &'static str {
    match end {
        LeaseEnd::Expired => "expired",
        LeaseEnd::Superseded => "superseded",
        LeaseEnd::Released => "released",
        LeaseEnd::Revoked => "revoked",
        LeaseEnd::Deleted => "deleted",
        LeaseEnd::NeverHeld => "never_held",
    }
}

/// A caller's own word, bounded and without anything that a terminal would act on.
fn shown(word: &str) -> String {
    word.chars().take(crate::limits::SHOWN_NAME_CHARS_MAX).flat_map(char::escape_debug).collect()
}
