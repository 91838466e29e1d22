//! Bodies as commands.
//!
//! Invariant: values are canonicalised and hashed here, in the task of the request, not in the board's.
//! Not known here: boards.

use kokuban_core::command::{
    Acquire, Change, Check, Claim, Conditions, Delete, EchoedMember, LeaseUse, NamedMarks, RfcPatch, TagMatch,
    Transact, TransactItem, Write,
};
use kokuban_core::entry::Payload;
use kokuban_core::ids::{BoardName, EntryId};
use kokuban_core::json::{self, Json};
use serde_json::Value;
use smol_str::SmolStr;

use super::problems::json_problem;
use crate::bodies::{self, Op, Operand, Terms};
use crate::code::ErrorCode;
use crate::headers::{Match, Preconditions};
use crate::names;
use crate::problem::{ErrorItem, Problem};
use crate::query::WriteQuery;

/// A PUT as a command.
///
/// # Errors
/// The value is too complex, or a member asks for what this server does not do yet.
pub fn put(board: &BoardName, id: EntryId, put: bodies::Put, conditions: &Preconditions) -> Result<Write, Problem> {
    let value = payload(&put.value, "/value")?;
    write(board, id, Change::Replace { value, wipes: put.replace }, put.terms, conditions)
}

/// A PATCH as a command. Without operations it is a move, or changes marks.
///
/// # Errors
/// An operation that this server does not do yet, or a value that is too complex.
pub fn patch(
    board: &BoardName,
    id: EntryId,
    patch: bodies::Patch,
    conditions: &Preconditions,
) -> Result<Write, Problem> {
    let mut operations = Vec::with_capacity(patch.operations.len());
    let mut errors = Vec::new();
    for operation in patch.operations {
        match self::operation(operation) {
            Ok(operation) => operations.push(operation),
            Err(item) => errors.push(*item),
        }
    }
    if let Some(problem) = Problem::from_errors(errors) {
        return Err(problem);
    }
    let change = if operations.is_empty() { Change::Keep } else { Change::Patch(operations) };
    write(board, id, change, patch.terms, conditions)
}

fn operation(operation: bodies::Operation) -> Result<kokuban_core::command::Operation, Box<ErrorItem>> {
    use kokuban_core::command::Op as Does;
    let pointer = operation.pointer;
    let judged =
        |value: &Value| json::check(value, &json::Bounds::default(), "").map_err(|error| too_complex(&error, &pointer));
    let op = match (operation.op, operation.operand) {
        (Op::Unset, _) => Does::Unset,
        (op, Operand::Values(items)) => {
            items.iter().try_for_each(judged)?;
            match op {
                Op::Add => Does::Add(items),
                Op::Remove => Does::Remove(items),
                Op::Append => Does::Append(items),
                _ => Does::Reset(items),
            }
        }
        (Op::Increment, Operand::Value(Value::Number(number))) => Does::Increment(number),
        (Op::Merge, Operand::Value(Value::Object(members))) => {
            let whole = Value::Object(members);
            judged(&whole)?;
            let Value::Object(members) = whole else { unreachable!("it was made one just now") };
            Does::Merge(members)
        }
        (_, Operand::Value(value)) => {
            judged(&value)?;
            Does::Set(value)
        }
        (_, Operand::Nothing) => Does::Reset(Vec::new()),
    };
    Ok(kokuban_core::command::Operation {
        op,
        path: operation.path,
        unchanged_since: operation.unchanged_since,
        intent: match operation.intent.unwrap_or_default() {
            bodies::Intent::Overwrite => kokuban_core::command::Intent::Overwrite,
            bodies::Intent::Append => kokuban_core::command::Intent::Append,
            bodies::Intent::Ignore => kokuban_core::command::Intent::Ignore,
        },
        confidence: operation.confidence.map(SmolStr::from),
        source: operation.source,
        reason: operation.reason.map(SmolStr::from),
    })
}

fn too_complex(error: &json::Error, pointer: &str) -> Box<ErrorItem> {
    Box::new(ErrorItem::at(ErrorCode::TooComplex, pointer, error.to_string()))
}

/// A value, judged, in its canonical form.
fn payload(value: &Value, pointer: &str) -> Result<Payload, Problem> {
    json::check(value, &json::Bounds::default(), pointer).map_err(|error| json_problem(&error))?;
    Ok(Payload::new(Json::from_value(value)))
}

/// The values that a board begins with.
///
/// # Errors
/// One is too complex.
pub fn inputs(inputs: Vec<(EntryId, Value)>) -> Result<Vec<(EntryId, Payload)>, Problem> {
    let judged = |(id, value): (EntryId, Value)| {
        let name = id.to_string().replace('~', "~0").replace('/', "~1");
        payload(&value, &format!("/inputs/{name}")).map(|payload| (id, payload))
    };
    inputs.into_iter().map(judged).collect()
}

