//! What to do after a refusal: a few words, and the commands that do it.
//!
//! Invariant: a command can be copied and run as it stands, for the same server, board and caller. No write is
//! proposed that would fail another check, or replace what the caller has not been shown.
//! Not known here: how it is shown.

use kokuban_api::problem::Current;
use kokuban_api::{Code, ErrorCode, NextAction, Problem};
use kokuban_core::ids::{EntryId, Status};

use super::attempt::Attempt;
use crate::caller::Flags;
use crate::output::safe;

/// The longest that a server waits for a lease.
const WAIT_MS_MAX: u64 = 30_000;

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Advice {
    pub(super) words: String,
    pub(super) commands: Vec<String>,
}

impl Advice {
    fn new(words: &str, commands: impl IntoIterator<Item = String>) -> Self {
        Self { words: words.to_owned(), commands: commands.into_iter().collect() }
    }
}

pub(super) fn advise(problem: &Problem, attempt: Option<&Attempt>, flags: &Flags) -> Advice {
    let about_boards = match problem.known_code() {
        Some(ErrorCode::BoardNotFound) => Some(no_board(problem, attempt, flags)),
        Some(ErrorCode::BoardExists) => {
            Some(Advice::new("take it as it is, or choose another name", [format!("kokuban board show{flags}")]))
        }
        Some(ErrorCode::Unauthenticated) => Some(Advice::new(
            "put a credential into KOKUBAN_TOKEN; whoever runs the server makes one with",
            ["kokuban token new NAME".to_owned()],
        )),
        _ => None,
    };
    let about_entries = || attempt.and_then(|attempt| on_entry(problem, attempt, flags));
    about_boards.or_else(about_entries).unwrap_or_else(|| Advice::new(&advice(problem), []))
}

fn no_board(problem: &Problem, attempt: Option<&Attempt>, flags: &Flags) -> Advice {
    let list = format!("kokuban board list{}", flags.on_board(None));
    let near = problem.nearest.as_deref().and_then(|near| Some(attempt?.line(&flags.on_board(Some(near)))));
    // The server names a call only where the board may be created.
    let create = problem.next.path.as_ref().map(|_| format!("kokuban board create{flags}"));
    let words = match (&near, &create) {
        (Some(_), Some(_)) => "take the board that there is, or create this one",
        (Some(_), None) => "take the board that there is, or look which others",
        (None, Some(_)) => "create it, or look which there are",
        (None, None) => "look which boards there are for you",
    };
    let look = if near.is_some() && create.is_some() { None } else { Some(list) };
    Advice::new(words, near.into_iter().chain(create).chain(look))
}

/// The advice that needs to know what was tried.
fn on_entry(problem: &Problem, attempt: &Attempt, flags: &Flags) -> Option<Advice> {
    let line = |attempt: Attempt| attempt.line(flags);
    let instead = |verb| line(attempt.instead(verb));
    Some(match problem.known_code()? {
        ErrorCode::VersionConflict | ErrorCode::PreconditionRequired => stale(problem, attempt, flags),
        ErrorCode::IllegalTransition | ErrorCode::Locked => moves(problem, attempt, flags),
        ErrorCode::UnknownStatus => {
            let status = problem.nearest.as_ref()?.parse().ok()?;
            Advice::new("take a status of the lifecycle", [line(attempt.clone().moving_to(&status))])
        }
        ErrorCode::ZoneRestricted | ErrorCode::ArbiterOnly if problem.next.action == NextAction::Comment => {
            Advice::new("leave a note for who may change it", [note(attempt, "what you would change, and why", flags)])
        }
        ErrorCode::Forbidden if attempt.entry().is_some() && attempt.ends_what_is_not_ones_own() => {
            Advice::new("leave a note for who may", [note(attempt, "what should be done, and why", flags)])
        }
        ErrorCode::LeaseHeld if problem.held_by_you == Some(true) => {
            let take_over = attempt.instead("lease acquire").with_switch("--takeover");
            Advice::new("it is your lease: if its token is lost, take it over", [line(take_over)])
        }
        ErrorCode::LeaseHeld => held(problem, attempt, flags),
        ErrorCode::LeaseTokenRequired => {
            let take_over = attempt.instead("lease acquire").with_switch("--takeover");
            Advice::new("show its token with --lease-token; if it is lost, take the lease over", [line(take_over)])
        }
        ErrorCode::LeaseLost => Advice::new(
            "write nothing more under it; look what happened, and take a new lease if you still need one",
            [instead("get"), instead("lease acquire")],
        ),
        ErrorCode::NotFound => not_found(problem, attempt, flags),
        ErrorCode::ZoneNotFound => {
            let zone = problem.nearest.as_ref()?.parse().ok()?;
            Advice::new("take a zone of the board", [line(attempt.elsewhere(&zone))])
        }
        _ => return None,
    })
}

