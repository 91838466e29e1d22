//! The table of rights, and the test that tries it.
//!
//! Not known here: what zones hide in bodies; see `places`.

use std::collections::BTreeSet;

use kokuban_core::ids::Sha256;
use kokuban_server::docs::ROUTES;
use kokuban_tests::{Caller, Setup, TestServer, fixture_path};
use serde_json::{Value, json};

use crate::coverage::is_of_route;

/// Who calls. The board has the blueprint `team`; calls are about its restricted zone `decision`, which `ta` owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Mode `open`, without a name.
    Anonymous,
    /// Any agent.
    Agent,
    ZoneOwner,
    Arbiter,
    Observer,
    /// A credential for other boards.
    Foreign,
    /// Mode `token`, without a credential.
    Nobody,
    Admin,
}

const ROLES: [Role; 8] = [
    Role::Anonymous,
    Role::Agent,
    Role::ZoneOwner,
    Role::Arbiter,
    Role::Observer,
    Role::Foreign,
    Role::Nobody,
    Role::Admin,
];

/// A call, and the status for each role in the order of `ROLES`.
struct Row {
    method: &'static str,
    path: &'static str,
    body: Option<fn(&Fixture) -> Value>,
    statuses: [u16; 8],
}

/// What the calls are about.
struct Fixture {
    token: u64,
    note: String,
}

const fn read(path: &'static str, statuses: [u16; 8]) -> Row {
    Row { method: "GET", path, body: None, statuses }
}

const fn write(method: &'static str, path: &'static str, body: fn(&Fixture) -> Value, statuses: [u16; 8]) -> Row {
    Row { method, path, body: Some(body), statuses }
}

/// Anybody, with or without a credential.
const PUBLIC: [u16; 8] = [200; 8];
/// Whoever may see the board.
const SEES: [u16; 8] = [200, 200, 200, 200, 200, 404, 401, 200];

#[rustfmt::skip]
const TABLE: &[Row] = &[
    //                                                              anon agent owner arbiter observer foreign nobody admin
    read("/livez", PUBLIC),
    read("/readyz", PUBLIC),
    read("/metrics", PUBLIC),
    read("/openapi.json", PUBLIC),
    read("/docs", PUBLIC),
    read("/llms.txt", PUBLIC),
    read("/v1",                                                    [200, 200, 200, 200, 200, 200, 401, 200]),
    read("/v1/backup",                                             [200, 403, 403, 403, 403, 403, 401, 200]),
    read("/v1/boards",                                             [200, 200, 200, 200, 200, 200, 401, 200]),
    read("/v1/boards/b", SEES),
    read("/v1/boards/b/blueprint", SEES),
    read("/v1/boards/b/refusals", SEES),
    read("/v1/boards/b/entries", SEES),
    read("/v1/boards/b/entries/decision", SEES),
    read("/v1/boards/b/entries/decision/k", SEES),
    read("/v1/boards/b/leases/decision/held", SEES),
    read("/v1/boards/b/notes/decision/k", SEES),
    read("/v1/boards/b/history", SEES),
    read("/v1/boards/b/history/decision/k", SEES),
    read("/v1/boards/b/changes", SEES),
    read("/v1/boards/b/events", SEES),
    read("/v1/boards/b/export", SEES),
    // In mode `open` everything admin is open.
    write("PUT", "/v1/boards/new", |_| json!({"blueprint": "default"}),
                                                                   [201, 201, 201, 201, 403, 404, 401, 201]),
    write("DELETE", "/v1/boards/b", |_| Value::Null,               [204, 403, 403, 403, 403, 404, 401, 204]),
    write("POST", "/v1/boards/b/erasures", |_| json!({"sha256": Sha256::of(b"0").to_string(), "reason": "r"}),
                                                                   [200, 403, 403, 403, 403, 404, 401, 200]),
    write("PUT", "/v1/boards/b/entries/decision/k", |_| json!({"value": 2, "version": 2}),
                                                                   [403, 403, 200, 200, 403, 404, 401, 403]),
    write("PATCH", "/v1/boards/b/entries/decision/k", |_| json!({"set": {"": 2}, "version": 2}),
                                                                   [403, 403, 200, 200, 403, 404, 401, 403]),
    write("DELETE", "/v1/boards/b/entries/decision/k?version=2", |_| Value::Null,
                                                                   [403, 403, 200, 200, 403, 404, 401, 403]),
    write("POST", "/v1/boards/b/transactions",
        |_| json!({"writes": [{"method": "put", "zone": "decision", "key": "k", "value": 2, "version": 2}]}),
                                                                   [403, 403, 200, 200, 403, 404, 401, 403]),
    // Leases and claims belong to somebody: the nameless are told so before anything else.
    write("POST", "/v1/boards/b/leases/decision/k", |_| json!({"ttl_ms": 1000}),
                                                                   [400, 403, 201, 201, 403, 404, 401, 403]),
    write("PUT", "/v1/boards/b/leases/decision/held", |fixture| json!({"ttl_ms": 1000, "lease_token": fixture.token}),
                                                                   [400, 403, 200, 409, 403, 404, 401, 403]),
    write("DELETE", "/v1/boards/b/leases/decision/held", |_| Value::Null,
                                                                   [403, 403, 409, 204, 403, 404, 401, 403]),
    write("POST", "/v1/boards/b/claims", |_| json!({"zone": "decision"}),
                                                                   [400, 403, 201, 201, 403, 404, 401, 403]),
    // Whoever may read may comment.
    write("POST", "/v1/boards/b/notes/decision/k", |_| json!({"text": "t"}),
                                                                   [201, 201, 201, 201, 403, 404, 401, 201]),
    write("DELETE", "/v1/boards/b/notes/decision/k?id={note}", |_| Value::Null,
                                                                   [403, 403, 204, 204, 403, 404, 401, 403]),
];

