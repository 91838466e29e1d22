//! What a server says about itself.

use std::collections::BTreeMap;

use kokuban_core::ids::{AgentName, Timestamp};
use serde::{Deserialize, Serialize};

/// The answer to `GET /v1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    pub name: String,
    pub version: String,
    /// Every bound by name; the last word of a name is its unit or `max`.
    pub limits: BTreeMap<String, u64>,
    pub durability: Durability,
    pub auth: AuthMode,
    pub clock: Clock,
    /// Whoever asks, as the server knows it.
    pub caller: CallerInfo,
    pub links: BTreeMap<String, String>,
}

/// The wall clock of the server. It decides nothing; people read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    pub time: Timestamp,
    /// How long the server runs, which no setting of a clock changes.
    pub uptime_ms: u64,
    /// What the wall clock gained (or lost) against that since the start; differences below a second are 0.
    pub stepped_ms: i64,
}

/// A caller and what its credential gives it on every board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallerInfo {
    pub agent: AgentName,
    /// `admin`, `observer`, or none. Roles of boards stand in their blueprints.
    pub roles: Vec<String>,
    /// Patterns of the boards that it admits.
    pub boards: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    Disk,
    /// Each start is a new epoch.
    Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    Open,
    Token,
    Jwt,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::reads_back;
    use super::*;

    #[test]
    fn a_server_names_its_limits_and_where_to_go() {
        let info = ServerInfo {
            name: "kokuban".into(),
            version: "0.1.0".into(),
            limits: BTreeMap::from([("operations_per_patch_max".into(), 256)]),
            durability: Durability::Memory,
            auth: AuthMode::Open,
            clock: Clock { time: Timestamp(0), uptime_ms: 7, stepped_ms: -3_600_000 },
            caller: CallerInfo {
                agent: AgentName::new("ra").expect("a name"),
                roles: vec!["admin".into()],
                boards: vec!["*".into()],
            },
            links: BTreeMap::from([("boards".into(), "/v1/boards".into())]),
        };
        let expected = json!({"name": "kokuban", "version": "0.1.0", "limits": {"operations_per_patch_max": 256},
            "durability": "memory", "auth": "open",
            "clock": {"time": "1970-01-01T00:00:00.000Z", "uptime_ms": 7, "stepped_ms": -3_600_000},
            "caller": {"agent": "ra", "roles": ["admin"], "boards": ["*"]}, "links": {"boards": "/v1/boards"}});
        reads_back(&info, &expected);
    }
}
