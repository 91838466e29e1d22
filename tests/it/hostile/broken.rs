//! Requests that are none, or that mean different things to different readers.
//!
//! Not known here: time.

use std::time::Duration;

use kokuban_tests::{BoardAt, Setup, TestServer, Wire};
use serde_json::json;

fn server() -> (TestServer, BoardAt) {
    let server = Setup::memory().start();
    let board = server.board("b");
    (server, board)
}

/// Sends bytes, says that nothing follows, and reads whatever comes.
fn exchange(server: &TestServer, bytes: &[u8]) -> String {
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    wire.read_within(Duration::from_secs(15)).expect("a connection");
    // The server may close before it has read everything.
    let _ = wire.send(bytes);
    let _ = wire.half_close();
    let answer = wire.read_to_end().expect("the server closes in time");
    String::from_utf8_lossy(&answer).into_owned()
}

fn statuses(answer: &str) -> Vec<u16> {
    let starts = answer.match_indices("HTTP/1.").filter(|(at, _)| *at == 0 || answer[..*at].ends_with(['\n', '}']));
    starts.filter_map(|(at, _)| answer.get(at + 9..at + 12)?.parse().ok()).collect()
}

/// Refused with a 4xx, or closed without a word; and the server goes on.
fn assert_refused(server: &TestServer, name: &str, bytes: &[u8]) {
    let answer = exchange(server, bytes);
    let statuses = statuses(&answer);
    let allowed = |status: &u16| (400..500).contains(status) || *status == 505;
    assert!(statuses.iter().all(allowed), "{name}: {answer}");
    assert!(answer.is_empty() || !statuses.is_empty(), "{name}: {answer}");
    server.anonymous().get("/livez").must(200);
}

const HIDDEN: &str = "PUT /v1/boards/b/entries/working/smuggled HTTP/1.1\r\nHost: localhost\r\nKokuban-Agent: eve\r\n\
                      Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"value\":1}";

