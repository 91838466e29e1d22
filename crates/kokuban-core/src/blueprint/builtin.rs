//! The blueprints that every server has: `default` and `pipeline`, the same files that stand in `config/blueprints`.
//!
//! Invariant: they are valid; a test reads each.
//! Not known here: blueprints of a configuration.

use std::sync::{Arc, LazyLock};

use super::Blueprint;

static DEFAULT: LazyLock<Arc<Blueprint>> =
    LazyLock::new(|| load(include_str!("../../../../config/blueprints/default.toml")));
static PIPELINE: LazyLock<Arc<Blueprint>> =
    LazyLock::new(|| load(include_str!("../../../../config/blueprints/pipeline.toml")));

fn load(text: &str) -> Arc<Blueprint> {
    Arc::new(Blueprint::from_toml(text).expect("a built-in blueprint is valid: tested"))
}

/// The names that `builtin` knows.
#[must_use]
pub fn builtin_names() -> [&'static str; 2] {
    ["default", "pipeline"]
}

/// A blueprint of every server.
#[must_use]
pub fn builtin(name: &str) -> Option<Arc<Blueprint>> {
    match name {
        "default" => Some(Arc::clone(&DEFAULT)),
        "pipeline" => Some(Arc::clone(&PIPELINE)),
        _ => None,
    }
}
