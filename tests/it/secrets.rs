//! No value, note, reason, body or secret is in the log or a metric, at any level (contract §3.17).
//!
//! **Invariant**: the words are distinctive, so that finding one is no accident.
//! Not known here: what the log is good for.

use std::time::Duration;

use kokuban_core::ids::Sha256;
use kokuban_tests::{Caller, EventStream, Setup, TestServer, Wire, until};
use serde_json::json;

const SECRET: &str = "hush-secret-of-ra";
const WORDS: [&str; 11] = [
    "quartzvalue",
    "quartznote",
    "quartzreason",
    "quartzsummary",
    "quartzquery",
    "quartzmember",
    "quartztitle",
    "quartzlabel",
    "quartzheader",
    "quartzidem",
    "hush-secret",
];

fn config(format: &str, rest: &str) -> String {
    format!(
        "auth = \"token\"\nlog_level = \"trace\"\nlog_requests = \"all\"\nlog_format = \"{format}\"\n\
         [roles]\nadmin = [\"ra\"]\n[[tokens]]\nsha256 = \"{}\"\nagent = \"ra\"\nboards = [\"*\"]\n{rest}",
        Sha256::of(SECRET.as_bytes())
    )
}

/// Calls of every kind, accepted and refused, with a marker wherever a caller may write something of his own.
fn call_everything(ra: &Caller) {
    let blueprint = json!({"name": "quartz", "title": "quartztitle", "zones": {"working": {"lifecycle": "l"}},
        "lifecycles": {"l": {"initial": ["raw"], "transitions": [{"from": "raw", "to": "done"}]}}});
    let board = json!({"blueprint": blueprint, "title": "quartztitle", "labels": {"l": "quartzlabel"},
        "inputs": {"working/i": "quartzvalue"}});
    ra.put("/v1/boards/b", &board).must(201);
    ra.put("/v1/boards/other", &json!({"blueprint": {"quartzmember": "quartzvalue"}})).must(422);
    let path = "/v1/boards/b/entries/working/k";
    let body = json!({"value": {"quartzmember": "quartzvalue"}, "reason": "quartzreason", "summary": "quartzsummary",
        "source": {"kind": "web", "ref": "quartzvalue"}});
    let first = ra.ask("PUT", path).key("quartzidem").json(&body).send().expect(201).json();
    ra.ask("PUT", path).key("quartzidem").json(&json!({"value": "quartzvalue"})).send().must(422);
    ra.patch(path, &json!({"set": {"a": "quartzvalue"}, "reason": "quartzreason"})).must(200);
    ra.put(path, &json!({"value": "quartzvalue", "version": 7})).must(409);
    ra.put(path, &json!({"value": "quartzvalue", "status": "quartzvalue", "version": 2})).must(422);
    ra.put(path, &json!({"quartzmember": "quartzvalue"})).must(400);
    ra.ask("PUT", path).header("Content-Type", "application/json").body("{\"value\": quartzvalue}").send().must(400);
    ra.ask("GET", path).header("If-Match", "\"quartzheader\"").header("Quartz", "quartzheader").send().must(412);
    ra.ask("GET", path).header("User-Agent", "quartzheader").header("traceparent", "quartzheader").send().must(200);
    ra.post("/v1/boards/b/notes/working/k", &json!({"text": "quartznote"})).must(201);
    let lease = ra.post("/v1/boards/b/leases/working/k", &json!({"ttl_ms": 60_000})).expect(201).json();
    ra.delete(&format!("/v1/boards/b/leases/working/k?lease_token={}", lease["lease_token"])).must(204);
    ra.delete("/v1/boards/b/leases/working/k?reason=quartzreason").must(403);
    ra.post("/v1/boards/b/claims", &json!({"zone": "working", "prefix": "quartzquery"})).must(204);
    let write = json!({"method": "put", "zone": "working", "key": "t", "value": "quartzvalue"});
    ra.post("/v1/boards/b/transactions", &json!({"writes": [write]})).must(200);
    ra.get("/v1/boards/b/entries?prefix=quartzquery").must(200);
    ra.get("/v1/boards/b/entries?quartzquery=quartzquery").must(400);
    ra.get("/v1/boards/b/history?include=value").must(200);
    ra.get("/v1/boards/b/changes?after=start&include=value").must(200);
    ra.get("/v1/boards/b/export").must(200);
    let mut stream = EventStream::open(ra, "/v1/boards/b/events?after=start&include=value", &[]);
    let _ = stream.next_event("commit", Duration::from_secs(10));
    ra.post("/v1/boards/b/erasures", &json!({"sha256": first["sha256"], "reason": "quartzreason"})).must(200);
    ra.get("/v1?token=hush-secret-of-ra").must(400);
}

fn strangers_knock(server: &TestServer) {
    server.with_token("hush-secret-wrong").get("/v1").must(401);
    server.anonymous().with("Authorization", "Basic hush-secret").get("/v1").must(401);
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    wire.send(b"PUT /v1/boards/b HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer hush-secret\r\nX: \0\r\n\r\n")
        .expect("sent");
    let _ = wire.read_to_end();
}

fn hold_nothing_of_a_caller(format: &str) {
    let mut server = Setup::disk()
        .config(&config(format, ""))
        .file_size_can_be_limited()
        .env("RUST_LOG", "trace")
        .env("KOKUBAN_TOKENS", "rv:hush-secret-of-rv")
        .start();
    let ra = server.with_token(SECRET);
    call_everything(&ra);
    strangers_knock(&server);
    // A disk that is full, and one that is not any more.
    let large = json!({"value": "quartzvalue".repeat(20_000)});
    let write = || ra.put("/v1/boards/b/entries/working/full", &large).status;
    // There is room for the log.
    server.limit_file_size(Some(100_000));
    until("the disk is full", Duration::from_secs(20), || write() >= 500);
    server.limit_file_size(None);
    until("it is not", Duration::from_secs(20), || write() < 500);
    // A secret where its hash belongs, and then all of it right.
    server.rewrite_config(&config(format, "[[tokens]]\nsha256 = \"hush-secret-of-ta\"\nagent = \"ta\"\n"));
    let _ = server.reload();
    server.rewrite_config(&config(format, "[boards.\"quartz*\"]\nblueprint = \"default\"\n"));
    let _ = server.reload();
    let metrics = ra.get("/metrics").text();
    server.restart_after_kill();
    server.with_token(SECRET).get("/v1/boards/b/entries/working/t").must(200);
    let _ = server.stop();
    let log = server.log();
    assert!(log.contains("409") && log.contains("version_conflict"), "the log says what happened: {log}");
    for word in WORDS {
        assert!(!metrics.contains(word), "{word} is in the metrics");
        let line = log.lines().find(|line| line.contains(word));
        assert_eq!(line, None, "{word} is in the log");
    }
}

#[test]
fn the_log_at_its_loudest_holds_no_value_and_no_secret() {
    hold_nothing_of_a_caller("text");
}

#[test]
fn nor_does_the_log_for_machines() {
    hold_nothing_of_a_caller("json");
}
