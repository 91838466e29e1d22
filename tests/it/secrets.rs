//! No value, note, reason, body or secret is in the log or a metric, at any level (contract §3.17).
//!
//! **Invariant**: the words are distinctive, so that finding one is no accident.
//! Not known here: what the log is good for.

use kokuban_core::ids::Sha256;
use kokuban_tests::{Setup, Wire};
use serde_json::json;

const SECRET: &str = "hush-secret-of-ra";
const WORDS: [&str; 7] =
    ["quartzvalue", "quartznote", "quartzreason", "quartzsummary", "quartzquery", "quartzmember", "hush-secret"];

#[test]
fn the_log_at_its_loudest_holds_no_value_and_no_secret() {
    let mut server = Setup::disk()
        .config(&format!(
            "auth = \"token\"\nlog_level = \"trace\"\nlog_requests = \"all\"\n[roles]\nadmin = [\"ra\"]\n[[tokens]]\n\
             sha256 = \"{}\"\nagent = \"ra\"\nboards = [\"*\"]",
            Sha256::of(SECRET.as_bytes())
        ))
        .env("RUST_LOG", "trace")
        .start();
    let ra = server.with_token(SECRET);
    ra.put("/v1/boards/b", &json!({"blueprint": "default", "inputs": {"working/i": "quartzvalue"}})).must(201);
    let path = "/v1/boards/b/entries/working/k";
    let body = json!({"value": {"quartzmember": "quartzvalue"}, "reason": "quartzreason", "summary": "quartzsummary"});
    ra.put(path, &body).must(201);
    ra.patch(path, &json!({"set": {"a": "quartzvalue"}, "reason": "quartzreason"})).must(200);
    ra.put(path, &json!({"value": "quartzvalue", "version": 7})).must(409);
    ra.put(path, &json!({"value": "quartzvalue", "status": "confirmed", "version": 2})).must(409);
    ra.put(path, &json!({"quartzmember": "quartzvalue"})).must(400);
    ra.ask("PUT", path).header("Content-Type", "application/json").body("{\"value\": quartzvalue}").send().must(400);
    ra.post("/v1/boards/b/notes/working/k", &json!({"text": "quartznote"})).must(201);
    let write = json!({"method": "put", "zone": "working", "key": "t", "value": "quartzvalue"});
    ra.post("/v1/boards/b/transactions", &json!({"writes": [write]})).must(200);
    ra.get("/v1/boards/b/entries?prefix=quartzquery").must(200);
    ra.get("/v1/boards/b/history?include=value").must(200);
    ra.get("/v1?token=hush-secret-of-ra").must(400);
    server.with_token("hush-secret-wrong").get("/v1").must(401);
    server.anonymous().with("Authorization", "Basic hush-secret").get("/v1").must(401);
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    wire.send(b"PUT /v1/boards/b HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer hush-secret\r\nX: \0\r\n\r\n")
        .expect("sent");
    let _ = wire.read_to_end();
    let metrics = ra.get("/metrics").text();
    server.restart_after_kill();
    server.with_token(SECRET).get(path).must(200);
    let _ = server.stop();
    let log = server.log();
    assert!(log.contains("409") && log.contains("version_conflict"), "the log says what happened: {log}");
    for word in WORDS {
        assert!(!metrics.contains(word), "{word} is in the metrics");
        let at = log.find(word);
        let line = at.map(|at| log[..at].rsplit('\n').next().unwrap_or_default().to_owned() + &log[at..at + 60]);
        assert_eq!(line, None, "{word} is in the log");
    }
}
