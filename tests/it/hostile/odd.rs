//! Well-formed requests with odd parts: every member of every body, every query member, header and path segment of
//! every route, replaced by values that somebody will send one day.
//!
//! **Invariant**: the routes and query members are those of the server's own table, so a new one is tried too.
//! Not known here: what each answer should be, beyond: no 5xx, a problem where it is refused, and a history that
//! still verifies.

use std::process::Command;

use kokuban_server::docs::{ROUTES, RouteSpec};
use kokuban_tests::{BoardAt, Caller, EventStream, Response, Setup, server_binary};
use serde_json::{Value, json};

fn odd_values() -> Vec<Value> {
    let deep = (0..30).fold(json!(1), |inner, _| json!([inner]));
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(""),
        json!(" "),
        json!("."),
        json!("/"),
        json!("a/b"),
        json!("\u{0}\r\n\u{2028}"),
        json!("e\u{301}"),
        json!("😀".repeat(300)),
        json!("x".repeat(9_000)),
        json!([]),
        json!({}),
        json!([null]),
        json!([[], {}]),
        json!({"": ""}),
        json!({"a/b~c.d": {"\"": null}}),
        deep,
    ]
}

const ODD_TEXTS: [&str; 16] = [
    "",
    "0",
    "-1",
    "1.5",
    "18446744073709551616",
    "99999999999999999999999999",
    "%00",
    "%FF",
    "%2F",
    "%",
    "%E6%84%8F",
    "a%0D%0Ab",
    "*",
    "..",
    "true%20",
    "0123456789abcdef.18446744073709551615",
];

const ODD_HEADERS: [(&str, &str); 24] = [
    ("If-Match", ""),
    ("If-Match", "*, *"),
    ("If-Match", "\"\""),
    ("If-Match", "\"18446744073709551615-ffffffffffffffff\""),
    ("If-Match", "\"1-0\", W/\"1-0\","),
    ("If-None-Match", "\"unclosed"),
    ("If-None-Match", "*"),
    ("Idempotency-Key", "\t"),
    ("Idempotency-Key", "ünïcode"),
    ("Prefer", "return=everything; ;;, ="),
    ("Accept", "text/nothing"),
    ("Accept", "*/*;q=9"),
    ("Accept-Encoding", "gzip;q=0, *"),
    ("Content-Type", ""),
    ("Content-Type", "application/json;;charset"),
    ("Content-Type", "application/json-patch+json"),
    ("Content-Type", "multipart/form-data"),
    ("Content-Encoding", "identity, br"),
    ("Range", "bytes=0-1"),
    ("traceparent", "ff-00000000000000000000000000000000-0000000000000000-00"),
    ("Last-Event-ID", "18446744073709551615"),
    ("Kokuban-Agent", "x"),
    ("Expect", "100-continue"),
    ("Upgrade", "websocket"),
];

/// A body that the route takes, by the name of its schema.
fn template(schema: &str) -> Value {
    match schema {
        "CreateBoard" => json!({"blueprint": {"name": "n", "schema_version": 1, "roles": {"arbiter": ["a"]},
            "lifecycles": {"l": {"initial": ["raw"], "transitions": [{"from": "raw", "to": "done", "by": ["owner"]}],
            "locked": ["done"], "on_lease_expired": {"done": "raw"}}}, "zones": {"z": {"access": "public",
            "owners": ["a"], "readers": ["*"], "lifecycle": "l", "hold_ms": 0, "slots": "open"}},
            "slots": {"z/k": {"kind": "document", "weight": 0.5, "fields": {"f": {"weight": 0.1}}}},
            "limits": {"value_bytes_max": 1000}}, "title": "t", "labels": {"a": "b"}, "inputs": {"z/k": 1}}),
        "Put" => json!({"value": {"a": 1}, "version": 1, "status": "raw", "lease_token": 1, "lease_ttl_ms": 1000,
            "confidence": "stated", "trust": "untrusted", "source": {"kind": "web", "ref": "r"},
            "derived_from": [{"zone": "working", "key": "k", "version": 1}], "require_fresh": false,
            "schema_version": 1, "summary": "s", "reason": "r", "replace": true, "on_conflict": "yield"}),
        "Patch" => json!({"operations": [{"op": "set", "path": "a", "value": 1, "confidence": "stated",
            "reason": "r", "intent": "overwrite", "unchanged_since": 1}], "version": 1, "status": "raw"}),
        "Transaction" => json!({"checks": [{"zone": "working", "key": "k", "version": 1}],
            "writes": [{"method": "put", "zone": "working", "key": "t", "value": 1, "version": 0},
            {"method": "patch", "zone": "working", "key": "k", "set": {"a": 1}},
            {"method": "delete", "zone": "working", "key": "gone", "version": 1},
            {"method": "lease", "zone": "working", "key": "k2", "ttl_ms": 100}]}),
        "LeaseRequest" => json!({"ttl_ms": 100, "wait_ms": 0, "takeover": true}),
        "LeaseRenewal" => json!({"lease_token": 1, "ttl_ms": 100}),
        "Claim" => {
            json!({"zone": "working", "status": "raw", "prefix": "k", "ttl_ms": 100, "to_status": "processing", "wait_ms": 0})
        }
        "NoteBody" => json!({"text": "t", "refers_to_version": 1}),
        "Erasure" => json!({"sha256": "0".repeat(64), "reason": "r"}),
        other => panic!("a body for the schema {other} is missing here"),
    }
}

