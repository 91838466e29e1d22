//! Loads the blueprints that the configuration names.
//!
//! **Invariant**: a blueprint with a flaw, a name twice, and a rule that names an unknown blueprint refuse the start;
//! a server never finds out later.
//! Not known here: what a blueprint says.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use kokuban_core::blueprint::{BLUEPRINT_BYTES_MAX, Blueprint, builtin, builtin_names};
use kokuban_core::ids::BlueprintName;

use super::Config;
use super::flaw::{ConfigError, Flaw, Place, nearest};

/// A blueprint of a file.
struct Loaded {
    path: PathBuf,
    blueprint: Arc<Blueprint>,
}

/// Every blueprint by name: the built-in ones, and those of files, which may replace them.
///
/// # Errors
/// Every flaw, with file and line.
pub fn load_blueprints(config: &Config) -> Result<BTreeMap<BlueprintName, Arc<Blueprint>>, ConfigError> {
    let mut flaws = Vec::new();
    let mut loaded: Vec<Loaded> = Vec::new();
    for path in &config.blueprints {
        match load(path) {
            Ok(one) => {
                if let Some(other) = loaded.iter().find(|other| other.blueprint.name == one.blueprint.name) {
                    let message = format!("`{}` is also the name of {}", one.blueprint.name, other.path.display());
                    flaws.push(Flaw::new(Place::Other(path.clone()), message));
                } else {
                    loaded.push(one);
                }
            }
            Err(messages) => {
                flaws.extend(messages.into_iter().map(|message| Flaw::new(Place::Other(path.clone()), message)));
            }
        }
    }
    let mut known: BTreeMap<_, _> =
        builtin_names().into_iter().filter_map(|name| Some((BlueprintName::new(name).ok()?, builtin(name)?))).collect();
    known.extend(loaded.into_iter().map(|one| (one.blueprint.name.clone(), one.blueprint)));
    for rule in config.boards.iter().filter(|rule| !known.contains_key(&rule.blueprint)) {
        let near = nearest(rule.blueprint.as_str(), known.keys().map(BlueprintName::as_str));
        let hint = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        let message = format!("[boards.\"{}\"] names the unknown blueprint `{}`{hint}", rule.pattern, rule.blueprint);
        flaws.push(Flaw::new(Place::Together, message));
    }
    if flaws.is_empty() { Ok(known) } else { Err(ConfigError { file: None, flaws }) }
}

fn load(path: &std::path::Path) -> Result<Loaded, Vec<String>> {
    use std::io::Read as _;
    let unreadable = |error: std::io::Error| vec![format!("cannot be read: {error}")];
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    // As JSON it may be at most this large, and comments are not the larger part of a blueprint.
    file.take(4 * BLUEPRINT_BYTES_MAX as u64).read_to_string(&mut text).map_err(unreadable)?;
    let blueprint = Blueprint::from_toml(&text)
        .map_err(|flaws| flaws.iter().map(std::string::ToString::to_string).collect::<Vec<_>>())?;
    Ok(Loaded { path: path.to_path_buf(), blueprint: Arc::new(blueprint) })
}
