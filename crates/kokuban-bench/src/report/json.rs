//! All figures with all samples, for programs.

use serde::Serialize;

use crate::figure::{Bounds, Figure, Unit, Verdict};
use crate::machine::Machine;

#[derive(Debug, Serialize)]
struct Report<'r> {
    machine: &'r Machine,
    figures: Vec<Line<'r>>,
}

#[derive(Debug, Serialize)]
struct Line<'r> {
    goal: &'r str,
    what: &'r str,
    unit: Unit,
    median: f64,
    min: f64,
    max: f64,
    samples: &'r [f64],
    #[serde(flatten)]
    bounds: Option<Bounds>,
    reached: Option<Verdict>,
    beside: &'r str,
}

pub(crate) fn json(machine: &Machine, figures: &[Figure]) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&Report { machine, figures: figures.iter().map(line).collect() })
}

fn line(figure: &Figure) -> Line<'_> {
    let Figure { goal, what, unit, value, bounds, beside } = figure;
    Line {
        goal,
        what,
        unit: *unit,
        median: value.median(),
        min: value.min(),
        max: value.max(),
        samples: value.samples(),
        bounds: *bounds,
        reached: figure.verdict(),
        beside,
    }
}
