//! Processes that are measured: a server of Kokuban, and the yardstick.
//!
//! Invariant: a process ends with the value that stands for it, and with this process. What it said is shown when it
//! does not start.
//! Not known here: requests, beyond asking once for one entry.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::yardstick::{HEADER_OVERHEAD, Shown};

/// Not under measurement: hours, so that no board leaves memory and no log is folded unasked.
const CONFIG: &str = "[limits]\nloaded_boards_idle_ms = 3600000\n";
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// A process that listens.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) addr: SocketAddr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    Disk,
    Memory,
}

/// How to start a server.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) program: PathBuf,
    /// Where it keeps data, configuration and log.
    pub(crate) dir: PathBuf,
    pub(crate) durability: Durability,
    /// Further lines of the configuration.
    pub(crate) config: String,
}

impl Setup {
    pub(crate) fn start(&self) -> anyhow::Result<Server> {
        std::fs::create_dir_all(&self.dir)?;
        let (config, log) = (self.dir.join("kokuban.toml"), self.dir.join("stderr"));
        std::fs::write(&config, format!("{CONFIG}{}", self.config))?;
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KOKUBAN_")) {
            command.env_remove(name);
        }
        command.args(["serve", "--listen", "127.0.0.1:0", "--end-with-stdin", "--config"]).arg(&config);
        command.arg("--data").arg(self.dir.join("data"));
        if self.durability == Durability::Memory {
            command.args(["--durability", "memory"]);
        }
        command.stderr(File::create(&log)?);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let child = child.with_context(|| format!("starting {}", self.program.display()))?;
        Server::announced(child).with_context(|| std::fs::read_to_string(&log).unwrap_or_default())
    }
}

impl Server {
    /// The bare routes; a GET answers what this server answers for this path.
    pub(crate) fn yardstick(like: Option<(&Self, &str)>) -> anyhow::Result<Self> {
        let shown = match like {
            Some((server, path)) => server.shown(path)?,
            None => Shown { body: String::new(), header_bytes: 0 },
        };
        let mut child = Command::new(std::env::current_exe()?);
        let mut child = child.arg("yardstick").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let line = serde_json::to_string(&shown)?;
        writeln!(child.stdin.as_mut().expect("piped"), "{line}")?;
        let yardstick = Self::announced(child)?;
        if let Some((server, path)) = like {
            let (own, bare) = (server.get(path)?.len(), yardstick.get(path)?.len());
            if own != bare {
                bail!("the server answers {own} bytes and the yardstick {bare}");
            }
        }
        Ok(yardstick)
    }

    fn announced(mut child: Child) -> anyhow::Result<Self> {
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line)?;
        let addr = line.strip_prefix("listening on http://").and_then(|rest| rest.trim_end().parse().ok());
        let Some(addr) = addr else {
            let _ = child.kill();
            let _ = child.wait();
            bail!("a process that should listen said {line:?}");
        };
        Ok(Self { child, addr })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it end in order.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the server ended with {status}");
        }
        Ok(())
    }

    /// The answer to a GET as it came, with its head.
    pub(crate) fn get(&self, path: &str) -> anyhow::Result<String> {
        self.ask("GET", path, "")
    }

    pub(crate) fn write(&self, path: &str, body: &str) -> anyhow::Result<()> {
        self.ask("PUT", path, body).map(drop)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect(self.addr)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        let form = match body.len() {
            0 => String::new(),
            n => format!("content-type: application/json\r\ncontent-length: {n}\r\n"),
        };
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n{form}", self.addr);
        stream.write_all(format!("{head}kokuban-agent: bench\r\nconnection: close\r\n\r\n{body}").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if !answer.starts_with("HTTP/1.1 20") {
            bail!("{method} {path} answered {answer}");
        }
        Ok(answer)
    }

    /// What a yardstick has to show to answer with the same bytes.
    fn shown(&self, path: &str) -> anyhow::Result<Shown> {
        let answer = self.get(path)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer has a head")?;
        let common = ["HTTP/", "content-type: ", "content-length: ", "date: ", "connection: "];
        let own = head.split("\r\n").filter(|line| !common.iter().any(|name| line.starts_with(name)));
        let own_bytes: usize = own.map(|line| line.len() + "\r\n".len()).sum();
        Ok(Shown { body: body.to_owned(), header_bytes: own_bytes.saturating_sub(HEADER_OVERHEAD) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program to measure: beside this one unless named.
pub(crate) fn program(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let program = match named {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name(format!("kokuban{}", std::env::consts::EXE_SUFFIX)),
    };
    if !program.is_file() {
        bail!("{} is not there; `cargo xtask bench` builds it, --server names another", program.display());
    }
    Ok(program)
}
