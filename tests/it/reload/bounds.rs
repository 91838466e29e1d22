//! Log, hosts, bounds, blueprints and rules of a running server.

use std::time::Duration;

use kokuban_tests::{Setup, TestServer, Wire, until};
use serde_json::json;

const SOON: Duration = Duration::from_secs(10);

fn host(server: &TestServer, name: &str) -> u16 {
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    wire.send(format!("GET /v1 HTTP/1.1\r\nHost: {name}\r\n\r\n").as_bytes()).expect("sent");
    wire.read_answer("GET").expect("an answer").status
}

#[test]
fn the_log_says_more_or_less_from_then_on() {
    let mut server = Setup::memory().config("log_level = \"warn\"\nlog_requests = \"all\"").start();
    let ra = server.as_agent("ra");
    ra.get("/v1/boards/quiet").must(404);
    assert_eq!(server.log(), "", "warnings only, and there is none");
    server.rewrite_config("log_level = \"info\"\nlog_requests = \"all\"");
    let _ = server.reload();
    let id = ra.get("/v1").header("kokuban-request-id").expect("an id").to_owned();
    until("its line is there", SOON, || server.log().contains(&id));
    server.rewrite_config("log_level = \"info\"\nlog_requests = \"refused\"");
    let _ = server.reload();
    let accepted = ra.get("/v1").header("kokuban-request-id").expect("an id").to_owned();
    let refused = ra.get("/nowhere").header("kokuban-request-id").expect("an id").to_owned();
    until("its line is there", SOON, || server.log().contains(&refused));
    assert!(!server.log().contains(&accepted), "{}", server.log());
}

#[test]
fn hosts_bounds_and_rules_count_for_the_next_request() {
    let mut server = Setup::memory().start();
    let ra = server.as_agent("ra");
    assert_eq!(host(&server, "kokuban.internal"), 421);
    let _ = ra.put("/v1/boards/o-1/entries/working/k", &json!({"value": 1})).refused(404, "board_not_found");
    server.rewrite_config(
        "hosts = [\"kokuban.internal\"]\n[limits]\nbody_bytes_max = 1024\n[boards.\"o-*\"]\nblueprint = \"default\"",
    );
    let _ = server.reload();
    assert_eq!(host(&server, "kokuban.internal"), 200);
    ra.put("/v1/boards/o-1/entries/working/k", &json!({"value": 1})).must(201);
    let large = ra.put("/v1/boards/o-1/entries/working/l", &json!({"value": "x".repeat(2000)}));
    let _ = large.refused(413, "body_too_large");
    server.rewrite_config("");
    let _ = server.reload();
    assert_eq!(host(&server, "kokuban.internal"), 421);
    ra.put("/v1/boards/o-1/entries/working/l", &json!({"value": "x".repeat(2000)})).must(201);
}

#[test]
fn blueprints_come_with_their_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("desk.toml");
    std::fs::write(&file, "name = \"desk\"\n[zones.work]\n").expect("written");
    let mut server = Setup::memory().start();
    let ra = server.as_agent("ra");
    let create = |name: &str| ra.put(&format!("/v1/boards/{name}"), &json!({"blueprint": "desk"}));
    create("a").must(400);
    server.rewrite_config(&format!("blueprints = [{file:?}]"));
    let _ = server.reload();
    create("a").must(201);
    // The file itself may have changed, too. Boards keep the rules they were made with.
    std::fs::write(&file, "name = \"desk\"\nschema_version = 2\n[zones.work]\n[zones.more]\n").expect("written");
    let _ = server.reload();
    create("b").must(201);
    assert!(ra.get("/v1/boards/b/blueprint").text().contains("more"));
    assert!(!ra.get("/v1/boards/a/blueprint").text().contains("more"));
}

#[test]
fn a_caller_that_asks_too_often_is_held_up_and_nobody_else() {
    let mut server = Setup::memory().config("[limits]\nrequests_per_s_per_caller_max = 5").start();
    let (ra, rv) = (server.as_agent("ra"), server.as_agent("rv"));
    let answers: Vec<_> = (0..50).map(|_| ra.get("/v1")).collect();
    let refused = answers.iter().find(|answer| answer.status == 429).expect("50 requests take no 9 s");
    let wait_s: u64 = refused.header("retry-after").expect("it says when").parse().expect("seconds");
    assert_eq!(wait_s, 1);
    let problem = refused.clone().refused(429, "rate_limited");
    assert_eq!((&problem["retryable"], &problem["side_effects"]), (&json!(true), &json!("none")));
    assert!(problem["retry_after_ms"].as_u64().is_some_and(|ms| ms <= 201), "a fifth of a second: {problem}");
    assert!(answers.iter().filter(|answer| answer.status == 200).count() >= 5, "a second's worth at once");
    rv.get("/v1").must(200);
    ra.get("/readyz").must(200);
    until("time passes", SOON, || ra.get("/v1").status == 200);
    // A write that is refused had no effect; the board is not even there.
    let written = (0..50).map(|_| ra.put("/v1/boards/b", &json!({"blueprint": "default"}))).collect::<Vec<_>>();
    assert!(written.iter().any(|answer| answer.status == 429));
    server.rewrite_config("");
    let _ = server.reload();
    assert!((0..50).all(|_| ra.get("/v1").status == 200), "not bounded any more");
}
