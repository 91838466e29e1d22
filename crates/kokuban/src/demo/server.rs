//! The demonstration's own server: a child process with a data directory of its own.
//!
//! Invariant: the child never outlives this process, however that ends; killed and started again it
//! has the same address and the same data.
//! Not known here: the story.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

const START_MAX: Duration = Duration::from_secs(15);
const BANNER: &str = "listening on ";

/// A running `kokuban serve`.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    url: String,
    data: PathBuf,
    log: PathBuf,
    /// Removed with the value; absent where the user named a directory.
    _temporary: Option<TempDir>,
}

impl Server {
    /// Starts a server on a free port, with its data in `data` or in a temporary directory.
    pub(super) async fn start(data: Option<&Path>) -> Result<Self> {
        let temporary = match data {
            Some(_) => None,
            None => Some(tempfile::Builder::new().prefix("kokuban-demo-").tempdir().context("a temporary directory")?),
        };
        let base = data.or_else(|| temporary.as_ref().map(TempDir::path)).context("a directory for the data")?;
        std::fs::create_dir_all(base).with_context(|| format!("creating {}", base.display()))?;
        let (data, log) = (base.join("data"), base.join("server.log"));
        let (child, url) = launch("127.0.0.1:0", &data, &log).await?;
        Ok(Self { child, url, data, log, _temporary: temporary })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Kills the server, as a power cut would, and starts it again at the same address.
    pub(super) async fn kill_and_restart(&mut self) -> Result<()> {
        self.child.kill().await.context("killing the server")?;
        let address = self.url.trim_start_matches("http://").to_owned();
        let (child, _) = launch(&address, &self.data, &self.log).await?;
        self.child = child;
        Ok(())
    }

    /// Ends the server, and only then removes what it wrote.
    pub(super) async fn end(mut self) {
        // A child that is gone already needs no killing.
        let _ = self.child.kill().await;
    }

    /// The end of the server's log, for a failure's text.
    pub(super) fn last_words(&self) -> String {
        last_lines(&self.log, 15)
    }
}

async fn launch(listen: &str, data: &Path, log: &Path) -> Result<(Child, String)> {
    let program = std::env::current_exe().context("finding this program")?;
    let log_file = std::fs::File::options().create(true).append(true).open(log).context("opening the server's log")?;
    let mut command = Command::new(program);
    // What the user has set for a server of his own is not for this one.
    let settings =
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(|name| name.starts_with("KOKUBAN_")));
    for (name, _) in settings {
        command.env_remove(name);
    }
    let mut child = command
        .args(["serve", "--end-with-stdin", "--listen", listen, "--data"])
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::from(log_file))
        .kill_on_drop(true)
        .spawn()
        .context("starting the server")?;
    let stdout = child.stdout.take().context("the server's standard output")?;
    let mut line = String::new();
    let mut reader = BufReader::new(stdout);
    let read = timeout(START_MAX, reader.read_line(&mut line)).await;
    let url = line.trim().strip_prefix(BANNER).map(str::to_owned);
    match (read, url) {
        (Ok(Ok(_)), Some(url)) => Ok((child, url)),
        (Err(_), _) => bail!("the server was not ready within {} s:\n{}", START_MAX.as_secs(), last_lines(log, 15)),
        _ => bail!("the server did not start:\n{}", last_lines(log, 15)),
    }
}

fn last_lines(path: &Path, n: usize) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let from = lines.len().saturating_sub(n);
    lines[from..].iter().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
}
