//! What the figures were taken on, as far as it matters for reading them.
//!
//! Invariant: no name of a host, user or folder; what cannot be found out is said to be unknown.

use std::fmt;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) memory_mib: u64,
    pub(crate) kernel: String,
    /// That the data of the servers is on.
    pub(crate) file_system: String,
    pub(crate) version: String,
    pub(crate) commit: String,
    /// UTC.
    pub(crate) date: String,
}

impl Machine {
    pub(crate) fn of(data: &Path) -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let (cpu, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
        let field = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim_start_matches([' ', '\t', ':']).trim().to_owned())
        };
        let kib = field(&memory, "MemTotal").and_then(|kib| kib.trim_end_matches(" kB").parse::<u64>().ok());
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            processor: field(&cpu, "model name").unwrap_or_else(unknown),
            memory_mib: kib.unwrap_or(0) / 1024,
            kernel: said("uname", &["-sr"]),
            file_system: file_system(&read("/proc/self/mountinfo"), data).unwrap_or_else(unknown),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: said("git", &["describe", "--always", "--dirty", "--abbrev=10"]),
            date: said("date", &["-u", "+%Y-%m-%d %H:%M"]),
        }
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().ok().filter(|output| output.status.success());
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok());
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).unwrap_or_else(unknown)
}

/// The type of the file system that is mounted nearest above the path.
fn file_system(mounts: &str, path: &Path) -> Option<String> {
    let mounted = mounts.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?;
        path.starts_with(point).then(|| (point.len(), after.split(' ').next().unwrap_or_default()))
    });
    mounted.max_by_key(|(length, _)| *length).map(|(_, kind)| kind.to_owned())
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cores, processor, memory_mib, kernel, file_system, version, commit, date } = self;
        writeln!(f, "kokuban {version}, commit {commit}, {date} UTC")?;
        write!(f, "{cores} cores ({processor}), {memory_mib} MiB, {kernel}, data on {file_system}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_counts() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:1 / /tmp rw shared:1 - tmpfs none rw\n";
        assert_eq!(file_system(mounts, Path::new("/tmp/x")), Some("tmpfs".to_owned()));
        assert_eq!(file_system(mounts, Path::new("/tmpx")), Some("ext4".to_owned()));
        assert_eq!(file_system("", Path::new("/tmp")), None);
    }

    #[test]
    fn what_cannot_be_found_out_is_unknown() {
        assert_eq!(said("false", &[]), "unknown");
    }
}
