//! `kokuban check-config FILE…`: is each file a valid server configuration or blueprint, and is a blueprint wise?
//!
//! Invariant: every flaw of every file is reported, with its line; a question about what is valid is a warning, which
//! fails only where `--strict` asks for that.
//! Not known here: what makes a file valid. `kokuban_core::blueprint` and `kokuban_server::config` do.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use kokuban_core::blueprint::{Blueprint, check, toml_line_of};
use kokuban_server::config::{Config, ConfigError, Place};
use serde::Serialize;

use super::value::{self, Kind};
use crate::args::CheckConfigArgs;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, safe, unless_closed};
use crate::serve;

/// No file of these kinds is larger.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Lines also go into a pipe, for whatever makes links of them; JSON only if asked for.
pub(crate) fn run(args: &CheckConfigArgs, out: Output) -> Outcome {
    let (mut flawed, mut warned) = (0, 0);
    let reports = args.files.iter().map(|path| check_file(path)).collect::<Result<Vec<_>, _>>()?;
    let remarks: Vec<_> = reports.iter().flat_map(|report| &report.remarks).collect();
    let said =
        out.one(&remarks, |remarks| remarks.iter().map(|remark| format!("{}\n", safe(&remark.to_string()))).collect());
    // The verdict counts also where nobody reads to the end.
    said.or_else(unless_closed)?;
    for report in &reports {
        flawed += usize::from(report.has(Weight::Error));
        warned += usize::from(report.has(Weight::Warning) && !report.has(Weight::Error));
    }
    match (flawed, warned) {
        (0, n) if n > 0 && args.strict => {
            Err(Failure::Other(anyhow!("{n} of {} files have warnings, and --strict was given", args.files.len())))
        }
        (0, _) => Ok(()),
        (n, _) => Err(Failure::Other(anyhow!("{n} of {} files are not valid", args.files.len()))),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Weight {
    Fine,
    Warning,
    Error,
}

/// One line of the report, in the form that editors make links of.
#[derive(Debug, Serialize)]
struct Remark {
    file: PathBuf,
    line: Option<usize>,
    weight: Weight,
    text: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        let weight = match self.weight {
            Weight::Fine => "",
            Weight::Warning => " warning:",
            Weight::Error => " error:",
        };
        write!(f, "{weight} {}", self.text)
    }
}

#[derive(Debug)]
struct Report {
    file: PathBuf,
    remarks: Vec<Remark>,
}

impl Report {
    fn new(file: &Path) -> Self {
        Self { file: file.to_path_buf(), remarks: Vec::new() }
    }

    fn add(&mut self, line: Option<usize>, weight: Weight, text: impl Into<String>) {
        self.remarks.push(Remark { file: self.file.clone(), line, weight, text: text.into() });
    }

    fn has(&self, weight: Weight) -> bool {
        self.remarks.iter().any(|remark| remark.weight == weight)
    }

    fn only(file: &Path, weight: Weight, text: impl Into<String>) -> Self {
        let mut report = Self::new(file);
        report.add(None, weight, text);
        report
    }
}

fn check_file(path: &Path) -> Result<Report, Failure> {
    let unreadable = |e: std::io::Error| Failure::usage(format!("{}: {e}", path.display()));
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > FILE_BYTES_MAX {
        return Ok(Report::only(path, Weight::Error, format!("{size} bytes is too large for a file of this kind")));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(Report::only(path, Weight::Error, "is not UTF-8"));
    };
    let is_json = path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("json"));
    Ok(match (is_json, is_blueprint(&text)) {
        (true, _) => check_json(path, &text),
        (false, true) => check_toml(path, &text),
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

fn check_toml(path: &Path, text: &str) -> Report {
    let mut report = Report::new(path);
    match Blueprint::from_toml(text) {
        Ok(blueprint) => review(&blueprint, |pointer| Some(toml_line_of(text, pointer)), &mut report),
        Err(flaws) => {
            for flaw in flaws {
                report.add(Some(flaw.line), Weight::Error, flaw.flaw.to_string());
            }
        }
    }
    report
}

fn check_json(path: &Path, text: &str) -> Report {
    let value = match value::parse(text, Kind::Json, "the file", "") {
        Err(refused) => return Report::only(path, Weight::Error, refused.to_string()),
        Ok(value) => value,
    };
    let mut report = Report::new(path);
    match Blueprint::from_value(&value) {
        // Places in JSON are told by pointers alone.
        Ok(blueprint) => review(&blueprint, |_| None, &mut report),
        Err(flaws) => flaws.iter().for_each(|flaw| report.add(None, Weight::Error, flaw.to_string())),
    }
    report
}

fn review(blueprint: &Blueprint, line_of: impl Fn(&str) -> Option<usize>, report: &mut Report) {
    report.add(None, Weight::Fine, format!("the blueprint `{}` is valid", blueprint.name));
    for check::Finding { pointer, detail } in check::questions(blueprint) {
        report.add(line_of(&pointer), Weight::Warning, format!("{pointer}: {detail}"));
    }
    for pointer in blueprint.not_enforced() {
        report.add(line_of(pointer), Weight::Warning, format!("{pointer}: stored, but not enforced by this version"));
    }
}

/// A configuration, and the blueprints that it names.
fn check_server(path: &Path) -> Report {
    let mut report = Report::new(path);
    let config = match serve::check_config(path) {
        Ok(config) => config,
        Err(error) => {
            add_flaws(&error, &mut report);
            return report;
        }
    };
    report.add(None, Weight::Fine, "the configuration is valid");
    for warning in &config.warnings {
        report.add(None, Weight::Warning, warning);
    }
    report.remarks.extend(blueprints_of(&config));
    report
}

fn blueprints_of(config: &Config) -> Vec<Remark> {
    // They were just read, so one that cannot be read now is told by the next run.
    let texts = config.blueprints.iter().filter_map(|path| Some((path, std::fs::read_to_string(path).ok()?)));
    texts.flat_map(|(path, text)| check_toml(path, &text).remarks).collect()
}

fn add_flaws(error: &ConfigError, report: &mut Report) {
    for flaw in &error.flaws {
        match &flaw.place {
            Place::Line(line) => report.add(Some(*line), Weight::Error, &flaw.message),
            Place::Other(file) => report.remarks.push(Remark {
                file: file.clone(),
                line: None,
                weight: Weight::Error,
                text: flaw.message.clone(),
            }),
            Place::File | Place::Named(_) | Place::Together => report.add(None, Weight::Error, flaw.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(report: &Report) -> Vec<String> {
        report.remarks.iter().map(ToString::to_string).collect()
    }

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
    fn a_question_has_the_line_that_raises_it_and_is_no_error() {
        let text = "name = \"x\"\nschema_version = 1\n[limits]\nstate_bytes_max = 1000\n[zones.a]\n\
                    [slots.\"a/log\"]\nkind = \"list\"\ntrusted_only = true\n";
        let valid = check_toml(Path::new("b.toml"), text);
        let told = told(&valid);
        assert_eq!(told[0], "b.toml: the blueprint `x` is valid");
        assert!(told[1].starts_with("b.toml:6: warning: /slots/a~1log/max_items: how long"), "{told:?}");
        assert!(
            told[2].starts_with("b.toml:8: warning: /slots/a~1log/trusted_only: stored, but not enforced"),
            "{told:?}"
        );
        assert_eq!((told.len(), valid.has(Weight::Error), valid.has(Weight::Warning)), (3, false, true));
    }

    #[test]
    fn a_flaw_has_its_line_and_is_an_error() {
        let wrong = check_toml(Path::new("b.toml"), "name = \"x\"\n[zones.a]\nacess = \"public\"\n");
        assert!(wrong.has(Weight::Error));
        assert!(told(&wrong)[0].starts_with("b.toml:3: error: /zones/a/acess"), "{wrong:?}");
    }

    #[test]
    fn a_blueprint_in_json_is_asked_the_same_without_lines() {
        let report = check_json(Path::new("b.json"), r#"{"name": "x", "zones": {"a": {}}}"#);
        assert!(told(&report)[1].starts_with("b.json: warning: /schema_version: "), "{report:?}");
        assert!(check_json(Path::new("b.json"), "{").has(Weight::Error));
    }
}
