//! What is wrong with a configuration, and where.
//!
//! **Invariant**: one flaw is one line of text.
//! Not known here: what would be right.

use std::fmt;
use std::path::PathBuf;

/// Where a flaw was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line of the file, from 1.
    Line(usize),
    /// A variable or flag, by its name.
    Named(String),
    /// Settings that do not go together.
    Together,
    /// Another file that the configuration names.
    Other(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    pub place: Place,
    pub message: String,
}

impl Flaw {
    pub(super) fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File | Place::Together => f.write_str(&self.message),
            Place::Line(line) => write!(f, "line {line}: {}", self.message),
            Place::Named(name) => write!(f, "{name}: {}", self.message),
            Place::Other(path) => write!(f, "{}: {}", path.display(), self.message),
        }
    }
}

/// All flaws of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub file: Option<PathBuf>,
    pub flaws: Vec<Flaw>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "the configuration {} cannot be used:", file.display())?,
            None => f.write_str("the configuration cannot be used:")?,
        }
        for flaw in &self.flaws {
            write!(f, "\n  {flaw}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// The name that a misspelt one was probably meant to be.
pub(super) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are not compared: the cost grows with their length.
    if word.len() > 64 {
        return None;
    }
    let scored = names.into_iter().map(|name| (strsim::jaro_winkler(word, name), name));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

/// A text of the user's as it may stand in one line.
pub(super) fn shown(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    let cut = if start.len() < text.len() { "…" } else { "" };
    format!("{}{cut}", start.escape_debug())
}
