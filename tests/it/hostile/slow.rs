//! Peers that take their time: the documented time-outs hold.
//!
//! **Invariant**: a wait is bounded by the configured time-out and a margin for a busy machine.
//! Not known here: crowds.

use std::time::{Duration, Instant};

use kokuban_tests::{EventStream, Setup, TestServer, Wire, until};
use serde_json::json;

const CONFIG: &str = "[timeouts]\nhead_ms = 400\nidle_ms = 600\nbody_ms = 500\nwrite_ms = 700";
const MARGIN: Duration = Duration::from_secs(5);

fn server() -> TestServer {
    Setup::memory().config(CONFIG).start()
}

/// Sends bytes and waits for what comes; how long it took, and what it was.
fn send_and_wait(server: &TestServer, bytes: &[u8]) -> (Duration, String) {
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    wire.read_within(Duration::from_secs(20)).expect("a connection");
    wire.send(bytes).expect("sent");
    let began = Instant::now();
    let answer = wire.read_to_end().expect("the server closes in time");
    (began.elapsed(), String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn half_a_head_is_waited_for_as_long_as_documented() {
    let (took, answer) = send_and_wait(&server(), b"GET /livez HTTP/1.1\r\nHost: local");
    assert!(took >= Duration::from_millis(350) && took < MARGIN, "{took:?}");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[test]
fn a_head_that_drips_is_cut_off_all_the_same() {
    let server = server();
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    let began = Instant::now();
    // A byte at a time would keep a naive timer alive for ever.
    while wire.send(b"X").is_ok() {
        assert!(began.elapsed() < MARGIN, "still open");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_silent_connection_is_closed() {
    let (took, answer) = send_and_wait(&server(), b"");
    assert!(took >= Duration::from_millis(500) && took < MARGIN, "{took:?}");
    assert_eq!(answer, "");
}

#[test]
fn a_connection_that_idles_after_an_answer_is_closed() {
    let (took, answer) = send_and_wait(&server(), b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(took >= Duration::from_millis(500) && took < MARGIN, "{took:?}");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn half_a_body_is_a_timeout() {
    let server = server();
    let board = server.board("b");
    let bytes = server.as_agent("ra").ask("PUT", &board.entry("working/k")).json(&json!({"value": 1})).bytes();
    let (took, answer) = send_and_wait(&server, &bytes[..bytes.len() - 2]);
    assert!(took >= Duration::from_millis(400) && took < MARGIN, "{took:?}");
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("\"code\":\"timeout\"") && answer.contains("application/problem+json"), "{answer}");
    server.as_agent("ra").get(&board.entry("working/k")).must(404);
}

#[test]
fn a_waiting_read_outlives_the_time_outs_of_heads_and_bodies() {
    let server = server();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    ra.put(&board.entry("working/k"), &json!({"value": 1})).must(201);
    let began = Instant::now();
    ra.get(&format!("{}?after_version=1&wait_ms=1500", board.entry("working/k"))).must(200);
    assert!(began.elapsed() >= Duration::from_millis(1_400), "it waits as long as it was asked to");
}

/// A reader that takes nothing is closed when its socket has been blocked for the documented time, and hurts nobody.
#[test]
fn a_stream_that_nobody_reads_is_closed_and_can_be_resumed() {
    let server = server();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    let mut stuck = EventStream::open(&ra, &board.at("events?after=start&include=value"), &[]);
    let before = server.memory_bytes();
    let filler = "x".repeat(60_000);
    for i in 0..300 {
        let body = json!({"value": [i, filler], "version": i / 10});
        ra.put(&board.entry(&format!("working/k{}", i % 10)), &body).must(if i < 10 { 201 } else { 200 });
    }
    let streams = || {
        let metrics = ra.get("/metrics").text();
        let n = metrics.lines().find_map(|line| line.strip_prefix("kokuban_streams "));
        n.and_then(|n| n.trim().parse::<u64>().ok()).expect("a count of streams")
    };
    until("the stuck stream is closed", Duration::from_secs(20), || streams() == 0);
    let grown = server.memory_bytes().saturating_sub(before);
    assert!(grown < 200 << 20, "memory grew by {grown} bytes");
    // What it has in its buffers is whole up to some block; from there it goes on.
    let mut last = None;
    while let Ok(Some(block)) = stuck.try_next(Duration::from_secs(5)) {
        last = block.id.or(last);
    }
    let last = last.expect("at least the first block arrived");
    let seen: u64 = last.rsplit('.').next().and_then(|r| r.parse().ok()).expect("a position");
    let mut resumed = EventStream::open(&ra, &board.at("events"), &[("Last-Event-ID", &last)]);
    for revision in seen + 1..=301 {
        assert_eq!(resumed.next_event("commit", Duration::from_secs(10)).json()["revision"], revision);
    }
}
