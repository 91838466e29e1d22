//! Which crate may depend on which.
//!
//! Invariant: `core <- api <- client`, `core <- journal <- engine <- server`, `api <- server`, and the binary on top.
//! What only one layer may know (axum, SQLite, sockets) no other one depends on.
//! Not known here: features and versions.

use super::Finding;
use super::sources::Tree;

/// A package and the packages of ours that it may depend on.
const LAYERS: &[(&str, &[&str])] = &[
    ("kokuban-core", &[]),
    ("kokuban-api", &["kokuban-core"]),
    ("kokuban-client", &["kokuban-core", "kokuban-api"]),
    ("kokuban-journal", &["kokuban-core"]),
    ("kokuban-engine", &["kokuban-core", "kokuban-journal"]),
    ("kokuban-server", &["kokuban-core", "kokuban-api", "kokuban-journal", "kokuban-engine"]),
    ("kokuban-graph", &["kokuban-core"]),
    (
        "kokuban",
        &["kokuban-core", "kokuban-api", "kokuban-client", "kokuban-graph", "kokuban-journal", "kokuban-server"],
    ),
    // They see what users see, and the table of routes; never engine and journal.
    ("kokuban-tests", &["kokuban-core", "kokuban-api", "kokuban-client", "kokuban-server"]),
    // It measures the program from outside, and the pure core from inside.
    ("kokuban-bench", &["kokuban-core"]),
    ("xtask", &["kokuban-api", "kokuban-core", "kokuban-graph"]),
];

/// A library, the only packages that may depend on it, and why.
const OWNED: &[(&str, &[&str], &str)] = &[
    (
        "axum",
        &["kokuban-server", "kokuban-bench"],
        "only the edge, and the yardstick it is measured by, know the framework",
    ),
    ("hyper", &["kokuban-server"], "only the edge owns sockets"),
    ("hyper-util", &["kokuban-server"], "only the edge owns sockets"),
    ("tower", &["kokuban-server"], "only the edge knows the framework"),
    ("rusqlite", &["kokuban-journal"], "only the journal touches databases"),
    ("dashmap", &["kokuban-engine", "kokuban-server"], "maps that are shared belong to the registry or the edge"),
    ("reqwest", &["kokuban-client", "kokuban-tests"], "everybody else calls through the client"),
    ("clap", &["kokuban", "kokuban-bench"], "only programs have a command line"),
    ("prometheus-client", &["kokuban-server"], "only the edge shows metrics"),
    ("openssl", &[], "needs a library of the system"),
    ("native-tls", &[], "needs a library of the system"),
    ("aws-lc-rs", &[], "needs cmake"),
    ("aws-lc-sys", &[], "needs cmake"),
];

/// What makes a function of its arguments into something else.
const IMPURE: &[&str] = &[
    "tokio",
    "axum",
    "hyper",
    "sqlx",
    "rusqlite",
    "dashmap",
    "tracing",
    "log",
    "getrandom",
    "rand",
    "uuid",
    "reqwest",
    "futures",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.files().iter().filter(|(path, _)| path.ends_with("/Cargo.toml"));
    manifests.flat_map(|(path, text)| manifest(path, text)).collect()
}

fn manifest(path: &str, text: &str) -> Vec<Finding> {
    let parsed: toml::Table = match text.parse() {
        Ok(parsed) => parsed,
        Err(error) => return vec![Finding::new(path, 1, format!("is no TOML: {error}"))],
    };
    let name = parsed.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    let Some(name) = name else {
        return vec![Finding::new(path, 1, "has no package name")];
    };
    let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
        let why = format!("`{name}` has no layer: give it one in xtask/src/tidy/layers.rs");
        return vec![Finding::new(path, 1, why)];
    };
    let dependencies = parsed.get("dependencies").and_then(toml::Value::as_table);
    let names = dependencies.into_iter().flat_map(toml::Table::keys);
    names.filter_map(|on| Some(Finding::new(path, line_of(text, on), objection(name, allowed, on)?))).collect()
}

fn objection(name: &str, allowed: &[&str], on: &str) -> Option<String> {
    if LAYERS.iter().any(|(layer, _)| *layer == on) && !allowed.contains(&on) {
        return Some(format!("`{name}` must not depend on `{on}`: {}", layers_in_words(allowed)));
    }
    if name == "kokuban-core" && IMPURE.contains(&on) {
        return Some(format!("the core is pure: no `{on}`"));
    }
    let (_, owners, why) = OWNED.iter().find(|(library, ..)| *library == on)?;
    (!owners.contains(&name)).then(|| format!("`{name}` must not depend on `{on}`: {why}"))
}

fn layers_in_words(allowed: &[&str]) -> String {
    match allowed {
        [] => "it stands below everything of ours".to_owned(),
        some => format!("of ours it may only know {}", some.join(", ")),
    }
}

fn line_of(text: &str, dependency: &str) -> usize {
    let begins = |line: &str| line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    text.lines().position(begins).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> String {
        let lines: Vec<_> = dependencies.iter().map(|on| format!("{on}.workspace = true\n")).collect();
        format!("[package]\nname = \"{name}\"\n[dependencies]\n{}", lines.concat())
    }

    fn why(name: &str, dependencies: &[&str]) -> Vec<String> {
        manifest("x/Cargo.toml", &package(name, dependencies)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_dependency_against_the_layers_is_found_with_its_line() {
        let found = why("kokuban-core", &["bytes", "kokuban-api"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("x/Cargo.toml:5: `kokuban-core` must not depend on `kokuban-api`"), "{found:?}");
        assert_eq!(why("kokuban-journal", &["kokuban-api"]).len(), 1);
        assert_eq!(why("kokuban-tests", &["kokuban-engine"]).len(), 1);
    }

    #[test]
    fn a_library_with_an_owner_is_for_its_owner() {
        assert!(why("kokuban-server", &["axum", "kokuban-engine"]).is_empty());
        assert_eq!(why("kokuban-engine", &["axum"]).len(), 1);
        assert_eq!(why("kokuban-client", &["openssl"]).len(), 1);
        assert_eq!(why("kokuban-core", &["tokio"]).len(), 1);
    }

    #[test]
    fn a_package_without_a_layer_is_asked_for_one() {
        assert!(why("kokuban-new", &[])[0].contains("has no layer"));
        assert!(manifest("x/Cargo.toml", "[dependencies]")[0].why.contains("no package name"));
    }

    #[test]
    fn a_name_that_begins_like_another_is_not_mistaken_for_it() {
        assert_eq!(line_of("[dependencies]\nhyper-util = \"1\"\nhyper = \"1\"\n", "hyper"), 3);
    }
}
