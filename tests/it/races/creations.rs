//! Many callers create the same entry: one does.
//!
//! Not known here: updates.

use std::time::{Duration, Instant};

use kokuban_tests::{BoardAt, Setup};
use serde_json::json;

use super::callers::{assert_versions_without_hole, changes, together};

const ROUNDS: usize = 12;

fn one_of_many_creates(n: usize) {
    let server = Setup::disk().start();
    let board = server.board("b");
    for round in 0..ROUNDS {
        let id = format!("working/k{round}");
        let answers = together(&server, n, |i, caller| {
            let asking = caller.ask("PUT", &board.entry(&id));
            // Both ways to say that it must not exist.
            if i % 2 == 0 {
                asking.header("If-None-Match", "*").json(&json!({"value": i})).send()
            } else {
                asking.json(&json!({"value": i, "version": 0})).send()
            }
        });
        let winners: Vec<usize> = (0..n).filter(|i| answers[*i].status == 201).collect();
        assert_eq!(winners.len(), 1, "round {round}: {:?}", answers.iter().map(|a| a.status).collect::<Vec<_>>());
        for (i, answer) in answers.iter().enumerate().filter(|(i, _)| *i != winners[0]) {
            let refused = answer.clone().refused(if i % 2 == 0 { 412 } else { 409 }, "version_conflict");
            assert_eq!(refused["current"]["value"], winners[0], "the loser sees who won");
        }
        let entry = server.anonymous().get(&board.entry(&id)).expect(200).json();
        assert_eq!((&entry["value"], &entry["version"]), (&json!(winners[0]), &json!(1)));
        assert_versions_without_hole(&board, &server.anonymous(), &id, 1);
    }
}

#[test]
fn one_of_2_creates() {
    one_of_many_creates(2);
}

#[test]
fn one_of_8_creates() {
    one_of_many_creates(8);
}

#[test]
fn one_of_64_creates() {
    one_of_many_creates(64);
}

/// The first write to an absent board creates it, in the same commit, once.
#[test]
fn one_of_many_first_writes_creates_the_board_and_all_land() {
    let server = Setup::disk().config("[boards.\"trial-*\"]\nblueprint = \"default\"").start();
    for round in 0..5 {
        let board = BoardAt { name: format!("trial-{round}") };
        let answers = together(&server, 16, |i, caller| {
            caller.put(&board.entry(&format!("working/k{i}")), &json!({"value": i})).expect(201).json()
        });
        let created = answers.iter().filter(|receipt| receipt["warnings"][0]["code"] == "board_created").count();
        assert_eq!(created, 1, "round {round}");
        let history = board.history(&server.anonymous());
        assert_eq!(history.len(), 16, "the creation is part of the first write");
        let list = server.anonymous().get(&board.at("entries")).expect(200).json();
        assert_eq!(list["items"].as_array().map(Vec::len), Some(16));
    }
}

/// Whether the entry is live at each revision, by the history.
fn lives(board: &BoardAt, caller: &kokuban_tests::Caller, zone: &str, key: &str) -> Vec<(u64, bool)> {
    let history = board.history(caller);
    changes(&history, zone, key).map(|(revision, change)| (revision, change["kind"] != "deleted")).collect()
}

/// H8: creating again after a deletion, in a race with deletions.
#[test]
fn a_creation_is_never_refused_where_nothing_stands() {
    let server = Setup::disk().start();
    let board = server.board("b");
    let path = board.entry("working/k");
    let end = Instant::now() + Duration::from_secs(4);
    let answers = together(&server, 50, |i, caller| {
        let mut answers = Vec::new();
        while Instant::now() < end {
            if i == 0 {
                let entry = caller.get(&path);
                if entry.status == 200 {
                    let version = entry.json()["version"].as_u64().expect("a version");
                    let deleted = caller.delete(&format!("{path}?version={version}"));
                    assert_eq!(deleted.status, 200, "nobody else changes what stands: {}", deleted.text());
                }
            } else {
                let answer = caller.ask("PUT", &path).header("If-None-Match", "*").json(&json!({"value": i})).send();
                assert!(matches!(answer.status, 201 | 412), "{}", answer.text());
                let position = answer.header("kokuban-position").map(str::to_owned);
                let version = answer.json()["version"].as_u64();
                answers.push((answer.status, position, version));
            }
        }
        answers
    });
    let answers: Vec<_> = answers.into_iter().flatten().collect();
    let lives = lives(&board, &server.anonymous(), "working", "k");
    let n_created = answers.iter().filter(|(status, ..)| *status == 201).count();
    assert_eq!(n_created, lives.iter().filter(|(_, lives)| *lives).count(), "every creation is in the history");
    assert!(n_created > 3, "the deleter keeps up: {n_created}");
    assert!(lives.windows(2).all(|pair| pair[0].1 != pair[1].1), "creations and deletions take turns");
    for (_, position, _) in answers.iter().filter(|(status, ..)| *status == 412) {
        let position = position.as_deref().expect("a refusal says which state it is about");
        let revision: u64 = position.rsplit('.').next().and_then(|r| r.parse().ok()).expect("a position");
        let state = lives.iter().rev().find(|(at, _)| *at <= revision);
        assert!(state.is_some_and(|(_, lives)| *lives), "refused at {revision}, where nothing stood");
    }
    let mut versions: Vec<u64> = answers.iter().filter(|(s, ..)| *s == 201).filter_map(|(.., v)| *v).collect();
    let n = versions.len();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), n, "no version twice");
}
