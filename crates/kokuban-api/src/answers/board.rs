//! A board in short: what it is, and how much is on it.

use std::collections::BTreeMap;

use kokuban_core::ids::{
    AgentName, BlueprintName, BoardName, Epoch, Key, Position, Revision, Status, Timestamp, ZoneName,
};
use serde::{Deserialize, Serialize};

use super::{Completeness, Warning, is_false};

/// The summary of a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoardSummary {
    pub board: BoardName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    pub blueprint: BlueprintName,
    pub schema_version: u64,
    pub epoch: Epoch,
    pub revision: Revision,
    pub position: Position,
    pub created_at: Timestamp,
    pub created_by: AgentName,
    /// Counts of the zones that the caller may read.
    pub zones: BTreeMap<ZoneName, ZoneCount>,
    pub state: BoardState,
    /// Live leases.
    pub leases: u64,
    /// Entries with a raised flag.
    pub conflicts: u64,
    /// Open proposals.
    pub proposals: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completeness: Option<Completeness>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

/// How many entries a zone has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneCount {
    pub entries: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<Status, u64>,
}

/// How much of the board a prompt would carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardState {
    pub bytes: u64,
    pub level: StateLevel,
    /// Biggest first.
    #[serde(default)]
    pub largest: Vec<LargestEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateLevel {
    Ok,
    /// Over what a prompt comfortably takes.
    Warn,
    /// At `state_bytes_max`.
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargestEntry {
    pub zone: ZoneName,
    pub key: Key,
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{List, reads_back};
    use super::*;

    #[test]
    fn a_summary_counts_by_zone_and_status() {
        let zone = ZoneName::new("z").expect("a name");
        let position = Position { epoch: Epoch(1), revision: Revision(12) };
        let count = ZoneCount { entries: 3, statuses: BTreeMap::from([(Status::new("raw").expect("a name"), 3)]) };
        let summary = BoardSummary {
            board: BoardName::new("b").expect("a name"),
            title: None,
            labels: BTreeMap::new(),
            blueprint: BlueprintName::new("default").expect("a name"),
            schema_version: 1,
            epoch: position.epoch,
            revision: position.revision,
            position,
            created_at: Timestamp(0),
            created_by: AgentName::new("ra").expect("a name"),
            zones: BTreeMap::from([(zone.clone(), count)]),
            state: BoardState {
                bytes: 9,
                level: StateLevel::Ok,
                largest: vec![LargestEntry { zone, key: Key::new("k").expect("a key"), bytes: 9 }],
            },
            leases: 1,
            conflicts: 0,
            proposals: 0,
            completeness: None,
            warnings: Vec::new(),
            dry_run: false,
        };
        let expected = json!({"board": "b", "labels": {}, "blueprint": "default", "schema_version": 1,
            "epoch": "0000000000000001", "revision": 12, "position": "0000000000000001.12",
            "created_at": "1970-01-01T00:00:00.000Z", "created_by": "ra",
            "zones": {"z": {"entries": 3, "statuses": {"raw": 3}}},
            "state": {"bytes": 9, "level": "ok", "largest": [{"zone": "z", "key": "k", "bytes": 9}]},
            "leases": 1, "conflicts": 0, "proposals": 0});
        reads_back(&summary, &expected);
        let list = List { items: vec![summary], position: None, next_page: Some("t".into()) };
        reads_back(&list, &json!({"items": [expected], "next_page": "t"}));
    }
}
