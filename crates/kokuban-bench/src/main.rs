//! `cargo xtask bench`: how fast and how large the server is, beside yardsticks of the same run.
//!
//! Invariant: everything that is measured runs in a process of its own, on loopback; a run that lost an acknowledged
//! write, or got an answer it did not expect, ends with an error and no figures.
//! Not known here: the server's inside. Start at `goals`; what the figures mean stands in `docs/performance.md`.

mod args;
mod figure;
mod goals;
mod load;
mod machine;
mod proc;
mod report;
mod rules;
mod server;
mod stats;
mod yardstick;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Parser as _;

use crate::args::{Cli, Part, RulesArgs, RunArgs, Way};
use crate::figure::{Figure, Verdict};
use crate::goals::{Bench, progress};
use crate::machine::Machine;
use crate::rules::Length;

/// The server's allocator, so that the yardstick differs in what it does only.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.part {
        Some(Part::Yardstick) => yardstick::serve().map(|()| ExitCode::SUCCESS),
        Some(Part::Load) => load::serve().map(|()| ExitCode::SUCCESS),
        Some(Part::Rules(args)) => by_rules(&args).map(|()| ExitCode::SUCCESS),
        None => run(&cli.run),
    };
    outcome.unwrap_or_else(|error| {
        progress(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let mut bench = Bench::new(args)?;
    let machine = Machine::of(bench.data());
    let mut figures = Vec::new();
    for goal in args.goals() {
        let began = Instant::now();
        let found = bench.measure(goal).with_context(|| format!("measuring {goal}"))?;
        progress(&format!("{goal}: {:.0} s", began.elapsed().as_secs_f64()));
        figures.extend(found);
    }
    let result = format!("{machine}\n\n{}", report::table(&figures));
    print(&result)?;
    if args.write_docs {
        report::write_docs(&result)?;
    }
    if let Some(path) = &args.json {
        std::fs::write(path, report::json(&machine, &figures)?)
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(if args.check && misses(&figures) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn misses(figures: &[Figure]) -> bool {
    figures.iter().any(|figure| figure.verdict() == Some(Verdict::Missed))
}

/// Makes the writes so often, and prints the nanoseconds of the quickest time.
fn by_rules(args: &RulesArgs) -> anyhow::Result<()> {
    let length = Length { entries: args.entries, prepared: args.prepared, made: args.made };
    let by_way = || match args.way {
        Way::Rules => rules::by_rules(length, args.value_bytes),
        Way::BoardMap => rules::by_board_map(length, args.value_bytes),
        Way::HashMap => rules::by_hash_map(length, args.value_bytes),
    };
    let times = (0..args.repeats).map(|_| by_way()).collect::<anyhow::Result<Vec<_>>>()?;
    let quickest = times.iter().min().context("no repeats, no time")?;
    Ok(print(&format!("{}\n", quickest.as_nanos()))?)
}

/// A reader that has seen enough is no failure.
fn print(text: &str) -> std::io::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
