//! The log for machines: one JSON document a line, with fields whose names stay, and ids that lead from an answer to its
//! line and to its commit.
//!
//! **Invariant**: the fields that are asked for here are those that `docs/operations.md` lists.
//! Not known here: that no value and no secret is among them; see `secrets`.

use std::collections::BTreeMap;
use std::time::Duration;

use kokuban_tests::{Setup, TestServer, until, until_some};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);
const GUIDE: &str = include_str!("../../docs/operations.md");

/// Every line of the log, whole lines only.
fn lines(server: &TestServer) -> Vec<BTreeMap<String, Value>> {
    let log = server.log();
    let whole = log.rfind('\n').map_or("", |end| &log[..end]);
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    whole.lines().map(parse).collect()
}

fn line_of(server: &TestServer, request_id: &str) -> BTreeMap<String, Value> {
    until_some("the line of a request", SOON, || {
        lines(server).into_iter().find(|line| line.get("request_id").is_some_and(|id| id == request_id))
    })
}

/// The names in the row of the guide that begins so.
fn documented(of: &str) -> Vec<String> {
    let row = GUIDE.lines().find(|line| line.starts_with(&format!("| {of} |"))).unwrap_or_else(|| panic!("{of}"));
    let fields = row.trim_matches('|').split('|').nth(1).expect("a second cell");
    fields.split_whitespace().map(|field| field.trim_matches('`').to_owned()).collect()
}

#[track_caller]
fn has_the_documented_fields(line: &BTreeMap<String, Value>, of: &str) {
    let mut wanted: Vec<_> = documented("every line").into_iter().chain(documented(of)).collect();
    wanted.sort_unstable();
    assert_eq!(line.keys().cloned().collect::<Vec<_>>(), wanted, "{line:?}");
}

#[test]
fn a_start_and_a_stop_say_what_one_wants_to_know_of_them() {
    let mut server = Setup::disk().config("log_format = \"json\"").start();
    let _ = server.stop();
    let lines = lines(&server);
    let started = lines.iter().find(|line| line["message"] == "started").expect("a line of the start");
    has_the_documented_fields(started, "`started`");
    assert_eq!(started["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(started["data"], server.data().to_str().expect("UTF-8"));
    assert_eq!((&started["durability"], &started["auth"]), (&json!("disk"), &json!("open")));
    assert_eq!(started["listen"], server.addr().to_string());
    has_the_documented_fields(lines.last().expect("a line of the end"), "`stopped`");
}

#[test]
fn limits_that_the_system_lowers_are_named() {
    let setup = Setup::memory().config("log_format = \"json\"\n[limits]\nconnections_max = 1000000").open_files(600);
    let server = setup.start();
    let lowered = lines(&server).into_iter().find(|line| line["level"] == "WARN").expect("a warning");
    assert_eq!(
        (&lowered["setting"], &lowered["wanted"], &lowered["allowed"]),
        (&json!("limits.connections_max"), &json!(1_000_000), &json!(472))
    );
    assert_eq!(lines(&server)[0]["connections_max"], 472);
}

#[test]
fn an_answer_leads_to_its_line_and_to_its_commit() {
    let server = Setup::memory().config("log_format = \"json\"\nlog_requests = \"all\"").start();
    let board = server.board("b");
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let ra = server.as_agent("ra").with("traceparent", &format!("00-{trace}-00f067aa0ba902b7-01"));
    let written = ra.put(&board.entry("working/k"), &json!({"value": 1})).expect(201);
    let id = written.header("kokuban-request-id").expect("an id");
    let line = line_of(&server, id);
    has_the_documented_fields(&line, "`answered`");
    assert_eq!(line["route"], "/v1/boards/{board}/entries/{zone}/{*key}");
    assert_eq!((&line["method"], &line["status"], &line["code"]), (&json!("PUT"), &json!(201), &json!("-")));
    assert_eq!((&line["agent"], &line["trace_id"]), (&json!("ra"), &json!(trace)));
    let commit = board.history(&ra).pop().expect("a commit");
    assert_eq!((&commit["request_id"], &commit["trace_id"]), (&json!(id), &json!(trace)));
    // A refusal has its id in the answer's body too, and a code.
    let refused =
        ra.put(&board.entry("working/k"), &json!({"value": 2, "version": 9})).refused(409, "version_conflict");
    let line = line_of(&server, refused["request_id"].as_str().expect("an id"));
    assert_eq!((&line["code"], &line["status"]), (&json!("version_conflict"), &json!(409)));
    // What is no trace is no reason to fail.
    let odd = server.as_agent("ra").with("traceparent", "00-zz-1").get("/v1").expect(200);
    assert_eq!(line_of(&server, odd.header("kokuban-request-id").expect("an id"))["trace_id"], "-");
}

#[test]
fn trouble_of_the_storage_has_a_line_when_it_begins_and_one_when_it_ends() {
    let server = Setup::disk().config("log_format = \"json\"").file_size_can_be_limited().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    let large = json!({"value": "x".repeat(200_000), "version": 0});
    let write = || ra.put(&board.entry("working/k"), &large);
    let said = |message: &str| {
        lines(&server)
            .into_iter()
            .filter(|line| line["message"].as_str().is_some_and(|m| m.starts_with(message)))
            .count()
    };
    let mut ids = Vec::new();
    for round in 1..=2 {
        // There is room for the log.
        server.limit_file_size(Some(100_000));
        for _ in 0..20 {
            let answer = write();
            assert!(answer.status >= 500, "{}", answer.text());
            ids.push(answer.header("kokuban-request-id").expect("an id").to_owned());
        }
        assert_eq!((said("the storage takes no writes"), said("the storage takes writes again")), (round, round - 1));
        let others = lines(&server).into_iter().filter(|line| line["message"] != "answered").count();
        assert!(others < 10, "a line for each write that failed: {}", server.log());
        server.limit_file_size(None);
        until("writes resume", SOON, || write().status < 500);
        until("it is told", SOON, || said("the storage takes writes again") == round);
        let version = ra.get(&board.entry("working/k")).json()["version"].clone();
        ra.delete(&board.entry(&format!("working/k?version={version}"))).must(200);
    }
    // Which requests it hurt, their own lines say.
    let line = line_of(&server, &ids[0]);
    assert!(["storage_full", "unavailable", "outcome_unknown"].contains(&line["code"].as_str().unwrap_or_default()));
}
