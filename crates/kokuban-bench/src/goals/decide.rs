//! Goal 12: what the rules cost: instructions of `decide` and `advance` for a write with zone, lease and lifecycle,
//! against a compare and set in bare maps of the same entries.
//!
//! Invariant: instructions are the difference of two runs that differ in the writes alone. Where valgrind is missing,
//! time takes their place, and the line says so.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use super::Bench;
use crate::args::{RulesArgs, Way};
use crate::figure::{Bounds, Figure, Unit};
use crate::stats::Sampled;

/// The quickest of so many is least disturbed by others.
const REPEATS: usize = 20;

pub(super) fn measure(bench: &mut Bench) -> anyhow::Result<Vec<Figure>> {
    let out = bench.dir.path().join("callgrind");
    let by_instructions = has_valgrind();
    let each = |way| if by_instructions { instructions(bench, way, &out) } else { nanoseconds(bench, way) };
    let (rules, board_map, hash_map) = (each(Way::Rules)?, each(Way::BoardMap)?, each(Way::HashMap)?);
    let entries = bench.scale.rules_entries;
    let figure = |what: &str, bare: f64, bounds| {
        let beside = if by_instructions {
            format!("{rules:.0} instructions against {bare:.0}, {entries} entries")
        } else {
            format!("valgrind is MISSING; by time: {rules:.0} ns against {bare:.0} ns, {entries} entries")
        };
        let value = Sampled::of([rules / bare]).context("a bare map costs something")?;
        anyhow::Ok(Figure { goal: "12", what: what.to_owned(), unit: Unit::Times, value, bounds, beside })
    };
    let bounds = Some(Bounds::at_most(15.0, 8.0));
    Ok(vec![
        figure("rules of a write / bare map like the board's", board_map, bounds)?,
        figure("rules of a write / hash map written in place", hash_map, None)?,
    ])
}

fn has_valgrind() -> bool {
    let mut valgrind = Command::new("valgrind");
    let asked = valgrind.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

fn arguments(bench: &Bench, way: Way, made: usize, repeats: usize) -> RulesArgs {
    let (entries, prepared) = (bench.scale.rules_entries, bench.scale.rules_writes);
    RulesArgs { way, entries, prepared, made, repeats, value_bytes: bench.scale.value_bytes }
}

/// Of one write.
fn instructions(bench: &Bench, way: Way, out: &Path) -> anyhow::Result<f64> {
    let count = |made| -> anyhow::Result<f64> {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--tool=callgrind"]).arg(format!("--callgrind-out-file={}", out.display()));
        valgrind.arg(std::env::current_exe()?).args(arguments(bench, way, made, 1).line());
        let output = valgrind.stdin(Stdio::null()).output()?;
        if !output.status.success() {
            bail!("valgrind: {}", String::from_utf8_lossy(&output.stderr));
        }
        total(&std::fs::read_to_string(out)?).context("callgrind counted nothing")
    };
    let n = bench.scale.rules_writes;
    Ok((count(n)? - count(0)?) / n as f64)
}

/// The sum at the end of what callgrind writes.
fn total(written: &str) -> Option<f64> {
    let line = written.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")))?;
    line.trim().parse().ok()
}

/// Of one write, without anybody who counts.
fn nanoseconds(bench: &Bench, way: Way) -> anyhow::Result<f64> {
    let n = bench.scale.rules_writes;
    let output = Command::new(std::env::current_exe()?).args(arguments(bench, way, n, REPEATS).line()).output()?;
    if !output.status.success() {
        bail!("writing by the rules: {}", String::from_utf8_lossy(&output.stderr));
    }
    let quickest: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(quickest / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_what_callgrind_writes() {
        assert_eq!(total("version: 1\nevents: Ir\nfn=(1) main\n1 2\ntotals: 1234\n"), Some(1234.0));
        assert_eq!(total("events: Ir\nsummary: 77\n"), Some(77.0));
        assert_eq!(total("events: Ir\n"), None);
    }
}
