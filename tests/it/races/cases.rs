//! Cases from the field about callers in each other's way: H7, H9, H11, H12, H16, H17.
//!
//! Not known here: crashes.

use std::thread;
use std::time::Duration;

use kokuban_tests::{Cut, EventStream, Proxy, Setup, Wire};
use serde_json::json;

use super::callers::together;

/// H9: an entry that was deleted and begun again is another one to those who knew the first.
#[test]
fn the_tag_of_a_deleted_entry_never_fits_again() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    let path = board.entry("working/k");
    let ra = server.as_agent("ra");
    let first = ra.put(&path, &json!({"value": 1})).expect(201).json();
    let tag = first["etag"].as_str().expect("a tag").to_owned();
    ra.delete(&format!("{path}?version=1")).must(200);
    let second = ra.put(&path, &json!({"value": 1})).expect(201).json();
    assert!(second["version"].as_u64() > Some(1), "a version never repeats: {second}");
    for round in 0..2 {
        let ra = server.as_agent("ra");
        let by_tag = ra.ask("PUT", &path).header("If-Match", &tag).json(&json!({"value": 2})).send();
        let _ = by_tag.refused(412, "version_conflict");
        let _ = ra.put(&path, &json!({"value": 2, "version": 1})).refused(409, "version_conflict");
        let _ = ra.ask("DELETE", &path).header("If-Match", &tag).send().refused(412, "version_conflict");
        let entry = ra.get(&path).expect(200);
        assert_ne!(entry.header("etag"), Some(tag.as_str()));
        assert_eq!(entry.json()["version"], second["version"]);
        if round == 0 {
            server.restart_after_kill();
        }
    }
}

/// H11: numbers are the same everywhere, also after a restart.
#[test]
fn numbers_are_read_back_as_they_were_written() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    let path = board.entry("working/k");
    let written = r#"[117.63331139400017,9007199254740991.0,-8.990567403888024e-203,0.1,5e-324,18446744073709551615]"#;
    let shown = "[117.63331139400017,9007199254740991,-8.990567403888024e-203,0.1,5e-324,18446744073709551615]";
    let body = format!("{{\"value\":{written}}}");
    let ra = server.as_agent("ra");
    let put = ra.ask("PUT", &path).header("Content-Type", "application/json").body(body).send().expect(201).json();
    let everywhere = |server: &kokuban_tests::TestServer| {
        let ra = server.as_agent("ra");
        let full = ra.get(&format!("{path}?view=full")).expect(200);
        assert_eq!(full.json()["sha256"], put["sha256"]);
        assert!(full.text().contains(shown), "{}", full.text());
        let history = ra.get(&board.at("history?include=value")).expect(200).text();
        assert!(history.contains(shown), "{history}");
        let mut stream = EventStream::open(&ra, &board.at("events?after=start&include=value&key=k"), &[]);
        let data = stream.next_event("commit", Duration::from_secs(5)).data.expect("data");
        assert!(data.contains(shown), "{data}");
    };
    everywhere(&server);
    server.restart_after_kill();
    everywhere(&server);
}

/// H12: leaves of one entry, by two agents at the same time.
#[test]
fn two_agents_set_different_leaves_and_both_land() {
    let server = Setup::disk().start();
    let board = server.board("b");
    let path = board.entry("working/files");
    server.as_agent("lin").put(&path, &json!({"value": {"files": {}}})).must(201);
    for round in 0..20 {
        let answers = together(&server, 2, |i, caller| {
            caller.patch(&path, &json!({"set": {(format!("/files/{round}-{i}.txt")): i}}))
        });
        let mut versions: Vec<u64> =
            answers.iter().map(|a| a.clone().expect(200).json()["version"].as_u64().expect("a version")).collect();
        versions.sort_unstable();
        assert_eq!(versions, [2 * round + 2, 2 * round + 3], "both land, one after the other");
    }
    let entry = server.as_agent("lin").get(&path).expect(200).json();
    assert_eq!(entry["value"]["files"].as_object().map(serde_json::Map::len), Some(40));
    // The same leaf, blind, by an agent that did not write last.
    let last = entry["updated_by"].as_str().expect("an agent").to_owned();
    let blind = server.as_agent("third").patch(&path, &json!({"set": {"/files/0-0.txt": "mine"}}));
    let refused = blind.refused(428, "precondition_required");
    assert_eq!(refused["errors"][0]["leaf"]["by"], last);
    assert_eq!(refused["errors"][0]["leaf"]["version"], entry["version"]);
    assert_eq!(server.as_agent("lin").get(&path).expect(200).json()["value"]["files"]["0-0.txt"], 0);
}

