//! Credentials that come, change and go while their owners are served.

use std::thread;
use std::time::{Duration, Instant};

use kokuban_tests::{EventStream, Setup, TestServer, Wire, until};
use serde_json::json;

use super::{secret, token};

/// Contract §6.11 says one second; the other one is for a machine with other things to do.
const AT_ONCE: Duration = Duration::from_secs(2);
const SOON: Duration = Duration::from_secs(10);

fn with(server: &TestServer, agent: &str) -> kokuban_tests::Caller {
    server.with_token(&secret(agent))
}

/// A server that `rv` and `ra` may call, with a board.
fn server_of_two() -> TestServer {
    let server = Setup::memory().config(&(token("rv", "roles = [\"admin\"]") + &token("ra", ""))).start();
    let rv = with(&server, "rv");
    rv.put("/v1/boards/b", &json!({"blueprint": "default"})).must(201);
    rv.put("/v1/boards/b/entries/working/k", &json!({"value": 1})).must(201);
    server
}

#[test]
fn a_token_that_comes_is_let_in_and_one_that_goes_is_refused_from_its_next_request_on() {
    let mut server = server_of_two();
    let (ra, ta) = (with(&server, "ra"), with(&server, "ta"));
    ra.get("/v1").must(200);
    ta.get("/v1").must(401);
    server.rewrite_config(&(token("rv", "roles = [\"admin\"]") + &token("ta", "")));
    let said = server.reload();
    assert!(said.contains("tokens_added=1 tokens_removed=1"), "{said}");
    ta.get("/v1/boards/b").must(200);
    // Over the connection that was let in before.
    let problem = ra.get("/v1/boards/b").refused(401, "unauthenticated");
    assert_eq!(problem["next"]["action"], "authenticate");
    let write = ra.put("/v1/boards/b/entries/working/k", &json!({"value": 2, "version": 1}));
    let _ = write.refused(401, "unauthenticated");
}

#[test]
fn the_streams_of_a_token_that_goes_end_with_auth_and_those_of_others_go_on() {
    let mut server = server_of_two();
    let (rv, ra) = (with(&server, "rv"), with(&server, "ra"));
    let open = |caller, query: &str| EventStream::open(caller, &format!("/v1/boards/b/events{query}"), &[]);
    let mut ending = [open(&ra, ""), open(&ra, "?zone=working&snapshot=true"), open(&ra, "?coalesce_ms=60000")];
    let mut staying = open(&rv, "");
    for stream in ending.iter_mut().chain([&mut staying]) {
        let _ = stream.next_event("hello", SOON);
    }
    // Held back by the window of the third stream, and never sent to it.
    rv.put("/v1/boards/b/entries/working/k", &json!({"value": 2, "version": 1})).must(200);
    let _ = ending[0].next_event("commit", SOON);
    server.rewrite_config(&token("rv", "roles = [\"admin\"]"));
    let began = Instant::now();
    let _ = server.reload();
    for stream in &mut ending {
        let bye = stream.next_event("bye", AT_ONCE);
        assert_eq!(bye.json()["reason"], "auth");
        assert_eq!(stream.try_next(SOON).expect("an end, not a break"), None);
    }
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    assert!(!String::from_utf8_lossy(&ending[2].raw).contains("event: commit"), "nothing is sent to who is shut out");
    let _ = staying.next_event("commit", SOON);
    rv.put("/v1/boards/b/entries/working/k", &json!({"value": 3, "version": 2})).must(200);
    let _ = staying.next_event("commit", SOON);
}

