//! A zone that a caller may not read is not there for it, by whatever call: reads, lists, streams, history, export,
//! refusals, problem bodies, and the size of things.
//!
//! Not known here: who may write.

use std::time::Duration;

use kokuban_tests::{EventStream, Setup, fixture_path};
use serde_json::json;

const WORD: &str = "treasure-map";

#[test]
fn a_zone_that_one_may_not_read_shows_nowhere() {
    let server = Setup::memory().config(&format!("blueprints = [{:?}]", fixture_path("team.toml"))).start();
    let (ra, ta) = (server.as_agent("ra"), server.as_agent("ta"));
    ra.put("/v1/boards/b", &json!({"blueprint": "team"})).must(201);
    let secret = "/v1/boards/b/entries/secret/where-it-is";
    ra.put(secret, &json!({"value": WORD})).must(201);
    ra.put(secret, &json!({"value": [WORD], "version": 1})).must(200);
    ra.put(secret, &json!({"value": [WORD], "version": 7})).must(409);
    ra.post("/v1/boards/b/notes/secret/where-it-is", &json!({"text": WORD})).must(201);
    ra.post("/v1/boards/b/leases/secret/where-it-is", &json!({"ttl_ms": 600_000})).must(201);
    let body = json!({"writes": [
        {"method": "put", "zone": "analysis", "key": "open", "value": "for all"},
        {"method": "put", "zone": "secret", "key": "where-too", "value": WORD},
    ]});
    ra.post("/v1/boards/b/transactions", &body).must(200);
    let shown = |text: &str| text.contains(WORD) || text.contains("where-") || text.contains("secret");
    for path in [
        "",
        "/entries",
        "/entries?include=value&limit=1000",
        "/entries?prefix=where&include=value",
        "/entries?owner=ra&include=value",
        "/entries?at=4&include=value",
        "/history?include=value",
        "/history?include=operations",
        "/history?by=ra&include=value",
        "/changes?after=start&include=value",
        "/changes?after=start&include=value&prefix=where",
        "/changes?after=start&include=value&coalesce_ms=1",
        "/export",
        "/refusals",
        "/blueprint",
    ] {
        let answer = ta.get(&format!("/v1/boards/b{path}")).expect(200);
        assert!(!shown(&answer.text()), "{path}: {}", answer.text());
        let answer = ra.get(&format!("/v1/boards/b{path}")).expect(200);
        assert!(shown(&answer.text()), "its reader sees it: {path}: {}", answer.text());
    }
    let mut calls = vec![("GET", secret.to_owned(), None), ("PUT", secret.to_owned(), Some(json!({"value": 1})))];
    for rest in ["leases", "notes", "history"] {
        calls.push(("GET", format!("/v1/boards/b/{rest}/secret/where-it-is"), None));
    }
    calls.push(("GET", format!("{secret}?version=1"), None));
    calls.push(("GET", format!("{secret}?at=2"), None));
    calls.push(("GET", format!("{secret}?after_version=2&wait_ms=10"), None));
    calls.push(("DELETE", format!("{secret}?version=2"), None));
    calls.push(("PATCH", secret.to_owned(), Some(json!({"set": {"a": 1}}))));
    calls.push(("POST", "/v1/boards/b/notes/secret/where-it-is".to_owned(), Some(json!({"text": "t"}))));
    calls.push(("POST", "/v1/boards/b/leases/secret/where-it-is".to_owned(), Some(json!({"ttl_ms": 100}))));
    calls.push(("POST", "/v1/boards/b/claims".to_owned(), Some(json!({"zone": "secret"}))));
    let check = json!({"checks": [{"zone": "secret", "key": "where-it-is", "version": 2}], "writes": []});
    calls.push(("POST", "/v1/boards/b/transactions".to_owned(), Some(check)));
    calls.push(("GET", "/v1/boards/b/entries/secret".to_owned(), None));
    calls.push(("GET", "/v1/boards/b/events?zone=secret".to_owned(), None));
    calls.push(("GET", "/v1/boards/b/changes?zone=secret".to_owned(), None));
    for (method, path, body) in calls {
        let asking = ta.ask(method, &path);
        let answer = match &body {
            Some(body) => asking.json(body).send(),
            None => asking.send(),
        };
        let text = answer.text();
        let problem = answer.refused(404, "zone_not_found");
        assert!(problem.get("current").is_none() && !text.contains(WORD), "{method} {path}: {text}");
        // A zone that there is not is answered in the same words.
        let same = |text: &str| text.replace("secret", "nosuch");
        let asking = ta.ask(method, &same(&path));
        let other = match &body {
            Some(body) => asking.body(same(&body.to_string())).header("Content-Type", "application/json").send(),
            None => asking.send(),
        };
        let other = other.refused(404, "zone_not_found");
        assert_eq!(other["detail"], same(problem["detail"].as_str().expect("a text")), "{method} {path}");
    }
    let mut stream = EventStream::open(&ta, "/v1/boards/b/events?after=start&include=value", &[]);
    for revision in 1..=6 {
        let block = stream.next_block(Duration::from_secs(10));
        assert!(!shown(&block.data.clone().unwrap_or_default()), "{block:?}");
        if revision == 6 {
            assert_eq!(stream.next_block(Duration::from_secs(10)).revision(), Some(6), "every revision has its id");
        }
    }
}
