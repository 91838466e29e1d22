//! A graceful stop: within its bound, with streams told and nothing acknowledged lost (H15).
//!
//! Not known here: kills.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kokuban_tests::{EventStream, Setup, TestServer, Wire, until};
use serde_json::json;

use super::load::Load;
use super::subscriber::follow;

/// Contract §13 leaves 5 s; the rest is for a machine with other things to do.
const STOPPED_WITHIN: Duration = Duration::from_secs(7);

#[test]
fn a_stop_under_load_loses_nothing_that_was_acknowledged() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    let lin = server.as_agent("lin");
    lin.put(&board.entry("working/count"), &json!({"value": 0})).must(201);
    let load = Load::on(&board);
    let callers: Vec<_> = (0..5).map(|i| server.as_agent(&format!("agent-{i}"))).collect();
    let (never, abandoned) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
    let (status, seen) = thread::scope(|scope| {
        for (i, caller) in callers[..3].iter().enumerate() {
            let load = &load;
            scope.spawn(move || load.write_own(caller, i));
        }
        scope.spawn(|| load.transact(&callers[3]));
        let subscriber = scope.spawn(|| follow(&callers[4], &board, &never, &abandoned));
        until("the writers make progress", Duration::from_secs(30), || load.ledger.len() > 200);
        load.gives_up.store(true, Ordering::SeqCst);
        let (status, took) = server.stop();
        load.ends.store(true, Ordering::SeqCst);
        abandoned.store(true, Ordering::SeqCst);
        assert!(took < STOPPED_WITHIN, "it took {took:?}");
        (status, subscriber.join().expect("no panic"))
    });
    assert_eq!(status.code(), Some(0), "{}", server.log());
    assert_eq!(seen.byes, ["shutdown"], "a stream is told why it ends");
    server.start();
    load.ledger.assert_kept(&board, &lin);
}

#[test]
fn idle_streams_a_long_poll_and_a_slow_upload_do_not_hold_up_a_stop() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    ra.put(&board.entry("working/k"), &json!({"value": 1})).must(201);
    let mut streams: Vec<_> = (0..50).map(|_| EventStream::open(&ra, &board.at("events"), &[])).collect();
    for stream in &mut streams {
        let _ = stream.next_event("hello", Duration::from_secs(10));
    }
    let mut poll = Wire::connect(server.addr()).expect("a connection");
    poll.send(&ra.ask("GET", &board.at("changes?wait_ms=30000")).bytes()).expect("sent");
    let mut slow = Wire::connect(server.addr()).expect("a connection");
    let upload = ra.ask("PUT", &board.entry("working/slow")).json(&json!({"value": 1})).bytes();
    slow.send(&upload[..upload.len() - 3]).expect("sent");
    // Until the server has seen both: they count as requests in work.
    until("the requests have arrived", Duration::from_secs(10), || {
        let metrics = ra.get("/metrics").text();
        let streams = metrics.lines().find_map(|line| line.strip_prefix("kokuban_streams "));
        streams.is_none_or(|n| n.trim().parse::<u64>().unwrap_or(0) >= 50)
    });
    let began = Instant::now();
    server.signal_stop();
    for stream in &mut streams {
        let bye = stream.next_event("bye", Duration::from_secs(5));
        assert_eq!(bye.json()["reason"], "shutdown");
    }
    assert!(began.elapsed() < Duration::from_secs(3), "streams end at once: {:?}", began.elapsed());
    let answered = poll.read_answer("GET").expect("a poll is answered");
    assert!(matches!(answered.status, 200 | 503), "{}", answered.text());
    let status = server.ended();
    assert!(began.elapsed() < STOPPED_WITHIN, "it took {:?}", began.elapsed());
    assert_eq!(status.code(), Some(0), "{}", server.log());
    server.start();
    server.as_agent("ra").get(&board.entry("working/k")).must(200);
}

#[test]
fn a_second_signal_stops_at_once() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    let mut slow = Wire::connect(server.addr()).expect("a connection");
    let upload = ra.ask("PUT", &board.entry("working/slow")).json(&json!({"value": 1})).bytes();
    slow.send(&upload[..upload.len() - 3]).expect("sent");
    server.signal_stop();
    until("the first signal is seen", Duration::from_secs(5), || server.log().contains("SIGTERM"));
    let began = Instant::now();
    server.signal_stop();
    let _ = server.ended();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn a_server_that_is_about_to_stop_says_so_and_serves_until_then() {
    let drain = Duration::from_secs(3);
    let mut server = Setup::disk().config("[timeouts]\ndrain_ms = 3000").start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    ra.get("/readyz").must(200);
    let mut stream = EventStream::open(&ra, &board.at("events"), &[]);
    let _ = stream.next_event("hello", Duration::from_secs(10));
    let began = Instant::now();
    server.signal_stop();
    until("it is not ready", Duration::from_secs(2), || ra.get("/readyz").status == 503);
    let _ = ra.get("/readyz").refused(503, "unavailable");
    ra.get("/livez").must(200);
    assert!(ra.get("/metrics").text().lines().any(|line| line == "kokuban_ready 0"));
    // Over connections that come only now, too.
    let late = server.as_agent("late");
    late.put(&board.entry("working/k"), &json!({"value": 1})).must(201);
    let mut second = EventStream::open(&late, &board.at("events?after=start"), &[]);
    assert!(began.elapsed() < drain, "this machine is too slow to tell");
    let _ = stream.next_event("commit", Duration::from_secs(2));
    for stream in [&mut stream, &mut second] {
        assert_eq!(stream.next_event("bye", drain + Duration::from_secs(3)).json()["reason"], "shutdown");
    }
    assert!(began.elapsed() >= drain, "{:?}", began.elapsed());
    assert_eq!(server.ended().code(), Some(0), "{}", server.log());
}

#[test]
fn a_person_who_interrupts_does_not_wait_for_others_to_turn_away() {
    let mut server = Setup::disk().config("[timeouts]\ndrain_ms = 60000").start();
    server.as_agent("ra").get("/readyz").must(200);
    let began = Instant::now();
    server.interrupt();
    assert_eq!(server.ended().code(), Some(0), "{}", server.log());
    assert!(began.elapsed() < STOPPED_WITHIN, "{:?}", began.elapsed());
}

#[test]
fn a_second_signal_ends_the_time_to_turn_away_too() {
    for second in [TestServer::signal_stop, TestServer::interrupt] {
        let mut server = Setup::disk().config("[timeouts]\ndrain_ms = 60000").start();
        server.signal_stop();
        until("the first signal is seen", Duration::from_secs(5), || server.log().contains("SIGTERM"));
        let began = Instant::now();
        second(&server);
        let _ = server.ended();
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
