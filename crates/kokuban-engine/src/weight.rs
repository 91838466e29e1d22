//! About how much memory a request holds while it waits.
//!
//! Invariant: never less than its values and texts; what is fixed in size counts as one flat part.
//! Not known here: what is too much.

use kokuban_core::command::{Change, Command, Op, TransactItem, Write};
use serde_json::Value;

use crate::handle::Task;

/// The request itself, its names and its reply channel.
const FLAT_BYTES: usize = 1_024;
/// One node of a parsed value.
const NODE_BYTES: usize = 64;

pub(crate) fn of(task: &Task) -> usize {
    let Task::Ask(request) = task else { return FLAT_BYTES };
    FLAT_BYTES + of_command(&request.command)
}

fn of_command(command: &Command) -> usize {
    match command {
        Command::Write(write) => of_write(write),
        Command::Transact(transact) => {
            let items = transact.items.iter().map(|item| match item {
                TransactItem::Write(write) => FLAT_BYTES + of_write(write),
                TransactItem::Delete(_) | TransactItem::Lease(_) => FLAT_BYTES,
            });
            items.sum::<usize>() + transact.checks.len() * FLAT_BYTES
        }
        Command::CreateBoard(create) => {
            create.inputs.iter().map(|(_, value)| FLAT_BYTES + size(value.bytes)).sum::<usize>() + FLAT_BYTES
        }
        Command::AddNote(note) => note.text.len(),
        Command::DeleteBoard
        | Command::Delete(_)
        | Command::Acquire(_)
        | Command::Renew(_)
        | Command::Release(_)
        | Command::Claim(_)
        | Command::CloseNote(_)
        | Command::Erase { .. }
        | Command::Tick
        | Command::Resume
        | Command::Restore(_) => 0,
    }
}

fn of_write(write: &Write) -> usize {
    match &write.change {
        Change::Replace(payload) => size(payload.bytes),
        Change::Patch(operations) => operations
            .iter()
            .map(|operation| match &operation.op {
                Op::Set(value) => FLAT_BYTES + of_value(value),
                Op::Unset => FLAT_BYTES,
            })
            .sum(),
        Change::Keep => 0,
    }
}

fn of_value(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(of_value).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + of_value(value)).sum(),
    };
    NODE_BYTES + inside
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