#[test]
fn a_request_hidden_in_another_is_never_carried_out() {
    let (server, board) = server();
    let chunked_end = "0\r\n\r\n";
    let heads = [
        ("both lengths", format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", 5)),
        ("both lengths, the other way round", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n".to_owned()),
        ("two lengths", "Content-Length: 5\r\nContent-Length: 0\r\n".to_owned()),
        ("two lengths that agree", "Content-Length: 5\r\nContent-Length: 5\r\n".to_owned()),
        ("two lengths in one", "Content-Length: 5, 5\r\n".to_owned()),
        ("a signed length", "Content-Length: +5\r\n".to_owned()),
        ("a negative length", "Content-Length: -5\r\n".to_owned()),
        ("a length in hex", "Content-Length: 0x5\r\n".to_owned()),
        ("a length that overflows", "Content-Length: 18446744073709551621\r\n".to_owned()),
        ("an empty length", "Content-Length: \r\n".to_owned()),
        ("a length with a blank", "Content-Length: 5 5\r\n".to_owned()),
        ("a blank before the colon", "Content-Length : 5\r\n".to_owned()),
        ("chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n".to_owned()),
        ("chunked, then something", "Transfer-Encoding: chunked, identity\r\n".to_owned()),
        ("something else", "Transfer-Encoding: xchunked\r\n".to_owned()),
        ("a tab before chunked", "Transfer-Encoding:\tchunked\r\nContent-Length: 5\r\n".to_owned()),
        ("a vertical tab before chunked", "Transfer-Encoding: \u{b}chunked\r\n".to_owned()),
        ("a folded header", "Transfer-Encoding:\r\n chunked\r\n".to_owned()),
        ("quoted", "Transfer-Encoding: \"chunked\"\r\n".to_owned()),
    ];
    for (name, lengths) in heads {
        let request = format!(
            "PUT /v1/boards/b/entries/working/outer HTTP/1.1\r\nHost: localhost\r\nKokuban-Agent: eve\r\n\
             Content-Type: application/json\r\n{lengths}\r\n{chunked_end}{HIDDEN}"
        );
        let answer = exchange(&server, request.as_bytes());
        let statuses = statuses(&answer);
        assert!(statuses.iter().all(|status| (400..500).contains(status)), "{name}: {answer}");
        assert!(statuses.len() <= 1, "{name}: the connection is closed after the first answer: {answer}");
        for key in ["working/smuggled", "working/outer"] {
            assert_eq!(server.anonymous().get(&board.entry(key)).status, 404, "{name}: {key} was written");
        }
    }
}

#[test]
fn what_is_no_request_is_refused_or_closed() {
    let (server, _) = server();
    let long = "a".repeat(40_000);
    let many: String = (0..300).map(|i| format!("X-Flood-{i}: x\r\n")).collect();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("a line end", b"\r\n".to_vec()),
        ("many line ends", b"\r\n".repeat(20_000)),
        ("rubbish", b"rubbish\r\n\r\n".to_vec()),
        ("zeros", vec![0; 4_096]),
        ("all bytes", (0..=255).cycle().take(4_096).collect()),
        ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec()),
        ("an HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
        ("another version", b"GET /livez HTTP/3.7\r\nHost: localhost\r\n\r\n".to_vec()),
        ("no version", b"GET /livez\r\n\r\n".to_vec()),
        ("no Host", b"GET /livez HTTP/1.1\r\n\r\n".to_vec()),
        ("no Host, in HTTP/1.0", b"GET /livez HTTP/1.0\r\n\r\n".to_vec()),
        ("two Hosts", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n".to_vec()),
        ("an empty Host", b"GET /livez HTTP/1.1\r\nHost:\r\n\r\n".to_vec()),
        ("a Host with a user", b"GET /livez HTTP/1.1\r\nHost: eve@localhost\r\n\r\n".to_vec()),
        ("a foreign target", b"GET http://evil.example/livez HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("a blank in the path", b"GET /liv ez HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("a control character in the path", b"GET /liv\x01ez HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("a header without a colon", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n".to_vec()),
        ("a header with a NUL", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n".to_vec()),
        ("a header with a lone CR", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n".to_vec()),
        ("a header cut off", b"GET /livez HTTP/1.1\r\nHost: loc".to_vec()),
        ("a body cut off", b"PUT /v1/boards/c HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{".to_vec()),
        ("a chunk cut off", b"PUT /v1/boards/c HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{".to_vec()),
        ("a chunk size that is none", b"PUT /v1/boards/c HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n".to_vec()),
        ("a chunk size that overflows", b"PUT /v1/boards/c HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n".to_vec()),
        ("a chunk that is longer than it says", b"PUT /v1/boards/c HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}}}}\r\n0\r\n\r\n".to_vec()),
        ("a long chunk extension", format!("PUT /v1/boards/c HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1;{long}\r\n{{\r\n0\r\n\r\n").into_bytes()),
        ("a long method", format!("{long} /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes()),
        ("a long path", format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes()),
        ("a long header", format!("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n").into_bytes()),
        ("many headers", format!("GET /livez HTTP/1.1\r\nHost: localhost\r\n{many}\r\n").into_bytes()),
        ("CONNECT", b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("an expectation that nobody meets", b"PUT /v1/boards/c HTTP/1.1\r\nHost: localhost\r\nExpect: 200-ok\r\nContent-Length: 2\r\n\r\n[]".to_vec()),
        ("a doubled agent", b"GET /v1 HTTP/1.1\r\nHost: localhost\r\nKokuban-Agent: a\r\nKokuban-Agent: b\r\n\r\n".to_vec()),
        ("an agent that is not text", b"GET /v1 HTTP/1.1\r\nHost: localhost\r\nKokuban-Agent: \xff\xfe\r\n\r\n".to_vec()),
        ("a key that is not text", b"PUT /v1/boards/c HTTP/1.1\r\nHost: localhost\r\nKokuban-Agent: a\r\nIdempotency-Key: \xff\r\nContent-Type: application/json\r\nContent-Length: 23\r\n\r\n{\"blueprint\":\"default\"}".to_vec()),
        ("a lone percent sign", b"GET /v1/boards/% HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("a backslash", b"GET /v1\\boards HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("a path out of the root", b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("an encoded path out of the root", b"GET /v1/boards/%2e%2e%2f%2e%2e HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
    ];
    for (name, bytes) in cases {
        assert_refused(&server, name, &bytes);
    }
    assert_eq!(server.anonymous().get("/v1/boards/c").status, 404, "none of them made a board");
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let (server, board) = server();
    let ra = server.as_agent("ra");
    let mut bytes = Vec::new();
    for i in 0..30 {
        bytes.extend(ra.ask("PUT", &board.entry(&format!("working/k{i}"))).json(&json!({"value": i})).bytes());
        bytes.extend(ra.ask("GET", &board.entry(&format!("working/k{i}"))).bytes());
    }
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    wire.send(&bytes).expect("sent");
    for i in 0..30 {
        assert_eq!(wire.read_answer("PUT").expect("an answer").expect(201).json()["key"], format!("k{i}"));
        assert_eq!(wire.read_answer("GET").expect("an answer").expect(200).json()["value"], i);
    }
}

#[test]
fn a_caller_that_closes_its_half_is_answered_or_closed_and_its_write_is_whole_or_absent() {
    let (server, board) = server();
    let ra = server.as_agent("ra");
    for i in 0..20 {
        let path = board.entry(&format!("working/k{i}"));
        let mut wire = Wire::connect(server.addr()).expect("a connection");
        wire.read_within(Duration::from_secs(10)).expect("a connection");
        wire.send(&ra.ask("PUT", &path).json(&json!({"value": i})).bytes()).expect("sent");
        wire.half_close().expect("half a connection");
        let answer = wire.read_to_end().expect("an end, in time");
        let there = ra.get(&path);
        if answer.is_empty() {
            assert!(matches!(there.status, 200 | 404), "{}", there.text());
        } else {
            assert_eq!(statuses(&String::from_utf8_lossy(&answer)), [201]);
            assert_eq!(there.expect(200).json()["value"], i);
        }
    }
}

#[test]
fn a_request_byte_by_byte_is_a_request() {
    let (server, board) = server();
    let ra = server.as_agent("ra");
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    for byte in ra.ask("PUT", &board.entry("working/k")).json(&json!({"value": 1})).bytes() {
        wire.send(&[byte]).expect("sent");
    }
    wire.read_answer("PUT").expect("an answer").must(201);
}

#[test]
fn callers_that_hang_up_early_leave_nothing_behind() {
    let (server, board) = server();
    let ra = server.as_agent("ra");
    let bytes = ra.ask("PUT", &board.entry("working/k")).json(&json!({"value": "x".repeat(5_000)})).bytes();
    for cut in (0..bytes.len()).step_by(61) {
        let mut wire = Wire::connect(server.addr()).expect("a connection");
        wire.send(&bytes[..cut]).expect("sent");
    }
    // Whole requests whose answers nobody reads.
    for i in 0..50 {
        let mut wire = Wire::connect(server.addr()).expect("a connection");
        let asking = ra.ask("PUT", &board.entry(&format!("working/n{i}"))).json(&json!({"value": i}));
        wire.send(&asking.bytes()).expect("sent");
    }
    kokuban_tests::until("every connection is gone", Duration::from_secs(15), || {
        let metrics = ra.get("/metrics").text();
        let open = metrics.lines().find_map(|line| line.strip_prefix("kokuban_connections "));
        open.expect("a count").trim() == "1"
    });
    assert_eq!(ra.get(&board.entry("working/k")).status, 404, "half a body is no write");
}

#[test]
fn an_expectation_is_met_before_the_body_and_a_body_that_is_too_long_is_never_asked_for() {
    let (server, board) = server();
    let head = |length: usize| {
        format!(
            "PUT {} HTTP/1.1\r\nHost: localhost\r\nKokuban-Agent: ra\r\nContent-Type: application/json\r\n\
             Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n",
            board.entry("working/k")
        )
    };
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    wire.send(head(11).as_bytes()).expect("sent");
    assert_eq!(wire.read_any_head().expect("an answer").status, 100);
    wire.send(b"{\"value\":1}").expect("sent");
    wire.read_answer("PUT").expect("an answer").must(201);
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    wire.send(head(2_000_000_000).as_bytes()).expect("sent");
    let answer = wire.read_any_head().expect("an answer");
    assert_eq!(answer.status, 413, "at once, without asking for the body");
}

#[test]
fn an_endless_body_is_cut_off_at_its_bound() {
    let (server, board) = server();
    let before = server.memory_bytes();
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    let head = format!(
        "PUT {} HTTP/1.1\r\nHost: localhost\r\nKokuban-Agent: ra\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        board.entry("working/k")
    );
    wire.send(head.as_bytes()).expect("sent");
    let chunk = format!("10000\r\n{}\r\n", "[".repeat(0x10000));
    let mut sent = 0;
    // 64 MiB is far beyond the bound; the server must have closed long before.
    while sent < 1024 && wire.send(chunk.as_bytes()).is_ok() {
        sent += 1;
    }
    if let Ok(answer) = wire.read_answer("PUT") {
        let _ = answer.refused(413, "body_too_large");
    }
    assert!(sent < 1024, "the server read {sent} chunks of 64 KiB");
    let grown = server.memory_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "memory grew by {grown} bytes");
    server.anonymous().get("/livez").must(200);
}

#[test]
fn a_fresh_connection_reads_the_refusal_of_an_oversized_body() {
    let (server, board) = server();
    let body = format!("{{\"value\":\"{}\"}}", "a".repeat(3 << 20));
    let asking = server
        .as_agent("ra")
        .ask("PUT", &board.entry("working/k"))
        .header("Content-Type", "application/json")
        .body(body)
        .bytes();
    let mut wire = Wire::connect(server.addr()).expect("a connection");
    let _ = wire.send(&asking);
    let _ = wire.read_answer("PUT").expect("an answer").refused(413, "body_too_large");
}
