//! Documents: tables that are up to date, records in their form, a Dockerfile fit to run.
//!
//! Invariant: no file of the repository names a machine or a folder of whoever wrote it.
//! Not known here: where they lead, which `links` knows; whether what they say is true, as `tests/it/documents.rs` executes
//! them.

use super::Finding;
use super::sources::Tree;
use crate::docs;

const RECORDS: &str = "docs/decisions/";
const RECORD_LINES_MAX: usize = 40;
const SECTIONS: &[&str] = &["## Context", "## Choice", "## Rejected", "## Consequences"];
const DOCKERFILE: &str = "docker/Dockerfile";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        findings.extend(machine_paths(path, text));
        if path.starts_with(RECORDS) {
            findings.extend(record(path, text));
        }
    }
    findings.extend(numbers(tree));
    findings.extend(codes(tree));
    findings.extend(tree.get(DOCKERFILE).map_or_else(|| vec![missing(DOCKERFILE)], dockerfile));
    findings
}

fn missing(path: &str) -> Finding {
    Finding::new(path, 1, "is missing")
}

/// Folders that exist on one machine only.
fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    // Put together, so that this file does not find itself.
    let foreign =
        [format!("/{}/", "work"), format!("/tmp/{}", "kb"), format!("/{}/", "Users"), format!("/{}/", "home")];
    // In the middle of a longer path it is somebody's key or zone.
    let begins = |line: &str, at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "}/.…".contains(c));
    let names_one = |line: &str| foreign.iter().any(|part| line.match_indices(part).any(|(at, _)| begins(line, at)));
    let found = text.lines().zip(1..).filter(|(line, _)| names_one(line));
    found.map(|(_, n)| Finding::new(path, n, "names a folder of one machine")).collect()
}

fn record(path: &str, text: &str) -> Vec<Finding> {
    let n = text.lines().count();
    let long = (n > RECORD_LINES_MAX).then(|| {
        Finding::new(path, n, format!("a record of a decision has at most {RECORD_LINES_MAX} lines, this one {n}"))
    });
    let lacking = SECTIONS.iter().filter(|section| !text.lines().any(|line| line == **section));
    let lacking = lacking.map(|section| Finding::new(path, 1, format!("lacks `{section}`")));
    long.into_iter().chain(lacking).collect()
}

/// Records are numbered without a gap.
fn numbers(tree: &Tree) -> Option<Finding> {
    let records = tree.files().keys().filter_map(|path| Some((path, path.strip_prefix(RECORDS)?)));
    let wrong = records.zip(1..).find(|((_, name), n)| !name.starts_with(&format!("{n:04}-")));
    wrong.map(|((path, _), n)| Finding::new(path, 1, format!("the record in this place has the number {n:04}")))
}

fn codes(tree: &Tree) -> Option<Finding> {
    let Some(document) = tree.get(docs::FILE) else {
        return Some(missing(docs::FILE));
    };
    let why = match docs::with_codes(document) {
        None => "lacks the markers of the table of codes",
        Some(right) if right != document => "its table of codes is not up to date: run `cargo xtask docs`",
        Some(_) => return None,
    };
    Some(Finding::new(docs::FILE, 1, why))
}

fn dockerfile(text: &str) -> Vec<Finding> {
    let has = |word: &str| text.lines().any(|line| line.starts_with(word));
    let mut findings = Vec::new();
    for (word, why) in [
        ("HEALTHCHECK ", "an orchestrator cannot see whether the server takes writes"),
        ("VOLUME ", "the data would die with the container"),
        ("USER ", "the server would run as root"),
        ("EXPOSE ", "nobody would know the port"),
    ] {
        if !has(word) {
            findings.push(Finding::new(DOCKERFILE, 1, format!("lacks `{}`: {why}", word.trim())));
        }
    }
    for (n, line) in text.lines().enumerate() {
        let root = line.strip_prefix("USER ").is_some_and(|user| matches!(user.split(':').next(), Some("root" | "0")));
        let floating = line.starts_with("FROM ") && line.contains(":latest");
        if root || floating {
            let why = if root { "the server must not run as root" } else { "a base image has a version" };
            findings.push(Finding::new(DOCKERFILE, n + 1, why));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::sources::tests::tree;
    use super::*;

    #[test]
    fn a_record_has_its_four_parts_and_is_short() {
        let whole = SECTIONS.join("\n");
        assert!(record("docs/decisions/0001-a.md", &whole).is_empty());
        assert_eq!(record("docs/decisions/0001-a.md", "## Context\n").len(), 3);
        assert_eq!(record("docs/decisions/0001-a.md", &format!("{whole}{}", "\n.".repeat(40))).len(), 1);
    }

    #[test]
    fn records_are_numbered_without_a_gap() {
        let gap = tree(&[("docs/decisions/0001-a.md", ""), ("docs/decisions/0003-c.md", "")]);
        assert_eq!(numbers(&gap).expect("a gap").file, "docs/decisions/0003-c.md");
        assert_eq!(numbers(&tree(&[("docs/decisions/0001-a.md", "")])), None);
    }

    #[test]
    fn a_container_has_a_user_of_its_own_and_says_how_it_is() {
        let good = "FROM debian:bookworm-slim\nEXPOSE 7411\nVOLUME /data\nUSER kokuban\nHEALTHCHECK CMD true\n";
        assert!(dockerfile(good).is_empty());
        assert_eq!(dockerfile("FROM debian:latest\nUSER root\n").len(), 5);
    }

    #[test]
    fn a_folder_of_one_machine_is_found() {
        let text = format!("see /{}/x\nfine\n", "work");
        assert_eq!(machine_paths("a.md", &text).len(), 1);
        assert!(machine_paths("a.md", &format!("GET /v1/boards/b/{}/x", "work")).is_empty());
    }
}
