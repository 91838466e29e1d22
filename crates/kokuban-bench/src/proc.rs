//! What Linux tells about a process: processor time and resident memory.
//!
//! Invariant: a file that cannot be read is an error, never 0.
//! Not known here: whose process it is.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;

/// USER_HZ; Linux shows the same to every program on every machine.
const TICKS_PER_SECOND: f64 = 100.0;
const SETTLED_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Looks that differ by less agree.
const ALIKE_BYTES: u64 = 64 * 1024;

/// Processor time of a process, in user and kernel mode, as far as it was used when somebody looked.
#[derive(Debug)]
pub(crate) struct Cpu {
    pid: u32,
    /// Seconds of each thread, or of all under no name.
    threads: BTreeMap<String, f64>,
}

impl Cpu {
    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
        let threads = by_thread(pid).or_else(|_| whole(pid))?;
        Ok(Self { pid, threads })
    }

    /// Seconds used since. What a thread used that has ended since is not seen.
    pub(crate) fn seconds_since(&self) -> anyhow::Result<f64> {
        let now = Self::of(self.pid)?;
        let more = now.threads.iter().map(|(thread, now)| now - self.threads.get(thread).copied().unwrap_or(0.0));
        Ok(more.sum())
    }
}

/// To the nanosecond, for kernels that count so.
fn by_thread(pid: u32) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut threads = BTreeMap::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let thread = thread?;
        let stat = std::fs::read_to_string(thread.path().join("schedstat"))?;
        let nanoseconds: f64 = stat.split(' ').next().unwrap_or_default().parse()?;
        threads.insert(thread.file_name().to_string_lossy().into_owned(), nanoseconds / 1e9);
    }
    Ok(threads)
}

/// To the tick.
fn whole(pid: u32) -> anyhow::Result<BTreeMap<String, f64>> {
    let path = format!("/proc/{pid}/stat");
    let stat = std::fs::read_to_string(&path).with_context(|| format!("reading {path} (this needs Linux)"))?;
    let seconds = cpu_of(&stat).with_context(|| format!("{path} is not as expected"))?;
    Ok(BTreeMap::from([(String::new(), seconds)]))
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

/// Bytes that it handed to the kernel to be written, to files and sockets.
pub(crate) fn written_bytes(pid: u32) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/io");
    let io = std::fs::read_to_string(&path).with_context(|| format!("reading {path} (this needs Linux)"))?;
    let written = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    written.and_then(|bytes| bytes.parse().ok()).with_context(|| format!("{path} is not as expected"))
}

/// Resident bytes once so many looks in a row agree, or after ten seconds.
pub(crate) fn settled_bytes(pid: u32, looks: usize) -> anyhow::Result<u64> {
    let end = Instant::now() + SETTLED_WITHIN;
    let mut seen = resident_bytes(pid)?;
    let mut alike = 0;
    while alike < looks && Instant::now() < end {
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
    fn this_process_has_all_of_it() {
        let pid = std::process::id();
        assert!(resident_bytes(pid).expect("Linux tells") > 0);
        let before = Cpu::of(pid).expect("Linux tells");
        let used = |cpu: &Cpu| cpu.seconds_since().expect("Linux tells");
        let end = Instant::now() + SETTLED_WITHIN;
        while used(&before) <= 0.0 {
            assert!(Instant::now() < end, "a busy thread uses processor time");
        }
        assert!(used(&Cpu { pid, threads: whole(pid).expect("Linux tells") }) >= 0.0);
        assert!(written_bytes(pid).is_ok());
    }
}
