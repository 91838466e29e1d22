//! The generated part of `docs/http.md`: one row for each problem code, from `kokuban_api`.
//!
//! Invariant: what stands between the two markers is never edited by hand; `tidy` compares it.
//! Not known here: the rest of the document.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use kokuban_api::{ErrorCode, SideEffects};

pub(crate) const FILE: &str = "docs/http.md";
const BEGIN: &str = "<!-- codes: written by `cargo xtask docs` -->\n";
const END: &str = "<!-- /codes -->";

/// Writes the document anew. True if it was not up to date.
pub(crate) fn write(root: &Path) -> anyhow::Result<bool> {
    let path = root.join(FILE);
    let before = std::fs::read_to_string(&path).with_context(|| format!("reading {FILE}"))?;
    let after = with_codes(&before).with_context(|| format!("{FILE} lacks the markers of the table of codes"))?;
    if before == after {
        return Ok(false);
    }
    std::fs::write(&path, after)?;
    Ok(true)
}

/// The document with the table as it should be. `None`: it has no place for one.
pub(crate) fn with_codes(document: &str) -> Option<String> {
    let start = document.find(BEGIN)? + BEGIN.len();
    let end = start + document[start..].find(END)?;
    Some(format!("{}{}{}", &document[..start], table(), &document[end..]))
}

fn table() -> String {
    let mut rows =
        String::from("| code | status | again? | what it means, and what to do |\n| --- | --- | --- | --- |\n");
    for code in ErrorCode::ALL {
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
        let explain = code.explain().replace('|', "\\|");
        writeln!(rows, "| `{code}` | {status} | {again} | {explain} |").expect("a String takes everything");
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
