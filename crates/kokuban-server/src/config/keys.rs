//! The keys: their names, ranges, and which member of the configuration each one sets.
//!
//! **Invariant**: [`KEYS`] and [`set`] know the same keys (a test tries each), so what a file may say, a variable
//! and a flag may say too. The tables `[[tokens]]` and `[boards.…]` are not settings and live in `file.rs`.
//! Not known here: where a value comes from.

use std::path::{Path, PathBuf};

use kokuban_core::ids::AgentName;

use super::raw::Raw;
use super::{AuthMode, Config, Durability, LogFormat, LogLevel, LogRequests};

/// A setting with a single value or a list of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// As in the file; members of a table behind a dot.
    pub name: &'static str,
    pub change: Change,
}

/// When a changed value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// As soon as the configuration is read again.
    AtOnce,
    /// With the next start.
    AtStart,
}

const fn live(name: &'static str) -> Key {
    Key { name, change: Change::AtOnce }
}

const fn fixed(name: &'static str) -> Key {
    Key { name, change: Change::AtStart }
}

/// Every key.
pub const KEYS: &[Key] = &[
    fixed("listen"),
    fixed("data"),
    fixed("durability"),
    live("auth"),
    live("insecure_open"),
    live("hosts"),
    live("origins"),
    fixed("log_format"),
    live("log_level"),
    live("log_requests"),
    live("blueprints"),
    live("roles.admin"),
    live("roles.observer"),
    live("limits.body_bytes_max"),
    fixed("limits.connections_max"),
    live("limits.requests_in_flight_max"),
    live("limits.streams_per_caller_max"),
    live("limits.requests_per_s_per_caller_max"),
    fixed("limits.boards_max"),
    fixed("limits.mailbox_commands_max"),
    fixed("limits.loaded_boards_idle_ms"),
    fixed("timeouts.head_ms"),
    fixed("timeouts.idle_ms"),
    live("timeouts.body_ms"),
    fixed("timeouts.write_ms"),
    live("timeouts.drain_ms"),
    fixed("timeouts.shutdown_ms"),
    fixed("snapshot.tail_bytes_min"),
    fixed("snapshot.tail_percent_min"),
];

impl Key {
    /// The key of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The variable that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("KOKUBAN_{}", self.name.replace('.', "_").to_ascii_uppercase())
    }
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const HOUR_MS: u64 = 3_600_000;

/// Sets one member. `base` is the folder that relative paths start from.
pub(super) fn set(config: &mut Config, key: &str, raw: &Raw, base: Option<&Path>) -> Result<(), String> {
    match key.split_once('.') {
        None => set_top(config, key, raw, base),
        Some(("roles", member)) => set_role(config, member, raw),
        Some(("limits", member)) => set_limit(config, member, raw),
        Some(("timeouts", member)) => set_timeout(config, member, raw),
        Some(("snapshot", member)) => set_snapshot(config, member, raw),
        Some(_) => Err("is unknown".into()),
    }
}

fn set_top(config: &mut Config, key: &str, raw: &Raw, base: Option<&Path>) -> Result<(), String> {
    match key {
        "listen" => config.listen = listen(raw.text()?)?,
        "data" => config.data = path(raw.text()?, base)?,
        "durability" => {
            config.durability = raw.choice(&[("disk", Durability::Disk), ("memory", Durability::Memory)])?;
        }
        "auth" => config.auth = raw.choice(&[("open", AuthMode::Open), ("token", AuthMode::Token)])?,
        "insecure_open" => config.insecure_open = raw.boolean()?,
        "hosts" => config.hosts = raw.each(host)?,
        "origins" => config.origins = raw.each(origin)?,
        "log_format" => config.log_format = raw.choice(&[("text", LogFormat::Text), ("json", LogFormat::Json)])?,
        "log_level" => config.log_level = raw.choice(LEVELS)?,
        "log_requests" => config.log_requests = raw.choice(REQUESTS)?,
        "blueprints" => config.blueprints = raw.each(|text| path(text, base))?,
        _ => return Err("is unknown".into()),
    }
    Ok(())
}

const LEVELS: &[(&str, LogLevel)] = &[
    ("off", LogLevel::Off),
    ("error", LogLevel::Error),
    ("warn", LogLevel::Warn),
    ("info", LogLevel::Info),
    ("debug", LogLevel::Debug),
    ("trace", LogLevel::Trace),
];