/// Somebody else wrote, or nobody said on what the write rests.
fn stale(problem: &Problem, attempt: &Attempt, flags: &Flags) -> Advice {
    let get = attempt.instead("get").line(flags);
    let Some(current) = &problem.current else {
        let list = Attempt::in_zone("list", attempt.zone()).line(flags);
        return match attempt.verb() {
            "put" => Advice::new(
                "it is gone; if it should be there again, write it anew",
                [attempt.clone().without_version().line(flags)],
            ),
            _ => Advice::new("it is gone; look what there is", [list]),
        };
    };
    if attempt.is_only_new() {
        return Advice::new("it exists already; look at it", [get]);
    }
    if !fails_by_version_alone(problem) {
        return Advice::new("read it again and think again; the write fails for more than its version", [get]);
    }
    if current.same_value == Some(true) {
        return Advice::new("nothing is left to do: it has the value that you would have written", [get]);
    }
    let again = attempt.clone().at_version(current.version).line(flags);
    let mut commands = Vec::new();
    let unseen = current.value.is_none();
    if unseen {
        commands.push(get);
    }
    if passed_over(attempt, current) {
        commands.push(attempt.instead("history").line(flags));
    }
    commands.push(again);
    Advice::new("look at what is there now and think again; then, if it still stands, write on it", commands)
}

/// Whether more than one write came between.
fn passed_over(attempt: &Attempt, current: &Current) -> bool {
    attempt.version().is_some_and(|version| current.version.0 > version.0 + 1)
}

/// Whether the same write on the version found would pass every check.
fn fails_by_version_alone(problem: &Problem) -> bool {
    let by_version = |code: &Code| *code == ErrorCode::VersionConflict || *code == ErrorCode::PreconditionRequired;
    by_version(&problem.code) && problem.errors.iter().all(|item| by_version(&item.code))
}

/// What the caller may do to the status instead.
fn moves(problem: &Problem, attempt: &Attempt, flags: &Flags) -> Advice {
    let is_move = problem.is(ErrorCode::IllegalTransition);
    let base = if is_move { attempt.clone() } else { attempt.instead("move") };
    let base = match &problem.current {
        Some(current) => base.at_version(current.version),
        None => base,
    };
    let allowed = problem.allowed.as_deref().unwrap_or_default().iter().filter_map(|word| word.parse::<Status>().ok());
    let mut commands: Vec<_> = allowed.map(|status| base.clone().moving_to(&status).line(flags)).collect();
    let words = match (is_move, commands.is_empty()) {
        (true, false) => "move it where you may",
        (false, false) => "move it to a status that opens it, or leave a note for who may change it",
        (_, true) => "leave a note for who may change it",
    };
    if problem.current.is_some() && (!is_move || commands.is_empty()) {
        let text = if is_move { "which status it should have, and why" } else { "what you would change, and why" };
        commands.push(note(attempt, text, flags));
    }
    Advice::new(words, commands)
}

fn note(attempt: &Attempt, text: &str, flags: &Flags) -> String {
    attempt.instead("note add").with_value(text).line(flags)
}

/// Somebody else has the lease.
fn held(problem: &Problem, attempt: &Attempt, flags: &Flags) -> Advice {
    let wait_ms = problem.remaining_ms.unwrap_or(WAIT_MS_MAX).clamp(1, WAIT_MS_MAX);
    let wait = match attempt.verb() {
        "lease acquire" => attempt.clone(),
        _ => attempt.instead("lease acquire"),
    };
    let claim = Attempt::in_zone("claim", attempt.zone());
    Advice::new(
        "wait for it, or take other work of the zone",
        [wait.with_flag("--wait-ms", wait_ms).line(flags), claim.line(flags)],
    )
}

fn not_found(problem: &Problem, attempt: &Attempt, flags: &Flags) -> Advice {
    let list = Attempt::in_zone("list", attempt.zone()).line(flags);
    match attempt.verb() {
        "note close" => Advice::new("look which notes are open", [attempt.instead("note list").line(flags)]),
        "lease show" => {
            Advice::new("it is free; take it if you need it", [attempt.instead("lease acquire").line(flags)])
        }
        "lease revoke" => Advice::new("nothing: there is no lease to revoke", []),
        _ => {
            let near = problem.nearest.as_deref().and_then(|near| near.split_once('/'));
            let near = near.and_then(|(zone, key)| Some(EntryId::new(zone.parse().ok()?, key.parse().ok()?)));
            let again = near.map(|near| attempt.on_entry(near).line(flags));
            let words = match again {
                Some(_) => "take the entry that there is, or look which others",
                None => "look which entries there are",
            };
            Advice::new(words, again.into_iter().chain([list]))
        }
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
