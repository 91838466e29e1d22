//! What a server says about itself.

use std::collections::BTreeMap;

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
    pub links: BTreeMap<String, String>,
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
            links: BTreeMap::from([("boards".into(), "/v1/boards".into())]),
        };
        let expected = json!({"name": "kokuban", "version": "0.1.0", "limits": {"operations_per_patch_max": 256},
            "durability": "memory", "auth": "open", "links": {"boards": "/v1/boards"}});
        reads_back(&info, &expected);
    }
}