const REQUESTS: &[(&str, LogRequests)] =
    &[("all", LogRequests::All), ("refused", LogRequests::Refused), ("none", LogRequests::None)];

fn set_role(config: &mut Config, member: &str, raw: &Raw) -> Result<(), String> {
    let agents = raw.each(|text| AgentName::new(text).map_err(|rule| rule.to_string()))?;
    match member {
        "admin" => config.roles.admin = agents,
        "observer" => config.roles.observer = agents,
        _ => return Err("is unknown".into()),
    }
    Ok(())
}

fn set_limit(config: &mut Config, member: &str, raw: &Raw) -> Result<(), String> {
    let limits = &mut config.limits;
    match member {
        "body_bytes_max" => limits.body_bytes_max = raw.number(KIB, 64 * MIB)?,
        "connections_max" => limits.connections_max = raw.count(1, 1_000_000)?,
        "requests_in_flight_max" => limits.requests_in_flight_max = raw.count(1, 1_000_000)?,
        "streams_per_caller_max" => limits.streams_per_caller_max = raw.count(1, 1_000_000)?,
        "requests_per_s_per_caller_max" => {
            limits.requests_per_s_per_caller_max =
                u32::try_from(raw.number(0, 1_000_000)?).expect("it is in the range");
        }
        "boards_max" => limits.boards_max = raw.count(1, 100_000_000)?,
        "mailbox_commands_max" => limits.mailbox_commands_max = raw.count(1, 1_000_000)?,
        "loaded_boards_idle_ms" => limits.loaded_boards_idle_ms = raw.number(100, 24 * HOUR_MS)?,
        _ => return Err("is unknown".into()),
    }
    Ok(())
}

fn set_timeout(config: &mut Config, member: &str, raw: &Raw) -> Result<(), String> {
    let timeouts = &mut config.timeouts;
    match member {
        "head_ms" => timeouts.head_ms = raw.number(100, HOUR_MS)?,
        "idle_ms" => timeouts.idle_ms = raw.number(100, 24 * HOUR_MS)?,
        "body_ms" => timeouts.body_ms = raw.number(100, HOUR_MS)?,
        "write_ms" => timeouts.write_ms = raw.number(100, HOUR_MS)?,
        "drain_ms" => timeouts.drain_ms = raw.number(0, HOUR_MS)?,
        "shutdown_ms" => timeouts.shutdown_ms = raw.number(100, HOUR_MS)?,
        _ => return Err("is unknown".into()),
    }
    Ok(())
}

fn set_snapshot(config: &mut Config, member: &str, raw: &Raw) -> Result<(), String> {
    match member {
        "tail_bytes_min" => config.snapshot.tail_bytes_min = raw.number(KIB, 1024 * MIB)?,
        "tail_percent_min" => config.snapshot.tail_percent_min = raw.number(1, 10_000)?,
        _ => return Err("is unknown".into()),
    }
    Ok(())
}

fn listen(text: &str) -> Result<std::net::SocketAddr, String> {
    // The one name whose address is known without asking anybody.
    let literal = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let literal = literal.as_deref().unwrap_or(text);
    literal.parse().map_err(|_| {
        format!("`{}` is no address with a port, such as 127.0.0.1:7411 or [::1]:7411", super::flaw::shown(text))
    })
}

fn path(text: &str, base: Option<&Path>) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("is empty".into());
    }
    Ok(base.map_or_else(|| PathBuf::from(text), |base| base.join(text)))
}

fn host(text: &str) -> Result<String, String> {
    match text.parse::<http::uri::Authority>() {
        Ok(authority) if !authority.host().is_empty() && !text.contains('@') => Ok(text.to_owned()),
        _ => Err(format!("`{}` is no host with an optional port, such as kokuban.internal", super::flaw::shown(text))),
    }
}

fn origin(text: &str) -> Result<String, String> {
    let valid = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
        .is_some_and(|rest| !rest.contains(['@', '*']) && rest.parse::<http::uri::Authority>().is_ok());
    if valid {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "`{}` is no web origin: a scheme, a host and an optional port, such as https://console.example",
            super::flaw::shown(text)
        ))
    }
}
