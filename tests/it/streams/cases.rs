//! Cases from the field: H4, H5, H14, H18, H20, and reading by poll what a stream shows.
//!
//! Not known here: transcripts of single answers.

use std::time::{Duration, Instant};

use kokuban_tests::{Block, EventStream, Setup};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(10);

/// H4: a transaction is one message; wherever it is cut, both changes or none were seen.
#[test]
fn a_cut_at_any_byte_loses_and_doubles_nothing() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    let write = |key: &str| json!({"method": "put", "zone": "working", "key": key, "value": "v"});
    let mut whole = EventStream::open(&ra, &board.at("events"), &[]);
    ra.post(&board.at("transactions"), &json!({"writes": [write("one"), write("two")]})).must(200);
    let commit = whole.next_event("commit", SOON);
    assert_eq!(commit.json()["changes"].as_array().map(Vec::len), Some(2));
    let raw = String::from_utf8(whole.raw.clone()).expect("text");
    let first_end = raw.find("\n\n").expect("the first block") + 2;
    for cut in first_end..=raw.len() {
        let complete = raw[..cut].rfind("\n\n").map_or("", |end| &raw[..end]);
        let blocks: Vec<Block> = complete.split("\n\n").map(Block::parse).collect();
        let seen = blocks.iter().filter(|block| block.is("commit")).count();
        let id = blocks.iter().rev().find_map(|block| block.id.clone()).expect("the first block has an id");
        let mut resumed = EventStream::open(&ra, &board.at("events"), &[("Last-Event-ID", &id)]);
        let hello = resumed.next_event("hello", SOON);
        assert_eq!(hello.id, Some(id), "it goes on where it was");
        if seen == 0 {
            let again = resumed.next_event("commit", SOON);
            assert_eq!((&again.id, again.json()), (&commit.id, commit.json()), "cut at {cut}");
        } else {
            assert_eq!(seen, 1);
        }
    }
}

/// H5: leaving a filter is not the end of an entry.
#[test]
fn leaving_a_filter_is_told_apart_from_a_deletion() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    for key in ["leaves", "gone", "enters"] {
        let path = board.entry(&format!("working/{key}"));
        ra.put(&path, &json!({"value": 1, "status": "processing"})).must(201);
        if key != "enters" {
            ra.patch(&path, &json!({"status": "pending_review", "version": 1})).must(200);
        }
    }
    let mut stream = EventStream::open(&ra, &board.at("events?status=pending_review"), &[]);
    let _ = stream.next_event("hello", SOON);
    ra.patch(&board.entry("working/leaves"), &json!({"status": "confirmed", "version": 2})).must(200);
    ra.delete(&format!("{}?version=2", board.entry("working/gone"))).must(200);
    ra.patch(&board.entry("working/enters"), &json!({"status": "pending_review", "version": 1})).must(200);
    ra.patch(&board.entry("working/enters"), &json!({"set": {"": 2}, "version": 2})).must(200);
    let wanted = [("leaves", "leave"), ("gone", "gone"), ("enters", "enter"), ("enters", "stay")];
    for (key, how) in wanted {
        let change = stream.next_event("commit", SOON).json()["changes"][0].clone();
        assert_eq!((&change["key"], &change["match"]), (&json!(key), &json!(how)));
    }
}

/// H14: never compressed, at once on the wire.
#[test]
fn a_stream_is_never_compressed_and_never_held_back() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    for (i, encoding) in ["gzip", "br", "zstd", "gzip, deflate, br, zstd, *"].into_iter().enumerate() {
        let mut stream = EventStream::open(&ra, &board.at("events"), &[("Accept-Encoding", encoding)]);
        assert_eq!(stream.head.header("content-encoding"), None);
        assert_eq!(stream.head.header("cache-control"), Some("no-store"));
        assert_eq!(stream.head.header("x-accel-buffering"), Some("no"));
        let _ = stream.next_event("hello", SOON);
        let began = Instant::now();
        ra.put(&board.entry(&format!("working/k{i}")), &json!({"value": 1})).must(201);
        let _ = stream.next_event("commit", SOON);
        assert!(began.elapsed() < Duration::from_millis(1_000), "{:?}", began.elapsed());
    }
}

