//! What the system says of the process, under the names that every dashboard knows.
//!
//! **Invariant**: where the system does not say it (only Linux has `/proc`), a metric is left out, not made up.
//! Not known here: the server.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// The process at one moment.
#[derive(Debug, Default)]
pub(crate) struct Process {
    cpu_seconds: Option<f64>,
    resident_bytes: Option<i64>,
    open_fds: Option<i64>,
    max_fds: Option<i64>,
    threads: Option<i64>,
    start_seconds: Option<f64>,
}

impl Process {
    pub(crate) fn now() -> Self {
        let stat = fs::read_to_string("/proc/self/stat").ok();
        let stat = stat.as_deref().and_then(Stat::parse);
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Self {
            cpu_seconds: stat.as_ref().map(|stat| stat.cpu_ticks / TICKS),
            start_seconds: stat.as_ref().and_then(|stat| Some(boot_seconds()? + stat.start_ticks / TICKS)),
            threads: stat.as_ref().map(|stat| stat.threads),
            resident_bytes: resident_bytes(),
            open_fds: fs::read_dir("/proc/self/fd").ok().and_then(|fds| i64::try_from(fds.count()).ok()),
            max_fds: limit.and_then(|limit| i64::try_from(limit).ok()),
        }
    }
}

/// The unit of times in `/proc`: `USER_HZ`, which is 100 wherever Linux runs.
const TICKS: f64 = 100.0;

struct Stat {
    cpu_ticks: f64,
    start_ticks: f64,
    threads: i64,
}

impl Stat {
    /// The fields behind the name of the program, which may have spaces and brackets in it.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<_> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |n: usize| fields.get(n)?.parse::<f64>().ok();
        // utime, stime, num_threads and starttime are the 14th, 15th, 20th and 22nd; the 3rd is the first of these.
        Some(Self {
            cpu_ticks: number(11)? + number(12)?,
            start_ticks: number(19)?,
            threads: fields.get(17)?.parse().ok()?,
        })
    }
}

fn boot_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn resident_bytes() -> Option<i64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<i64>().ok().map(|kib| 1_024 * kib)
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        if let Some(seconds) = self.cpu_seconds {
            let unit = Some(&Unit::Seconds);
            let words = "Time of processors used, by the program and for it.";
            let metric = encoder.encode_descriptor("process_cpu", words, unit, MetricType::Counter)?;
            ConstCounter::new(seconds).encode(metric)?;
        }
        if let Some(seconds) = self.start_seconds {
            let unit = Some(&Unit::Seconds);
            let words = "When the process started, in seconds since 1970.";
            let metric = encoder.encode_descriptor("process_start_time", words, unit, MetricType::Gauge)?;
            ConstGauge::new(seconds).encode(metric)?;
        }
        let gauges = [
            ("process_resident_memory", "Memory in use.", Some(Unit::Bytes), self.resident_bytes),
            ("process_open_fds", "Open files and connections.", None, self.open_fds),
            ("process_max_fds", "How many of them the system allows.", None, self.max_fds),
            ("process_threads", "Threads.", None, self.threads),
        ];
        for (name, words, unit, value) in gauges {
            let Some(value) = value else { continue };
            ConstGauge::new(value).encode(encoder.encode_descriptor(
                name,
                words,
                unit.as_ref(),
                MetricType::Gauge,
            )?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_confuses_nobody() {
        let text = "7 (a) b) S 1 7 7 0 -1 4194304 1 0 0 0 150 50 0 0 20 0 9 0 12345 1 1 1";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.cpu_ticks, stat.threads, stat.start_ticks), (200.0, 9, 12345.0));
        assert!(Stat::parse("").is_none());
    }

    #[test]
    fn this_process_is_running() {
        let now = Process::now();
        assert!(now.resident_bytes.unwrap() > 1_000_000 && now.open_fds.unwrap() > 2 && now.threads.unwrap() > 1);
        let today = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        let age = today - now.start_seconds.unwrap();
        assert!((-2.0..86_400.0).contains(&age), "{age}");
    }
}
