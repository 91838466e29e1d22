//! What is wrong with a blueprint: each flaw with its place, its kind and a sentence for the author.
//!
//! Invariant: the number of flaws that one reading collects is bounded, and so is what they repeat of the source.
//! Not known here: how a flaw becomes an answer.

use std::fmt;

/// Most flaws that one reading reports.
pub(super) const FLAWS_MAX: usize = 100;
/// Most characters of a wrong name that a sentence repeats.
const SHOWN_CHARS_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// JSON Pointer into the blueprint; of a missing member, where it should stand.
    pub pointer: String,
    pub detail: String,
    pub kind: FlawKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlawKind {
    /// The source is not TOML.
    Syntax,
    UnknownMember {
        nearest: Option<String>,
    },
    MissingMember,
    WrongType {
        expected: &'static str,
    },
    InvalidName,
    /// A word that is none of the allowed ones.
    InvalidValue {
        nearest: Option<String>,
    },
    OutOfRange {
        min: u64,
        max: u64,
    },
    /// Something named that does not exist in this blueprint.
    UnknownReference {
        nearest: Option<String>,
    },
    Duplicate,
    /// Two members that cannot both hold.
    Contradiction,
    TooMany {
        max: usize,
    },
    TooLarge {
        bytes_max: usize,
    },
    RaisesLimit {
        server: u64,
    },
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() { f.write_str(&self.detail) } else { write!(f, "{}: {}", self.pointer, self.detail) }
    }
}

/// A flaw of a TOML file, with its place in the text; both count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlFlaw {
    pub line: usize,
    pub column: usize,
    pub flaw: Flaw,
}

impl fmt::Display for TomlFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.flaw)
    }
}

/// The flaws found so far.
#[derive(Debug, Default)]
pub(super) struct Flaws(Vec<Flaw>);

impl Flaws {
    pub(super) fn add(&mut self, pointer: &str, kind: FlawKind, detail: impl Into<String>) {
        if self.0.len() < FLAWS_MAX {
            self.0.push(Flaw { pointer: pointer.to_owned(), detail: detail.into(), kind });
        }
    }

    /// To tell whether a step found any: compare before and after.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn into_vec(self) -> Vec<Flaw> {
        self.0
    }
}

/// A piece of the source inside a sentence: escaped and cut.
pub(super) struct Shown<'a>(pub(super) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chars = self.0.chars();
        let head: String = chars.by_ref().take(SHOWN_CHARS_MAX).collect();
        write!(f, "`{}{}`", head.escape_debug(), if chars.next().is_some() { "…" } else { "" })
    }
}

/// The candidate that a mistyped word most likely meant.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let chars = word.chars().count();
    if chars > SHOWN_CHARS_MAX {
        return None;
    }
    let near = |candidate: &&str| {
        // A third of the letters may be wrong, one in any case; `-` and `_` are the same key to a typist.
        let distance = strsim::osa_distance(&word.to_lowercase().replace('-', "_"), candidate);
        (distance <= (chars.max(candidate.chars().count()) / 3).max(1)).then_some(distance)
    };
    let scored = candidates.into_iter().filter_map(|candidate| near(&candidate).map(|d| (d, candidate)));
    scored.min().map(|(_, candidate)| candidate.to_owned())
}

/// `; did you mean …?` or nothing.
pub(super) fn hint(nearest: Option<&String>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {}?", Shown(name)))
}
