//! The command line of the benchmark, and how large a run is.
//!
//! Invariant: every size that a measurement uses stands in [`Scale`], so that a quick run differs from a full one in
//! sizes only.
//! Not known here: what is measured with them.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Measure the speed and memory of `kokuban` beside yardsticks of the same run.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) part: Option<Part>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Only these, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "GOALS")]
    pub(crate) only: Vec<Goal>,
    /// Smaller and shorter: less than a minute, and figures to match.
    #[arg(long)]
    pub(crate) quick: bool,
    /// As small as it can be: whether everything works, not how fast.
    #[arg(long, conflicts_with = "quick")]
    pub(crate) smoke: bool,
    /// How often each alternating slice comes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) slices: Option<u16>,
    /// Write all figures, with every slice, to a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// The program to measure [default: beside this one].
    #[arg(long, value_name = "FILE")]
    pub(crate) server: Option<PathBuf>,
    /// Where servers keep their data while they are measured [default: beside the build].
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Put the figures into docs/performance.md, through `cargo xtask bench` only.
    #[arg(long, conflicts_with_all = ["only", "quick", "smoke", "server"])]
    pub(crate) write_docs: bool,
    /// End with 1 if a figure misses what it must reach.
    #[arg(long)]
    pub(crate) check: bool,
}

/// Processes of a run, started by it.
#[derive(Debug, Subcommand)]
pub(crate) enum Part {
    /// The bare routes that the server is compared with.
    #[command(hide = true)]
    Yardstick,
    /// Makes requests, as told on standard input.
    #[command(hide = true)]
    Load,
    /// Writes by the rules of a board, or to bare maps.
    #[command(hide = true)]
    Rules(RulesArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RulesArgs {
    #[arg(long)]
    pub(crate) way: Way,
    #[arg(long)]
    pub(crate) entries: usize,
    #[arg(long)]
    pub(crate) prepared: usize,
    #[arg(long)]
    pub(crate) made: usize,
    #[arg(long)]
    pub(crate) repeats: usize,
    #[arg(long)]
    pub(crate) value_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    Rules,
    BoardMap,
    HashMap,
}

impl RulesArgs {
    /// As a command line.
    pub(crate) fn line(&self) -> Vec<String> {
        let way = self.way.to_possible_value().expect("no way is hidden");
        let mut line = vec!["rules".to_owned(), "--way".to_owned(), way.get_name().to_owned()];
        for (name, value) in [
            ("--entries", self.entries),
            ("--prepared", self.prepared),
            ("--made", self.made),
            ("--repeats", self.repeats),
            ("--value-bytes", self.value_bytes),
        ] {
            line.extend([name.to_owned(), value.to_string()]);
        }
        line
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    #[value(name = "4", help = "writes against a bare route")]
    Writes,
    #[value(name = "5", help = "reads against a bare route")]
    Reads,
    #[value(name = "6", help = "one writer alone against the disk")]
    Single,
    #[value(name = "9", help = "memory")]
    Memory,
    #[value(name = "10", help = "starting")]
    Start,
    #[value(name = "11", help = "many entries against few")]
    Size,
    #[value(name = "12", help = "the rules against a bare map")]
    Rules,
    #[value(name = "cas", help = "durable writes per second")]
    Rates,
    #[value(name = "sse", help = "streams to many readers")]
    Streams,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.to_possible_value().expect("no goal is hidden");
        write!(f, "{} ({})", known.get_name(), known.get_help().expect("every goal says what it is"))
    }
}

/// How large and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scale {
    /// Alternating slices of each side of a comparison.
    pub(crate) slices: usize,
    pub(crate) slice_ms: u64,
    pub(crate) lanes: usize,
    pub(crate) keys: usize,
    pub(crate) value_bytes: usize,
    /// Entries of a large board.
    pub(crate) entries: usize,
    /// Bytes of a value where memory is measured.
    pub(crate) memory_value_bytes: usize,
    pub(crate) empty_boards: usize,
    /// Streams that wait.
    pub(crate) subscribers: usize,
    /// Commits of a log that a server starts from.
    pub(crate) commits: usize,
    pub(crate) rules_entries: usize,
    pub(crate) rules_writes: usize,
    /// Streams that are written to, few and many.
    pub(crate) streams: [usize; 2],
    pub(crate) stream_ms: u64,
    /// So many looks at memory in a row have to agree.
    pub(crate) looks: usize,
}

impl Scale {
    pub(crate) const FULL: Self = Self {
        slices: 12,
        slice_ms: 1_000,
        lanes: 64,
        keys: 10_000,
        value_bytes: 250,
        entries: 100_000,
        memory_value_bytes: 240,
        empty_boards: 5_000,
        subscribers: 1_000,
        commits: 200_000,
        rules_entries: 10_000,
        rules_writes: 2_000,
        streams: [100, 1_000],
        stream_ms: 3_000,
        looks: 8,
    };
    pub(crate) const QUICK: Self = Self {
        slices: 5,
        slice_ms: 300,
        entries: 20_000,
        empty_boards: 2_000,
        subscribers: 300,
        commits: 30_000,
        rules_entries: 1_000,
        rules_writes: 500,
        stream_ms: 500,
        looks: 5,
        ..Self::FULL
    };
    pub(crate) const SMOKE: Self = Self {
        slices: 2,
        slice_ms: 250,
        lanes: 8,
        keys: 100,
        entries: 400,
        empty_boards: 50,
        subscribers: 20,
        commits: 400,
        rules_entries: 30,
        rules_writes: 10,
        streams: [2, 10],
        stream_ms: 200,
        looks: 2,
        ..Self::FULL
    };
}

impl RunArgs {
    pub(crate) fn scale(&self) -> Scale {
        let mut scale = match (self.quick, self.smoke) {
            (_, true) => Scale::SMOKE,
            (true, _) => Scale::QUICK,
            _ => Scale::FULL,
        };
        scale.slices = self.slices.map_or(scale.slices, usize::from);
        scale
    }

    pub(crate) fn goals(&self) -> Vec<Goal> {
        if self.only.is_empty() { Goal::value_variants().to_vec() } else { self.only.clone() }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn goals_are_named_by_their_numbers() {
        let run = Cli::parse_from(["bench", "--only", "4,9", "--quick", "--slices", "3"]).run;
        assert_eq!(run.goals(), [Goal::Writes, Goal::Memory]);
        assert_eq!(run.scale(), Scale { slices: 3, ..Scale::QUICK });
        assert!(Cli::try_parse_from(["bench", "--only", "3"]).is_err(), "goal 3 needs peers");
        assert!(Cli::try_parse_from(["bench", "--slices", "0"]).is_err());
    }
}
