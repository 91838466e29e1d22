//! The reader's terminal: runs what a document shows, and compares.
//!
//! **Invariant**: variables that one command sets are there for the next; `kokuban` is the program under test and
//! answers as on a terminal; a server that the document starts lives until the end. Every command has a bound, and
//! nothing that was started outlives the shell.
//! Not known here: documents.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kokuban_tests::{server_binary, until_some};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::matching::compare;
use super::steps::{Step, TESTS};

/// Where documents say that the server listens; it does so elsewhere, because several tests run at once.
const TOLD: &str = "127.0.0.1:7411";
const WITHIN: Duration = Duration::from_secs(180);
/// Keeps variables from one command to the next (whole, also when it is interrupted), and gives `kokuban` the output
/// that it has on a terminal.
const BEFORE: &str = r#"
exec 2>&1
set -a
[ -f .variables ] && . ./.variables
kokuban() { case " $* " in *" -o "*) "$TESTED" "$@";; *) "$TESTED" "$@" -o table;; esac; }
trap 'export -p > .new && mv .new .variables' EXIT
"#;

#[derive(Debug)]
pub(super) struct Shell {
    dir: TempDir,
    server: Option<Server>,
}

#[derive(Debug)]
struct Server {
    child: Ended,
    address: String,
}

/// A child with its process group, ended with the value.
#[derive(Debug)]
struct Ended(Child);

impl Ended {
    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let _ = kill_process_group(pid.expect("a child has a pid"), signal);
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.0.wait();
    }
}

impl Shell {
    pub(super) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory"), server: None }
    }

    /// # Errors
    /// What is not as the document says.
    pub(super) fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Save { name, text, .. } => {
                fs::write(self.dir.path().join(name), text).map_err(|error| format!("saving {name}: {error}"))
            }
            // This is the run that it asks for.
            Step::Run { command, .. } if command == TESTS => Ok(()),
            Step::Run { command, answer, interrupted, .. } => {
                let command = command.replace("cargo run --release --", "kokuban");
                let begins = |word| command.starts_with(word);
                if begins("kokuban dev") || begins("kokuban serve") {
                    self.serve(&command, answer)
                } else {
                    self.run(&command, answer, *interrupted)
                }
            }
        }
    }

    fn serve(&mut self, command: &str, answer: &[String]) -> Result<(), String> {
        let words = command.split(' ').skip(1);
        let mut program = self.bare(server_binary().to_str().expect("a path in UTF-8"));
        let mut child = program
            .args(words)
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("`{command}`: {error}"))?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        let child = Ended(child);
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        let address = line.trim_end().strip_prefix("listening on http://").unwrap_or_default().to_owned();
        if address.is_empty() {
            return Err(format!("`{command}` printed {line:?}"));
        }
        let said = line.replace(&address, TOLD);
        self.server = Some(Server { child, address });
        complain(command, answer, &said)
    }

    fn run(&self, command: &str, answer: &[String], interrupted: bool) -> Result<(), String> {
        let address = self.server.as_ref().map_or(TOLD, |server| server.address.as_str());
        let printed = self.dir.path().join(".printed");
        let script = format!("{BEFORE}{}\n", command.replace(TOLD, address));
        let mut bash = self.bare("bash");
        if self.server.is_some() {
            bash.env("KOKUBAN_URL", format!("http://{address}"));
        }
        let stdout = File::create(&printed).expect("a place to write");
        let child = bash.args(["-c", &script]).stdout(stdout).spawn();
        let mut child = Ended(child.map_err(|error| format!("bash: {error}"))?);
        // Half a character may be there while the command still writes.
        let said = || String::from_utf8_lossy(&fs::read(&printed).expect("it was made")).replace(address, TOLD);
        let began = Instant::now();
        until_some("the end of a command", WITHIN + Duration::from_secs(10), || {
            let ended = child.0.try_wait().expect("a child can be waited for").is_some();
            let enough = interrupted && compare(answer, &said()).is_ok();
            (ended || enough || began.elapsed() > WITHIN).then_some(())
        });
        child.signal(Signal::INT);
        drop(child);
        complain(command, answer, &said())
    }

    /// A program that knows nothing of the settings of whoever runs the tests.
    fn bare(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KOKUBAN_") {
                command.env_remove(name);
            }
        }
        command.env("TESTED", server_binary()).env("USER", "reader");
        command.current_dir(self.dir.path()).stdin(Stdio::null()).process_group(0);
        command
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            server.child.signal(Signal::TERM);
        }
    }
}

fn complain(command: &str, answer: &[String], said: &str) -> Result<(), String> {
    compare(answer, said).map_err(|n| {
        let wanted = answer.get(n).map_or("nothing more", String::as_str);
        format!("`{command}` does not answer what is shown.\nNothing fits: {wanted}\nThe answer:\n{said}")
    })
}