/// H18: who reads slowly gets every commit, or with `coalesce_ms` the last state of everything; others do not notice.
#[test]
fn a_slow_reader_loses_nothing_and_holds_up_nobody() {
    const N: u64 = 600;
    const KEYS: u64 = 7;
    let server = Setup::memory().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    let every = "events?after=start&include=value";
    let mut fast = EventStream::open(&ra, &board.at(every), &[]);
    let mut slow = EventStream::open(&ra, &board.at(every), &[]);
    let mut gathered = EventStream::open(&ra, &board.at(&format!("{every}&coalesce_ms=50")), &[]);
    let before = server.memory_bytes();
    let filler = "x".repeat(2_000);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for i in 0..N {
                let body = json!({"value": [i, filler], "version": i / KEYS});
                let answer = ra.put(&board.entry(&format!("working/k{}", i % KEYS)), &body);
                assert!(answer.status < 300, "{}", answer.text());
            }
        });
        for revision in 1..=N + 1 {
            assert_eq!(fast.next_event("commit", SOON).json()["revision"], revision);
        }
        writer.join().expect("no panic");
    });
    assert!(began.elapsed() < Duration::from_secs(60));
    let grown = server.memory_bytes().saturating_sub(before);
    assert!(grown < 100 << 20, "memory grew by {grown} bytes");
    for revision in 1..=N + 1 {
        assert_eq!(slow.next_event("commit", SOON).json()["revision"], revision, "every commit, later");
    }
    let mut last: std::collections::BTreeMap<String, Value> = std::collections::BTreeMap::new();
    let mut n_messages = 0;
    let mut next_first = 1;
    while next_first <= N + 1 {
        let message = gathered.next_event("commit", SOON);
        let body = message.json();
        let (first, end) = match body.get("revisions") {
            Some(both) => (both["first"].as_u64(), both["last"].as_u64()),
            None => (body["revision"].as_u64(), body["revision"].as_u64()),
        };
        assert_eq!(first, Some(next_first), "no gap between messages: {body}");
        assert_eq!(message.revision(), end, "the id is the last revision of the message");
        next_first = end.expect("a revision") + 1;
        let changes = body["changes"].as_array().expect("changes");
        let mut keys: Vec<&str> = changes.iter().filter_map(|change| change["key"].as_str()).collect();
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "each entry once: {keys:?}");
        for change in changes.iter().filter(|change| change["key"].is_string()) {
            last.insert(change["key"].as_str().expect("a key").to_owned(), change["value"][0].clone());
        }
        n_messages += 1;
    }
    assert!(n_messages < N, "some were gathered: {n_messages}");
    let list = ra.get(&board.at("entries?zone=working&include=value")).expect(200).json();
    for entry in list["items"].as_array().expect("items") {
        assert_eq!(last[entry["key"].as_str().expect("a key")], entry["value"][0]);
    }
}

