//! Refusals in the words of the wire, each with its next step.
//!
//! Invariant: the first failure gives status and code; all are in `errors`. `next` names only calls that this server
//! has. A value is shown only if it is at most 4 KiB.
//! Not known here: the engine's failures; they are no refusals.

use kokuban_core::blueprint::Flaw;
use kokuban_core::ids::{BoardName, EntryId, Position, Version};
use kokuban_core::json::{self, Json};
use kokuban_core::path::Path;
use kokuban_core::rejection::{Current, Failure, Item, Refusal, Rejection};
use serde_json::json;

use super::words;
use crate::code::{ErrorCode, NextAction};
use crate::headers::EntityTag;
use crate::names::{self, Resource};
use crate::problem::{self, ErrorItem, Leaf, Next, Problem, SHOWN_VALUE_BYTES_MAX};

/// Where something was refused.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub board: &'a BoardName,
    pub position: Option<Position>,
    /// The method and the entry of a call about one entry.
    pub call: Option<(&'a str, &'a EntryId)>,
}

/// The problem of a refusal.
#[must_use]
pub fn problem(refusal: &Refusal, place: &Place<'_>) -> Problem {
    let first = refusal.first();
    let code = words::code(first);
    let mut problem = Problem::new(code, words::detail(first));
    if words::is_header_condition(first) {
        problem = problem.from_header_condition();
    }
    if matches!(first, Rejection::TooComplex { .. }) {
        // The body was read; it is what a patch would make of the value that goes too far.
        problem = problem.with_status(422);
    }
    let current = refusal.current.as_deref();
    problem.errors = refusal.failures.iter().map(|failure| error_item(failure, current)).collect();
    add_facts(&mut problem, first);
    if let Some(current) = &refusal.current {
        problem.current = Some(Box::new(shown(current, place.position)));
    }
    let about = refusal.current.as_ref().map(|current| &current.id).or(place.call.map(|(_, id)| id));
    problem.next = next(first, refusal.current.as_deref(), place, about);
    problem
}

fn error_item(failure: &Failure, current: Option<&Current>) -> ErrorItem {
    let rejection = &failure.rejection;
    let below = match failure.item {
        Item::Whole => String::new(),
        Item::Check(index) => format!("/checks/{index}"),
        Item::Write(index) => format!("/writes/{index}"),
    };
    let pointer = format!("{below}{}", failure.pointer.as_deref().unwrap_or_default());
    let mut item = ErrorItem::new(words::code(rejection), words::detail(rejection));
    item.pointer = (!pointer.is_empty()).then_some(pointer);
    item.allowed = words::allowed(rejection);
    if let Some((name, max)) = words::limit(rejection) {
        item = item.with_limit(name, max);
    }
    if let Rejection::LeafConditionRequired { path, version, by } = rejection {
        let value = current.and_then(|current| leaf_value(current, path));
        let (value, omitted) = split_shown(value);
        item.leaf = Some(Box::new(Leaf { value, value_omitted: omitted, version: *version, by: by.clone() }));
    }
    item
}

fn leaf_value(current: &Current, path: &str) -> Option<Json> {
    let value = current.entry.value()?.to_value();
    Path::parse(path).ok()?.get(&value).map(Json::from_value)
}

/// A value as far as a problem shows it, and whether it was left out.
fn split_shown(value: Option<Json>) -> (Option<Json>, Option<bool>) {
    match value {
        Some(value) if value.len() > SHOWN_VALUE_BYTES_MAX => (None, Some(true)),
        value => (value, None),
    }
}

fn add_facts(problem: &mut Problem, first: &Rejection) {
    problem.allowed = words::allowed(first);
    if let Some((name, max)) = words::limit(first) {
        problem.limit = Some(problem::Limit { name: name.into(), max });
    }
    match first {
        Rejection::LeaseHeld { held_by, remaining_ms, by_you } => {
            problem.held_by = Some(held_by.clone());
            problem.held_by_you = by_you.then_some(true);
            problem.remaining_ms = Some(*remaining_ms);
            problem.retry_after_ms = Some(*remaining_ms);
        }
        Rejection::LeaseTokenRequired { remaining_ms } => problem.remaining_ms = Some(*remaining_ms),
        Rejection::LeaseLost { reason, held_by, .. } => {
            problem.reason = Some(words::lease_end(*reason).into());
            problem.held_by.clone_from(held_by);
        }
        _ => {}
    }
}

/// The entry as it stands, for whoever was refused.
fn shown(current: &Current, position: Option<Position>) -> problem::Current {
    let entry = &current.entry;
    let small = entry.bytes() <= SHOWN_VALUE_BYTES_MAX as u64;
    problem::Current {
        version: entry.version,
        etag: position.map(|position| EntityTag { version: entry.version, epoch: position.epoch }.to_string()),
        status: entry.status(),
        owner: current.owner.clone(),
        held_by: current.held_by.clone(),
        updated_by: Some(entry.updated_by()),
        updated_at: Some(entry.updated_at),
        request_id: Some(entry.request_id().to_string()),
        value: entry.value().filter(|_| small),
        value_omitted: (!small).then_some(true),
        yours: Some(current.yours),
        same_value: Some(current.same_value),
    }
}

