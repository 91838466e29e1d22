//! How a command fails: the exit code of contract §13, and what is said on standard error.
//!
//! Invariant: every failure has exactly one code; a refusal is shown with what changed, by whom, and the command that
//! goes on from there; a reader that closed the pipe is no failure.
//! Not known here: the commands themselves; each says how it would be repeated (`Redo`).

use std::fmt;
use std::io;
use std::process::ExitCode;

use kokuban_api::problem::Current;
use kokuban_api::{ErrorCode, NextAction, Problem};

use crate::args::ClientArgs;
use crate::caller;
use crate::commands::show;
use crate::output::{clip, is_closed_pipe, safe};

/// Why a command ended without success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A call failed; `redo` is the command line that would go on, if there is an obvious one.
    Call {
        error: kokuban_client::Error,
        redo: Option<Redo>,
    },
    /// Nothing answers at the address that was asked.
    Unreachable {
        url: String,
        error: kokuban_client::Error,
    },
    /// What was typed cannot be done.
    Usage(String),
    Other(anyhow::Error),
}

/// The command that goes on from what was found; `{version}` in it stands for the version found.
#[derive(Debug, Clone)]
pub(crate) struct Redo(pub(crate) String);

pub(crate) type Outcome = Result<(), Failure>;

impl From<kokuban_client::Error> for Failure {
    fn from(error: kokuban_client::Error) -> Self {
        Self::Call { error, redo: None }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl Failure {
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// A quiet end: nobody reads what would have been written.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Other(error) if error.downcast_ref().is_some_and(is_closed_pipe))
    }

    /// The same with what only the caller knows: whom he asked, and as whom.
    pub(crate) fn asked_by(self, client: &ClientArgs) -> Self {
        match self {
            Self::Call { error, .. } if error.is_unreachable() && error.problem().is_none() => {
                Self::Unreachable { url: caller::url(client).to_owned(), error }
            }
            Self::Call { error, redo: None } if may_create_the_board(&error) => {
                let create = Redo("kokuban board create".to_owned() + &caller::flags(client));
                Self::Call { error, redo: Some(create) }
            }
            Self::Call { error, redo: Some(Redo(command)) } => {
                Self::Call { error, redo: Some(Redo(command + &caller::flags(client))) }
            }
            other => other,
        }
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Call { error, .. } | Self::Unreachable { error, .. } => code_of(error),
            Self::Other(error) => error.downcast_ref().map_or(1, code_of),
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

fn code_of(error: &kokuban_client::Error) -> u8 {
    match error {
        kokuban_client::Error::Name(_) | kokuban_client::Error::Config(_) => 2,
        error if error.is_conflict() => 3,
        error if error.is_forbidden() => 4,
        error if error.is_unreachable() => 5,
        _ => 1,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => f.write_str(text),
            Self::Other(error) => write!(f, "{error:#}"),
            Self::Call { error, redo } => match error.problem() {
                Some(problem) => write_problem(f, problem, redo.as_ref()),
                None => write!(f, "{}", causes(error)),
            },
            Self::Unreachable { url, error } => {
                let (url, why) = (safe(url), causes(error));
                write!(f, "{url}: {why}\nIs a server running there? `kokuban dev` starts one; --url names another.")
            }
        }
    }
}

fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    safe(&text).into_owned()
}

fn write_problem(f: &mut fmt::Formatter<'_>, problem: &Problem, redo: Option<&Redo>) -> fmt::Result {
    write!(f, "{}: {}", problem.code, safe(&problem.detail))?;
    for item in problem.errors.iter().filter(|item| item.detail != problem.detail) {
        write!(f, "\n  also {}: {}", item.code, safe(&item.detail))?;
    }
    if let Some(current) = &problem.current {
        write_current(f, current)?;
    }
    if let Some(changed) = problem.changed.as_ref().filter(|changed| !changed.is_empty()) {
        let places: Vec<_> =
            changed.iter().map(|at| if at.is_empty() { "the whole value" } else { at.as_str() }).collect();
        write!(f, "\n  changed since: {}", safe(&clip(&places.join(", "), 300)))?;
    }
    if let Some(holder) = &problem.held_by {
        let whose = if problem.held_by_you == Some(true) { " (you)" } else { "" };
        write!(f, "\n  held by {holder}{whose} for {} ms more", problem.remaining_ms.unwrap_or(0))?;
    }
    if let Some(allowed) = &problem.allowed {
        let list = if allowed.is_empty() { "nothing".into() } else { allowed.join(", ") };
        write!(f, "\n  allowed: {}", safe(&list))?;
    }
    if let Some(nearest) = &problem.nearest {
        write!(f, "\n  did you mean `{}`?", safe(nearest))?;
    }
    write!(f, "\n  next: {}", advice(problem))?;
    match (redo, &problem.current) {
        (Some(Redo(command)), Some(current)) => {
            write!(f, "\n  then: {}", command.replace("{version}", &current.version.to_string()))
        }
        (Some(Redo(command)), None) if !command.contains("{version}") => write!(f, "\n  then: {command}"),
        _ => Ok(()),
    }
}

fn may_create_the_board(error: &kokuban_client::Error) -> bool {
    error.problem().is_some_and(|problem| problem.is(ErrorCode::BoardNotFound) && problem.next.path.is_some())
}

fn write_current(f: &mut fmt::Formatter<'_>, current: &Current) -> fmt::Result {
    write!(f, "\n  now: version {}", current.version)?;
    if let Some(status) = &current.status {
        write!(f, ", status {}", safe(status.as_str()))?;
    }
    if let Some(by) = &current.updated_by {
        write!(f, ", by {by}{}", if current.yours == Some(true) { " (you)" } else { "" })?;
    }
    if let Some(at) = &current.updated_at {
        write!(f, " at {at}")?;
    }
    match (&current.value, current.value_omitted) {
        (Some(value), _) => write!(f, "\n  value: {}", clip(&safe(&show::json(value)), 400)),
        (None, Some(true)) => write!(f, "\n  value: too large to show here"),
        (None, _) => Ok(()),
    }
}

/// What the server advises, in words.
pub(crate) fn advice(problem: &Problem) -> String {
    let words = match problem.next.action {
        NextAction::Reread => "read it again, think again, write with the version read",
        NextAction::Wait => "wait, then try again",
        NextAction::Propose => "propose the change to who may make it",
        NextAction::Comment => "leave a note for who may change it",
        NextAction::Yield => "leave it to the other",
        NextAction::Escalate => "ask an arbiter",
        NextAction::FixRequest => "change the request",
        NextAction::Authenticate => "give a credential (--token)",
        NextAction::Stop => "stop: trying again does not help",
    };
    match (&problem.next.method, &problem.next.path) {
        (Some(method), Some(path)) => format!("{words} ({} {})", safe(method), safe(path)),
        _ => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use kokuban_api::problem::Next;
    use kokuban_client::Error;
    use kokuban_core::ids::Version;

    use super::*;

    fn refused(code: ErrorCode) -> Failure {
        Error::Problem(Problem::new(code, "as told")).into()
    }

    #[test]
    fn every_failure_has_its_exit_code() {
        for (failure, code) in [
            (Failure::usage("x"), 2),
            (refused(ErrorCode::VersionConflict), 3),
            (refused(ErrorCode::PreconditionRequired), 3),
            (refused(ErrorCode::IllegalTransition), 3),
            (refused(ErrorCode::LeaseHeld), 3),
            (refused(ErrorCode::Unauthenticated), 4),
            (refused(ErrorCode::ArbiterOnly), 4),
            (refused(ErrorCode::NotFound), 1),
            (refused(ErrorCode::InvalidValue), 1),
            (Error::Timeout(std::time::Duration::from_secs(1)).into(), 5),
            (Error::Config("x".into()).into(), 2),
            (Failure::Other(anyhow::anyhow!("x")), 1),
        ] {
            assert_eq!(failure.code(), code, "{failure:?}");
        }
    }

    #[test]
    fn a_closed_pipe_is_no_failure_and_a_full_disk_is_one() {
        assert!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).is_closed_pipe());
        assert!(!Failure::from(io::Error::from(io::ErrorKind::StorageFull)).is_closed_pipe());
    }

