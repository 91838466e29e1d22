//! The documents, executed: every command they show, every answer, every test and call they name.
//!
//! **Invariant**: a command is run as it stands there, by bash, in the order of the document; only the address of the
//! server differs, and `cargo run --release --` is the program under test. `…` in an answer stands for anything, a
//! line of it for any lines. What is not so fails with the line of the document.
//! Not known here: what is right. The documents say that.

mod matching;
mod shell;
mod steps;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kokuban_server::docs::ROUTES;

use self::shell::Shell;
use self::steps::{Step, steps};

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("tests is a folder of the workspace").to_owned()
}

fn document(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Does what the document says.
fn follow(path: &str) -> Vec<Step> {
    let steps = steps(&document(path));
    let mut shell = Shell::new();
    for step in &steps {
        if let Err(complaint) = shell.take(step) {
            panic!("{path}:{}: {complaint}", step.line());
        }
    }
    steps
}

#[test]
fn every_command_of_the_readme_does_what_it_shows() {
    let steps = follow("README.md");
    let commands: Vec<_> = steps.iter().filter_map(Step::command).collect();
    for (command, why) in [(steps::DEMO, "runs the main job"), (steps::TESTS, "runs all tests")] {
        assert!(commands.contains(&command), "the README lacks `{command}`, which {why}");
    }
}

#[test]
fn every_command_of_the_guide_to_the_calls_does_what_it_shows() {
    follow("docs/http.md");
}

/// The rows of the ladder of claims: what is promised, and the tests beside it.
fn claims(readme: &str) -> Vec<(String, Vec<String>)> {
    let rows = readme.lines().filter(|line| line.starts_with("| G"));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [id, _, shown_by] = cells[..] else { panic!("not three cells: {row}") };
        let tests = shown_by.split('`').skip(1).step_by(2).map(str::to_owned);
        (id.to_owned(), tests.collect())
    })
    .collect()
}

#[test]
fn every_promise_names_tests_that_exist() {
    let claims = claims(&document("README.md"));
    let told: BTreeSet<_> = claims.iter().map(|(id, _)| id.as_str()).collect();
    let promised: Vec<_> = (1..=12).map(|n| format!("G{n}")).collect();
    assert_eq!(told, promised.iter().map(String::as_str).collect());
    for (id, tests) in &claims {
        assert!(!tests.is_empty(), "{id} is shown by nothing");
        for test in tests {
            let (place, name) = test.split_once("::").unwrap_or_else(|| panic!("{id}: `{test}` is not `crate::name`"));
            let folder = match place {
                "it" => "tests/it".to_owned(),
                "kokuban" => "crates/kokuban/src".to_owned(),
                layer => format!("crates/kokuban-{layer}/src"),
            };
            assert!(has_function(&root().join(&folder), name), "{id}: there is no test `{name}` in {folder}");
        }
    }
}

fn has_function(folder: &Path, name: &str) -> bool {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("a folder can be listed").path()).any(|path| {
        if path.is_dir() {
            has_function(&path, name)
        } else {
            fs::read_to_string(&path).is_ok_and(|text| text.contains(&format!("fn {name}(")))
        }
    })
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
