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
mod server;
mod stats;
mod yardstick;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Parser as _;

use crate::args::{Cli, Part, RunArgs};
use crate::figure::Verdict;
use crate::goals::{Bench, progress};
use crate::machine::Machine;

/// The server's allocator, so that the yardstick differs in what it does only.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    match cli.part {
        Some(Part::Yardstick) => yardstick::serve().map(|()| ExitCode::SUCCESS),
        Some(Part::Load) => load::serve().map(|()| ExitCode::SUCCESS),
        None => run(&cli.run),
    }
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
    print(&format!("{machine}\n\n{}", report::table(&figures)))?;
    if let Some(path) = &args.json {
        std::fs::write(path, report::json(&machine, &figures)?)
            .with_context(|| format!("writing {}", path.display()))?;
    }
    let missed = figures.iter().any(|figure| figure.verdict() == Some(Verdict::Missed));
    Ok(if args.check && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A reader that has seen enough is no failure.
fn print(text: &str) -> std::io::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
