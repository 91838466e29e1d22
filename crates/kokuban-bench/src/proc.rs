//! What Linux tells about a process: processor time and resident memory.
//!
//! Invariant: times count all threads, ended ones too. A file that cannot be read is an error, never 0.
//! Not known here: whose process it is.

use std::time::{Duration, Instant};

use anyhow::Context as _;

/// USER_HZ; Linux shows the same to every program on every machine.
const TICKS_PER_SECOND: f64 = 100.0;
const SETTLED_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// So many looks in a row that differ by less than this.
const LOOKS_ALIKE: usize = 8;
const ALIKE_BYTES: u64 = 64 * 1024;

/// Processor seconds, in user and kernel mode.
pub(crate) fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let path = format!("/proc/{pid}/stat");
    let stat = std::fs::read_to_string(&path).with_context(|| format!("reading {path} (this needs Linux)"))?;
    cpu_of(&stat).with_context(|| format!("{path} is not as expected"))
}

fn cpu_of(stat: &str) -> Option<f64> {
    // The name of the program may have spaces and parentheses.
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let kernel: f64 = fields.next()?.parse().ok()?;
    Some((user + kernel) / TICKS_PER_SECOND)
}

/// Bytes of memory that are resident.
pub(crate) fn resident_bytes(pid: u32) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("reading {path} (this needs Linux)"))?;
    resident_of(&status).with_context(|| format!("{path} is not as expected"))
}

fn resident_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib * 1024)
}

/// Resident bytes once they no longer change, or after ten seconds.
pub(crate) fn settled_bytes(pid: u32) -> anyhow::Result<u64> {
    let end = Instant::now() + SETTLED_WITHIN;
    let mut seen = resident_bytes(pid)?;
    let mut alike = 0;
    while alike < LOOKS_ALIKE && Instant::now() < end {
        std::thread::sleep(LOOK_EVERY);
        let now = resident_bytes(pid)?;
        if now.abs_diff(seen) < ALIKE_BYTES {
            alike += 1;
        } else {
            (alike, seen) = (0, now);
        }
    }
    resident_bytes(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_stand_behind_a_name_with_parentheses() {
        let stat = "7 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20";
        assert!((cpu_of(stat).expect("sound") - 3.0).abs() < 1e-9);
        assert_eq!(cpu_of("7 (a) S 1"), None);
    }

    #[test]
    fn resident_memory_is_told_in_kib() {
        assert_eq!(resident_of("Name:\tx\nVmRSS:\t    2048 kB\nThreads:\t1\n"), Some(2048 * 1024));
        assert_eq!(resident_of("Name:\tx\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_both() {
        let pid = std::process::id();
        assert!(resident_bytes(pid).expect("Linux tells") > 0);
        assert!(cpu_seconds(pid).expect("Linux tells") >= 0.0);
    }
}
