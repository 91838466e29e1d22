//! The generated part of `docs/performance.md`.
//!
//! Invariant: what stands between the two markers is never edited by hand, and nothing else is touched.
//! Not known here: the rest of the document.

use std::path::Path;

use anyhow::Context as _;

const FILE: &str = "docs/performance.md";
const BEGIN: &str = "<!-- figures: written by `cargo xtask bench --write-docs` -->\n";
const END: &str = "<!-- /figures -->";

/// Puts the result into the document of the checkout that this program was started from.
pub(crate) fn write(result: &str) -> anyhow::Result<()> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").context("only `cargo xtask bench` knows where docs/ is")?;
    let path = Path::new(&package).join("../..").join(FILE);
    let before = std::fs::read_to_string(&path).with_context(|| format!("reading {FILE}"))?;
    let after = with_figures(&before, result).with_context(|| format!("{FILE} lacks the markers of the figures"))?;
    std::fs::write(&path, after).with_context(|| format!("writing {FILE}"))
}

fn with_figures(document: &str, result: &str) -> Option<String> {
    let start = document.find(BEGIN)? + BEGIN.len();
    let end = start + document[start..].find(END)?;
    Some(format!("{}\n{}\n{}", &document[..start], result.trim_end(), &document[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_markers_is_replaced() {
        let document = format!("before\n{BEGIN}what stood here\n{END}\nafter\n");
        let written = with_figures(&document, "| 4 |\n").expect("markers");
        assert_eq!(written, format!("before\n{BEGIN}\n| 4 |\n{END}\nafter\n"));
        assert_eq!(with_figures(&written, "| 4 |"), Some(written.clone()));
        assert_eq!(with_figures("no markers", ""), None);
    }

    #[test]
    fn the_document_has_a_place_for_the_figures() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE);
        let document = std::fs::read_to_string(path).expect("the document is part of the checkout");
        assert!(with_figures(&document, "").is_some());
    }
}