const AGENTS: [(&str, &str, &str); 6] = [
    ("qb", "[]", "b,new"),
    ("ta", "[]", "b,new"),
    ("rv", "[]", "b,new"),
    ("ob", "[\"observer\"]", "b,new"),
    ("fo", "[]", "other-*"),
    ("ad", "[\"admin\"]", "*"),
];

fn secret(agent: &str) -> String {
    format!("a-secret-of-{agent}")
}

fn with_tokens() -> TestServer {
    let mut setup =
        Setup::memory().config(&format!("auth = \"token\"\nblueprints = [{:?}]", fixture_path("team.toml")));
    for (agent, roles, boards) in AGENTS {
        let boards: Vec<String> = boards.split(',').map(|board| format!("{board:?}")).collect();
        setup = setup.config(&format!(
            "[[tokens]]\nsha256 = \"{}\"\nagent = \"{agent}\"\nroles = {roles}\nboards = [{}]",
            Sha256::of(secret(agent).as_bytes()),
            boards.join(", ")
        ));
    }
    setup.start()
}

/// A board with an entry at version 2, a note on it, and another entry that `ta` holds.
fn furnish(admin: &Caller, owner: &Caller) -> Fixture {
    admin.put("/v1/boards/b", &json!({"blueprint": "team"})).must(201);
    for (value, version) in [(0, 0), (1, 1)] {
        let body = json!({"value": value, "version": version});
        owner.put("/v1/boards/b/entries/decision/k", &body).must(if version == 0 { 201 } else { 200 });
    }
    owner.put("/v1/boards/b/entries/decision/held", &json!({"value": 1})).must(201);
    let lease = owner.post("/v1/boards/b/leases/decision/held", &json!({"ttl_ms": 600_000})).expect(201).json();
    let note = owner.post("/v1/boards/b/notes/decision/k", &json!({"text": "n"})).expect(201).json();
    Fixture {
        token: lease["lease_token"].as_u64().expect("a token"),
        note: note["id"].as_str().expect("an id").to_owned(),
    }
}

fn status(caller: &Caller, row: &Row, fixture: &Fixture) -> (u16, String) {
    let mut path = row.path.replace("{note}", &fixture.note);
    if row.body.is_some() {
        path.push_str(if path.contains('?') { "&dry_run=true" } else { "?dry_run=true" });
    }
    if row.path.ends_with("/events") {
        let stream = kokuban_tests::EventStream::try_open(caller, &path, &[]).expect("an answer");
        return (stream.head.status, String::new());
    }
    let body = row.body.map(|body| body(fixture)).filter(|body| !body.is_null());
    let asking = caller.ask(row.method, &path);
    let answer = match &body {
        Some(body) => asking.json(body).send(),
        None => asking.send(),
    };
    (answer.status, answer.text())
}

#[test]
fn every_route_treats_every_role_as_the_table_says() {
    let open = Setup::memory().config(&format!("blueprints = [{:?}]", fixture_path("team.toml"))).start();
    let tokens = with_tokens();
    let by_token = |agent: &str| tokens.with_token(&secret(agent));
    let in_open = furnish(&open.as_agent("ad"), &open.as_agent("ta"));
    let in_tokens = furnish(&by_token("ad"), &by_token("ta"));
    let mut wrong = Vec::new();
    for row in TABLE {
        for (role, expected) in ROLES.iter().zip(row.statuses) {
            let (caller, fixture) = match role {
                Role::Anonymous => (open.anonymous(), &in_open),
                Role::Agent => (by_token("qb"), &in_tokens),
                Role::ZoneOwner => (by_token("ta"), &in_tokens),
                Role::Arbiter => (by_token("rv"), &in_tokens),
                Role::Observer => (by_token("ob"), &in_tokens),
                Role::Foreign => (by_token("fo"), &in_tokens),
                Role::Nobody => (tokens.anonymous(), &in_tokens),
                Role::Admin => (by_token("ad"), &in_tokens),
            };
            let (actual, text) = status(&caller, row, fixture);
            if actual != expected {
                wrong.push(format!("{} {} as {role:?}: {actual} instead of {expected} {text}", row.method, row.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{} cells differ\n{}", wrong.len(), wrong.join("\n"));
    // Dry runs: the boards are as they were.
    for caller in [open.as_agent("ad"), by_token("ad")] {
        assert_eq!(caller.get("/v1/boards/b").expect(200).json()["revision"], 6);
    }
}

#[test]
fn every_route_has_a_row() {
    let named: BTreeSet<(&str, &str)> = TABLE.iter().map(|row| (row.method, row.path)).collect();
    let missing: Vec<String> = ROUTES
        .iter()
        .filter(|route| !named.iter().any(|(method, path)| *method == route.method && is_of_route(route.path, path)))
        .map(|route| format!("{} {}", route.method, route.path))
        .collect();
    assert!(missing.is_empty(), "without a row: {missing:#?}");
    for row in TABLE {
        let is_known = ROUTES.iter().any(|route| route.method == row.method && is_of_route(route.path, row.path));
        assert!(is_known, "no such route: {} {}", row.method, row.path);
    }
}