/// H20: text in values never becomes an event.
#[test]
fn text_never_forges_an_event() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    let nasty = [
        "x\nevent: reset\ndata: {}\n\n",
        "x\r\n\r\nevent: bye\r\n\r\n",
        "x\rid: 0\r\r",
        "\u{0}\u{1}\u{7f}",
        "\u{2028}data: {}\u{2029}\u{85}",
        "data: [DONE]\n\nretry: 1\n\n: comment",
    ];
    let mut stream = EventStream::open(&ra, &board.at("events?include=value"), &[]);
    let _ = stream.next_event("hello", SOON);
    for (i, text) in nasty.iter().enumerate() {
        let value = json!({"value": {*text: text}, "reason": text});
        ra.put(&board.entry(&format!("working/k{i}")), &value).must(201);
        let block = stream.next_block(SOON);
        assert!(block.is("commit"), "{block:?}");
        assert_eq!(block.json()["changes"][0]["value"], json!({*text: text}));
        ra.post(&board.at(&format!("notes/working/k{i}")), &json!({"text": text})).must(201);
        let block = stream.next_block(SOON);
        assert!(block.is("commit") && block.json()["changes"][0]["kind"] == "noted", "{block:?}");
    }
    let mut snapshot = EventStream::open(&ra, &board.at("events?snapshot=true&include=value"), &[]);
    let _ = snapshot.next_event("hello", SOON);
    for _ in nasty {
        assert!(snapshot.next_block(SOON).is("snapshot"));
    }
    assert!(snapshot.next_block(SOON).is("snapshot_end"));
    // Where such text would be a header or id it is refused.
    let forged = EventStream::try_open(&ra, &board.at("events"), &[("Last-Event-ID", "1\u{b}2")]).expect("an answer");
    assert!(matches!(forged.head.status, 400 | 200), "{}", forged.head.status);
}

/// A waiting read and a long poll answer when something happens, not at their time-out.
#[test]
fn waiting_calls_answer_at_once_when_it_happens() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    ra.put(&board.entry("working/k"), &json!({"value": 1})).must(201);
    let waits = [
        format!("{}?after_version=1&wait_ms=30000", board.entry("working/k")),
        format!("{}?until_status=processing&wait_ms=30000", board.entry("working/k")),
        format!("{}?after_version=0&wait_ms=30000", board.entry("working/new")),
        board.at("changes?wait_ms=30000"),
    ];
    let began = Instant::now();
    std::thread::scope(|scope| {
        let waiting: Vec<_> = waits.iter().map(|path| scope.spawn(|| server.as_agent("ta").get(path))).collect();
        // A poll begins at the head it finds, so something has to come after it has begun.
        let mut version = 1;
        while !waiting.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            assert!(began.elapsed() < Duration::from_secs(15), "somebody waits in vain");
            let status = if version == 1 { json!("processing") } else { json!(null) };
            let answer =
                ra.put(&board.entry("working/k"), &json!({"value": version, "version": version, "status": status}));
            version = answer.expect(200).json()["version"].as_u64().expect("a version");
            if version == 3 {
                ra.put(&board.entry("working/new"), &json!({"value": 1})).must(201);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        for answer in waiting {
            answer.join().expect("no panic").must(200);
        }
    });
}

/// What a poll shows is what a stream shows.
#[test]
fn a_poll_shows_what_a_stream_shows() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    for i in 0..20 {
        ra.put(&board.entry(&format!("working/k{i}")), &json!({"value": i})).must(201);
    }
    let mut stream = EventStream::open(&ra, &board.at("events?after=start&include=value"), &[]);
    let streamed: Vec<Value> = (0..21).map(|_| stream.next_event("commit", SOON).json()).collect();
    let mut polled = Vec::new();
    let mut after = "start".to_owned();
    loop {
        let page = ra.get(&board.at(&format!("changes?after={after}&include=value&limit=6"))).expect(200).json();
        polled.extend(page["commits"].as_array().expect("commits").iter().cloned());
        after = page["position"].as_str().expect("a position").to_owned();
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(polled, streamed);
}

/// Deleting a board ends its streams and says why.
#[test]
fn a_deleted_board_says_good_bye() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let lin = server.as_agent("lin");
    let mut stream = EventStream::open(&lin, &board.at("events"), &[]);
    let _ = stream.next_event("hello", SOON);
    lin.delete("/v1/boards/b").must(204);
    let bye = stream.next_event("bye", SOON);
    assert!(bye.json()["reason"].is_string());
    assert_eq!(stream.try_next(SOON).expect("a clean end"), None);
}