/// What to do next, with the call that does it where this server has one.
fn next(first: &Rejection, current: Option<&Current>, place: &Place<'_>, about: Option<&EntryId>) -> Next {
    let board = place.board;
    let read = |id: &EntryId| Next::call(NextAction::Reread, "GET", names::entry_href(board, id));
    let comment = |id: &EntryId, text: &str| {
        Next::call(NextAction::Comment, "POST", names::href(board, Resource::Notes, id))
            .with_body(json!({"text": text}))
    };
    let code = words::code(first);
    let plain = || Next::action(code.default_action());
    match (first, about) {
        (Rejection::ZoneNotFound { .. }, _) if place.position.is_none() => plain(),
        (Rejection::BoardNotFound, _) => Next::call(NextAction::FixRequest, "PUT", names::board_href(board))
            .with_body(json!({"blueprint": "default"})),
        (Rejection::ZoneNotFound { .. }, _) => {
            Next::call(NextAction::FixRequest, "GET", format!("{}/blueprint", names::board_href(board)))
        }
        (Rejection::BoardExists, _) => Next::call(NextAction::Reread, "GET", names::board_href(board)),
        (Rejection::NotFound { id }, _) => Next::call(NextAction::FixRequest, "GET", names::zone_href(board, &id.zone)),
        (Rejection::ZoneRestricted { .. } | Rejection::ArbiterOnly { .. } | Rejection::Locked { .. }, Some(id))
            if current.is_some() =>
        {
            comment(id, "what you would change, and why")
        }
        // There is nothing yet that a note could stand on.
        (Rejection::ZoneRestricted { .. } | Rejection::ArbiterOnly { .. }, _) => Next::action(NextAction::Escalate),
        (Rejection::VersionConflict { .. }, Some(id)) if current.is_none() => {
            Next::call(NextAction::FixRequest, "GET", names::zone_href(board, &id.zone))
        }
        (
            Rejection::VersionConflict { .. }
            | Rejection::LeaseLost { .. }
            | Rejection::PathNotFound { .. }
            | Rejection::LeafConditionRequired { .. },
            Some(id),
        ) => read(id),
        (Rejection::NoteNotFound { .. }, Some(id)) => {
            Next::call(NextAction::FixRequest, "GET", names::href(board, Resource::Notes, id))
        }
        (Rejection::NoLease { id }, _) => {
            Next::call(NextAction::FixRequest, "POST", names::href(board, Resource::Leases, id))
        }
        (Rejection::StateFull { .. }, _) => Next::call(NextAction::FixRequest, "GET", names::board_href(board)),
        (Rejection::IllegalTransition { allowed, .. }, Some(id)) if allowed.is_empty() && current.is_some() => {
            comment(id, "which status it should have, and why")
        }
        (Rejection::IllegalTransition { .. }, Some(id)) => {
            Next::call(NextAction::FixRequest, "GET", names::entry_href(board, id))
        }
        (Rejection::PreconditionRequired { id }, _) => {
            let version = current.map_or(Version::ZERO, |current| current.entry.version);
            with_version(place.call.map(|(method, _)| method), &names::entry_href(board, id), version)
        }
        (Rejection::LeaseHeld { by_you: true, .. }, Some(id)) => {
            Next::call(NextAction::FixRequest, "POST", names::href(board, Resource::Leases, id))
                .with_body(json!({"takeover": true}))
        }
        (Rejection::LeaseHeld { .. }, Some(id)) => {
            Next::call(NextAction::Wait, "GET", names::href(board, Resource::Leases, id))
        }
        _ => plain(),
    }
}

/// The same call again, with the version that the caller has not named.
fn with_version(method: Option<&str>, href: &str, version: Version) -> Next {
    let again = |method| Next::call(NextAction::FixRequest, method, href);
    match method {
        Some("PUT") => again("PUT").with_body(json!({"version": version})),
        Some("PATCH") => again("PATCH").with_body(json!({"version": version})),
        Some("DELETE") => Next::call(NextAction::FixRequest, "DELETE", format!("{href}?version={version}")),
        // An item of a transaction.
        _ => Next::action(NextAction::FixRequest),
    }
}

/// Points failed operations at where they stand in the body: the core counts them, the short form names them.
pub fn point_at_operations(problem: &mut Problem, below: &str, pointers: &[String]) {
    let counted = format!("{below}/operations/");
    for item in &mut problem.errors {
        let index = item.pointer.as_deref().and_then(|pointer| pointer.strip_prefix(&counted)?.parse::<usize>().ok());
        if let Some(pointer) = index.and_then(|index| pointers.get(index)) {
            item.pointer = Some(format!("{below}{pointer}"));
        }
    }
}

/// The problem of a body that is not the JSON we take.
#[must_use]
pub fn json_problem(error: &json::Error) -> Problem {
    let detail = error.to_string();
    match error {
        json::Error::Malformed { .. } => Problem::new(ErrorCode::Malformed, detail),
        json::Error::DuplicateMember { pointer } => {
            Problem::new(ErrorCode::DuplicateMember, detail).with_pointer(pointer.clone())
        }
        json::Error::TooComplex { pointer, .. } => {
            Problem::new(ErrorCode::TooComplex, detail).with_status(400).with_pointer(pointer.clone())
        }
        json::Error::NumberNotRepresentable { pointer } => {
            Problem::new(ErrorCode::NumberNotRepresentable, detail).with_pointer(pointer.clone())
        }
    }
}

/// The problem of a blueprint with mistakes; `below` is where in the body it stands.
#[must_use]
pub fn flaws_problem(flaws: &[Flaw], below: &str) -> Problem {
    let first = flaws.first().map_or_else(String::new, |flaw| flaw.detail.to_string());
    let items = flaws.iter().map(|flaw| {
        ErrorItem::at(ErrorCode::InvalidBlueprint, format!("{below}{}", flaw.pointer), flaw.detail.to_string())
    });
    Problem::new(ErrorCode::InvalidBlueprint, first).with_errors(items.collect())
}