    #[test]
    fn a_conflict_says_what_changed_by_whom_and_the_next_command() {
        let current = Current {
            version: Version(7),
            updated_by: Some("rv".parse().expect("a name")),
            status: Some("pending_review".parse().expect("a status")),
            ..Current::default()
        };
        let problem = Problem::new(ErrorCode::VersionConflict, "the entry is at version 7")
            .with_current(current)
            .with_changed(vec!["/features".into()])
            .with_next(Next::call(NextAction::Reread, "GET", "/v1/boards/b/entries/z/k"));
        let redo = Some(Redo("kokuban move z/k confirmed --version {version}".into()));
        let text = Failure::Call { error: Error::Problem(problem), redo }.to_string();
        for part in
            ["version 7", "pending_review", "by rv", "/features", "GET /v1", "kokuban move z/k confirmed --version 7"]
        {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn a_server_that_does_not_answer_is_named() {
        let client = ClientArgs { url: Some("http://127.0.0.1:1".into()), ..ClientArgs::default() };
        let failure = Failure::from(Error::Timeout(std::time::Duration::from_secs(1))).asked_by(&client);
        assert_eq!(failure.code(), 5);
        assert!(failure.to_string().starts_with("http://127.0.0.1:1: "), "{failure}");
    }

    #[test]
    fn the_next_command_is_for_the_same_board_and_caller() {
        let current = Current { version: Version(7), ..Current::default() };
        let problem = Problem::new(ErrorCode::VersionConflict, "the entry is at version 7").with_current(current);
        let redo = Some(Redo("kokuban delete z/k --version {version}".into()));
        let client = ClientArgs { agent: Some("rv".into()), board: Some("意向".into()), ..ClientArgs::default() };
        let text = Failure::Call { error: Error::Problem(problem), redo }.asked_by(&client).to_string();
        assert!(text.ends_with("kokuban delete z/k --version 7 --board '意向' --agent rv"), "{text}");
    }

    #[test]
    fn a_board_that_is_not_there_can_be_created_with_the_next_command() {
        let create = Next::call(NextAction::FixRequest, "PUT", "/v1/boards/b");
        let problem = Problem::new(ErrorCode::BoardNotFound, "as told").with_next(create);
        let client = ClientArgs { board: Some("b".into()), ..ClientArgs::default() };
        let text = Failure::from(Error::Problem(problem)).asked_by(&client).to_string();
        assert!(text.ends_with("then: kokuban board create --board b"), "{text}");
    }

    #[test]
    fn what_came_from_a_board_cannot_act_on_the_terminal() {
        let text = Failure::from(Error::Problem(Problem::new(ErrorCode::NotFound, "\u{1b}[2J"))).to_string();
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
