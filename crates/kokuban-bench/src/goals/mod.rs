//! The measurements, one file each, and what they share: servers to be measured, the load, alternating slices.
//!
//! Invariant: sides that are compared take turns within one run, in an order that rotates; a comparison is the median
//! of the ratios of slices that stood side by side.
//! Not known here: how figures are shown.

mod decide;
mod memory;
mod rates;
mod reads;
mod single;
mod size;
mod start;
mod streams;
mod writes;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::args::{Goal, RunArgs, Scale};
use crate::figure::{Bounds, Figure, Unit};
use crate::load::{KeySet, Load, Order, Slice};
use crate::server::{self, Durability, Server, Setup};
use crate::stats::Sampled;

/// What every measurement needs.
#[derive(Debug)]
pub(crate) struct Bench {
    scale: Scale,
    program: PathBuf,
    dir: TempDir,
    load: Load,
}

impl Bench {
    pub(crate) fn new(args: &RunArgs) -> anyhow::Result<Self> {
        let above = match &args.dir {
            Some(dir) => dir.clone(),
            None => std::env::current_exe()?.parent().context("a program is in a folder")?.to_owned(),
        };
        let dir = tempfile::Builder::new().prefix("bench-data-").tempdir_in(above)?;
        let program = server::program(args.server.as_deref())?;
        Ok(Self { scale: args.scale(), program, dir, load: Load::start()? })
    }

    pub(crate) fn data(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn measure(&mut self, goal: Goal) -> anyhow::Result<Vec<Figure>> {
        match goal {
            Goal::Writes => writes::measure(self),
            Goal::Reads => reads::measure(self),
            Goal::Single => single::measure(self),
            Goal::Memory => memory::measure(self),
            Goal::Start => start::measure(self),
            Goal::Size => size::measure(self),
            Goal::Rules => decide::measure(self),
            Goal::Rates => rates::measure(self),
            Goal::Streams => streams::measure(self),
        }
    }

    fn setup(&self, name: &str, durability: Durability) -> Setup {
        let dir = self.dir.path().join(name);
        Setup { program: self.program.clone(), dir, durability, config: String::new() }
    }

    fn order(&mut self, order: Order) -> anyhow::Result<Slice> {
        self.load.order(&order)
    }

    /// From now on `name` stands for so many keys of this server, none of which exists yet.
    fn keys(&mut self, name: &str, server: &Server, n_keys: usize, value_bytes: usize) -> anyhow::Result<()> {
        self.key_set(name, server, KeySize { n_boards: 1, n_keys, value_bytes, version: 0 })
    }

    fn key_set(&mut self, name: &str, server: &Server, size: KeySize) -> anyhow::Result<()> {
        let KeySize { n_boards, n_keys, value_bytes, version } = size;
        let (addr, pid) = (server.addr, server.pid());
        let set = KeySet { addr, pid, board: name.to_owned(), n_boards, n_keys, value_bytes, version };
        self.order(Order::Keys { name: name.to_owned(), set })?;
        Ok(())
    }

    /// Creates the boards of some keys, and writes each key once.
    fn fill(&mut self, name: &str) -> anyhow::Result<()> {
        let lanes = self.scale.lanes;
        self.order(Order::Boards { name: name.to_owned(), lanes: 1 })?;
        self.order(Order::UpTo { name: name.to_owned(), lanes, version: 1 })?;
        Ok(())
    }

    /// Every write that was acknowledged is there, and nothing else.
    fn verify(&mut self, name: &str) -> anyhow::Result<()> {
        let lanes = self.scale.lanes;
        self.order(Order::Verify { name: name.to_owned(), lanes })?;
        Ok(())
    }

    /// Slices of each side in turn. The outer vector has the sides in the order given.
    fn alternate(&mut self, sides: &[Side<'_>]) -> anyhow::Result<Vec<Vec<Slice>>> {
        self.alternate_for(sides, self.scale.slices, self.scale.slice_ms)
    }

    fn alternate_for(&mut self, sides: &[Side<'_>], n_slices: usize, ms: u64) -> anyhow::Result<Vec<Vec<Slice>>> {
        let mut slices = vec![Vec::new(); sides.len()];
        // What the first slice of a side pays once is not counted.
        for round in 0..=n_slices {
            for turn in 0..sides.len() {
                let n = (round + turn) % sides.len();
                let slice = self.order(sides[n].order(ms))?;
                if round > 0 {
                    slices[n].push(slice);
                }
            }
        }
        Ok(slices)
    }
}

#[derive(Debug, Clone, Copy)]
struct KeySize {
    n_boards: usize,
    n_keys: usize,
    value_bytes: usize,
    version: u64,
}

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
enum Side<'n> {
    Write { name: &'n str, lanes: usize },
    Read { name: &'n str, lanes: usize },
    Sync { file: &'n Path, bytes: usize },
}

impl Side<'_> {
    fn order(self, ms: u64) -> Order {
        match self {
            Self::Write { name, lanes } => Order::Write { name: name.to_owned(), lanes, ms },
            Self::Read { name, lanes } => Order::Read { name: name.to_owned(), lanes, ms },
            Self::Sync { file, bytes } => Order::Sync { file: file.to_owned(), bytes, ms },
        }
    }
}

fn sampled(slices: &[Slice], of: fn(&Slice) -> f64) -> anyhow::Result<Sampled> {
    Sampled::of(slices.iter().map(of)).context("a slice without requests, or too short for the clock of processor time")
}

/// Two figures of slices beside those of their yardstick: by rate, and by the server's processor time per request.
fn compared(
    goal: &'static str,
    what: &str,
    bounds: Option<Bounds>,
    (own, yard): (&[Slice], &[Slice]),
) -> anyhow::Result<[Figure; 2]> {
    let pairs = || own.iter().zip(yard);
    let by_rate = Sampled::of(pairs().map(|(own, yard)| own.per_second() / yard.per_second()));
    let by_cpu = Sampled::of(pairs().map(|(own, yard)| yard.server_cpu_us() / own.server_cpu_us()));
    let median = |of, slices| sampled(slices, of).map(|sampled| sampled.median());
    let both = |of: fn(&Slice) -> f64| anyhow::Ok((median(of, own)?, median(of, yard)?));
    let (rate, p99) = (both(Slice::per_second)?, both(|slice| slice.p99_ns as f64 / 1e6)?);
    let (cpu, load) = (both(Slice::server_cpu_us)?, both(Slice::own_cpu_us)?);
    let share = both(|slice| slice.own_cpu_seconds / (slice.own_cpu_seconds + slice.server_cpu_seconds) * 100.0)?;
    let figure = |what: String, value: Option<Sampled>, bounds, beside| {
        let value = value.with_context(|| format!("{what}: no ratio"))?;
        anyhow::Ok(Figure { goal, what, unit: Unit::Times, value, bounds, beside })
    };
    let beside = format!(
        "{:.0}/s against {:.0}/s; p99 {:.2} ms against {:.2} ms; the load took {:.0} % and {:.0} % of the processor \
         time that both used",
        rate.0, rate.1, p99.0, p99.1, share.0, share.1
    );
    let beside_cpu = format!(
        "{:.1} µs of the server against {:.1} µs per request; the load took {:.1} µs and {:.1} µs",
        cpu.0, cpu.1, load.0, load.1
    );
    Ok([
        figure(what.to_owned(), by_rate, bounds, beside)?,
        figure(format!("{what}, by CPU"), by_cpu, None, beside_cpu)?,
    ])
}

/// Says on standard error what goes on; a run takes minutes.
pub(crate) fn progress(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
