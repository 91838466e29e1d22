//! Callers in processes of their own: this test program again, and the command line.
//!
//! Not known here: what a race is judged by; see the other files.

use std::process::{Command, Stdio};

use kokuban_tests::{BoardAt, Caller, Setup, server_binary};
use serde_json::json;

use super::callers::{assert_revisions_without_hole, assert_versions_without_hole};
use super::counters::{raise, raise_both};

const CHILD: &str = "KOKUBAN_TESTS_CHILD";
const PROCESSES: u64 = 8;
const THREADS: u64 = 8;
const EACH: u64 = 2;

/// What a child does; in the test program itself, nothing.
#[test]
fn child_process() {
    let Ok(task) = std::env::var(CHILD) else { return };
    let (addr, number) = task.split_once(' ').expect("address and number");
    let addr = addr.parse().expect("an address");
    let board = BoardAt { name: "b".to_owned() };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let board = &board;
            scope.spawn(move || {
                let caller = Caller::new(addr).with("Kokuban-Agent", &format!("agent-{number}-{thread}"));
                for i in 0..EACH {
                    raise(&caller, &board.entry("working/n"));
                    let order = if (thread + i) % 2 == 0 { ["t/a", "t/b"] } else { ["t/b", "t/a"] };
                    if thread < 2 {
                        raise_both(&caller, board, order);
                    }
                }
            });
        }
    });
}

#[test]
fn no_update_of_8_processes_with_8_connections_each_is_lost() {
    let server = Setup::disk().start();
    let board = server.board("b");
    let lin = server.as_agent("lin");
    for key in ["n", "t/a", "t/b"] {
        lin.put(&board.entry(&format!("working/{key}")), &json!({"value": 0})).must(201);
    }
    let myself = std::env::current_exe().expect("a running program");
    let children: Vec<_> = (0..PROCESSES)
        .map(|i| {
            let mut command = Command::new(&myself);
            command.args(["races::processes::child_process", "--exact", "--test-threads=1"]);
            command.env(CHILD, format!("{} {i}", server.addr())).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("a process")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("a child ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let total = PROCESSES * THREADS * EACH;
    assert_eq!(lin.get(&board.entry("working/n")).expect(200).json()["value"], total);
    assert_versions_without_hole(&board, &lin, "working/n", total + 1);
    let both = PROCESSES * 2 * EACH;
    for key in ["working/t/a", "working/t/b"] {
        assert_eq!(lin.get(&board.entry(key)).expect(200).json()["value"], both);
    }
    assert_revisions_without_hole(&board.history(&lin));
}

#[test]
fn one_of_8_commands_creates_and_the_others_exit_with_3() {
    let server = Setup::disk().start();
    let board = server.board("b");
    let children: Vec<_> = (0..8)
        .map(|i| {
            let mut command = Command::new(server_binary());
            command.args(["put", "working/k", &i.to_string(), "--if-absent", "--board", "b", "--output", "json"]);
            command.args(["--url", &server.url(), "--agent", &format!("cli-{i}")]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process")
        })
        .collect();
    let outputs: Vec<_> = children.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
    let codes: Vec<_> = outputs.iter().map(|output| output.status.code().unwrap_or(-1)).collect();
    let winners: Vec<usize> = (0..8).filter(|i| codes[*i] == 0).collect();
    assert_eq!(winners.len(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, 0 | 3)), "{codes:?}");
    let entry = server.anonymous().get(&board.entry("working/k")).expect(200).json();
    assert_eq!(entry["value"], winners[0]);
}
