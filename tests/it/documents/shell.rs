//! The reader's terminal: runs what a document shows, and compares.
//!
//! **Invariant**: variables that one command sets are there for the next; `kokuban` is the program under test and
//! answers as on a terminal where its output is one; a server that the document starts lives on. Every command has a
//! bound, and nothing that was started outlives the shell.
//! Not known here: documents.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kokuban_tests::document::{DONE, Step, compare};
use kokuban_tests::{server_binary, until_some};
use rustix::process::Signal;
use tempfile::TempDir;

use super::ports::Ports;
use super::server::{Ended, Server, Start};

const WITHIN: Duration = Duration::from_secs(180);
/// What of the checkout is there where the reader stands.
const CHECKOUT: &[&str] = &["config", "docker", "clients"];
/// Keeps variables from one command to the next, whole also when it is interrupted.
const BEFORE: &str = r#"
exec 2>&1
set -a
if [ -f "$TERMINAL/variables" ]; then . "$TERMINAL/variables"; fi
trap 'export -p > "$TERMINAL/new" && mv "$TERMINAL/new" "$TERMINAL/variables"' EXIT
"#;
/// Gives `kokuban` the output that it has on a terminal, where it writes to the one of the reader.
const KOKUBAN: &str = r#"#!/usr/bin/env bash
if [[ /dev/stdout -ef $TERMINAL/printed && " $* " != *" -o "* ]]; then set -- -o table "$@"; fi
exec "$TESTED" "$@"
"#;
/// The servers of this document are the only ones that its reader has.
const PIDOF: &str = r#"#!/usr/bin/env bash
[[ $1 == kokuban ]] && cat "$TERMINAL/servers"
"#;

#[derive(Debug)]
pub(super) struct Shell {
    /// Where the reader stands.
    dir: TempDir,
    /// What belongs to the terminal and not to the reader.
    terminal: TempDir,
    servers: Vec<Server>,
    /// Files of the document, which may tell ports.
    saved: Vec<PathBuf>,
}

impl Shell {
    /// In a copy of what a reader of the checkout at `root` uses.
    pub(super) fn new(root: &Path) -> Self {
        let (dir, terminal) = (tempfile::tempdir(), tempfile::tempdir());
        let dir = dir.expect("a temporary directory");
        let terminal = terminal.expect("a temporary directory");
        for name in CHECKOUT {
            copy(&root.join(name), &dir.path().join(name));
        }
        for (name, script) in [("kokuban", KOKUBAN), ("pidof", PIDOF)] {
            let path = terminal.path().join(name);
            fs::write(&path, script).expect("a temporary directory can be written");
            fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it was written");
        }
        Self { dir, terminal, servers: Vec::new(), saved: Vec::new() }
    }

    /// # Errors
    /// What is not as the document says.
    pub(super) fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Save { name, text, .. } => self.save(name, text),
            Step::Run { command, .. } if DONE.contains(&command.as_str()) => Ok(()),
            Step::Run { command, answer, interrupted, .. } => {
                let command = command.replace("cargo run --release --", "kokuban");
                match Start::read(&command, answer) {
                    Some(start) => self.serve(&start, answer),
                    None => self.run(&command, answer, *interrupted),
                }
            }
        }
    }

    fn save(&mut self, name: &str, text: &str) -> Result<(), String> {
        let path = self.dir.path().join(name);
        let folder = path.parent().expect("it is in the reader's folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, self.to_real(text)))
            .map_err(|error| format!("saving {name}: {error}"))?;
        self.saved.push(path);
        Ok(())
    }

    fn serve(&mut self, start: &Start, answer: &[String]) -> Result<(), String> {
        let mut before = start.told;
        if let Some(n) = self.servers.iter().position(|server| server.ports.told == start.told) {
            let server = self.servers.remove(n);
            before = server.ports.real;
            server.stop();
        }
        let printed = self.terminal.path().join("server");
        let bash = self.bash(&format!("exec {}", start.command.replacen("kokuban ", "\"$TESTED\" ", 1)));
        let Some(server) = Server::start(bash, start, answer, &printed)? else {
            // There is none now; what leads to the one before has to find the next.
            self.retarget(Ports { told: before, real: start.told });
            return Ok(());
        };
        self.retarget(Ports { told: before, real: server.ports.real });
        self.servers.push(server);
        let pids: String = self.servers.iter().map(|server| format!("{}\n", server.pid())).collect();
        fs::write(self.terminal.path().join("servers"), pids).map_err(|error| error.to_string())
    }

    /// What the reader wrote down or set still leads to the server after it was started.
    fn retarget(&self, ports: Ports) {
        let variables = self.terminal.path().join("variables");
        for path in self.saved.iter().chain([&variables]) {
            if let Ok(text) = fs::read_to_string(path) {
                fs::write(path, ports.to_real(&text)).expect("it could be read");
            }
        }
    }

    fn run(&self, command: &str, answer: &[String], interrupted: bool) -> Result<(), String> {
        let printed = self.terminal.path().join("printed");
        let stdout = File::create(&printed).expect("a place to write");
        let mut bash = self.bash(&self.to_real(command));
        let mut child = Ended(bash.stdout(stdout).spawn().map_err(|error| format!("bash: {error}"))?);
        // Half a character may be there while the command still writes.
        let said = || self.to_told(&String::from_utf8_lossy(&fs::read(&printed).expect("it was made")));
        let began = Instant::now();
        until_some("the end of a command", WITHIN + Duration::from_secs(10), || {
            let enough = interrupted && compare(answer, &said()).is_ok();
            (child.has_ended() || enough || began.elapsed() > WITHIN).then_some(())
        });
        child.signal(Signal::INT);
        drop(child);
        complain(command, answer, &said())
    }

    /// A shell that knows nothing of the settings of whoever runs the tests.
    fn bash(&self, script: &str) -> Command {
        let mut bash = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KOKUBAN_") {
                bash.env_remove(name);
            }
        }
        if let Some(server) = self.servers.first() {
            bash.env("KOKUBAN_URL", format!("http://127.0.0.1:{}", server.ports.real));
        }
        let inherited = std::env::var("PATH").unwrap_or_default();
        bash.env("PATH", format!("{}:{inherited}", self.terminal.path().display()));
        bash.env("TESTED", server_binary()).env("TERMINAL", self.terminal.path()).env("USER", "reader");
        bash.args(["-c", &format!("{BEFORE}{script}\n")]);
        bash.current_dir(self.dir.path()).stdin(Stdio::null()).process_group(0);
        bash
    }

    fn to_real(&self, text: &str) -> String {
        self.servers.iter().fold(text.to_owned(), |text, server| server.ports.to_real(&text))
    }

    fn to_told(&self, text: &str) -> String {
        self.servers.iter().fold(text.to_owned(), |text, server| server.ports.to_told(&text))
    }
}

fn copy(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else { return };
    fs::create_dir_all(to).expect("a temporary directory can be written");
    for entry in entries {
        let entry = entry.expect("a folder can be listed");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a file of the checkout can be copied");
        }
    }
}

pub(super) fn complain(command: &str, answer: &[String], said: &str) -> Result<(), String> {
    compare(answer, said).map_err(|n| {
        let wanted = answer.get(n).map_or("nothing more", String::as_str);
        format!("`{command}` does not answer what is shown.\nNothing fits: {wanted}\nThe answer:\n{said}")
    })
}
