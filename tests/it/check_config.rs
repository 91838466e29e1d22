//! `kokuban check-config`, as somebody reviews a design with it: each question of contract §13 at its line, and a pipeline
//! that keeps them out.
//!
//! Not known here: how a question is found; see the blueprints of `kokuban-core`.

use std::fs;
use std::path::Path;
use std::process::Command;

use kokuban_tests::server_binary;
use tempfile::TempDir;

const QUESTIONABLE: &str = r#"name = "orders"

[zones.work]

[slots."work/summary"]

[slots."work/log"]
kind = "list"
producers = ["ra"]

[slots."work/web/page"]
producers = ["ra"]

[slots."work/current_order"]
producers = ["ra"]
"#;

const ANSWERED: &str = r#"name = "orders"
schema_version = 1

[limits]
state_bytes_max = 65536

[zones.work]
"#;

struct Asked {
    code: Option<i32>,
    lines: Vec<String>,
    complaint: String,
}

fn check(dir: &Path, args: &[&str]) -> Asked {
    let output = Command::new(server_binary()).arg("check-config").args(args).current_dir(dir).output();
    let output = output.expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    Asked {
        code: output.status.code(),
        lines: text(&output.stdout).lines().map(str::to_owned).collect(),
        complaint: text(&output.stderr),
    }
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        fs::write(dir.path().join(name), text).expect("written");
    }
    dir
}

#[test]
fn each_question_stands_at_its_line_and_says_what_to_do() {
    let dir = folder(&[("orders.toml", QUESTIONABLE)]);
    let asked = check(dir.path(), &["orders.toml"]);
    assert_eq!(asked.code, Some(0), "a question is no mistake: {}", asked.complaint);
    for (line, place, words) in [
        (1, "/schema_version", "raise it with each change"),
        (5, "/slots/work~1summary/producers", "two producers"),
        (7, "/slots/work~1log/max_items", "set `max_items`"),
        (11, "/slots/work~1web~1page", "trust: \"untrusted\""),
        (14, "/slots/work~1current_order", "key it by session or task"),
    ] {
        let begin = format!("orders.toml:{line}: warning: {place}: ");
        let found = asked.lines.iter().find(|told| told.starts_with(&begin));
        let found = found.unwrap_or_else(|| panic!("nothing begins with {begin}\n{:#?}", asked.lines));
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn a_strict_check_fails_on_questions_and_passes_without() {
    let dir = folder(&[("orders.toml", QUESTIONABLE), ("answered.toml", ANSWERED)]);
    let asked = check(dir.path(), &["--strict", "orders.toml", "answered.toml"]);
    assert_eq!(asked.code, Some(1));
    assert!(asked.complaint.contains("1 of 2 files have warnings"), "{}", asked.complaint);
    let answered = check(dir.path(), &["--strict", "answered.toml"]);
    assert_eq!(
        (answered.code, answered.lines),
        (Some(0), vec!["answered.toml: the blueprint `orders` is valid".to_owned()])
    );
}

#[test]
fn a_configuration_is_checked_with_the_blueprints_that_it_names() {
    let wrong = "name = \"other\"\n[zones.work]\nacess = \"public\"\n";
    let dir = folder(&[
        ("orders.toml", QUESTIONABLE),
        ("wrong.toml", wrong),
        ("questionable-server.toml", "blueprints = [\"orders.toml\"]\n"),
        ("wrong-server.toml", "blueprints = [\"wrong.toml\"]\n"),
        ("misspelt-server.toml", "log_level = \"info\"\nlog_fromat = \"text\"\n"),
    ]);
    let asked = check(dir.path(), &["questionable-server.toml"]);
    assert_eq!(asked.code, Some(0));
    assert_eq!(asked.lines[0], "questionable-server.toml: the configuration is valid");
    assert!(asked.lines.iter().any(|line| line.starts_with("orders.toml:14: warning: ")), "{:#?}", asked.lines);
    assert_eq!(check(dir.path(), &["--strict", "questionable-server.toml"]).code, Some(1));
    let asked = check(dir.path(), &["wrong-server.toml", "misspelt-server.toml"]);
    assert_eq!(asked.code, Some(1));
    assert!(asked.lines[0].starts_with("wrong.toml: error: line 3"), "{:#?}", asked.lines);
    assert!(asked.lines[1].starts_with("misspelt-server.toml:2: error: "), "{:#?}", asked.lines);
    assert!(asked.complaint.contains("2 of 2 files are not valid"), "{}", asked.complaint);
}