/// H16: one effect for one key, however often and at whatever time it is sent.
#[test]
fn a_key_has_one_effect_in_a_race_and_after_a_restart() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    let path = board.entry("working/k");
    let ra = server.as_agent("ra");
    // Sixteen connections of one agent send the same at once.
    let answers: Vec<_> = thread::scope(|scope| {
        let sent: Vec<_> = (0..16)
            .map(|_| {
                let (ra, path) = (ra.clone(), &path);
                scope.spawn(move || ra.ask("PUT", path).key("K").json(&json!({"value": "A"})).send().expect(201))
            })
            .collect();
        sent.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let first = answers.iter().filter(|a| a.header("idempotency-replayed").is_none()).count();
    assert_eq!(first, 1, "one is the first, the others repeat it");
    assert!(answers.iter().all(|a| a.json() == answers[0].json()), "one answer");
    assert_eq!(board.history(&ra).len(), 2, "one effect");
    let again = |server: &kokuban_tests::TestServer| {
        let ra = server.as_agent("ra");
        let same = ra.ask("PUT", &path).key("K").json(&json!({"value": "A"})).send().expect(201);
        assert_eq!(same.header("idempotency-replayed"), Some("true"));
        assert_eq!(same.json(), answers[0].json());
        let other = ra.ask("PUT", &path).key("K").json(&json!({"value": "B"})).send();
        let _ = other.refused(422, "idempotency_mismatch");
        let elsewhere = ra.ask("PUT", &board.entry("working/l")).key("K").json(&json!({"value": "A"})).send();
        let _ = elsewhere.refused(422, "idempotency_mismatch");
    };
    again(&server);
    server.restart_after_kill();
    again(&server);
    let ta = server.as_agent("ta").ask("PUT", &board.entry("working/l")).key("K").json(&json!({"value": "A"})).send();
    assert_eq!(ta.expect(201).header("idempotency-replayed"), None, "another agent has keys of its own");
}

/// H16: while a body is on its way, nobody knows yet what it will be.
#[test]
fn a_slow_body_repeats_what_a_faster_one_did() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let path = board.entry("working/k");
    let ra = server.as_agent("ra");
    let asking = ra.ask("PUT", &path).key("K").json(&json!({"value": "A"}));
    let bytes = asking.bytes();
    let (head, rest) = bytes.split_at(bytes.len() - 5);
    let mut slow = Wire::connect(server.addr()).expect("a connection");
    slow.send(head).expect("sent");
    ra.ask("PUT", &path).key("K").json(&json!({"value": "A"})).send().must(201);
    slow.send(rest).expect("sent");
    let answer = slow.read_answer("PUT").expect("an answer").expect(201);
    assert_eq!(answer.header("idempotency-replayed"), Some("true"));
}

/// H17: the answer is lost on the way, and the client tries again.
#[test]
fn a_retry_after_a_lost_answer_is_recognised() {
    let server = Setup::disk().start();
    let board = server.board("b");
    let path = board.entry("working/k");
    let ra = server.as_agent("ra");
    let created = ra.put(&path, &json!({"value": 0})).expect(201).json();
    let tag = created["etag"].as_str().expect("a tag");
    let proxy = Proxy::before(server.addr());
    let through = ra.clone().over(proxy.addr()).with("Host", &server.addr().to_string());
    proxy.set(Cut::LoseAnswer);
    let with_key = |caller: &kokuban_tests::Caller| {
        caller.ask("PUT", &path).header("If-Match", tag).key("task:1").json(&json!({"value": 1})).try_send()
    };
    with_key(&through).expect_err("the answer is lost");
    let retried = with_key(&ra).expect("an answer").expect(200);
    assert_eq!(retried.header("idempotency-replayed"), Some("true"));
    assert_eq!(retried.json()["version"], 2, "once");
    // Without a key a client can still see that it was its own write.
    let tag = retried.json()["etag"].as_str().expect("a tag").to_owned();
    let without = |caller: &kokuban_tests::Caller, id: &str| {
        let asking = caller.ask("PUT", &path).header("If-Match", &tag).header("traceparent", id);
        asking.json(&json!({"value": 2})).try_send()
    };
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    without(&through, trace).expect_err("the answer is lost");
    let refused = without(&ra, trace).expect("an answer").refused(412, "version_conflict");
    let current = &refused["current"];
    assert_eq!(
        (&current["yours"], &current["same_value"], &current["version"]),
        (&json!(true), &json!(true), &json!(3))
    );
    assert!(current["request_id"].is_string() && current["updated_by"] == "ra");
    assert_eq!(ra.get(&path).expect(200).json()["version"], 3);
}

/// H7: a connection that saw no event yet still knows where to go on.
#[test]
fn a_stream_that_saw_nothing_resumes_without_a_gap() {
    let server = Setup::memory().start();
    let board = server.board("b");
    let ra = server.as_agent("ra");
    let mut quiet = EventStream::open(&ra, &board.at("events"), &[]);
    let hello = quiet.next_event("hello", Duration::from_secs(5));
    let id = hello.id.expect("the first block has an id");
    drop(quiet);
    for i in 0..3 {
        ra.put(&board.entry(&format!("working/k{i}")), &json!({"value": i})).must(201);
    }
    let mut resumed = EventStream::open(&ra, &board.at("events"), &[("Last-Event-ID", &id)]);
    for i in 0..3 {
        let commit = resumed.next_event("commit", Duration::from_secs(5)).json();
        assert_eq!(commit["changes"][0]["key"], format!("k{i}"));
        assert_eq!(commit["revision"], i + 2);
    }
}
