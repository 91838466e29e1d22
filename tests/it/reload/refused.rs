//! Files that are wrong, and settings that a running server cannot take over.

use std::time::Duration;

use kokuban_tests::{EventStream, Setup, TestServer};
use serde_json::json;

use super::{secret, token};

const SOON: Duration = Duration::from_secs(10);

/// Everything is as it was: who was let in is, a stream goes on, nothing of the file counts.
fn as_before(server: &TestServer, stream: &mut EventStream, version: u64) {
    let ra = server.with_token(&secret("ra"));
    ra.put("/v1/boards/b/entries/working/k", &json!({"value": version, "version": version})).must(200);
    let _ = stream.next_event("commit", SOON);
    server.with_token(&secret("ta")).get("/v1").must(401);
    assert_eq!(ra.get("/v1").json()["limits"]["body_bytes_max"], 1_048_576);
}

#[test]
fn a_file_that_is_wrong_anywhere_leaves_everything_as_it_was_and_says_where() {
    let ra_only = token("ra", "");
    let mut server = Setup::memory().config(&ra_only).start();
    let ra = server.with_token(&secret("ra"));
    ra.put("/v1/boards/b", &json!({"blueprint": "default"})).must(201);
    ra.put("/v1/boards/b/entries/working/k", &json!({"value": 0})).must(201);
    let mut stream = EventStream::open(&ra, "/v1/boards/b/events", &[]);
    let _ = stream.next_event("hello", SOON);
    // All but one line of each would be taken over.
    let limit = "[limits]\nbody_bytes_max = 2048\n";
    let right = limit.to_owned() + &token("ta", "");
    let cases = [
        (format!("log_levle = \"debug\"\n{right}"), &["line 1", "`log_level`"][..]),
        (format!("log_level = \"loud\"\nhosts = 7\n{right}"), &["line 1", "line 2", "`hosts`", "flaws=2"]),
        (format!("blueprints = [\"nosuch.toml\"]\n{right}"), &["nosuch.toml"]),
        (format!("{right}[boards.\"o-*\"]\nblueprint = \"nosuch\"\n"), &["nosuch", "o-*"]),
        (format!("{right}= 3"), &["line "]),
        (format!("auth = \"token\"\n{limit}"), &["lets nobody in"]),
        (String::new(), &["no token is left", "auth = "]),
    ];
    for (version, (file, words)) in (1..).zip(cases) {
        server.rewrite_config(&file);
        let said = server.reload();
        assert!(said.contains("ERROR") && said.contains("what was in force stays so"), "{said}");
        for word in words {
            assert!(said.contains(word), "`{word}` is missing in {said}");
        }
        as_before(&server, &mut stream, version);
    }
    server.rewrite_config(&(right + &ra_only));
    let said = server.reload();
    assert!(said.contains("was read again") && said.contains("limits.body_bytes_max"), "{said}");
    server.with_token(&secret("ta")).get("/v1").must(200);
}

#[test]
fn what_only_a_start_takes_over_is_named_and_stays() {
    let mut server = Setup::disk().start();
    let board = server.board("b");
    server.rewrite_config(
        "log_format = \"json\"\nhosts = [\"kokuban.internal\"]\n[limits]\nboards_max = 1\n[timeouts]\nidle_ms = 100\n",
    );
    let said = server.reload();
    assert!(said.contains("changed=\"hosts\""), "{said}");
    let warning = said.lines().find(|line| line.contains("WARN")).expect("a warning");
    assert!(warning.contains("settings=\"log_format, limits.boards_max, timeouts.idle_ms\""), "{warning}");
    let ra = server.as_agent("ra");
    assert_eq!(ra.get("/v1").json()["limits"]["boards_max"], 100_000);
    ra.put("/v1/boards/other", &json!({"blueprint": "default"})).must(201);
    let (status, _) = server.stop();
    assert_eq!(status.code(), Some(0));
    server.start();
    let ra = server.as_agent("ra");
    assert_eq!(ra.get("/v1").json()["limits"]["boards_max"], 1);
    ra.get(&board.at("entries")).must(200);
    assert!(server.log().lines().last().is_some_and(|line| line.starts_with('{')), "{}", server.log());
}

#[test]
fn a_file_that_says_the_same_changes_nothing() {
    let server = Setup::memory().config(&token("ra", "")).start();
    let said = server.reload();
    assert!(said.contains("changed=\"\" tokens_added=0 tokens_removed=0") && !said.contains("WARN"), "{said}");
    server.with_token(&secret("ra")).get("/v1").must(200);
}
