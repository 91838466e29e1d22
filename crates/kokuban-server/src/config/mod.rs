//! The configuration of a server: defaults, then the file, then variables `KOKUBAN_…`, then flags.
//!
//! **Invariants**: a [`Config`] from [`Config::load`] was checked as a whole; every flaw is reported at once and with
//! its place. Every key stands in `config/kokuban.example.toml` with its default, which a test holds to. Secrets
//! are hashed while reading and exist nowhere after.
//! Not known here: what the settings do. Start at `keys.rs` for what there is.

mod blueprints;
mod file;
mod flaw;
mod keys;
mod raw;
mod secrets;
#[cfg(test)]
mod tests;
mod whole;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kokuban_core::ids::{AgentName, BlueprintName, Sha256};

use crate::accept::Timeouts;
use crate::edge::BodyLimits;
use crate::pattern::Pattern;

pub use blueprints::load_blueprints;
pub use flaw::{ConfigError, Flaw, Place};
pub use keys::KEYS;

/// Where acknowledged writes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    Disk,
    Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMode {
    Open,
    Token,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// Which requests have a line in the log. Accepted writes are in the history of their board anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogRequests {
    All,
    Refused,
    /// Failures of the server only.
    None,
}

/// A role that holds on every board of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerRole {
    Admin,
    Observer,
}

/// A credential: the hash of a secret, and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub sha256: Sha256,
    pub agent: AgentName,
    pub roles: Vec<ServerRole>,
    pub boards: Vec<Pattern>,
}

/// The first write to an absent board of a name like this creates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardRule {
    pub pattern: Pattern,
    pub blueprint: BlueprintName,
}

/// Agents with a server-wide role, whatever their token says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    pub admin: Vec<AgentName>,
    pub observer: Vec<AgentName>,
}

/// Bounds of the server. Those of a board are in `kokuban_core::blueprint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLimits {
    pub body_bytes_max: u64,
    pub connections_max: usize,
    pub requests_in_flight_max: usize,
    pub streams_per_caller_max: usize,
    pub boards_max: usize,
    pub mailbox_commands_max: usize,
    pub loaded_boards_idle_ms: u64,
}

/// How long a peer may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeoutsMs {
    pub head_ms: u64,
    pub idle_ms: u64,
    pub body_ms: u64,
    pub write_ms: u64,
    pub shutdown_ms: u64,
}

/// When a board's log is folded into a snapshot: when it exceeds both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPolicy {
    pub tail_bytes_min: u64,
    /// Of the state, in percent.
    pub tail_percent_min: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub listen: SocketAddr,
    pub data: PathBuf,
    pub durability: Durability,
    pub auth: AuthMode,
    pub insecure_open: bool,
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
    pub log_format: LogFormat,
    pub log_level: LogLevel,
    pub log_requests: LogRequests,
    /// Files, as found from here.
    pub blueprints: Vec<PathBuf>,
    pub tokens: Vec<Token>,
    pub roles: Roles,
    /// In the order of the file: the first that matches counts.
    pub boards: Vec<BoardRule>,
    pub limits: ServerLimits,
    pub timeouts: TimeoutsMs,
    pub snapshot: SnapshotPolicy,
    /// What is allowed but should be known; logged at the start.
    pub warnings: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 7411).into(),
            data: PathBuf::from("kokuban-data"),
            durability: Durability::Disk,
            auth: AuthMode::Open,
            insecure_open: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            log_format: LogFormat::Text,
            log_level: LogLevel::Info,
            log_requests: LogRequests::Refused,
            blueprints: Vec::new(),
            tokens: Vec::new(),
            roles: Roles::default(),
            boards: Vec::new(),
            limits: ServerLimits {
                body_bytes_max: 1024 * 1024,
                connections_max: 16_384,
                requests_in_flight_max: 4_096,
                streams_per_caller_max: 4_096,
                boards_max: 100_000,
                mailbox_commands_max: 1_024,
                loaded_boards_idle_ms: 60_000,
            },
            timeouts: TimeoutsMs {
                head_ms: 10_000,
                idle_ms: 60_000,
                body_ms: 30_000,
                write_ms: 30_000,
                shutdown_ms: 5_000,
            },
            snapshot: SnapshotPolicy { tail_bytes_min: 1_048_576, tail_percent_min: 400 },
            warnings: Vec::new(),
        }
    }
}

/// A value given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// A key of the file, such as `listen` or `limits.boards_max`.
    pub key: &'static str,
    /// As the user wrote it, such as `--listen`.
    pub flag: &'static str,
    pub value: String,
}

/// Where settings come from, weakest first.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    pub file: Option<PathBuf>,
    /// Variables of the environment; others than `KOKUBAN_…` are passed over.
    pub env: Vec<(String, String)>,
    pub flags: Vec<Flag>,
}

impl Sources {
    /// A file, flags, and the environment of this process.
    #[must_use]
    pub fn of_process(file: Option<PathBuf>, flags: Vec<Flag>) -> Self {
        // A name or value that is not Unicode is none of ours.
        let env = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Self { file, env: env.collect(), flags }
    }
}

impl Config {
    /// Reads all sources and checks the result.
    ///
    /// # Errors
    /// Every flaw, with its place.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let Some(path) = &sources.file else { return Self::read(None, sources) };
        match std::fs::read_to_string(path) {
            Ok(text) => Self::read(Some((path, &text)), sources),
            Err(error) => {
                let flaw = Flaw::new(Place::File, format!("cannot be read: {error}"));
                Err(ConfigError { file: Some(path.clone()), flaws: vec![flaw] })
            }
        }
    }

    /// As [`Config::load`], with the file already in memory.
    ///
    /// # Errors
    /// Every flaw, with its place.
    pub fn read(file: Option<(&Path, &str)>, sources: &Sources) -> Result<Self, ConfigError> {
        let mut draft = whole::Draft::default();
        if let Some((path, text)) = file {
            file::apply(&mut draft, path, text);
        }
        draft.apply_env(&sources.env);
        draft.apply_flags(&sources.flags);
        draft.finish(file.map(|(path, _)| path))
    }

    #[must_use]
    pub fn accept_timeouts(&self) -> Timeouts {
        let ms = Duration::from_millis;
        Timeouts { head: ms(self.timeouts.head_ms), idle: ms(self.timeouts.idle_ms), write: ms(self.timeouts.write_ms) }
    }

    #[must_use]
    pub fn body_limits(&self) -> BodyLimits {
        BodyLimits { bytes_max: self.limits.body_bytes_max, within: Duration::from_millis(self.timeouts.body_ms) }
    }

    /// A rule after all others: whatever board is written to first is made with the blueprint `default`.
    pub fn create_any_board_with_default(&mut self) {
        let blueprint = BlueprintName::new("default").expect("a plain name");
        self.boards.push(BoardRule { pattern: Pattern::any(), blueprint });
    }

    /// The blueprint that a first write to an absent board of this name creates it with.
    #[must_use]
    pub fn rule_for(&self, board: &str) -> Option<&BoardRule> {
        self.boards.iter().find(|rule| rule.pattern.matches(board))
    }
}
