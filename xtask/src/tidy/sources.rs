//! The text files of the checkout, and which lines of Rust are tests.
//!
//! Invariant: paths are relative to the root, with `/`, in order. A module under `#[cfg(test)]` is a test, with
//! everything below it.
//! Not known here: rules.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

/// What is neither ours nor text.
const LEFT_OUT: &[&str] = &["target", ".git", "node_modules"];
const TEXT: &[&str] = &["rs", "toml", "md", "sql", "sh", "yaml", "yml", "http", "txt", "svg", "py"];
/// Text without an ending of its own.
const NAMES: &[&str] = &["Dockerfile", "run", "LICENSE", ".gitignore", ".dockerignore"];

#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    /// Modules that exist for tests only, as paths without `.rs`.
    test_modules: Vec<String>,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        collect(root, "", &mut files)?;
        Ok(Self::of(files))
    }

    pub(crate) fn of(files: BTreeMap<String, String>) -> Self {
        let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
        let test_modules = rust.flat_map(|(path, text)| test_modules(path, text)).collect();
        Self { files, test_modules }
    }

    pub(crate) fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = Source<'_>> {
        let rust = self.files.iter().filter(|(path, _)| path.ends_with(".rs"));
        rust.map(|(path, text)| Source { path, text, tests_from: self.tests_from(path, text) })
    }

    /// The first line that is a test, counted from 0; the length of the file if there is none.
    fn tests_from(&self, path: &str, text: &str) -> usize {
        let stem = path.trim_end_matches(".rs");
        let below = |module: &String| stem == module || stem.starts_with(&format!("{module}/"));
        if path.starts_with("tests/") || path.contains("/tests/") || self.test_modules.iter().any(below) {
            return 0;
        }
        let lines: Vec<_> = text.lines().collect();
        let block = |pair: &[&str]| is_for_tests(pair[0]) && pair[1].starts_with("mod ") && pair[1].ends_with('{');
        lines.windows(2).position(block).unwrap_or(lines.len())
    }
}

/// One file of Rust.
#[derive(Debug)]
pub(crate) struct Source<'t> {
    pub(crate) path: &'t str,
    pub(crate) text: &'t str,
    tests_from: usize,
}

impl<'t> Source<'t> {
    /// Lines of the product, numbered from 1, without comments.
    pub(crate) fn product(&self) -> impl Iterator<Item = (usize, &'t str)> {
        self.code().take(self.tests_from)
    }

    /// Lines of tests.
    pub(crate) fn tests(&self) -> impl Iterator<Item = (usize, &'t str)> {
        self.code().skip(self.tests_from)
    }

    /// All lines. What follows `//` is dropped, also inside of a text: no rule looks there.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &'t str)> {
        let text = self.text;
        text.lines().enumerate().map(|(index, line)| (index + 1, line.split("//").next().unwrap_or(line)))
    }
}

fn is_for_tests(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(any(test,")
}

/// `#[cfg(test)] mod name;` as the path of the module.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let stem = path.trim_end_matches(".rs");
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let folder = if matches!(name, "lib" | "main" | "mod") { folder } else { stem };
    let mut found = Vec::new();
    let mut for_tests = false;
    for line in text.lines().map(str::trim) {
        if is_for_tests(line) {
            for_tests = true;
        } else if !line.starts_with("#[") {
            let named = line.strip_suffix(';').and_then(|line| line.split_once("mod "));
            if let Some((_, name)) = named.filter(|_| for_tests) {
                found.push(format!("{folder}/{name}"));
            }
            for_tests = false;
        }
    }
    found
}

fn collect(root: &Path, folder: &str, files: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(root.join(folder)).with_context(|| format!("listing {folder}"))?;
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if entry.file_type()?.is_dir() {
            if !LEFT_OUT.contains(&name.as_str()) {
                collect(root, &path, files)?;
            }
        } else if is_text(&name) {
            let text = std::fs::read_to_string(entry.path()).with_context(|| format!("reading {path}"))?;
            files.insert(path, text);
        }
    }
    Ok(())
}

fn is_text(name: &str) -> bool {
    NAMES.contains(&name) || name.rsplit_once('.').is_some_and(|(_, ending)| TEXT.contains(&ending))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A tree of a few files.
    pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
        Tree::of(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    fn product(tree: &Tree, path: &str) -> Vec<usize> {
        let source = tree.rust().find(|source| source.path == path).expect(path);
        source.product().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_module_under_cfg_test_is_a_test_with_everything_below_it() {
        let tree = tree(&[
            ("crates/a/src/lib.rs", "mod b;\n#[cfg(test)]\npub(crate) mod stage;\nmod c;\n"),
            ("crates/a/src/b.rs", "fn b() {}\n#[cfg(test)]\nmod tests;\n"),
            ("crates/a/src/b/tests.rs", "one\n"),
            ("crates/a/src/stage/deep.rs", "one\n"),
            ("crates/a/src/c.rs", "one\n"),
        ]);
        assert_eq!(product(&tree, "crates/a/src/lib.rs"), [1, 2, 3, 4]);
        assert!(product(&tree, "crates/a/src/b/tests.rs").is_empty());
        assert!(product(&tree, "crates/a/src/stage/deep.rs").is_empty());
        assert_eq!(product(&tree, "crates/a/src/c.rs"), [1]);
    }

    #[test]
    fn tests_at_the_end_of_a_file_are_told_from_the_product() {
        let tree = tree(&[("crates/a/src/lib.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n")]);
        assert_eq!(product(&tree, "crates/a/src/lib.rs"), [1, 2]);
    }

    #[test]
    fn comments_are_no_code() {
        let tree = tree(&[("crates/a/src/lib.rs", "//! tokio\nlet a = 1; // tokio\n")]);
        let source = tree.rust().next().expect("one file");
        assert!(source.code().all(|(_, code)| !code.contains("tokio")));
    }
}
