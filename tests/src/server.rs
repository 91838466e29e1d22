//! A server process of a test: started, killed, stopped and started again on the same data and port.
//!
//! **Invariant**: a test that ends takes its server along. The log is shown when the test fails; a panic in it, or
//! a second line on standard output, makes the test fail.
//! Not known here: requests.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tempfile::TempDir;

use crate::caller::Caller;
use crate::server_binary;
use crate::wait::until_some;

/// A debug build on a busy machine with a log to read takes its time.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// The bound of contract §13 is 5 s; the rest is for a machine that has other things to do.
const STOPPED_WITHIN: Duration = Duration::from_secs(20);
const LOG_SHOWN_BYTES: usize = 16 * 1024;

/// How a server is to run.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    memory: bool,
    config: String,
    config_file: Option<PathBuf>,
    env: Vec<(String, String)>,
    args: Vec<String>,
    data: Option<PathBuf>,
    listen: Option<String>,
    stdin: Option<PathBuf>,
    file_size_can_be_limited: bool,
    open_files: Option<u32>,
}

impl Setup {
    /// On disk, in mode `open`, without rules for boards.
    #[must_use]
    pub fn disk() -> Self {
        Self::default()
    }

    /// In memory, in mode `open`, without rules for boards.
    #[must_use]
    pub fn memory() -> Self {
        Self { memory: true, ..Self::default() }
    }

    /// Lines of the configuration file. Top-level keys come before tables.
    #[must_use]
    pub fn config(mut self, toml: &str) -> Self {
        self.config.push_str(toml);
        self.config.push('\n');
        self
    }

    /// A configuration that is there, taken as it is; the data is where that says.
    #[must_use]
    pub fn config_file(mut self, path: &Path) -> Self {
        self.config_file = Some(path.to_path_buf());
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// A data directory that outlives the server.
    #[must_use]
    pub fn data(mut self, data: &Path) -> Self {
        self.data = Some(data.to_path_buf());
        self
    }

    /// Makes [`TestServer::limit_file_size`] an error of writing instead of the end of the process.
    #[must_use]
    pub fn file_size_can_be_limited(mut self) -> Self {
        self.file_size_can_be_limited = true;
        self
    }

    /// So many files and connections at a time, and no more.
    #[must_use]
    pub fn open_files(mut self, most: u32) -> Self {
        self.open_files = Some(most);
        self
    }

    /// An address of its own instead of a free port of loopback, for starts that are refused.
    #[must_use]
    pub fn listen(mut self, addr: &str) -> Self {
        self.listen = Some(addr.to_owned());
        self
    }

    /// A terminal that it reads from.
    #[must_use]
    pub fn stdin(mut self, terminal: &Path) -> Self {
        self.stdin = Some(terminal.to_path_buf());
        self
    }

    /// Starts it, and waits until it is ready.
    ///
    /// # Panics
    /// When it does not become ready.
    #[must_use]
    pub fn start(self) -> TestServer {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let data = self.data.clone().unwrap_or_else(|| dir.path().join("data"));
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = TestServer { setup: self, dir, data, listen, running: None };
        server.start();
        server
    }

    /// Starts it where it must refuse to; answers with its exit code and what it said.
    ///
    /// # Panics
    /// When it starts, or does not end.
    #[must_use]
    pub fn refused(self) -> (i32, String) {
        match self.try_start() {
            Ok(server) => panic!("the server started although it had to refuse\n{}", server.log()),
            Err(refusal) => refusal,
        }
    }

    /// Starts it where it may refuse to.
    ///
    /// # Errors
    /// Its exit code and what it said.
    ///
    /// # Panics
    /// When it neither becomes ready nor ends, or panics.
    pub fn try_start(self) -> Result<TestServer, (i32, String)> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let data = self.data.clone().unwrap_or_else(|| dir.path().join("data"));
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = TestServer { setup: self, dir, data, listen, running: None };
        let line = server.launch();
        if let Some(addr) = address(&line) {
            server.listen = addr;
            return Ok(server);
        }
        assert_eq!(line, "", "a server that does not serve prints nothing on standard output");
        let status = server.ended();
        Err((status.code().unwrap_or(-1), server.log()))
    }
}

