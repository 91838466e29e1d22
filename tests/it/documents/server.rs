//! A server that a document starts: `kokuban dev` or `kokuban serve`, in a terminal of its own.
//!
//! **Invariant**: it lives until the document starts another one that says the same port, or ends; nothing outlives it.
//! What the document shows, it prints in this order; what it logs before, between and after is not compared.
//! Not known here: the commands that are sent to it.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use kokuban_tests::document::compare;
use kokuban_tests::until_some;
use rustix::process::{Pid, Signal, kill_process_group};

use super::ports::{self, Ports};
use super::shell::complain;

/// The port of a document that does not say which.
const TOLD: u16 = 7411;
const READY_WITHIN: Duration = Duration::from_secs(60);
const PRINTED_WITHIN: Duration = Duration::from_secs(20);
const STOPPED_WITHIN: Duration = Duration::from_secs(60);
const ANNOUNCED: &str = "listening on http://";

/// A child with its process group, ended with the value.
#[derive(Debug)]
pub(super) struct Ended(pub(super) Child);

impl Ended {
    pub(super) fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.pid(), signal);
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a child can be waited for").is_some()
    }

    fn pid(&self) -> Pid {
        i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).expect("a child has a pid")
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.0.wait();
    }
}

#[derive(Debug)]
pub(super) struct Server {
    child: Ended,
    pub(super) ports: Ports,
}

/// A command that starts a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// With a free port instead of the told one.
    pub(super) command: String,
    pub(super) told: u16,
}

impl Start {
    /// `None`: it is another command.
    pub(super) fn read(command: &str, answer: &[String]) -> Option<Self> {
        let command = command.trim_end_matches('&').trim_end();
        let mut words = command.split(' ').skip_while(|word| word.contains('='));
        let serves = words.next() == Some("kokuban") && matches!(words.next(), Some("dev" | "serve"));
        if !serves || words.any(|word| matches!(word, "--help" | "-h") || word.starts_with(['|', '>', '<', ';', '&'])) {
            return None;
        }
        let shown = answer.iter().find_map(|line| ports::find(line.strip_prefix(ANNOUNCED)?));
        let Some((before, behind)) = command.split_once("--listen ") else {
            let command = format!("{command} --listen 127.0.0.1:0");
            return Some(Self { command, told: shown.unwrap_or(TOLD) });
        };
        let (address, rest) = behind.split_once(' ').unwrap_or((behind, ""));
        let (host, port) = address.rsplit_once(':')?;
        let told = port.parse().ok().filter(|port| *port != 0).or(shown).unwrap_or(TOLD);
        Some(Self { command: format!("{before}--listen {host}:0 {rest}"), told })
    }
}

impl Server {
    /// Starts it and waits until it is ready or has given up. `None`: it refused to start, as the document says.
    ///
    /// # Errors
    /// What is not as the document says.
    pub(super) fn start(
        mut bash: Command,
        start: &Start,
        answer: &[String],
        printed: &Path,
    ) -> Result<Option<Self>, String> {
        let stdout = File::create(printed).expect("a place to write");
        let mut child = Ended(bash.stdout(stdout).spawn().map_err(|error| format!("bash: {error}"))?);
        let said = || String::from_utf8_lossy(&fs::read(printed).expect("it was made")).into_owned();
        let real = until_some("a server that is ready or gave up", READY_WITHIN, || {
            let ended = child.has_ended();
            match said().lines().find_map(|line| ports::find(line.strip_prefix(ANNOUNCED)?)) {
                Some(port) => Some(Some(port)),
                None => ended.then_some(None),
            }
        });
        let Some(real) = real else {
            let asked = Ports { told: start.told, real: 0 };
            return complain(&start.command, answer, &asked.to_told(&said())).map(|()| None);
        };
        let ports = Ports { told: start.told, real };
        // Its log stands between.
        let log = || "…".to_owned();
        let shown: Vec<_> = answer.iter().flat_map(|line| [log(), line.clone()]).chain([log()]).collect();
        // The lines behind the first may still be on their way.
        let began = Instant::now();
        until_some("what a server prints first", READY_WITHIN, || {
            let fits = compare(&shown, &ports.to_told(&said())).is_ok();
            (fits || began.elapsed() > PRINTED_WITHIN).then_some(())
        });
        complain(&start.command, &shown, &ports.to_told(&said()))?;
        Ok(Some(Self { child, ports }))
    }

    /// The reader's `^C` in its terminal, and the end of it.
    pub(super) fn stop(mut self) {
        self.child.signal(Signal::INT);
        until_some("the end of a server", STOPPED_WITHIN, || self.child.has_ended().then_some(()));
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.0.id()
    }
}

#[test]
fn a_command_that_serves_gets_a_free_port_and_others_are_left_alone() {
    let start = |command: &str, answer: &[&str]| {
        let answer: Vec<_> = answer.iter().map(|line| (*line).to_owned()).collect();
        Start::read(command, &answer).map(|start| (start.command, start.told))
    };
    let free = |command: &str, told| Some((command.to_owned(), told));
    assert_eq!(start("kokuban dev", &[]), free("kokuban dev --listen 127.0.0.1:0", 7411));
    assert_eq!(
        start("A=b kokuban serve --listen 0.0.0.0:80 --data d &", &[]),
        free("A=b kokuban serve --listen 0.0.0.0:0 --data d", 80)
    );
    assert_eq!(
        start("kokuban serve", &["listening on http://127.0.0.1:8411"]),
        free("kokuban serve --listen 127.0.0.1:0", 8411)
    );
    for other in ["kokuban serve --help", "kokuban get a/b", "curl x", "kokuban serve | head"] {
        assert_eq!(start(other, &[]), None, "{other}");
    }
}
