//! A refusal in lines: what was refused, what stands now, what changed, and what to do next.
//!
//! Invariant: what came from the server is made safe; the facts come before the advice.

use std::borrow::Cow;

use kokuban_api::problem::Current;
use kokuban_api::{ErrorCode, Problem};

use super::attempt::Attempt;
use super::next::{Advice, advise};
use crate::caller::Flags;
use crate::commands::show;
use crate::output::{Paint, clip, safe};

/// Longest list of changed places, in columns.
const PLACES_COLUMNS_MAX: usize = 300;

pub(super) fn shown(problem: &Problem, attempt: Option<&Attempt>, flags: &Flags, paint: Paint) -> String {
    let code = format!("{}:", safe(problem.code.as_str()));
    let mut lines = vec![format!("{} {}", paint.alarm(&code), detail(problem, attempt))];
    let mut fact = |text: String| lines.push(format!("  {text}"));
    for item in problem.errors.iter().filter(|item| item.detail != problem.detail) {
        fact(format!("also {}: {}", safe(item.code.as_str()), safe(&item.detail)));
    }
    if let Some(current) = problem.current.as_ref().filter(|_| rests_on_the_entry(problem)) {
        fact(now(current));
        if let Some(text) = changed(problem, attempt) {
            fact(text);
        }
        if let Some(text) = value(current).filter(|_| rests_on_the_value(problem)) {
            fact(text);
        }
    }
    if let Some(holder) = &problem.held_by {
        let whose = if problem.held_by_you == Some(true) { " (you)" } else { "" };
        let for_ = problem.remaining_ms.map_or_else(String::new, |ms| format!(" for {} more", show::duration(ms)));
        fact(format!("held by {}{whose}{for_}", safe(holder.as_str())));
    }
    let allowed = problem.allowed.as_deref().unwrap_or_default();
    if allowed.iter().any(|word| !problem.detail.contains(word.as_str())) {
        fact(format!("allowed: {}", safe(&allowed.join(", "))));
    }
    if let Some(nearest) = &problem.nearest {
        fact(format!("did you mean `{}`?", safe(nearest)));
    }
    let Advice { words, commands } = advise(problem, attempt, flags);
    fact(format!("next: {words}"));
    lines.extend(commands.iter().map(|command| format!("    {}", paint.command(command))));
    lines.join("\n")
}

/// What happened; in the words of this side where those of the server are for HTTP.
fn detail<'p>(problem: &'p Problem, attempt: Option<&Attempt>) -> Cow<'p, str> {
    match (problem.known_code(), attempt.and_then(Attempt::entry)) {
        (Some(ErrorCode::BoardNotFound), _) => "there is no such board".into(),
        (Some(ErrorCode::Unauthenticated), _) if problem.detail.contains("Authorization") => {
            "this server asks for a credential, and none was given".into()
        }
        (Some(ErrorCode::PreconditionRequired), Some(entry)) if problem.detail.contains("If-Match") => {
            format!("`{entry}` exists already; say with --version which version you read").into()
        }
        _ => safe(&problem.detail),
    }
}

/// Whether the state of the entry has to do with it.
fn rests_on_the_entry(problem: &Problem) -> bool {
    let elsewhere = [
        ErrorCode::NotFound,
        ErrorCode::LeaseHeld,
        ErrorCode::LeaseTokenRequired,
        ErrorCode::Forbidden,
        ErrorCode::ZoneRestricted,
        ErrorCode::ArbiterOnly,
    ];
    !elsewhere.iter().any(|code| problem.is(*code))
}

fn now(current: &Current) -> String {
    let mut text = format!("now: version {}", current.version);
    if let Some(status) = &current.status {
        text += &format!(", status {}", safe(status.as_str()));
    }
    if let Some(by) = &current.updated_by {
        let whose = if current.yours == Some(true) { " (you)" } else { "" };
        text += &format!(", by {}{whose}", safe(by.as_str()));
    }
    if let Some(at) = &current.updated_at {
        text += &format!(" at {at}");
    }
    text
}

fn changed(problem: &Problem, attempt: Option<&Attempt>) -> Option<String> {
    let changed = problem.changed.as_ref().filter(|changed| !changed.is_empty())?;
    let places: Vec<_> = changed.iter().map(|at| if at.is_empty() { "the whole value" } else { at.as_str() }).collect();
    let since =
        attempt.and_then(Attempt::version).map_or_else(String::new, |version| format!(" since version {version}"));
    Some(format!("changed{since}: {}", clip(&safe(&places.join(", ")), PLACES_COLUMNS_MAX)))
}

/// Whether who goes on has to think about the value again.
fn rests_on_the_value(problem: &Problem) -> bool {
    [
        ErrorCode::VersionConflict,
        ErrorCode::PreconditionRequired,
        ErrorCode::PathNotFound,
        ErrorCode::WrongKind,
        ErrorCode::TestFailed,
        ErrorCode::NullGuarded,
    ]
    .iter()
    .any(|code| problem.is(*code))
}

fn value(current: &Current) -> Option<String> {
    match (&current.value, current.value_omitted) {
        (Some(value), _) => Some(format!("value: {}", show::brief(value))),
        (None, Some(true)) => Some("value: too large to show here".to_owned()),
        (None, _) => None,
    }
}