/// Bodies that are accepted as they are on an entry that is not there, so that what is odd in them gets far.
fn accepted_template(schema: &str) -> Option<Value> {
    match schema {
        "Put" => Some(json!({"value": {"a": {"b": [1, "x"]}}, "version": 0, "status": "raw", "lease_ttl_ms": 1000,
            "confidence": "stated", "trust": "untrusted", "source": {"kind": "web", "ref": "r"}, "summary": "s",
            "derived_from": [{"zone": "working", "key": "k", "version": 1}], "reason": "r"})),
        "Patch" => Some(json!({"operations": [{"op": "set", "path": "a.b", "value": {"c": 1}, "reason": "r"},
            {"op": "unset", "path": "/z"}, {"op": "set", "path": "", "value": {"d": [1]}}], "summary": "s"})),
        "Transaction" => {
            Some(json!({"writes": [{"method": "put", "zone": "scratch", "key": "ra/t", "value": {"a": 1}},
            {"method": "patch", "zone": "scratch", "key": "ra/u", "set": {"a": 1}}]}))
        }
        _ => None,
    }
}

/// Pointers to everything inside, the whole first.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                places(inner, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (i, inner) in items.iter().enumerate() {
                places(inner, &format!("{at}/{i}"), found);
            }
        }
        _ => {}
    }
}

struct Tried<'a> {
    caller: &'a Caller,
    n: usize,
}

impl Tried<'_> {
    fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) {
        self.n += 1;
        if path.contains("/events") {
            let stream = EventStream::try_open(self.caller, path, headers).expect("an answer");
            assert!(stream.head.status < 500, "{method} {path}: {}", stream.head.status);
            return;
        }
        let mut asking = self.caller.ask(method, path);
        for (name, value) in headers {
            asking = asking.header(name, value);
        }
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| *name == "Content-Type") {
                asking = asking.header("Content-Type", "application/json");
            }
            asking = asking.body(body);
        }
        let answer = asking.try_send().unwrap_or_else(|error| panic!("{method} {path} {headers:?} {body:?}: {error}"));
        judge(&answer, &format!("{method} {path} {headers:?} {}", body.unwrap_or_default()));
    }
}

impl Tried<'_> {
    /// The body with each part of it replaced by each odd value, and without each member.
    fn odd_bodies(&mut self, method: &str, path: impl Fn(usize) -> String, body: &Value) {
        let mut found = Vec::new();
        places(body, "", &mut found);
        for place in found {
            for odd in odd_values() {
                let mut changed = body.clone();
                *changed.pointer_mut(&place).expect("a place") = odd;
                self.ask(method, &path(self.n), &[], Some(&changed.to_string()));
            }
            let Some((parent, name)) = place.rsplit_once('/') else { continue };
            let mut changed = body.clone();
            if let Some(Value::Object(members)) = changed.pointer_mut(parent) {
                members.remove(&name.replace("~1", "/").replace("~0", "~"));
                self.ask(method, &path(self.n), &[], Some(&changed.to_string()));
                if let Some(Value::Object(members)) = changed.pointer_mut(parent) {
                    members.insert("unknown member".to_owned(), json!(1));
                }
            }
            self.ask(method, &path(self.n), &[], Some(&changed.to_string()));
        }
    }
}

