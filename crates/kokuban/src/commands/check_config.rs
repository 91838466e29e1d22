//! `kokuban check-config FILE…`: is each file a valid server configuration or blueprint, and is a blueprint wise?
//!
//! Invariant: every flaw of every file is reported, with its line; questions about a valid blueprint are no failure.
//! Not known here: what makes a file valid. `kokuban_core::blueprint` and `kokuban_server::config` do.

use std::path::Path;

use anyhow::anyhow;
use kokuban_core::blueprint::{Blueprint, check};
use serde_json::json;

use crate::args::CheckConfigArgs;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, safe};
use crate::serve;

/// No file of these kinds is larger.
const FILE_BYTES_MAX: u64 = 4 << 20;

pub(crate) fn run(args: &CheckConfigArgs, out: Output) -> Outcome {
    let reports = args.files.iter().map(|path| Ok((path.display().to_string(), check_file(path)?)));
    let reports: Vec<_> = reports.collect::<Result<_, Failure>>()?;
    let members =
        reports.iter().map(|(file, report)| json!({"file": file, "valid": !report.flawed, "lines": report.lines}));
    out.one(&members.collect::<Vec<_>>(), |_| {
        let lines = reports.iter().flat_map(|(file, report)| report.lines.iter().map(move |line| (file, line)));
        lines.map(|(file, line)| format!("{}: {}\n", safe(file), safe(line))).collect()
    })?;
    match reports.iter().filter(|(_, report)| report.flawed).count() {
        0 => Ok(()),
        n => Err(Failure::Other(anyhow!("{n} of {} files are not valid", args.files.len()))),
    }
}

#[derive(Debug, Default)]
struct Report {
    lines: Vec<String>,
    flawed: bool,
}

impl Report {
    fn flaws(lines: Vec<String>) -> Self {
        Self { lines, flawed: true }
    }
}

fn check_file(path: &Path) -> Result<Report, Failure> {
    let unreadable = |e: std::io::Error| Failure::usage(format!("{}: {e}", path.display()));
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > FILE_BYTES_MAX {
        return Ok(Report::flaws(vec![format!("{size} bytes is too large for a file of this kind")]));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(Report::flaws(vec!["is not UTF-8".to_owned()]));
    };
    let is_json = path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("json"));
    Ok(match (is_json, is_blueprint(&text)) {
        (true, _) => check_json(&text),
        (false, true) => check_toml(&text),
        (false, false) => check_server(path),
    })
}

/// A blueprint has a name at its top, or tables that a configuration never has. Told by lines, so that also a file
/// with a mistake in it is read as what it was meant to be.
fn is_blueprint(text: &str) -> bool {
    let mut at_top = true;
    text.lines().map(str::trim_start).any(|line| {
        at_top &= !line.starts_with('[');
        let named = line.strip_prefix("name").is_some_and(|rest| rest.trim_start().starts_with('='));
        (at_top && named) || ["[zones", "[lifecycles", "[slots"].iter().any(|table| line.starts_with(table))
    })
}

fn check_toml(text: &str) -> Report {
    match Blueprint::from_toml(text) {
        Ok(blueprint) => questions(&blueprint),
        Err(flaws) => Report::flaws(flaws.iter().map(ToString::to_string).collect()),
    }
}

fn check_json(text: &str) -> Report {
    match super::value::parse(text, super::value::Kind::Json, "the file", "") {
        Err(refused) => Report::flaws(vec![refused.to_string()]),
        Ok(value) => match Blueprint::from_value(&value) {
            Ok(blueprint) => questions(&blueprint),
            Err(flaws) => Report::flaws(flaws.iter().map(ToString::to_string).collect()),
        },
    }
}

fn questions(blueprint: &Blueprint) -> Report {
    let mut lines = vec![format!("the blueprint `{}` is valid", blueprint.name)];
    let asked = check::questions(blueprint);
    lines.extend(asked.iter().map(|finding| format!("question, {}: {}", finding.pointer, finding.detail)));
    let stored = blueprint.not_enforced().iter();
    lines.extend(stored.map(|pointer| format!("{pointer}: stored, not enforced by this version")));
    Report { lines, flawed: false }
}

fn check_server(path: &Path) -> Report {
    match serve::check_config(path) {
        Ok(()) => Report { lines: vec!["the configuration is valid".to_owned()], flawed: false },
        Err(flaws) => Report::flaws(flaws),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blueprint_is_told_from_a_configuration_by_what_stands_at_its_top() {
        assert!(is_blueprint("# rules\nname = \"x\"\n[zones.a]\n"));
        assert!(is_blueprint("schema_version = 1\n[zones.a]\n"));
        assert!(!is_blueprint("listen = \"127.0.0.1:0\"\n[boards.\"a-*\"]\nblueprint = \"x\"\n"));
        assert!(!is_blueprint("[limits]\nname = 1\n[roles]\nadmin = []\n"));
        assert!(is_blueprint("[roles]\narbiter = []\n[zones.a]\n"));
        assert!(!is_blueprint(include_str!("../../../../config/kokuban.example.toml")));
        assert!(!is_blueprint(""));
    }

    #[test]
    fn a_valid_blueprint_may_raise_questions_and_a_wrong_one_is_flawed() {
        let valid = check_toml("name = \"x\"\n[zones.a]\n");
        assert!(!valid.flawed && valid.lines[0].contains("valid"), "{valid:?}");
        let wrong = check_toml("name = \"x\"\n[zones.a]\nacess = \"public\"\n");
        assert!(wrong.flawed && wrong.lines[0].starts_with("line 3"), "{wrong:?}");
    }
}
