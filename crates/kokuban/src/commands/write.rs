//! `kokuban put`, `patch`, `move` and `delete`.
//!
//! Invariant: a conflict names the command that would go on from what was found; no write is repeated without the
//! caller having seen what it would overwrite.

use kokuban_api::answers::Receipt;
use kokuban_api::bodies::{DeleteItem, Op, Operand, Operation, Patch, Put, Terms};
use kokuban_api::{Code, ErrorCode, Problem};
use kokuban_client::{Board, Error};
use kokuban_core::ids::{EntryId, LeaseToken, Status, Version};
use kokuban_core::path::Path;

use super::show;
use super::value::{self, Kind};
use crate::args::{DeleteArgs, MoveArgs, PatchArgs, PutArgs, WriteArgs};
use crate::failure::{Failure, Outcome, Redo};
use crate::output::Output;

pub(crate) async fn put(args: PutArgs, board: &Board, out: Output) -> Outcome {
    let kind = if args.string { Kind::Text } else { Kind::Json };
    let mut put = Put::new(value::read(&args.value, kind)?);
    put.terms = terms(&args.write, args.status.as_ref());
    if args.if_absent {
        put.terms.version = Some(Version::ZERO);
    }
    let text = if args.string { " --string" } else { "" };
    let status = args.status.as_ref().map_or_else(String::new, |status| format!(" --status {status}"));
    let redo = Some(redo("put", &args.entry, &format!(" {}{text}{status}", quoted(&args.value)), &args.write));
    // Who wants to create it does not want to replace what is there.
    finish(board.put(&args.entry, &put).await, redo.filter(|_| !args.if_absent), out)
}

pub(crate) async fn patch(args: PatchArgs, board: &Board, out: Output) -> Outcome {
    let mut patch = Patch { terms: terms(&args.write, args.status.as_ref()), ..Patch::default() };
    for path in &args.unset {
        patch.operations.push(Operation::new(Op::Unset, path_of(path)?, Operand::Nothing));
    }
    let mut rest = String::new();
    for assignment in &args.set {
        let (path, text) = assignment
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("--set {assignment}: it takes PATH=JSON, such as gpa=3.8")))?;
        let value = value::parse(text, Kind::Json, "the value of --set")?;
        patch.operations.push(Operation::new(Op::Set, path_of(path)?, Operand::Value(value)));
        rest += &format!(" --set {}", quoted(assignment));
    }
    args.unset.iter().for_each(|path| rest += &format!(" --unset {}", quoted(path)));
    if let Some(status) = &args.status {
        rest += &format!(" --status {status}");
    }
    finish(board.patch(&args.entry, &patch).await, Some(redo("patch", &args.entry, &rest, &args.write)), out)
}

pub(crate) async fn shift(args: MoveArgs, board: &Board, out: Output) -> Outcome {
    let patch = Patch { terms: terms(&args.write, Some(&args.status)), ..Patch::default() };
    match board.patch(&args.entry, &patch).await {
        Err(error) if error.code() == Some(ErrorCode::IllegalTransition) => {
            let allowed = error.problem().and_then(|problem| problem.allowed.as_ref()?.first().cloned());
            let redo = allowed.map(|to| redo("move", &args.entry, &format!(" {}", quoted(&to)), &args.write));
            Err(Failure::Call { error, redo })
        }
        moved => {
            let redo = redo("move", &args.entry, &format!(" {}", quoted(args.status.as_str())), &args.write);
            finish(moved, Some(redo), out)
        }
    }
}

pub(crate) async fn delete(args: DeleteArgs, board: &Board, out: Output) -> Outcome {
    let delete = DeleteItem {
        version: args.write.version.map(Version),
        lease_token: args.write.lease_token.map(LeaseToken),
        confidence: None,
        reason: args.write.reason.clone(),
    };
    finish(board.delete(&args.entry, &delete).await, Some(redo("delete", &args.entry, "", &args.write)), out)
}

fn finish(written: Result<Receipt, Error>, redo: Option<Redo>, out: Output) -> Outcome {
    match written {
        Ok(receipt) => Ok(out.one(&receipt, show::receipt)?),
        Err(error) => {
            let redo = redo.filter(|_| error.problem().is_some_and(fails_by_version_alone));
            Err(Failure::Call { error, redo })
        }
    }
}

/// Whether the same write on the version found would pass every check.
fn fails_by_version_alone(problem: &Problem) -> bool {
    let by_version = |code: &Code| *code == ErrorCode::VersionConflict || *code == ErrorCode::PreconditionRequired;
    by_version(&problem.code) && problem.errors.iter().all(|item| by_version(&item.code))
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

fn path_of(text: &str) -> Result<Path, Failure> {
    text.parse().map_err(|e| Failure::usage(format!("`{text}` is no path: {e}")))
}

/// The same command on the version that was found.
fn redo(command: &str, entry: &EntryId, rest: &str, write: &WriteArgs) -> Redo {
    let token = write.lease_token.map_or_else(String::new, |token| format!(" --lease-token {token}"));
    let reason = write.reason.as_ref().map_or_else(String::new, |reason| format!(" --reason {}", quoted(reason)));
    Redo(format!("kokuban {command} {}{rest} --version {{version}}{token}{reason}", quoted(&entry.to_string())))
}

/// As a POSIX shell takes it for one word.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use kokuban_api::ErrorItem;

    use super::*;

    #[test]
    fn the_next_command_is_the_same_one_on_the_version_found() {
        let entry = EntryId::new("analysis".parse().expect("zone"), "a/b".parse().expect("key"));
        let write = WriteArgs { version: Some(3), lease_token: Some(9), reason: None };
        let Redo(text) = redo("put", &entry, &format!(" {}", quoted("{\"a\": 'x'}")), &write);
        assert_eq!(text, r#"kokuban put analysis/a/b '{"a": '\''x'\''}' --version {version} --lease-token 9"#);
    }

    #[test]
    fn a_write_that_fails_for_more_than_its_version_is_not_to_be_repeated() {
        let item = |code| ErrorItem::new(code, "as told");
        let stale = Problem::from_errors(vec![item(ErrorCode::PreconditionRequired)]).expect("a problem");
        assert!(fails_by_version_alone(&stale));
        let items = vec![item(ErrorCode::PreconditionRequired), item(ErrorCode::IllegalTransition)];
        assert!(!fails_by_version_alone(&Problem::from_errors(items).expect("a problem")));
    }

    #[test]
    fn only_what_a_shell_would_change_is_quoted() {
        assert_eq!((quoted("a/b"), quoted("分析/a"), quoted("")), ("a/b".into(), "'分析/a'".into(), "''".into()));
    }
}