fn write(
    board: &BoardName,
    id: EntryId,
    change: Change,
    terms: Terms,
    preconditions: &Preconditions,
) -> Result<Write, Problem> {
    // The address of an entry is the edge's word for it; the core knows none.
    let is_href = |value: &Value| value.as_str().is_some_and(|href| href == names::entry_href(board, &id));
    let echoed = terms.echoed.into_iter().filter(|(name, value)| !(name == "href" && is_href(value)));
    let echoed = echoed.map(|(name, value)| EchoedMember { name: SmolStr::from(name), value }).collect();
    Ok(Write {
        change,
        conditions: Conditions { version: terms.version, ..conditions(preconditions) },
        lease: LeaseUse { token: terms.lease_token, ttl_ms: terms.lease_ttl_ms },
        status: terms.status,
        marks: NamedMarks {
            confidence: terms.confidence.map(SmolStr::from),
            untrusted: terms.untrusted,
            source: terms.source,
            derived_from: terms.derived_from,
            summary: terms.summary.map(SmolStr::from),
        },
        schema_version: terms.schema_version,
        reason: terms.reason.map(SmolStr::from),
        echoed,
        atomic: false,
        id,
    })
}

/// A patch of the RFCs as a command; its conditions stand in headers and query.
///
/// # Errors
/// None of its own: what `write` may refuse is not in such a patch.
pub fn rfc(board: &BoardName, id: EntryId, patch: RfcPatch, conditions: &Preconditions) -> Result<Write, Problem> {
    write(board, id, Change::Rfc(patch), Terms::default(), conditions)
}

/// The conditions of headers.
fn conditions(preconditions: &Preconditions) -> Conditions {
    let tags = |matched: &Match| match matched {
        Match::None => None,
        Match::Exists => Some(TagMatch::Any),
        Match::AnyOf(tags) => Some(TagMatch::Tags(tags.iter().map(|tag| (tag.version, tag.epoch)).collect())),
    };
    Conditions {
        version: None,
        if_match: tags(&preconditions.if_match),
        if_none_match: tags(&preconditions.if_none_match),
    }
}

/// A DELETE as a command.
#[must_use]
pub fn delete(id: EntryId, query: &WriteQuery, preconditions: &Preconditions) -> Delete {
    Delete {
        id,
        conditions: Conditions { version: query.version, ..conditions(preconditions) },
        lease: LeaseUse { token: query.lease_token, ttl_ms: None },
        reason: query.reason.as_ref().map(SmolStr::new),
    }
}

/// A claim as a command.
#[must_use]
pub fn claim(claim: bodies::Claim) -> Claim {
    Claim {
        zone: claim.zone,
        status: claim.status,
        prefix: claim.prefix,
        ttl_ms: claim.ttl_ms,
        to_status: claim.to_status,
    }
}

/// A transaction as a command.
///
/// # Errors
/// A value is too complex, or an operation is none that this server does.
pub fn transaction(board: &BoardName, transaction: bodies::Transaction) -> Result<Transact, Problem> {
    let none = Preconditions::default();
    let mut items = Vec::with_capacity(transaction.writes.len());
    for (index, item) in transaction.writes.into_iter().enumerate() {
        let below = |problem: Problem| {
            let errors = problem.errors.iter().cloned().map(|item| item.below(&format!("/writes/{index}")));
            let errors = errors.collect();
            problem.with_errors(errors)
        };
        items.push(transact_item(board, item, &none).map_err(below)?);
    }
    let checks = transaction.checks.into_iter().map(|check| Check { id: check.id, version: check.version }).collect();
    Ok(Transact { checks, items })
}

fn transact_item(
    board: &BoardName,
    item: bodies::TransactionWrite,
    none: &Preconditions,
) -> Result<TransactItem, Problem> {
    match item.write {
        bodies::WriteItem::Put(put) => self::put(board, item.id, *put, none).map(|w| TransactItem::Write(Box::new(w))),
        bodies::WriteItem::Patch(patch) => {
            self::patch(board, item.id, *patch, none).map(|w| TransactItem::Write(Box::new(w)))
        }
        bodies::WriteItem::Delete(delete) => Ok(TransactItem::Delete(Delete {
            id: item.id,
            conditions: Conditions { version: delete.version, ..Conditions::default() },
            lease: LeaseUse { token: delete.lease_token, ttl_ms: None },
            reason: delete.reason.map(SmolStr::from),
        })),
        bodies::WriteItem::Lease(lease) => {
            Ok(TransactItem::Lease(Acquire { id: item.id, ttl_ms: lease.ttl_ms, takeover: lease.takeover }))
        }
    }
}
