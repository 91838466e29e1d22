//! A shell command, and what it says on a terminal, in a pipe, or to nobody.
//!
//! **Invariant**: it knows nothing of the settings of whoever runs the tests; it has a bound, and nothing that it
//! started outlives it. A terminal is a real one, of a told width.
//! Not known here: what should be said.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::server_binary;
use crate::wait::{until, until_some};

const WITHIN: Duration = Duration::from_secs(120);
/// `kokuban` is the program under test; a pipe in the command reports what failed in it.
const BEFORE: &str = "kokuban() { \"$TESTED\" \"$@\"; }\nset -o pipefail\n";

/// Who reads what a command says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A terminal of so many columns reads all of it.
    Terminal(u16),
    /// One pipe for each output.
    Pipe,
    /// Standard output is a pipe that nobody reads any more.
    Nobody,
}

/// A command that runs, or ran.
#[derive(Debug)]
pub struct ShellCommand {
    child: Child,
    stdout: Heard,
    stderr: Heard,
    status: Option<ExitStatus>,
}

/// What a command said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// On a terminal all of it.
    pub stdout: String,
    pub stderr: String,
    /// As a shell counts: 128 and the number of a signal that ended it.
    pub code: i32,
}

impl ShellCommand {
    /// Starts `line` in `dir`, with these variables.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(line: &str, dir: &Path, variables: &[(&str, &str)], reader: Reader) -> Self {
        let mut bash = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KOKUBAN_") {
                bash.env_remove(name);
            }
        }
        bash.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
        bash.env("TESTED", server_binary())
            .env("USER", "reader")
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color");
        bash.envs(variables.iter().copied());
        bash.args(["-c", &format!("{BEFORE}{line}\n")]).current_dir(dir).process_group(0).stdin(Stdio::null());
        let (stdout, stderr) = match reader {
            Reader::Terminal(columns) => (on_terminal(&mut bash, columns), Heard::nothing()),
            Reader::Pipe => {
                let (out, to_out) = io::pipe().expect("a pipe");
                let (err, to_err) = io::pipe().expect("a pipe");
                bash.stdout(to_out).stderr(to_err);
                (Heard::of(File::from(OwnedFd::from(out))), Heard::of(File::from(OwnedFd::from(err))))
            }
            Reader::Nobody => {
                let (out, to_out) = io::pipe().expect("a pipe");
                let (err, to_err) = io::pipe().expect("a pipe");
                drop(out);
                bash.stdout(to_out).stderr(to_err);
                (Heard::nothing(), Heard::of(File::from(OwnedFd::from(err))))
            }
        };
        let child = bash.spawn().expect("bash is there");
        // The other ends belong to the child alone from now on.
        drop(bash);
        Self { child, stdout, stderr, status: None }
    }

    /// What it said up to now, on both outputs.
    #[must_use]
    pub fn so_far(&self) -> String {
        self.stdout.text() + &self.stderr.text()
    }

    /// Waits until it has said `text`.
    ///
    /// # Panics
    /// When it ends before, or does not say it.
    pub fn wait_for(&mut self, text: &str) {
        let said = self.wait_for_or_end(text);
        assert!(said, "it ended without {text:?}:\n{}", self.so_far());
    }

    /// Waits until it has said `text`, or has ended; answers whether it said it.
    ///
    /// # Panics
    /// When it does neither.
    pub fn wait_for_or_end(&mut self, text: &str) -> bool {
        until_some(&format!("{text:?} from a command"), WITHIN, || {
            // Looked at first: what it said, it said before its end.
            let ended = self.has_ended();
            let said = self.so_far().contains(text);
            (said || ended).then_some(said)
        })
    }

    /// Interrupts it, as ^C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// When it does not end.
    #[must_use]
    pub fn ended(mut self) -> Said {
        until("the end of a command", WITHIN, || self.has_ended());
        let status = self.status.expect("it has ended");
        // What it started and left behind would keep the outputs open.
        self.signal(Signal::KILL);
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        Said { stdout: self.stdout.all(), stderr: self.stderr.all(), code }
    }

    fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("a child can be waited for");
        }
        self.status.is_some()
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a child has a pid");
        // A group that is gone already cannot be signalled.
        let _ = kill_process_group(pid, signal);
    }
}

impl Drop for ShellCommand {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Gives `command` a new terminal as its outputs and input.
fn on_terminal(command: &mut Command, columns: u16) -> Heard {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&screen).expect("a terminal");
    unlockpt(&screen).expect("a terminal");
    let name = ptsname(&screen, Vec::new()).expect("a terminal has a name");
    let line = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty());
    let line = line.expect("a terminal can be opened");
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&line, size).expect("a terminal has a size");
    let again = || line.try_clone().expect("a descriptor");
    command.stdin(again()).stdout(again()).stderr(again());
    Heard::of(File::from(screen))
}

/// What came from an output, collected while it comes.
#[derive(Debug)]
struct Heard {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Heard {
    fn nothing() -> Self {
        Self { bytes: Arc::default(), reader: None }
    }

    fn of(mut output: File) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let into = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut piece = [0; 4096];
            // A terminal whose last user has gone says so by an error.
            while let Ok(n @ 1..) = output.read(&mut piece) {
                into.lock().expect("nobody panics with it").extend_from_slice(&piece[..n]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().expect("nobody panics with it");
        // A terminal writes a line end as two characters.
        String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
    }

    fn all(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("reading does not panic");
        }
        self.text()
    }
}