#[test]
fn the_waits_of_a_token_that_goes_are_refused_at_once() {
    let mut server = server_of_two();
    let (rv, ra) = (with(&server, "rv"), with(&server, "ra"));
    let lease = rv.post("/v1/boards/b/leases/working/k", &json!({"ttl_ms": 600_000})).expect(201).json();
    let waits = [
        ra.ask("GET", "/v1/boards/b/changes?wait_ms=30000").bytes(),
        ra.ask("GET", "/v1/boards/b/entries/working/k?after_version=1&wait_ms=30000").bytes(),
        ra.ask("POST", "/v1/boards/b/leases/working/k").json(&json!({"ttl_ms": 1000, "wait_ms": 30000})).bytes(),
        ra.ask("POST", "/v1/boards/b/claims").json(&json!({"zone": "working", "wait_ms": 30000})).bytes(),
    ];
    let mut wires: Vec<_> = waits
        .iter()
        .map(|request| {
            let mut wire = Wire::connect(server.addr()).expect("a connection");
            wire.send(request).expect("sent");
            wire
        })
        .collect();
    until("all of them wait", SOON, || {
        let metrics = rv.get("/metrics").text();
        metrics.lines().any(|line| line == "kokuban_waiting_reads 2") && metrics.contains("kokuban_connections 5")
    });
    server.rewrite_config(&token("rv", "roles = [\"admin\"]"));
    let began = Instant::now();
    let _ = server.reload();
    for wire in &mut wires {
        let _ = wire.read_answer("GET").expect("an answer").refused(401, "unauthenticated");
    }
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    // Nobody waits for the lease any more.
    rv.delete(&format!("/v1/boards/b/leases/working/k?lease_token={}", lease["lease_token"])).must(204);
    rv.get("/v1/boards/b/leases/working/k").must(404);
}

#[test]
fn a_board_that_a_token_opens_no_longer_is_as_if_it_were_not_there() {
    let mut server = server_of_two();
    let ra = with(&server, "ra");
    let mut stream = EventStream::open(&ra, "/v1/boards/b/events", &[]);
    let _ = stream.next_event("hello", SOON);
    let caller = ra.clone();
    let waits = thread::spawn(move || caller.get("/v1/boards/b/changes?wait_ms=30000"));
    until("it waits", SOON, || server.anonymous().get("/metrics").text().contains("kokuban_waiting_reads 1"));
    server.rewrite_config(&(token("rv", "roles = [\"admin\"]") + &token("ra", "boards = [\"other-*\"]")));
    let _ = server.reload();
    assert_eq!(stream.next_event("bye", AT_ONCE).json()["reason"], "auth");
    let _ = waits.join().expect("no panic").refused(404, "board_not_found");
    let _ = ra.get("/v1/boards/b").refused(404, "board_not_found");
    ra.get("/v1").must(200);
}

#[test]
fn other_roles_end_a_stream_with_rights_and_it_is_resumed_in_them() {
    let mut server = server_of_two();
    let ra = with(&server, "ra");
    let mut stream = EventStream::open(&ra, "/v1/boards/b/events", &[]);
    let hello = stream.next_event("hello", SOON);
    server.rewrite_config(
        &("[roles]\nobserver = [\"ra\"]\n".to_owned() + &token("rv", "roles = [\"admin\"]") + &token("ra", "")),
    );
    let _ = server.reload();
    assert_eq!(stream.next_event("bye", AT_ONCE).json()["reason"], "rights");
    let id = hello.id.expect("an id");
    let mut again = EventStream::open(&ra, "/v1/boards/b/events", &[("Last-Event-ID", &id)]);
    let _ = again.next_event("hello", SOON);
    let write = ra.put("/v1/boards/b/entries/working/k", &json!({"value": 2, "version": 1}));
    let _ = write.refused(403, "forbidden");
}

#[test]
fn the_first_token_shuts_out_whoever_has_none() {
    let mut server = Setup::memory().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    let mut stream = EventStream::open(&ra, &board.at("events"), &[]);
    let _ = stream.next_event("hello", SOON);
    server.rewrite_config(&token("rv", ""));
    let _ = server.reload();
    assert_eq!(stream.next_event("bye", AT_ONCE).json()["reason"], "auth");
    let _ = ra.get("/v1").refused(401, "unauthenticated");
    with(&server, "rv").get(&board.at("entries")).must(200);
}
