//! Goal 10: from the start of the program to the first answer about a board, out of its log and out of a snapshot.
//!
//! Invariant: what an empty server takes to start is not counted. Figures are for a million commits or entries,
//! scaled from as many as there are. Files were written just before, so the disk is not what is measured.
//! Not known here: what a start does.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::Bench;
use crate::figure::{Bounds, Figure, Unit};
use crate::load::Order;
use crate::proc::{Cpu, written_bytes};
use crate::server::{Durability, Setup};
use crate::stats::Sampled;

/// As rare as the configuration allows.
const NO_SNAPSHOT: &str = "[snapshot]\ntail_bytes_min = 1073741824\ntail_percent_min = 10000\n";
/// As often.
const SNAPSHOT_NOW: &str = "[snapshot]\ntail_bytes_min = 1024\ntail_percent_min = 1\n";
const SNAPSHOT_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);
const QUIET_LOOKS: usize = 10;
const STARTS: usize = 3;
const MILLION: f64 = 1e6;

pub(super) fn measure(bench: &mut Bench) -> anyhow::Result<Vec<Figure>> {
    Ok(vec![from_log(bench)?, from_snapshot(bench)?])
}

fn figure(what: &str, taken: Taken, n: usize, bounds: Bounds, of: &str) -> anyhow::Result<Figure> {
    let beside = format!(
        "{n} {of} in {:.2} s, beside {:.2} s that an empty server takes",
        taken.more.median(),
        taken.empty.median()
    );
    let value = Sampled::of(taken.more.samples().iter().map(|seconds| seconds * MILLION / n as f64));
    let value = value.context("a start takes time")?;
    Ok(Figure { goal: "10", what: what.to_owned(), unit: Unit::Seconds, value, bounds: Some(bounds), beside })
}

fn from_log(bench: &mut Bench) -> anyhow::Result<Figure> {
    let setup = Setup { config: NO_SNAPSHOT.to_owned(), ..bench.setup("start-log", Durability::Disk) };
    let server = setup.start()?;
    let (n_keys, lanes) = (bench.scale.keys, bench.scale.lanes);
    let rounds = bench.scale.commits / n_keys;
    bench.keys("log", &server, n_keys, bench.scale.value_bytes)?;
    bench.fill("log")?;
    bench.order(Order::UpTo { name: "log".to_owned(), lanes, version: rounds as u64 })?;
    server.stop()?;
    let taken = starts(bench, &setup, "log")?;
    figure("start per million commits, no snapshot", taken, n_keys * rounds, Bounds::at_most(5.0, 3.0), "commits")
}

fn from_snapshot(bench: &mut Bench) -> anyhow::Result<Figure> {
    let setup = bench.setup("start-snapshot", Durability::Disk);
    let (n_keys, value_bytes) = (bench.scale.entries, bench.scale.value_bytes);
    let unfolded = Setup { config: NO_SNAPSHOT.to_owned(), ..setup.clone() };
    let server = unfolded.start()?;
    bench.keys("snapshot", &server, n_keys, value_bytes)?;
    bench.fill("snapshot")?;
    server.stop()?;
    fold(&setup, n_keys, value_bytes)?;
    let taken = starts(bench, &setup, "snapshot")?;
    figure("start per million entries, snapshot", taken, n_keys, Bounds::at_most(2.0, 1.0), "entries")
}

/// Has a server write a snapshot of everything: the first write finds the log too long.
fn fold(setup: &Setup, n_keys: usize, value_bytes: usize) -> anyhow::Result<()> {
    let folding = Setup { config: SNAPSHOT_NOW.to_owned(), ..setup.clone() };
    let server = folding.start()?;
    server.get(&entry("snapshot", 0))?;
    let look = || anyhow::Ok((written_bytes(server.pid())?, Cpu::of(server.pid())?));
    let least = written_bytes(server.pid())? + (n_keys * value_bytes) as u64;
    server.write("/v1/boards/snapshot-00000/entries/working/k0000000", "{\"value\":null,\"version\":1}")?;
    let end = Instant::now() + SNAPSHOT_WITHIN;
    let (mut seen, mut quiet) = (look()?, 0);
    while quiet < QUIET_LOOKS || seen.0 < least {
        if Instant::now() > end {
            bail!("no snapshot was written within {SNAPSHOT_WITHIN:?}");
        }
        std::thread::sleep(LOOK_EVERY);
        let idle = seen.1.seconds_since()? < LOOK_EVERY.as_secs_f64() / 20.0;
        let now = look()?;
        quiet = if idle && now.0 == seen.0 { quiet + 1 } else { 0 };
        seen = now;
    }
    server.stop()
}

fn entry(board: &str, n: usize) -> String {
    format!("/v1/boards/{board}-00000/entries/working/k{n:07}")
}

/// Seconds of several starts.
#[derive(Debug)]
struct Taken {
    empty: Sampled,
    /// Beside an empty server's median.
    more: Sampled,
}

fn starts(bench: &Bench, setup: &Setup, board: &str) -> anyhow::Result<Taken> {
    let empty = bench.setup("start-empty", Durability::Disk);
    let mut bare = Vec::new();
    let mut whole = Vec::new();
    // The first start of an empty server makes its files.
    empty.start()?.stop()?;
    for _ in 0..STARTS {
        bare.push(answered(&empty, "/readyz")?);
        whole.push(answered(setup, &entry(board, 0))?);
    }
    let empty = Sampled::of(bare).context("no starts")?;
    let more = Sampled::of(whole.into_iter().map(|seconds| seconds - empty.median())).context("no starts")?;
    Ok(Taken { empty, more })
}

fn answered(setup: &Setup, path: &str) -> anyhow::Result<f64> {
    let began = Instant::now();
    let server = setup.start()?;
    server.get(path)?;
    let seconds = began.elapsed().as_secs_f64();
    server.stop()?;
    Ok(seconds)
}
