//! A configuration as it came out of all sources, with the origin of every value.
//!
//! **Invariant**: what no source names has no origin and its default; tokens and rules have theirs in the same order.
//! Not known here: how it is shown (`shown.rs`), what follows it (`succession.rs`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::flaw::{ConfigError, Flaw, Place};
use super::sources::Sources;
use super::whole::Draft;
use super::{Config, file};

/// See the module.
#[derive(Debug, Clone)]
pub struct Effective {
    pub config: Config,
    pub file: Option<PathBuf>,
    pub(super) origins: Origins,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Origins {
    /// By key.
    pub(super) keys: BTreeMap<&'static str, Place>,
    pub(super) tokens: Vec<Place>,
    pub(super) boards: Vec<Place>,
}

impl Effective {
    /// Reads all sources and checks the result.
    ///
    /// # Errors
    /// Every flaw, with its place.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let Some(path) = &sources.file else { return Self::read(None, sources) };
        match std::fs::read_to_string(path) {
            Ok(text) => Self::read(Some((path, &text)), sources),
            Err(error) => {
                let flaw = Flaw::new(Place::File, format!("cannot be read: {error}"));
                Err(ConfigError { file: Some(path.clone()), flaws: vec![flaw] })
            }
        }
    }

    /// As [`Effective::load`], with the file already in memory.
    ///
    /// # Errors
    /// Every flaw, with its place.
    pub fn read(file: Option<(&Path, &str)>, sources: &Sources) -> Result<Self, ConfigError> {
        let mut draft = Draft::default();
        if let Some((path, text)) = file {
            file::apply(&mut draft, path, text);
        }
        draft.apply_env(&sources.env);
        if sources.dev {
            draft.apply_dev(&sources.flags);
        }
        draft.apply_flags(&sources.flags);
        draft.finish(file.map(|(path, _)| path.to_path_buf()))
    }

    /// Whether a source names the key, be it with the default.
    pub(super) fn is_given(&self, key: &str) -> bool {
        self.origins.keys.contains_key(key)
    }
}
