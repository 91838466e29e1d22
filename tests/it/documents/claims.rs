//! The ladder of claims in the README: each is shown by tests that exist.
//!
//! **Invariant**: every promise of G1 to G12 stands there once.
//! Not known here: whether those tests pass; they run beside this one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{document, root};

/// The rows of the ladder: what is promised, and the tests beside it.
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
    let told: Vec<_> = claims.iter().map(|(id, _)| id.clone()).collect();
    let promised: BTreeSet<_> = (1..=12).map(|n| format!("G{n}")).collect();
    assert_eq!((told.len(), told.into_iter().collect()), (promised.len(), promised));
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

/// Whether a file below `folder` has a function of this name.
pub(super) fn has_function(folder: &Path, name: &str) -> bool {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("a folder can be listed").path()).any(|path| {
        if path.is_dir() {
            has_function(&path, name)
        } else {
            fs::read_to_string(&path).is_ok_and(|text| text.contains(&format!("fn {name}(")))
        }
    })
}
