//! What is told of typed state: how complete a board is, and who set each leaf of an entry.

use kokuban_core::ids::{AgentName, Key, Position, Revision, Sha256, Timestamp, Version, ZoneName};
use kokuban_core::path::Path;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Trust;
use crate::sources::{DerivedFrom, Source};

/// The share of the weighed places that have content, and those that have none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completeness {
    /// 0 to 1, with two decimals.
    pub score: f64,
    /// The weightiest first.
    pub missing: Vec<Missing>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    pub zone: ZoneName,
    /// The key, or its pattern.
    pub key: String,
    pub path: Path,
    #[serde(default)]
    pub title: Option<String>,
    pub weight: f64,
}

/// The answer of `GET …/completeness`; without weights there is no score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoardCompleteness {
    #[serde(default)]
    pub score: Option<f64>,
    #[serde(default)]
    pub missing: Vec<Missing>,
    pub position: Position,
}

/// Who set what of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blame {
    pub zone: ZoneName,
    pub key: Key,
    pub version: Version,
    /// In the order of paths; one with an empty path where the entry is one leaf.
    pub leaves: Vec<BlameLeaf>,
    pub position: Position,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlameLeaf {
    pub path: Path,
    pub by: AgentName,
    /// Null where the history no longer says.
    #[serde(default)]
    pub at: Option<Timestamp>,
    #[serde(default)]
    pub revision: Option<Revision>,
    pub version: Version,
    #[serde(default)]
    pub ticket: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived_from: Vec<DerivedFrom>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub sha256: Sha256,
}

/// An operation that was held back, as its note shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Held {
    pub op: String,
    pub path: Path,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Of the value; alone where that was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub why: HeldWhy,
    /// The level of what stands, where that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldWhy {
    LowerConfidence,
    Append,
    Ignore,
}
