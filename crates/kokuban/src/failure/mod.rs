//! How a command fails: the exit code of contract §13, and what is said on standard error.
//!
//! Invariant: every failure has exactly one code; a refusal is shown with what changed, by whom, and the command that
//! goes on from there; nothing of it acts on a terminal; a reader that closed the pipe is no failure.
//! Not known here: the commands themselves; each says what it tried (`Attempt`).

mod attempt;
mod nearest;
mod next;
mod refusal;
#[cfg(test)]
mod tests;

use std::error::Error as _;
use std::fmt;
use std::io;
use std::process::ExitCode;

use kokuban_server::config::ConfigError;

pub(crate) use self::attempt::Attempt;
pub(crate) use self::next::advice;
use crate::args::ClientArgs;
use crate::caller::{self, Flags};
use crate::output::{Paint, is_closed_pipe, safe};

/// Why a command ended without success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A call failed.
    Call {
        error: kokuban_client::Error,
        attempt: Option<Box<Attempt>>,
        flags: Box<Flags>,
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

pub(crate) type Outcome = Result<(), Failure>;

impl From<kokuban_client::Error> for Failure {
    fn from(error: kokuban_client::Error) -> Self {
        Self::Call { error, attempt: None, flags: Box::default() }
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

    /// The failure of this attempt.
    pub(crate) fn trying(attempt: Attempt) -> impl FnOnce(kokuban_client::Error) -> Self {
        |error| Self::from(error).of(Some(attempt))
    }

    /// The same with what was tried.
    pub(crate) fn of(self, tried: Option<Attempt>) -> Self {
        match self {
            Self::Call { error, flags, .. } => Self::Call { error, attempt: tried.map(Box::new), flags },
            other => other,
        }
    }

    /// A quiet end: nobody reads what would have been written.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Other(error) if error.downcast_ref().is_some_and(is_closed_pipe))
    }

    /// The same with what only the caller knows: whom he asked, as whom, and what he may have meant.
    pub(crate) async fn asked_by(self, client: &ClientArgs) -> Self {
        match self {
            Self::Call { error, .. } if error.is_unreachable() && error.problem().is_none() => {
                Self::Unreachable { url: caller::url(client).to_owned(), error }
            }
            Self::Call { error, attempt, .. } => {
                let error = nearest::told(error, attempt.as_deref(), client).await;
                Self::Call { error, attempt, flags: Box::new(Flags::typed(client)) }
            }
            other => other,
        }
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Call { error, .. } | Self::Unreachable { error, .. } => code_of(error),
            Self::Other(error) if error.is::<ConfigError>() => 2,
            Self::Other(error) => error.downcast_ref().map_or(1, code_of),
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// What to say, in lines.
    pub(crate) fn shown(&self, paint: Paint) -> String {
        let error = paint.alarm("error:");
        match self {
            Self::Usage(text) => format!("{error} {}", safe_lines(text)),
            Self::Other(cause) => format!("{error} {}", safe_lines(&format!("{cause:#}"))),
            Self::Call { error: cause, attempt, flags } => match cause.problem() {
                Some(problem) => refusal::shown(problem, attempt.as_deref(), flags, paint),
                None => format!("{error} {}{}", causes(cause), other_server(cause)),
            },
            Self::Unreachable { url, error: cause } => {
                let (url, why) = (safe(url), root_cause(cause));
                let start = paint.command("kokuban dev");
                format!(
                    "{error} nothing answers at {url}: {why}\n  next: start a server there, or name another with \
                     --url or KOKUBAN_URL\n    {start}"
                )
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown(Paint::none()))
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

/// Lines of ours, with whatever may stand within them.
fn safe_lines(text: &str) -> String {
    text.lines().map(safe).collect::<Vec<_>>().join("\n")
}

/// What to look at where something answers that is no Kokuban server.
fn other_server(error: &kokuban_client::Error) -> &'static str {
    match error {
        kokuban_client::Error::Status { .. } | kokuban_client::Error::Protocol(_) => {
            "\n  next: something else seems to answer there: check --url, and what stands between here and the server"
        }
        _ => "",
    }
}

fn causes(error: &kokuban_client::Error) -> String {
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

/// What happened at the end of the chain: `connection refused`, rather than who told whom.
fn root_cause(error: &kokuban_client::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    let text = last.to_string();
    // The number says nothing that the words do not.
    let text = text.split(" (os error").next().unwrap_or(&text);
    safe(text).into_owned()
}
