//! The demonstration, as a newcomer runs it: three agents, one board, all that can go wrong.
//!
//! Not known here: what the agents do; the demonstration judges its own end state and exits 0 only if it is right.

use std::process::{Command, Output};

use kokuban_tests::{Setup, server_binary};

fn demo(args: &[&str]) -> Output {
    Command::new(server_binary()).arg("demo").args(args).output().expect("the demonstration starts")
}

fn assert_right(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{told}\n{errors}", output.status);
    for needed in ["version_conflict", "illegal_transition", "arbiter_only", "lease_expired", "confirmed"] {
        assert!(told.contains(needed), "nothing of {needed} in\n{told}");
    }
    told
}

#[test]
fn the_demonstration_ends_right_on_a_server_of_its_own() {
    assert_right(&demo(&[]));
}

#[test]
fn the_demonstration_ends_right_on_a_running_server() {
    let server = Setup::memory().start();
    assert_right(&demo(&["--url", &server.url()]));
}

#[test]
fn the_demonstration_ends_right_on_a_server_that_asks_for_tokens() {
    let tokens: Vec<_> =
        ["lin", "ra", "ta", "rv", "w1", "w2"].map(|name| format!("{name}:secret-of-the-agent-{name}")).into();
    let server = Setup::memory().env("KOKUBAN_TOKENS", &tokens.join(",")).start();
    let play = |tokens: Option<&str>| {
        let mut command = Command::new(server_binary());
        command.args(["demo", "--url", &server.url()]).env_remove("KOKUBAN_TOKENS");
        command.envs(tokens.map(|tokens| ("KOKUBAN_TOKENS", tokens))).output().expect("the demonstration starts")
    };
    assert_right(&play(Some(&tokens.join(","))));
    let stranger = play(None);
    let complaint = String::from_utf8_lossy(&stranger.stderr);
    assert!(!stranger.status.success() && complaint.contains("--tokens"), "{complaint}");
}

#[test]
fn the_demonstration_ends_right_over_a_server_that_is_killed_in_the_middle() {
    let told = assert_right(&demo(&["--kill-server"]));
    assert!(told.contains("kill -9 the server"), "{told}");
}