fn judge(answer: &Response, asked: &str) {
    assert!(answer.status < 500, "{asked}\n{}", answer.text());
    if answer.status >= 400 {
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{asked}");
        let problem = answer.json();
        assert_eq!(problem["status"], answer.status, "{asked}");
        assert!(problem["code"].is_string() && problem["next"]["action"].is_string(), "{asked}\n{problem}");
    }
}

/// A path of the route on the board; a deletion of the board is only tried out.
fn path_of(route: &RouteSpec) -> String {
    let path = route.path.replace("{board}", "b").replace("{zone}", "working").replace("{*key}", "k");
    if route.operation_id == "create_board" { path.replace("/b", "/made") } else { path }
}

fn with(path: &str, member: &str) -> String {
    let joint = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joint}{member}")
}

#[test]
fn odd_parts_of_requests_never_make_an_error_of_the_server() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    ra.put(&board.entry("working/k"), &json!({"value": {"a": 1}})).must(201);
    ra.put(&board.entry("working/k2"), &json!({"value": 1})).must(201);
    let mut tried = Tried { caller: &ra, n: 0 };
    for route in ROUTES {
        let mut path = path_of(route);
        if route.operation_id == "delete_board" {
            path = with(&path, "dry_run=true");
        }
        let body = route.body.map(|body| template(body.schema));
        let text = body.as_ref().map(Value::to_string);
        for (name, value) in ODD_HEADERS {
            tried.ask(route.method, &path, &[(name, value)], text.as_deref());
        }
        for query in route.query {
            for value in ODD_TEXTS {
                tried.ask(route.method, &with(&path, &format!("{}={value}", query.name)), &[], text.as_deref());
            }
            tried.ask(route.method, &with(&path, query.name), &[], text.as_deref());
            tried.ask(route.method, &with(&path, &format!("{0}=1&{0}=1", query.name)), &[], text.as_deref());
        }
        for member in ["&&&", "=", "%zz=1", "a=%zz"] {
            tried.ask(route.method, &with(&path, member), &[], text.as_deref());
        }
        for parameter in route.parameters() {
            for value in ODD_TEXTS {
                let odd =
                    route.path.replace(&format!("{{{parameter}}}"), value).replace(&format!("{{*{parameter}}}"), value);
                let odd = odd.replace("{board}", "b").replace("{zone}", "working").replace("{*key}", "k");
                let is_safe = route.operation_id != "delete_board" || value != "b";
                assert!(is_safe);
                tried.ask(route.method, &odd, &[], text.as_deref());
            }
        }
        let Some(body) = body else { continue };
        tried.odd_bodies(route.method, |_| path.clone(), &body);
        if let Some(body) = route.body.and_then(|body| accepted_template(body.schema)) {
            let fresh = |n: usize| path.replace("/working/k", &format!("/working/fresh-{n}"));
            tried.odd_bodies(route.method, fresh, &body);
        }
    }
    println!("{} odd requests", tried.n);
    assert!(tried.n > 5_000, "{}", tried.n);
    let n = tried.n;
    let entries = ra.get(&board.at("entries?prefix=fresh&limit=1000")).expect(200).json();
    assert!(entries["items"].as_array().is_some_and(|items| items.len() > 200), "odd values get as far as the board");
    check_history(&board, &ra);
    let (status, _) = server.stop();
    assert_eq!(status.code(), Some(0));
    let verified = Command::new(server_binary()).arg("verify").arg(server.data()).output().expect("a process");
    let said = format!("{}{}", String::from_utf8_lossy(&verified.stdout), String::from_utf8_lossy(&verified.stderr));
    assert!(verified.status.success(), "after {n} requests: {said}");
    server.start();
    server.as_agent("ra").get(&board.at("entries?include=value")).must(200);
}

fn check_history(board: &BoardAt, caller: &Caller) {
    let history = board.history(caller);
    let revisions: Vec<u64> = history.iter().filter_map(|commit| commit["revision"].as_u64()).collect();
    assert!(revisions.windows(2).all(|pair| pair[0] < pair[1]), "revisions grow");
}
