//! The configuration of a server: defaults, then the file, then variables `KOKUBAN_…`, then flags.
//!
//! **Invariants**: a [`Config`] from [`Config::load`] was checked as a whole; every flaw is reported at once and with
//! its place. Every key stands in `config/kokuban.example.toml` with its default, which a test holds to. Secrets
//! are hashed while reading and exist nowhere after.
//! Not known here: what the settings do. Start at `keys.rs` for what there is.

mod blueprints;
mod effective;
mod file;
mod flaw;
mod keys;
mod raw;
mod secrets;
mod shown;
mod sources;
mod succession;
#[cfg(test)]
mod tests;
mod whole;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use kokuban_core::ids::{AgentName, BlueprintName, Sha256};
use serde::Serialize;

use crate::accept::Timeouts;
use crate::edge::BodyLimits;
use crate::pattern::Pattern;

pub use blueprints::load_blueprints;
pub use effective::Effective;
pub use flaw::{ConfigError, Flaw, Place};
pub use keys::{Change, KEYS, Key};
pub use shown::{ShownRule, ShownSetting, ShownToken};
pub use sources::{Flag, OTHER_VARIABLES, Sources, TOKENS_VARIABLE};
pub use succession::Succession;

/// Where acknowledged writes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    Disk,
    Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    Open,
    Token,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// Which requests have a line in the log. Accepted writes are in the history of their board anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogRequests {
    All,
    Refused,
    /// Failures of the server only.
    None,
}

/// A role that holds on every board of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Roles {
    pub admin: Vec<AgentName>,
    pub observer: Vec<AgentName>,
}

/// Bounds of the server. Those of a board are in `kokuban_core::blueprint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerLimits {
    pub body_bytes_max: u64,
    pub connections_max: usize,
    pub requests_in_flight_max: usize,
    pub streams_per_caller_max: usize,
    /// 0: as many as a caller likes.
    pub requests_per_s_per_caller_max: u32,
    pub boards_max: usize,
    pub mailbox_commands_max: usize,
    pub loaded_boards_idle_ms: u64,
}

impl ServerLimits {
    /// All that is a most, with the last part of its key.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, u64)> {
        let n = |count: usize| count as u64;
        vec![
            ("body_bytes_max", self.body_bytes_max),
            ("connections_max", n(self.connections_max)),
            ("requests_in_flight_max", n(self.requests_in_flight_max)),
            ("streams_per_caller_max", n(self.streams_per_caller_max)),
            ("requests_per_s_per_caller_max", self.requests_per_s_per_caller_max.into()),
            ("boards_max", n(self.boards_max)),
            ("mailbox_commands_max", n(self.mailbox_commands_max)),
        ]
    }
}

/// How long a peer may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimeoutsMs {
    pub head_ms: u64,
    pub idle_ms: u64,
    pub body_ms: u64,
    pub write_ms: u64,
    /// Between SIGTERM and the stop.
    pub drain_ms: u64,
    pub shutdown_ms: u64,
}

/// When a board's log is folded into a snapshot: when it exceeds both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SnapshotPolicy {
    pub tail_bytes_min: u64,
    /// Of the state, in percent.
    pub tail_percent_min: u64,
}

/// Written as TOML, its members are the keys of the file. Tokens and rules, which are none, are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    #[serde(skip)]
    pub tokens: Vec<Token>,
    pub roles: Roles,
    /// In the order of the file: the first that matches counts.
    #[serde(skip)]
    pub boards: Vec<BoardRule>,
    pub limits: ServerLimits,
    pub timeouts: TimeoutsMs,
    pub snapshot: SnapshotPolicy,
    /// What is allowed but should be known; logged at the start.
    #[serde(skip)]
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
                requests_per_s_per_caller_max: 0,
                boards_max: 100_000,
                mailbox_commands_max: 1_024,
                loaded_boards_idle_ms: 60_000,
            },
            timeouts: TimeoutsMs {
                head_ms: 10_000,
                idle_ms: 60_000,
                body_ms: 30_000,
                write_ms: 30_000,
                drain_ms: 1_000,
                shutdown_ms: 5_000,
            },
            snapshot: SnapshotPolicy { tail_bytes_min: 1_048_576, tail_percent_min: 400 },
            warnings: Vec::new(),
        }
    }
}

impl Config {
    /// Reads all sources and checks the result.
    ///
    /// # Errors
    /// Every flaw, with its place.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        Effective::load(sources).map(|effective| effective.config)
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

    /// The blueprint that a first write to an absent board of this name creates it with.
    #[must_use]
    pub fn rule_for(&self, board: &str) -> Option<&BoardRule> {
        self.boards.iter().find(|rule| rule.pattern.matches(board))
    }
}
