//! `cargo xtask tidy`: what we agreed on and no compiler checks.
//!
//! Invariant: every finding has a file, a line and the reason of the rule; one finding fails the run, a remark does
//! not. Each rule is a function from sources to findings, so that its tests need no files.
//! Start at `run`; a rule stands in `layers`, `purity`, `shape`, `papers` or `links`.

mod layers;
mod links;
mod papers;
mod purity;
mod shape;
mod sources;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use self::sources::Tree;

/// One place that breaks a rule, or will soon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) file: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) why: String,
    pub(crate) weight: Weight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Fails,
    Remark,
}

impl Finding {
    fn new(file: &str, line: usize, why: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, why: why.into(), weight: Weight::Fails }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remark = if self.weight == Weight::Remark { "remark: " } else { "" };
        write!(f, "{}:{}: {remark}{}", self.file, self.line, self.why)
    }
}

pub(crate) fn run(root: &Path, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let tree = Tree::read(root)?;
    let findings = check(&tree);
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    let failed = findings.iter().filter(|finding| finding.weight == Weight::Fails).count();
    let n_files = tree.files().len();
    writeln!(out, "tidy: {n_files} files, {failed} findings, {} remarks", findings.len() - failed)?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = layers::check(tree);
    findings.extend(purity::check(tree));
    findings.extend(shape::check(tree));
    findings.extend(papers::check(tree));
    findings.extend(links::check(tree));
    findings.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let tree = Tree::read(&crate::root()).expect("the checkout can be read");
        let failed: Vec<_> = check(&tree).into_iter().filter(|finding| finding.weight == Weight::Fails).collect();
        let lines: Vec<_> = failed.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }

    #[test]
    fn a_finding_names_its_place_first() {
        let finding = Finding::new("crates/x/src/lib.rs", 3, "because");
        assert_eq!(finding.to_string(), "crates/x/src/lib.rs:3: because");
    }
}
