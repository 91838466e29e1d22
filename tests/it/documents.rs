//! The documents, executed: every command they show, every answer, every test and call they name.
//!
//! **Invariant**: a command is run as it stands there, by bash, in the order of the document; only the port of the
//! server differs, and `cargo run --release --` is the program under test. `…` in an answer stands for anything, a
//! line of it for any lines. What is not so fails with the line of the document. No document escapes (`listed`).
//! Not known here: what is right. The documents say that.

mod claims;
mod listed;
pub(crate) mod matching;
mod ports;
mod server;
mod shell;
mod steps;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kokuban_server::docs::ROUTES;

use self::shell::Shell;
use self::steps::{Step, steps};

/// Makes a test of each document. A new one with commands needs its line here, and nothing else: blocks of `console`
/// are commands (`$ `) with their answers, a block whose info string names a file (`toml newsroom.toml`) is saved
/// under that name first, `^C` as a last line is the reader's. Commands start in a copy of `config`, `docker` and
/// `clients`; `kokuban` and `pidof kokuban` are those of the test.
macro_rules! documents {
    ($($name:ident: $path:literal,)*) => {
        /// All that are executed here.
        const DOCUMENTS: &[&str] = &[$($path),*];
        $(#[test] fn $name() { follow($path); })*
    };
}

documents! {
    every_command_of_the_readme_does_what_it_shows: "README.md",
    every_command_of_the_guide_to_the_calls_does_what_it_shows: "docs/http.md",
    every_command_of_the_text_for_agents_does_what_it_shows: "docs/llms.txt",
}

/// Documents that a test elsewhere in `tests/it` executes, because they need more than a shell, and that test.
const ELSEWHERE: &[(&str, &str)] = &[];

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("tests is a folder of the workspace").to_owned()
}

fn document(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Does what the document says.
///
/// # Panics
/// Where the document is not true.
pub(crate) fn follow(path: &str) {
    let mut shell = Shell::new(&root());
    for step in steps(&document(path)) {
        if let Err(complaint) = shell.take(&step) {
            panic!("{path}:{}: {complaint}", step.line());
        }
    }
}

#[test]
fn the_readme_has_the_two_commands() {
    let steps = steps(&document("README.md"));
    let commands: Vec<_> = steps.iter().filter_map(Step::command).collect();
    for (command, why) in [(steps::DEMO, "runs the main job"), (steps::TESTS, "runs all tests")] {
        assert!(commands.contains(&command), "the README lacks `{command}`, which {why}");
    }
}

/// `METHOD path` as the guide writes it.
fn call(method: &str, path: &str) -> String {
    format!("{method} {}", path.replace("/v1/boards/{board}", "…").replace("{*key}", "{key}"))
}

#[test]
fn the_guide_has_every_call_and_no_other() {
    let guide = document("docs/http.md");
    let rows = guide.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let methods = ["GET ", "PUT ", "POST ", "PATCH ", "DELETE "];
    let told: BTreeSet<_> = rows
        .map(|(call, _)| call.to_owned())
        .filter(|call| methods.iter().any(|method| call.starts_with(method)))
        .collect();
    let there: BTreeSet<_> = ROUTES.iter().map(|route| call(route.method, route.path)).collect();
    assert_eq!(told, there);
}
