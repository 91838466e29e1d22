//! The core is a function of its arguments.
//!
//! Invariant: no clock, randomness, task, file, environment, log or hash order in `kokuban-core`, tests apart. Lints
//! deny the calls, this also denies the types and paths, with comments left out.
//! Not known here: other crates.

use super::Finding;
use super::sources::Tree;

const CORE: &str = "crates/kokuban-core/src/";

/// A word, and what to do instead.
const BANNED: &[(&str, &str)] = &[
    ("tokio", "tasks belong to the engine"),
    ("axum", "the framework belongs to the server"),
    ("tracing", "what happened is an event; the engine logs"),
    ("dashmap", "the core is one thread's"),
    ("HashMap", "its order is random, so a replay would differ; take BTreeMap or imbl::OrdMap"),
    ("HashSet", "its order is random, so a replay would differ; take BTreeSet or imbl::OrdSet"),
    ("SystemTime", "time comes with the Context"),
    ("Instant", "time comes with the Context"),
    ("std::env", "configuration comes as arguments"),
    ("std::fs", "only the journal touches disks"),
    ("std::net", "sockets belong to the server"),
    ("std::thread", "the core is synchronous"),
    ("std::process", "the core ends nothing"),
    ("getrandom", "ids come with the Context or follow from revisions"),
    ("async ", "the core is synchronous"),
    (".await", "the core is synchronous"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let core = tree.rust().filter(|source| source.path.starts_with(CORE));
    let mut findings = Vec::new();
    for source in core {
        for (line, code) in source.product() {
            let banned = BANNED.iter().filter(|(word, _)| has_word(code, word));
            findings.extend(banned.map(|(word, instead)| {
                Finding::new(source.path, line, format!("no `{}` in the core: {instead}", word.trim()))
            }));
        }
    }
    findings
}

/// Whether `code` has `word` that is not the middle of a longer one.
fn has_word(code: &str, word: &str) -> bool {
    let part_of_a_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].ends_with(part_of_a_name) && word.starts_with(part_of_a_name);
        let after = code[at + word.len()..].starts_with(part_of_a_name) && word.ends_with(part_of_a_name);
        !before && !after
    })
}

#[cfg(test)]
mod tests {
    use super::super::sources::tests::tree;
    use super::*;

    #[test]
    fn a_clock_in_the_core_is_found_and_one_in_its_tests_is_not() {
        let found = check(&tree(&[
            ("crates/kokuban-core/src/a.rs", "//! tokio\nuse std::time::Instant;\n#[cfg(test)]\nmod tests;\n"),
            ("crates/kokuban-core/src/a/tests.rs", "use std::time::Instant;\n"),
            ("crates/kokuban-engine/src/a.rs", "use std::time::Instant;\n"),
        ]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].file.as_str(), found[0].line), ("crates/kokuban-core/src/a.rs", 2));
    }

    #[test]
    fn a_longer_word_is_another_word() {
        assert!(has_word("let a: HashMap<K, V>", "HashMap") && has_word("f().await", ".await"));
        assert!(!has_word("fn instantiate(x: Instantaneous)", "Instant"));
        assert!(!has_word("imbl::GenericHashMapLike", "HashMap"));
    }
}
