//! The keys: their names, ranges, and which member of the configuration each one sets.
//!
//! **Invariant**: [`KEYS`] and [`set`] know the same keys (a test tries each), so what a file may say, a variable
//! and a flag may say too. The tables `[[tokens]]` and `[boards.…]` are not settings and live in `file.rs`.
//! Not known here: where a value comes from.

use std::path::{Path, PathBuf};

use kokuban_core::ids::AgentName;

use super::raw::Raw;
use super::{AuthMode, Config, Durability, LogFormat, LogLevel, LogRequests};

/// Every key with a single value or a list of texts. Tables are written with a dot.
pub const KEYS: &[&str] = &[
    "listen",
    "data",
    "durability",
    "auth",
    "insecure_open",
    "hosts",
    "origins",
    "log_format",
    "log_level",
    "log_requests",
    "blueprints",
    "roles.admin",
    "roles.observer",
    "limits.body_bytes_max",
    "limits.connections_max",
    "limits.requests_in_flight_max",
    "limits.streams_per_caller_max",
    "limits.boards_max",
    "limits.mailbox_commands_max",
    "limits.loaded_boards_idle_ms",
    "timeouts.head_ms",
    "timeouts.idle_ms",
    "timeouts.body_ms",
    "timeouts.write_ms",
    "timeouts.shutdown_ms",
    "snapshot.tail_bytes_min",
    "snapshot.tail_percent_min",
];

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const HOUR_MS: u64 = 3_600_000;

/// The variable that sets a key.
pub(super) fn variable(key: &str) -> String {
    format!("KOKUBAN_{}", key.replace('.', "_").to_ascii_uppercase())
}

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
