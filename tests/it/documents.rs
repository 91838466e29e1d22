//! The documents, executed: every command they show, every answer, every test and call they name.
//!
//! **Invariant**: a command is run as it stands there, by bash, in the order of the document; only the port of the
//! server differs, and `cargo run --release --` is the program under test. `…` in an answer stands for anything, a
//! line of it for any lines. What is not so fails with the line of the document. No document escapes (`listed`).
//! Not known here: what is right. The documents say that.

mod claims;
mod guide;
mod listed;
mod pictures;
mod ports;
mod server;
mod shell;

use std::fs;
use std::path::{Path, PathBuf};

use kokuban_tests::document::{DEMO, Step, TESTS, steps};

use self::shell::Shell;

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
    every_command_of_the_guide_for_agents_does_what_it_shows: "docs/agents.md",
    every_command_of_the_guide_to_rules_does_what_it_shows: "docs/blueprints.md",
    every_command_of_the_ideas_does_what_it_shows: "docs/concepts.md",
    every_command_of_the_quickstart_does_what_it_shows: "docs/quickstart.md",
    every_command_of_the_python_client_does_what_it_shows: "clients/python/README.md",
    every_command_of_the_guide_for_operators_does_what_it_shows: "docs/operations.md",
    every_command_of_the_text_for_agents_does_what_it_shows: "docs/llms.txt",
}

/// Documents that a test elsewhere in `tests` executes, because they need more than a shell, and that test.
const ELSEWHERE: &[(&str, &str)] =
    &[("docs/deployment.md", "every_command_of_the_guide_to_deployments_does_what_it_shows")];

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
    for (command, why) in [(DEMO, "runs the main job"), (TESTS, "runs all tests")] {
        assert!(commands.contains(&command), "the README lacks `{command}`, which {why}");
    }
}
