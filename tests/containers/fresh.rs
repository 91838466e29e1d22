//! The two commands of the README on a machine with Rust, a C compiler and curl, an empty home and no network.
//!
//! What is on it: the stage of the image that has compiled the release program there, from this checkout without
//! `.git`, `target` and the file for rustup. So the first command finds the program compiled, by the same compiler on the
//! same machine, and the second compiles and runs everything itself.
//! **Invariant**: the commands are those that the README shows.

use std::fs;

use super::docker::docker;
use super::images::{built, root};

/// The command of the README that begins so.
fn shown(begin: &str) -> String {
    let readme = fs::read_to_string(root().join("README.md")).expect("the checkout has a README");
    let commands = readme.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.into_iter().find(|line| line.starts_with(begin)).expect("the README shows it").to_owned()
}

fn on_a_fresh_machine(command: &str) -> String {
    let command = format!("test -z \"$(ls -A \"$HOME\")\" && {command} 2>&1");
    docker(&["run", "--rm", "--network", "none", "--env", "HOME=/srv", &built().stage, "sh", "-c", &command])
}

#[test]
fn the_demonstration_plays() {
    let told = on_a_fresh_machine(&shown("cargo run"));
    assert!(told.contains("As it should be"), "{told}");
}

#[test]
fn every_test_passes() {
    let told = on_a_fresh_machine(&shown("cargo test"));
    let results: Vec<_> = told.lines().filter(|line| line.starts_with("test result:")).collect();
    assert!(results.len() > 5 && results.iter().all(|line| line.contains("ok. ")), "{told}");
}
