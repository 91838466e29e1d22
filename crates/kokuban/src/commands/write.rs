//! `kokuban put`, `patch`, `move` and `delete`.
//!
//! Invariant: no write is repeated without the caller having seen what it would overwrite; a refusal knows the whole
//! command, so that it can say the next one.

use kokuban_api::bodies::{DeleteItem, Op, Operand, Operation, Patch, Put, Terms};
use kokuban_client::Board;
use kokuban_core::ids::{LeaseToken, Status, Version};
use kokuban_core::path::Path;

use super::show;
use super::value::{self, Kind};
use crate::args::{DeleteArgs, MoveArgs, PatchArgs, PutArgs, WriteArgs};
use crate::failure::{Attempt, Failure, Outcome};
use crate::output::Output;

pub(crate) async fn put(args: PutArgs, board: &Board, out: Output) -> Outcome {
    let kind = if args.string { Kind::Text } else { Kind::Json };
    let mut put = Put::new(value::read(&args.value, kind)?);
    put.terms = terms(&args.write, args.status.as_ref());
    let mut attempt = tried(Attempt::on("put", &args.entry).with_value(&args.value), &args.write, args.status.as_ref());
    if args.string {
        attempt = attempt.with_switch("--string");
    }
    if args.if_absent {
        put.terms.version = Some(Version::ZERO);
        attempt = attempt.only_new();
    }
    let receipt = board.put(&args.entry, &put).await.map_err(Failure::trying(attempt))?;
    Ok(out.one(&receipt, show::receipt)?)
}

pub(crate) async fn patch(args: PatchArgs, board: &Board, out: Output) -> Outcome {
    let mut patch = Patch { terms: terms(&args.write, args.status.as_ref()), ..Patch::default() };
    let mut attempt = Attempt::on("patch", &args.entry);
    for path in &args.unset {
        patch.operations.push(Operation::new(Op::Unset, path_of(path)?, Operand::Nothing));
        attempt = attempt.with_flag("--unset", path);
    }
    for assignment in &args.set {
        let (path, text) = assignment
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("--set {assignment}: it takes PATH=JSON, such as gpa=3.8")))?;
        let value = value::parse(
            text,
            Kind::Json,
            "the value of --set",
            "\n  next: quote text twice, such as --set 'owner=\"ra\"'",
        )?;
        patch.operations.push(Operation::new(Op::Set, path_of(path)?, Operand::Value(value)));
        attempt = attempt.with_flag("--set", assignment);
    }
    let attempt = tried(attempt, &args.write, args.status.as_ref());
    let receipt = board.patch(&args.entry, &patch).await.map_err(Failure::trying(attempt))?;
    Ok(out.one(&receipt, show::receipt)?)
}

pub(crate) async fn shift(args: MoveArgs, board: &Board, out: Output) -> Outcome {
    let patch = Patch { terms: terms(&args.write, Some(&args.status)), ..Patch::default() };
    let attempt = tried(Attempt::on("move", &args.entry), &args.write, Some(&args.status));
    let receipt = board.patch(&args.entry, &patch).await.map_err(Failure::trying(attempt))?;
    Ok(out.one(&receipt, show::receipt)?)
}

pub(crate) async fn delete(args: DeleteArgs, board: &Board, out: Output) -> Outcome {
    let delete = DeleteItem {
        version: args.write.version.map(Version),
        lease_token: args.write.lease_token.map(LeaseToken),
        confidence: None,
        reason: args.write.reason.clone(),
    };
    let attempt = tried(Attempt::on("delete", &args.entry), &args.write, None);
    let receipt = board.delete(&args.entry, &delete).await.map_err(Failure::trying(attempt))?;
    Ok(out.one(&receipt, show::receipt)?)
}

fn terms(write: &WriteArgs, status: Option<&Status>) -> Terms {
    Terms {
        version: write.version.map(Version),
        status: status.cloned(),
        lease_token: write.lease_token.map(LeaseToken),
        reason: write.reason.clone(),
        ..Terms::default()
    }
}

/// The attempt with the same terms.
fn tried(attempt: Attempt, write: &WriteArgs, status: Option<&Status>) -> Attempt {
    let attempt = write.version.map(Version).into_iter().fold(attempt, Attempt::at_version);
    let attempt = status.into_iter().fold(attempt, Attempt::moving_to);
    let attempt = write.lease_token.map(LeaseToken).into_iter().fold(attempt, Attempt::with_lease);
    write.reason.iter().fold(attempt, |attempt, reason| attempt.with_reason(reason))
}

fn path_of(text: &str) -> Result<Path, Failure> {
    text.parse().map_err(|e| Failure::usage(format!("`{text}` is no path: {e}")))
}
