//! What is said of each kind of failure, and with which exit code.

use kokuban_api::problem::{Current, Next};
use kokuban_api::{ErrorCode, ErrorItem, NextAction, Problem};
use kokuban_client::Error;
use kokuban_core::ids::{EntryId, Version};

use super::*;

fn refused(code: ErrorCode) -> Failure {
    Error::Problem(Problem::new(code, "as told")).into()
}

fn entry() -> EntryId {
    EntryId::new("z".parse().expect("a zone"), "k".parse().expect("a key"))
}

/// What is said when `attempt` ends with `problem`, as a caller of these flags.
fn said_to(problem: Problem, attempt: Attempt, flags: Flags) -> String {
    let error = Error::Problem(problem);
    Failure::Call { error, attempt: Some(Box::new(attempt)), flags: Box::new(flags) }.to_string()
}

fn said(problem: Problem, attempt: Attempt) -> String {
    said_to(problem, attempt, Flags::default())
}

fn on_board(board: &str) -> Flags {
    Flags { board: Some(board.to_owned()), ..Flags::default() }
}

fn conflict() -> Problem {
    let current = Current {
        version: Version(7),
        updated_by: Some("rv".parse().expect("a name")),
        status: Some("pending_review".parse().expect("a status")),
        value: Some(kokuban_core::json::Json::from_value(&serde_json::json!({"features": []}))),
        ..Current::default()
    };
    Problem::new(ErrorCode::VersionConflict, "you read version 6, but the entry is at version 7")
        .with_current(current)
        .with_changed(vec!["/features".into()])
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
    let attempt = Attempt::on("move", &entry()).moving_to(&"confirmed".parse().expect("a status"));
    let flags = Flags { agent: Some("ta".into()), ..on_board("意向") };
    let text = said_to(conflict(), attempt.at_version(Version(6)), flags);
    for part in [
        "now: version 7, status pending_review, by rv",
        "changed since version 6: /features",
        "value: {\"features\":[]}",
        "\n    kokuban move z/k confirmed --version 7 --board '意向' --agent ta",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn who_did_not_see_the_value_is_told_to_look_first() {
    let mut problem = conflict();
    let current = problem.current.as_mut().expect("it was set");
    (current.value, current.value_omitted) = (None, Some(true));
    let text = said(problem, Attempt::on("put", &entry()).with_value("1").at_version(Version(3)));
    let commands: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert_eq!(commands, ["kokuban get z/k", "kokuban history z/k", "kokuban put z/k 1 --version 7"]);
}

#[test]
fn a_write_that_fails_for_more_than_its_version_is_not_to_be_repeated() {
    let items = vec![
        ErrorItem::new(ErrorCode::VersionConflict, "as told"),
        ErrorItem::new(ErrorCode::IllegalTransition, "too"),
    ];
    let problem = conflict().with_errors(items);
    let text = said(problem, Attempt::on("put", &entry()).with_value("1").at_version(Version(6)));
    assert!(text.contains("kokuban get z/k") && !text.contains("kokuban put"), "{text}");
    let text = said(conflict(), Attempt::on("put", &entry()).with_value("1").only_new());
    assert!(text.contains("kokuban get z/k") && !text.contains("kokuban put"), "{text}");
}

#[test]
fn an_illegal_move_names_every_move_that_there_is() {
    let problem = Problem::new(ErrorCode::IllegalTransition, "as told").with_allowed(["draft", "完成"]);
    let attempt = Attempt::on("move", &entry()).moving_to(&"x".parse().expect("a status")).at_version(Version(2));
    let text = said(problem, attempt);
    assert!(text.contains("kokuban move z/k draft --version 2\n    kokuban move z/k '完成' --version 2"), "{text}");
}

#[test]
fn a_held_lease_can_be_waited_for_and_ones_own_taken_over() {
    let held = |you| Problem::new(ErrorCode::LeaseHeld, "held").with_holder("ra".parse().expect("a name"), you, 90_000);
    let text = said(held(false), Attempt::on("lease acquire", &entry()).with_flag("--ttl-ms", 5_000));
    assert!(text.contains("held by ra for 1 min 30 s more"), "{text}");
    assert!(text.contains("kokuban lease acquire z/k --ttl-ms 5000 --wait-ms 30000\n    kokuban claim z"), "{text}");
    let text = said_to(held(true), Attempt::on("put", &entry()).with_value("1"), on_board("b"));
    assert!(text.contains("held by ra (you)"), "{text}");
    assert!(text.ends_with("kokuban lease acquire z/k --takeover --board b"), "{text}");
}

#[test]
fn a_lost_lease_is_looked_at_and_taken_anew() {
    let problem = Problem::new(ErrorCode::LeaseLost, "as told").with_reason("expired");
    let text = said(problem, Attempt::on("put", &entry()).with_value("1"));
    assert!(text.contains("kokuban get z/k\n    kokuban lease acquire z/k"), "{text}");
}

#[test]
fn who_may_not_write_may_leave_a_note_where_there_is_an_entry() {
    let put = || Attempt::on("put", &entry()).with_value("1");
    let comment = Next::call(NextAction::Comment, "POST", "/v1/boards/b/notes/z/k");
    let text = said(Problem::new(ErrorCode::ZoneRestricted, "as told").with_next(comment), put());
    assert!(text.contains("kokuban note add z/k 'what you would change, and why'"), "{text}");
    let problem = Problem::new(ErrorCode::ZoneRestricted, "as told").with_next(Next::action(NextAction::Escalate));
    let text = said(problem, put());
    assert!(text.ends_with("next: ask an arbiter"), "{text}");
}

#[test]
fn a_board_that_is_not_there_can_be_created_with_the_next_command() {
    let create = Next::call(NextAction::FixRequest, "PUT", "/v1/boards/b");
    let problem = Problem::new(ErrorCode::BoardNotFound, "as told").with_next(create);
    let text = said_to(problem.clone(), Attempt::on("get", &entry()), on_board("b"));
    assert!(text.ends_with("    kokuban board create --board b\n    kokuban board list"), "{text}");
    let text = said_to(problem.with_nearest(Some("c")), Attempt::on("get", &entry()), on_board("b"));
    assert!(text.ends_with("    kokuban get z/k --board c\n    kokuban board create --board b"), "{text}");
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    let error = Error::Timeout(std::time::Duration::from_secs(1));
    let failure = Failure::Unreachable { url: "http://127.0.0.1:1".into(), error };
    assert_eq!(failure.code(), 5);
    let text = failure.to_string();
    assert!(text.contains("nothing answers at http://127.0.0.1:1: ") && text.contains("kokuban dev"), "{text}");
}

#[test]
fn what_came_from_a_board_cannot_act_on_the_terminal() {
    let hostile = "\u{1b}[2J\u{202e}";
    let current = Current { value: Some(kokuban_core::json::Json::from_value(&hostile.into())), ..Current::default() };
    let problem = Problem::new(ErrorCode::VersionConflict, hostile)
        .with_current(current)
        .with_changed(vec![hostile.into()])
        .with_allowed([hostile])
        .with_nearest(Some(hostile));
    let text = said(problem, Attempt::on("put", &entry()).with_value(hostile));
    assert!(!text.chars().any(|c| c != '\n' && crate::output::acts_on_terminal(c)), "{text:?}");
    let text = Failure::Other(anyhow::anyhow!("{hostile}")).to_string();
    assert!(!text.contains('\u{1b}'), "{text}");
}
