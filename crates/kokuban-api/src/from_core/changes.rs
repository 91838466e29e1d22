//! Commits as messages: one change for each entry, named by the first kind that applies.
//!
//! Invariant: made from the commit alone, so a commit of years ago reads as it did then.
//! Not known here: filters, rights, matches.

use kokuban_core::event::{Commit, Event, Touched};
use kokuban_core::ids::{ChainHash, EntryId};
use kokuban_core::json::Json;
use serde_json::Value;

use crate::answers::{HistoryChange, HistoryCommit, HistoryOperation, Trust};
use crate::kinds::ChangeKind;
use crate::problem::SHOWN_VALUE_BYTES_MAX;
use crate::stream::{self, Change, StatusChange};

/// What an event is called.
fn kind(event: &Event) -> Option<ChangeKind> {
    Some(match event {
        Event::BoardCreated(_) => ChangeKind::BoardCreated,
        Event::BoardRestored(_) => ChangeKind::BoardRestored,
        Event::EntryWritten(written) if written.created => ChangeKind::Created,
        // A mark beside a move makes it no change of the value.
        Event::EntryWritten(written) if !written.value_changed && written.status_from != written.status => {
            ChangeKind::Transitioned
        }
        Event::EntryWritten(_) => ChangeKind::Updated,
        Event::EntryMoved { .. } => ChangeKind::Transitioned,
        Event::EntryDeleted { .. } => ChangeKind::Deleted,
        Event::LeaseGranted { .. } => ChangeKind::LeaseGranted,
        Event::LeaseRenewed { .. } => ChangeKind::LeaseRenewed,
        Event::LeaseReleased { .. } => ChangeKind::LeaseReleased,
        Event::LeaseRevoked { .. } => ChangeKind::LeaseRevoked,
        Event::LeaseExpired { .. } => ChangeKind::LeaseExpired,
        Event::LeaseResumed { .. } => ChangeKind::LeaseResumed,
        Event::Noted { .. } => ChangeKind::Noted,
        // The end of a board ends its streams; the rest is housekeeping that nobody acts upon.
        Event::BoardDeleted | Event::TombstonesCollected { .. } | Event::NoteClosed { .. } | Event::Erased { .. } => {
            return None;
        }
    })
}

/// Every kind that applies to what the commit did to this entry, in order of precedence.
#[must_use]
pub fn kinds_of(commit: &Commit, id: &EntryId) -> Vec<ChangeKind> {
    let mut kinds: Vec<_> = commit.events.iter().filter(|event| event.entry() == Some(id)).filter_map(kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// The changes of a commit, in request order.
#[must_use]
pub fn changes_of(commit: &Commit) -> Vec<(Option<&Touched>, Change)> {
    let board = commit.events.iter().filter(|event| event.entry().is_none()).filter_map(kind);
    let mut changes: Vec<(Option<&Touched>, Change)> = board.map(|kind| (None, Change::of(kind))).collect();
    changes.extend(commit.touched.iter().filter_map(|touched| {
        let first = kinds_of(commit, &touched.id).into_iter().next()?;
        Some((Some(touched), change(first, touched)))
    }));
    changes
}

fn change(kind: ChangeKind, touched: &Touched) -> Change {
    let status_of = |standing: &Option<kokuban_core::event::Standing>| {
        standing.as_ref().and_then(|standing| standing.status.clone())
    };
    let (from, to) = (status_of(&touched.before), status_of(&touched.after));
    Change {
        zone: Some(touched.id.zone.clone()),
        key: Some(touched.id.key.clone()),
        version: Some(touched.version),
        status: (from.is_some() || to.is_some()).then_some(StatusChange { from, to }),
        owner: touched.after.as_ref().and_then(|standing| standing.owner.clone()),
        held_by: touched.held_by.clone(),
        trust: touched.untrusted.then_some(Trust::Untrusted),
        ..Change::of(kind)
    }
}

/// The value that the commit gave an entry, where it gave one and it is still there.
#[must_use]
pub fn value_in(commit: &Commit, id: &EntryId) -> Option<Json> {
    commit.events.iter().find_map(|event| match event {
        Event::EntryWritten(written) if written.id == *id => written.value.json.clone(),
        _ => None,
    })
}

/// A commit as a message with these changes.
#[must_use]
pub fn message(commit: &Commit, changes: Vec<Change>) -> stream::Commit {
    stream::Commit {
        revision: commit.revision,
        at: commit.at,
        by: commit.by.clone(),
        ticket: None,
        request_id: commit.request_id.to_string(),
        trace_id: commit.trace_id.as_ref().map(ToString::to_string),
        cause: None,
        changes,
    }
}

/// A change as the history tells it. Both sides of it are for whoever has looked for them.
#[must_use]
pub fn history_change(commit: &Commit, touched: Option<&Touched>, change: Change, operations: bool) -> HistoryChange {
    let id = touched.map(|touched| &touched.id);
    let own = || commit.events.iter().filter(|event| id.is_some() && event.entry() == id);
    HistoryChange {
        change,
        reason: own().find_map(reason),
        before: None,
        after: None,
        operations: own().find_map(operations_of).filter(|_| operations).unwrap_or_default(),
    }
}

fn reason(event: &Event) -> Option<String> {
    let reason = match event {
        Event::EntryWritten(written) => &written.reason,
        Event::EntryMoved { reason, .. } | Event::EntryDeleted { reason, .. } | Event::LeaseRevoked { reason, .. } => {
            reason
        }
        Event::BoardCreated(_)
        | Event::BoardDeleted
        | Event::BoardRestored(_)
        | Event::TombstonesCollected { .. }
        | Event::LeaseGranted { .. }
        | Event::LeaseRenewed { .. }
        | Event::LeaseReleased { .. }
        | Event::LeaseExpired { .. }
        | Event::LeaseResumed { .. }
        | Event::Noted { .. }
        | Event::NoteClosed { .. }
        | Event::Erased { .. } => return None,
    };
    reason.as_ref().map(ToString::to_string)
}

/// What each operation of a patch left at its place: the value at the end of the patch, if it is not too long.
fn operations_of(event: &Event) -> Option<Vec<HistoryOperation>> {
    let Event::EntryWritten(written) = event else { return None };
    if written.assignments.is_empty() {
        return None;
    }
    let value: Option<Value> = written.value.json.as_ref().map(Json::to_value);
    let operations = written.assignments.iter().map(|assignment| HistoryOperation {
        op: assignment.op.to_string().into(),
        path: assignment.path.clone(),
        value: value
            .as_ref()
            .and_then(|value| assignment.path.get(value))
            .map(Json::from_value)
            .filter(|value| value.len() <= SHOWN_VALUE_BYTES_MAX),
    });
    Some(operations.collect())
}

/// A commit as the history tells it, with these changes.
#[must_use]
pub fn history_commit(commit: &Commit, hash: Option<ChainHash>, changes: Vec<HistoryChange>) -> HistoryCommit {
    HistoryCommit {
        revision: commit.revision,
        at: commit.at,
        by: commit.by.clone(),
        ticket: None,
        request_id: commit.request_id.to_string(),
        trace_id: commit.trace_id.as_ref().map(ToString::to_string),
        cause: None,
        hash,
        changes,
    }
}
