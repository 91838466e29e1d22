//! A run of everything, as small as it can be: whether each measurement works, not what it comes to.

use std::path::Path;
use std::process::{Command, Output};

use kokuban_tests::server_binary;
use serde_json::Value;

fn bench(args: &[&str], server: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kokuban-bench"));
    command.args(args).arg("--server").arg(server).output().expect("the program of this package starts")
}

#[test]
fn each_measurement_yields_sound_figures_and_loses_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let json = dir.path().join("figures.json");
    let data = dir.path().to_str().expect("a path in UTF-8");
    let output = bench(&["--smoke", "--dir", data, "--json", json.to_str().expect("UTF-8")], server_binary());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("it was written")).expect("JSON");
    let figures = report["figures"].as_array().expect("figures");
    for (goal, n) in [("4", 4), ("5", 2), ("6", 1), ("9", 6), ("10", 2), ("11", 4), ("12", 2), ("cas", 4), ("sse", 6)] {
        assert_eq!(figures.iter().filter(|figure| figure["goal"] == goal).count(), n, "figures of {goal}");
    }
    for figure in figures {
        sound(figure);
    }
    assert!(report["machine"]["cores"].as_u64().expect("a number") > 0);
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(table.lines().filter(|line| line.starts_with("| ")).count(), 2 + figures.len(), "{table}");
    let left = std::fs::read_dir(dir.path()).expect("it is there").count();
    assert_eq!(left, 1, "only the figures are left");
}

/// JSON has no other numbers than finite ones, so what is not finite is `null` and fails here.
fn sound(figure: &Value) {
    let number = |name: &str| figure[name].as_f64().unwrap_or_else(|| panic!("{name} of {figure}"));
    let (min, median, max) = (number("min"), number("median"), number("max"));
    assert!(min <= median && median <= max, "{figure}");
    let samples = figure["samples"].as_array().expect("samples");
    assert!(!samples.is_empty() && samples.iter().all(Value::is_number), "{figure}");
    // So few bytes can come from anywhere, and a writer alone can be quicker than the disk was a moment before.
    if !matches!(figure["goal"].as_str(), Some("9" | "6" | "10")) {
        assert!(min > 0.0, "{figure}");
    }
}

#[test]
fn a_server_that_does_not_start_is_an_error_that_says_why() {
    let output = bench(&["--smoke", "--only", "5"], Path::new("no/such/program"));
    assert!(!output.status.success() && output.stdout.is_empty());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no/such/program is not there"), "{said}");
}

#[test]
fn figures_of_a_part_do_not_go_into_the_document() {
    let output = bench(&["--quick", "--write-docs"], server_binary());
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
