//! No document escapes: whichever file of this checkout shows commands or code is executed.
//!
//! **Invariant**: in a document that is executed, code that nobody runs is not there either: a block is `console`, is
//! saved as a file, or is a picture in text.
//! Not known here: how documents are executed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::claims::has_function;
use super::{DOCUMENTS, ELSEWHERE, document, root};

/// Not ours, or not text.
const LEFT_OUT: &[&str] = &["target", "node_modules", "transcripts"];
/// Languages of blocks that a reader would type or run.
const CODE: &[&str] =
    &["console", "sh", "bash", "shell", "zsh", "python", "py", "pycon", "rust", "toml", "json", "yaml", "http"];

/// The info strings of the fenced blocks, with their lines.
fn blocks(document: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut inside = false;
    for (n, line) in document.lines().enumerate() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            if !inside {
                blocks.push((n + 1, info.to_owned()));
            }
            inside = !inside;
        }
    }
    blocks
}

fn is_code(info: &str) -> bool {
    CODE.contains(&info.split(' ').next().unwrap_or_default())
}

/// The documents below `folder`, as paths from the root of the checkout.
fn documents(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder can be listed") {
        let entry = entry.expect("a folder can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if name.starts_with('.') || LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        if entry.file_type().expect("an entry has a type").is_dir() {
            documents(&entry.path(), &format!("{path}/"), found);
        } else if name.ends_with(".md") || name.ends_with(".txt") {
            found.insert(path);
        }
    }
}

#[test]
fn every_document_with_code_is_executed() {
    let mut there = BTreeSet::new();
    documents(&root(), "", &mut there);
    let with_code: BTreeSet<_> =
        there.into_iter().filter(|path| blocks(&document(path)).iter().any(|(_, info)| is_code(info))).collect();
    let executed: Vec<_> = DOCUMENTS.iter().copied().chain(ELSEWHERE.iter().map(|(path, _)| *path)).collect();
    let listed: BTreeSet<_> = executed.iter().map(|path| (*path).to_owned()).collect();
    assert_eq!(executed.len(), listed.len(), "a document is listed twice");
    let forgotten: Vec<_> = with_code.difference(&listed).collect();
    assert!(
        forgotten.is_empty(),
        "these show code that nothing runs; add them in tests/it/documents.rs: {forgotten:?}"
    );
    let idle: Vec<_> = listed.difference(&with_code).collect();
    assert!(idle.is_empty(), "these are listed in tests/it/documents.rs, but show no code: {idle:?}");
}

#[test]
fn a_document_that_is_executed_elsewhere_names_the_test() {
    for (path, test) in ELSEWHERE {
        assert!(has_function(&root().join("tests"), test), "{path}: there is no test `{test}` in tests");
    }
}

#[test]
fn all_code_of_the_documents_is_run_or_saved() {
    for path in DOCUMENTS.iter().chain(ELSEWHERE.iter().map(|(path, _)| path)) {
        for (line, info) in blocks(&document(path)) {
            let (language, name) = info.split_once(' ').unwrap_or((&info, ""));
            let run = language == "console" && name.is_empty();
            assert!(
                run || !name.is_empty() || !is_code(&info),
                "{path}:{line}: nothing runs a block of `{info}`: make it `console`, or a file by a name beside it"
            );
        }
    }
}
