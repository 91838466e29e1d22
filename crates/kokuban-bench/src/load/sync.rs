//! The disk alone: write and fdatasync, one after the other, as a writer without a server would.
//!
//! Invariant: the file was filled with zeros before, so that no sync has to note a new length; this is the least that
//! a disk asks for.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::drive::Driven;
use crate::proc::Cpu;

const FILE_BYTES: usize = 16 * 1024 * 1024;

pub(super) fn run(path: &Path, bytes: usize, time: Duration) -> anyhow::Result<Driven> {
    let mut file = filled(path).with_context(|| format!("filling {}", path.display()))?;
    let record = vec![b'x'; bytes];
    let mut latencies = Vec::new();
    let own = Cpu::of(std::process::id())?;
    let began = Instant::now();
    while latencies.is_empty() || began.elapsed() < time {
        if latencies.len() % (FILE_BYTES / bytes) == 0 {
            file.seek(SeekFrom::Start(0))?;
        }
        let since = Instant::now();
        file.write_all(&record)?;
        file.sync_data()?;
        latencies.push(u64::try_from(since.elapsed().as_nanos()).context("a sync took centuries")?);
    }
    Ok(Driven {
        seconds: began.elapsed().as_secs_f64(),
        server_cpu_seconds: 0.0,
        own_cpu_seconds: own.seconds_since()?,
        latencies,
    })
}

fn filled(path: &Path) -> std::io::Result<File> {
    let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
    if file.metadata()?.len() < FILE_BYTES as u64 {
        file.write_all(&vec![0; FILE_BYTES])?;
        file.sync_all()?;
    }
    Ok(file)
}