fn address(line: &str) -> Option<SocketAddr> {
    line.strip_prefix("listening on http://").and_then(|rest| rest.trim_end().parse().ok())
}

#[derive(Debug)]
struct Running {
    child: Child,
    /// Ends with what else came on standard output.
    rest: JoinHandle<String>,
}

/// A server, running or not.
#[derive(Debug)]
pub struct TestServer {
    setup: Setup,
    dir: TempDir,
    data: PathBuf,
    listen: SocketAddr,
    running: Option<Running>,
}

impl TestServer {
    /// # Panics
    /// When it is not running.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        assert_ne!(self.listen.port(), 0, "the server was never started");
        self.listen
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr())
    }

    #[must_use]
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// What the server said on standard error, from its first start on.
    #[must_use]
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn config_path(&self) -> PathBuf {
        self.dir.path().join("kokuban.toml")
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("stderr")
    }

    /// A caller without a name.
    #[must_use]
    pub fn anonymous(&self) -> Caller {
        Caller::new(self.addr())
    }

    /// A caller by name, for mode `open`.
    #[must_use]
    pub fn as_agent(&self, name: &str) -> Caller {
        self.anonymous().with("Kokuban-Agent", name)
    }

    /// A caller with a credential.
    #[must_use]
    pub fn with_token(&self, secret: &str) -> Caller {
        self.anonymous().with("Authorization", &format!("Bearer {secret}"))
    }

    /// The process id.
    ///
    /// # Panics
    /// When it is not running.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.running.as_ref().expect("the server runs").child.id()
    }

    /// Resident memory, in bytes.
    ///
    /// # Panics
    /// When it is not running.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells");
        1024 * line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number")
    }

    fn spawn(&self) -> Child {
        let config = self.config_path();
        std::fs::write(&config, &self.setup.config).expect("a place to write");
        let log = File::options().create(true).append(true).open(self.log_path()).expect("a place to write");
        let trap = if self.setup.file_size_can_be_limited { "trap '' XFSZ; " } else { "" };
        let limit = self.setup.open_files.map(|n| format!("ulimit -n {n}; ")).unwrap_or_default();
        let mut command = if trap.is_empty() && limit.is_empty() {
            Command::new(server_binary())
        } else {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{trap}{limit}exec \"$@\""), "sh"]).arg(server_binary());
            shell
        };
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KOKUBAN_") {
                command.env_remove(name);
            }
        }
        let listen = self.setup.listen.clone().unwrap_or_else(|| self.listen.to_string());
        command.arg("serve").arg("--listen").arg(listen);
        command.arg("--config").arg(self.setup.config_file.as_ref().unwrap_or(&config));
        if self.setup.memory {
            command.args(["--durability", "memory"]);
        } else if self.setup.config_file.is_none() {
            command.arg("--data").arg(&self.data);
        }
        command.args(&self.setup.args).envs(self.setup.env.iter().map(|(k, v)| (k, v)));
        let stdin = self.setup.stdin.as_ref().map_or_else(Stdio::null, |path| {
            File::options().read(true).write(true).open(path).expect("a terminal").into()
        });
        command.stdin(stdin).stdout(Stdio::piped()).stderr(log);
        command.spawn().unwrap_or_else(|error| panic!("{}: {error}", server_binary().display()))
    }

    /// Starts a server that does not run, on the port it had.
    ///
    /// # Panics
    /// When it does not become ready.
    pub fn start(&mut self) {
        let line = self.launch();
        self.listen = address(&line).unwrap_or_else(|| panic!("the server is not ready: it printed {line:?}"));
    }

    /// The first line that it prints; empty where it ends before.
    fn launch(&mut self) -> String {
        assert!(self.running.is_none(), "the server runs already");
        let mut child = self.spawn();
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (first, heard) = mpsc::channel();
        let rest = std::thread::spawn(move || {
            let mut line = String::new();
            let _ = stdout.read_line(&mut line);
            let _ = first.send(line);
            let mut rest = String::new();
            let _ = stdout.read_to_string(&mut rest);
            rest
        });
        self.running = Some(Running { child, rest });
        heard.recv_timeout(READY_WITHIN).expect("a server becomes ready or ends")
    }

    /// `kill -9`.
    ///
    /// # Panics
    /// When it is not running.
    pub fn kill(&mut self) {
        let mut running = self.running.take().expect("the server runs");
        running.child.kill().expect("a child can be killed");
        running.child.wait().expect("a child can be waited for");
        let rest = running.rest.join().expect("reading does not panic");
        assert_eq!(rest, "", "only the first line goes to standard output");
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).expect("a pid")).expect("not 0");
        kill_process(pid, signal).expect("a child can be signalled");
    }

    /// Tells it to stop, and does not wait.
    ///
    /// # Panics
    /// When it is not running.
    pub fn signal_stop(&self) {
        self.signal(Signal::TERM);
    }

    /// `^C`.
    ///
    /// # Panics
    /// When it is not running.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// SIGHUP, and does not wait.
    ///
    /// # Panics
    /// When it is not running.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Replaces the lines of the configuration file.
    ///
    /// # Panics
    /// When they cannot be written.
    pub fn rewrite_config(&mut self, toml: &str) {
        toml.clone_into(&mut self.setup.config);
        std::fs::write(self.config_path(), toml).expect("a place to write");
    }

    /// SIGHUP, and waits until the server has said what came of it; answers with what it said.
    ///
    /// # Panics
    /// When it says nothing.
    pub fn reload(&self) -> String {
        let before = self.log().len();
        self.hang_up();
        until_some("the server says what came of SIGHUP", READY_WITHIN, || {
            let said = self.log().split_off(before);
            ["was read again", "is refused"].iter().any(|end| said.contains(end)).then_some(said)
        })
    }

    /// SIGSTOP: the process stands still until [`Self::go_on`].
    ///
    /// # Panics
    /// When it is not running.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// From now on nothing can be written behind this offset of any file, as if the disk were full; `None` ends that.
    ///
    /// # Panics
    /// When it is not running.
    pub fn limit_file_size(&self, bytes: Option<u64>) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).expect("a pid")).expect("not 0");
        prlimit(Some(pid), Resource::Fsize, Rlimit { current: bytes, maximum: None }).expect("a child can be limited");
    }

    /// SIGCONT.
    ///
    /// # Panics
    /// When it is not running.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// SIGTERM, and waits for the end: how it ended, and after how long.
    ///
    /// # Panics
    /// When it does not end.
    pub fn stop(&mut self) -> (ExitStatus, Duration) {
        self.signal_stop();
        let began = Instant::now();
        let status = self.ended();
        (status, began.elapsed())
    }

    /// Waits for the end of a server that was told to stop.
    ///
    /// # Panics
    /// When it does not end.
    pub fn ended(&mut self) -> ExitStatus {
        let running = self.running.as_mut().expect("the server runs");
        let status = wait_for_end(&mut running.child, STOPPED_WITHIN);
        let status = status.unwrap_or_else(|| panic!("the server does not stop within {STOPPED_WITHIN:?}"));
        let rest = self.running.take().expect("it ran").rest.join().expect("reading does not panic");
        assert_eq!(rest, "", "only the first line goes to standard output");
        status
    }

    /// `kill -9` and a start.
    pub fn restart_after_kill(&mut self) {
        self.kill();
        self.start();
    }
}

fn wait_for_end(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + within;
    until_some("the end of a process", within + Duration::from_secs(1), || {
        match child.try_wait().expect("a child can be waited for") {
            Some(status) => Some(Some(status)),
            None => (Instant::now() > end).then_some(None),
        }
    })
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        let log = self.log();
        let panicked = log.contains("panicked at");
        if std::thread::panicking() || panicked {
            let from = log.len().saturating_sub(LOG_SHOWN_BYTES);
            let from = (from..log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(log.len());
            let shown = &log[from..];
            // Not through a test's captured output only: this is what one needs to see.
            assert!(std::thread::panicking(), "the server panicked:\n{shown}");
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "--- the server said:\n{shown}---");
        }
    }
}
