//! Commands of Docker, and a started compose file that is taken down with its value.
//!
//! **Invariant**: a project leaves no container, network or volume behind, however its test ends; when that fails,
//! what its containers said is shown.
//! Not known here: what runs in them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kokuban_tests::until_some;

/// The start of a container on a machine that compiles at the same time.
const HEALTHY_WITHIN: Duration = Duration::from_secs(120);

fn said(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}\n{out}{err}", output.status)
}

/// What a command prints.
///
/// # Panics
/// When it fails.
pub(crate) fn must(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// `docker …`; the first time it is seen to that there is one.
pub(crate) fn docker(args: &[&str]) -> String {
    static THERE: OnceLock<()> = OnceLock::new();
    THERE.get_or_init(|| {
        let told = match Command::new("docker").arg("info").output() {
            Ok(output) if output.status.success() => return,
            Ok(output) => said(&output),
            Err(error) => format!("docker: {error}"),
        };
        panic!("these tests need a running Docker: `apt install docker.io docker-compose debootstrap`, then `dockerd &`.\n{told}");
    });
    must(Command::new("docker").args(args))
}

pub(crate) fn image_exists(tag: &str) -> bool {
    !docker(&["image", "ls", "--quiet", tag]).is_empty()
}

/// `docker compose` where Docker has it, else `docker-compose`.
fn compose() -> Command {
    static PLUGIN: OnceLock<bool> = OnceLock::new();
    let plugin = || Command::new("docker").args(["compose", "version"]).output().is_ok_and(|o| o.status.success());
    if *PLUGIN.get_or_init(plugin) {
        let mut command = Command::new("docker");
        command.arg("compose");
        command
    } else {
        Command::new("docker-compose")
    }
}

/// A compose file with a project name of its own.
#[derive(Debug)]
pub(crate) struct Project {
    name: String,
    file: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Project {
    /// The file at `file`, with variables that it asks for.
    pub(crate) fn new(file: &Path, variables: Vec<(&'static str, String)>) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("kokuban-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Self { name, file: file.to_path_buf(), variables }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = compose();
        command.args(["-p", &self.name, "-f"]).arg(&self.file).args(args);
        // So that docker-compose 1 hands the same files over as `docker build`, and what one built the other knows.
        command.env("COMPOSE_DOCKER_CLI_BUILD", "1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// `docker compose …`.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        must(&mut self.command(args))
    }

    /// The id of the container of the service `kokuban`.
    pub(crate) fn server(&self) -> String {
        self.run(&["ps", "--quiet", "kokuban"])
    }

    /// A member of what Docker knows of the server's container.
    pub(crate) fn inspect(&self, member: &str) -> String {
        docker(&["inspect", "--format", &format!("{{{{{member}}}}}"), &self.server()])
    }

    /// Runs a program inside the server's container; how it ended, and what it said.
    pub(crate) fn inside(&self, args: &[&str]) -> (bool, String) {
        let output =
            Command::new("docker").arg("exec").arg(self.server()).args(args).output().expect("docker is there");
        (output.status.success(), said(&output))
    }

    /// Starts everything, and waits until the server is healthy.
    pub(crate) fn up(&self) {
        self.run(&["up", "--detach"]);
        self.wait_until_healthy();
    }

    pub(crate) fn wait_until_healthy(&self) {
        until_some("a healthy container", HEALTHY_WITHIN, || {
            (self.inspect(".State.Health.Status") == "healthy").then_some(())
        });
    }

    /// Where the server can be reached from this machine.
    pub(crate) fn address(&self) -> String {
        let address = self.run(&["port", "kokuban", "7411"]);
        assert!(address.starts_with("127.0.0.1:"), "{address} can be reached from other machines");
        address
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let logs = self.command(&["logs", "--no-color"]).output();
            let logs = logs.map_or_else(|error| error.to_string(), |output| said(&output));
            let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), logs.as_bytes());
        }
        let down = self.command(&["down", "--volumes", "--remove-orphans", "--timeout", "20"]).output();
        let ended = down.as_ref().is_ok_and(|output| output.status.success());
        if !ended && !std::thread::panicking() {
            panic!("{} is not taken down: {down:?}", self.name);
        }
    }
}
