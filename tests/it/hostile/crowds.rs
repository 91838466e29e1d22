//! More than the server takes on: it says so, or lets them wait, and recovers.
//!
//! Not known here: single requests.

use std::time::Duration;

use kokuban_tests::{EventStream, Setup, Wire, until};
use serde_json::json;

#[test]
fn connections_over_the_cap_wait_until_others_end() {
    let server = Setup::memory().config("[limits]\nconnections_max = 8").start();
    let mut open: Vec<Wire> = (0..8).map(|_| Wire::connect(server.addr()).expect("a connection")).collect();
    for wire in &mut open {
        wire.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        wire.read_answer("GET").expect("an answer").must(200);
    }
    let mut next = Wire::connect(server.addr()).expect("the kernel takes it");
    next.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    next.read_within(Duration::from_millis(300)).expect("a connection");
    next.read_answer("GET").expect_err("it has to wait");
    open.pop();
    next.read_within(Duration::from_secs(10)).expect("a connection");
    next.read_answer("GET").expect("an answer").must(200);
}

#[test]
fn requests_over_the_cap_are_told_to_come_back() {
    let server = Setup::memory().config("[limits]\nrequests_in_flight_max = 2").start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    let asking = ra.ask("PUT", &board.entry("working/k")).header("Expect", "100-continue");
    let upload = asking.json(&json!({"value": 1})).bytes();
    let (head, body) = upload.split_at(upload.len() - "{\"value\":1}".len());
    let mut slow: Vec<Wire> = (0..2).map(|_| Wire::connect(server.addr()).expect("a connection")).collect();
    for wire in &mut slow {
        wire.send(head).expect("sent");
        assert_eq!(wire.read_any_head().expect("an answer").status, 100, "it has begun to work on it");
    }
    let answer = ra.get(&board.entry("working/none"));
    assert!(answer.header("retry-after").is_some(), "it says when to come back");
    let problem = answer.refused(503, "overloaded");
    assert_eq!((&problem["retryable"], &problem["side_effects"]), (&json!(true), &json!("none")));
    for (i, wire) in slow.iter_mut().enumerate() {
        wire.send(body).expect("sent");
        let answer = wire.read_answer("PUT").expect("an answer");
        assert!(matches!(answer.status, 201 | 428), "{i}: {}", answer.text());
    }
    ra.get(&board.entry("working/k")).must(200);
}

#[test]
fn streams_over_the_cap_of_a_caller_are_refused_and_others_are_not() {
    let server = Setup::memory().config("[limits]\nstreams_per_caller_max = 2").start();
    let board = server.board("b");
    let (ra, ta) = (server.as_agent("ra"), server.as_agent("ta"));
    let first = EventStream::open(&ra, &board.at("events"), &[]);
    let _second = EventStream::open(&ra, &board.at("events"), &[]);
    let refused = ra.get(&board.at("events"));
    assert!(refused.header("retry-after").is_some());
    let _ = refused.refused(429, "rate_limited");
    let _other = EventStream::open(&ta, &board.at("events"), &[]);
    drop(first);
    until("its place is free again", Duration::from_secs(10), || {
        let stream = EventStream::try_open(&ra, &board.at("events"), &[]).expect("the server answers");
        stream.head.status == 200
    });
}
