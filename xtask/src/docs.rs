//! What is generated of the documents: in `docs/http.md` one row for each problem code, from `kokuban_api`; pictures of
//! blueprints, from `kokuban_graph`.
//!
//! Invariant: what stands between the two markers is never edited by hand; `tidy` compares it, and the tests of
//! `kokuban_graph` compare the pictures.
//! Not known here: the rest of the documents.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use kokuban_api::{ErrorCode, SideEffects};
use kokuban_core::blueprint::Blueprint;

pub(crate) const FILE: &str = "docs/http.md";
const BEGIN: &str = "<!-- codes: written by `cargo xtask docs` -->\n";
const END: &str = "<!-- /codes -->";

/// Writes what is generated anew. Says which files were not up to date.
pub(crate) fn write(root: &Path) -> anyhow::Result<Vec<String>> {
    let guide = std::fs::read_to_string(root.join(FILE)).with_context(|| format!("reading {FILE}"))?;
    let guide = with_codes(&guide).with_context(|| format!("{FILE} lacks the markers of the table of codes"))?;
    let mut files = vec![(FILE.to_owned(), guide)];
    for (name, blueprint) in blueprints(root)? {
        let picture = kokuban_graph::svg(&blueprint, &kokuban_graph::charts(&blueprint, None));
        files.push((format!("docs/pictures/{name}.svg"), picture));
    }
    let mut changed = Vec::new();
    for (file, after) in files {
        let path = root.join(&file);
        if std::fs::read_to_string(&path).is_ok_and(|before| before == after) {
            continue;
        }
        std::fs::write(&path, after).with_context(|| format!("writing {file}"))?;
        changed.push(file);
    }
    Ok(changed)
}

/// Those of `config/blueprints`, with the names of their files.
fn blueprints(root: &Path) -> anyhow::Result<Vec<(String, Blueprint)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join("config/blueprints"))? {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let blueprint = Blueprint::from_toml(&std::fs::read_to_string(&path)?);
        let blueprint = blueprint.map_err(|flaws| anyhow!("{}: {}", path.display(), flaws[0]))?;
        found.push((name.to_owned(), blueprint));
    }
    Ok(found)
}

/// The document with the table as it should be. `None`: it has no place for one.
pub(crate) fn with_codes(document: &str) -> Option<String> {
    let start = document.find(BEGIN)? + BEGIN.len();
    let end = start + document[start..].find(END)?;
    Some(format!("{}{}{}", &document[..start], table(), &document[end..]))
}

/// Two tables: the codes that occur, and those that come later.
fn table() -> String {
    let (later, now): (Vec<ErrorCode>, Vec<_>) = ErrorCode::ALL.iter().partition(|code| code.comes_later());
    let head = "| code | status | `next` | again? | what it means, and what to do |\n| --- | --- | --- | --- | --- |\n";
    format!("{head}{}\nNot yet, with what they will mean:\n\n{head}{}", rows(&now), rows(&later))
}

fn rows(codes: &[ErrorCode]) -> String {
    let mut rows = String::new();
    for code in codes {
        let status = match code.other_status() {
            Some(other) => format!("{}, {other}", code.status()),
            None => code.status().to_string(),
        };
        let again = match (code.is_retryable(), code.side_effects()) {
            (true, SideEffects::None) => "yes",
            (true, SideEffects::Unknown) => "with the same Idempotency-Key",
            (false, SideEffects::None) => "",
            (false, SideEffects::Unknown) => "read first",
        };
        let (next, explain) = (code.default_action().as_str(), code.explain().replace('|', "\\|"));
        writeln!(rows, "| `{code}` | {status} | `{next}` | {again} | {explain} |").expect("a String takes everything");
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_code_once() {
        let table = table();
        for code in ErrorCode::ALL {
            assert_eq!(table.matches(&format!("| `{code}` |")).count(), 1, "{code}");
        }
    }

    #[test]
    fn only_what_stands_between_the_markers_is_replaced() {
        let document = format!("before\n{BEGIN}what stood here\n{END}\nafter\n");
        let written = with_codes(&document).expect("markers");
        assert!(
            written.starts_with("before\n") && written.ends_with("\nafter\n") && !written.contains("what stood here")
        );
        assert_eq!(with_codes(&written).as_ref(), Some(&written));
        assert_eq!(with_codes("no markers"), None);
    }
}
