//! Kills in a loop while agents write: what was acknowledged stays, and nothing happens twice.
//!
//! Not known here: single promises; see `ledger` and `subscriber`.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kokuban_tests::{Random, Setup, TestServer, server_binary, until};
use serde_json::json;

use super::load::Load;
use super::subscriber::follow;
use crate::races::callers::{assert_revisions_without_hole, assert_versions_without_hole};

const KILLS: u64 = 20;
const WRITERS: usize = 4;

/// More kills for a longer run, from `KOKUBAN_TESTS_KILLS`.
fn n_kills() -> u64 {
    std::env::var("KOKUBAN_TESTS_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS)
}

/// The server is killed after every few acknowledgements; never in a quiet moment.
fn kill_again_and_again(server: &mut TestServer, load: &Load<'_>, random: &mut Random) -> Duration {
    let mut longest_start = Duration::ZERO;
    for _ in 0..n_kills() {
        let enough = load.ledger.len() + 10 + random.index(200);
        until("the writers make progress", Duration::from_secs(30), || load.ledger.len() >= enough);
        server.kill();
        let began = Instant::now();
        server.start();
        longest_start = longest_start.max(began.elapsed());
    }
    let enough = load.ledger.len() + 50;
    until("the writers make progress", Duration::from_secs(30), || load.ledger.len() >= enough);
    longest_start
}

#[test]
fn what_was_acknowledged_survives_kills_in_a_loop_and_streams_have_no_gap() {
    let mut server = Setup::disk().config("[snapshot]\ntail_bytes_min = 65536\ntail_percent_min = 25").start();
    let board = server.board("b");
    let lin = server.as_agent("lin");
    lin.put(&board.entry("working/count"), &json!({"value": 0})).must(201);
    let load = Load::on(&board);
    let (last, abandoned) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
    let callers: Vec<_> = (0..WRITERS + 4).map(|i| server.as_agent(&format!("agent-{i}"))).collect();
    let mut random = Random::new(0x6b6f_6b75);
    let (seen, longest_start) = thread::scope(|scope| {
        let mut writers = Vec::new();
        for (i, caller) in callers[..WRITERS].iter().enumerate() {
            let load = &load;
            writers.push(scope.spawn(move || load.write_own(caller, i)));
        }
        let rest = &callers[WRITERS..];
        writers.push(scope.spawn(|| load.count(&rest[0])));
        writers.push(scope.spawn(|| load.count(&rest[1])));
        writers.push(scope.spawn(|| load.transact(&rest[2])));
        let subscribers: Vec<_> = (0..2)
            .map(|_| {
                let (caller, board, last, abandoned) = (rest[3].clone(), &board, &last, &abandoned);
                scope.spawn(move || follow(&caller, board, last, abandoned))
            })
            .collect();
        // However this ends, the threads must end, or the test would hang.
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            kill_again_and_again(&mut server, &load, &mut random)
        }));
        load.ends.store(true, Ordering::SeqCst);
        load.gives_up.store(killed.is_err(), Ordering::SeqCst);
        abandoned.store(killed.is_err(), Ordering::SeqCst);
        let ended: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        let head = lin.get(&board.at("history?limit=1")).json()["items"][0]["revision"].as_u64();
        last.store(head.unwrap_or(0), Ordering::SeqCst);
        // One more, so that who has everything already looks again.
        let _ = lin.put(&board.entry("working/end"), &json!({"value": 0}));
        let seen: Vec<_> = subscribers.into_iter().map(|s| s.join().expect("a subscriber does not panic")).collect();
        for writer in ended {
            writer.expect("a writer does not panic");
        }
        (seen, killed.expect("the loop of kills"))
    });
    let n_acks = load.ledger.len();
    load.ledger.assert_kept(&board, &lin);
    let history = board.history(&lin);
    assert_revisions_without_hole(&history);
    for i in 0..WRITERS {
        let entry = lin.get(&board.entry(&format!("working/own-{i}"))).expect(200).json();
        let version = entry["version"].as_u64().expect("a version");
        assert_eq!(entry["value"]["n"], version - 1);
        assert_versions_without_hole(&board, &lin, &format!("working/own-{i}"), version);
    }
    let count = lin.get(&board.entry("working/count")).expect(200).json();
    assert_eq!(count["value"], load.counted.load(Ordering::SeqCst), "every acknowledged count counts once");
    let pairs = load.transactions.load(Ordering::SeqCst);
    for key in ["working/pair/a", "working/pair/b"] {
        assert_eq!(lin.get(&board.entry(key)).expect(200).json()["version"], pairs);
    }
    for seen in &seen {
        let end = seen.revisions.last().copied().unwrap_or(0);
        assert!(end >= last.load(Ordering::SeqCst), "the stream ends early: {end}");
        assert_eq!(seen.revisions, (1..=end).collect::<Vec<_>>(), "each revision exactly once");
    }
    println!(
        "kills {}, acknowledged {n_acks}, replayed {}, revisions {}, stream connections {:?}, longest start {longest_start:?}",
        n_kills(),
        load.replays.load(Ordering::SeqCst),
        history.len(),
        seen.iter().map(|seen| seen.connections).collect::<Vec<_>>(),
    );
    let (status, _) = server.stop();
    assert_eq!(status.code(), Some(0));
    let verified = Command::new(server_binary()).arg("verify").arg(server.data()).output().expect("a process");
    let said = format!("{}{}", String::from_utf8_lossy(&verified.stdout), String::from_utf8_lossy(&verified.stderr));
    assert!(verified.status.success(), "{said}");
}
