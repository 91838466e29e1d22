//! Completeness, blame and held operations as they are shown.
//!
//! Invariant: shares are the doubles nearest to their decimals.
//! Not known here: who may see them.

use kokuban_core::blame::Blamed;
use kokuban_core::completeness as core;
use kokuban_core::entry::{HeldBack, HeldWhy as Why};
use kokuban_core::ids::{EntryId, Position, Version};
use kokuban_core::json::Json;

use crate::answers::{Blame, BlameLeaf, BoardCompleteness, Completeness, Held, HeldWhy, Missing, Trust};

#[must_use]
pub fn completeness(score: &core::Completeness) -> Completeness {
    let missing = score.missing.iter().map(|missing| Missing {
        zone: missing.zone.clone(),
        key: missing.key.clone(),
        path: missing.path.clone(),
        title: missing.title.clone(),
        weight: f64::from(missing.weight_millionths) / 1e6,
    });
    Completeness { score: f64::from(score.score_percent) / 100.0, missing: missing.collect() }
}

#[must_use]
pub fn board_completeness(score: Option<&core::Completeness>, position: Position) -> BoardCompleteness {
    match score.map(completeness) {
        Some(Completeness { score, missing }) => BoardCompleteness { score: Some(score), missing, position },
        None => BoardCompleteness { score: None, missing: Vec::new(), position },
    }
}

#[must_use]
pub fn blame(id: &EntryId, version: Version, leaves: Vec<Blamed>, position: Position) -> Blame {
    Blame {
        zone: id.zone.clone(),
        key: id.key.clone(),
        version,
        leaves: leaves.into_iter().map(leaf).collect(),
        position,
    }
}

fn leaf(leaf: Blamed) -> BlameLeaf {
    BlameLeaf {
        path: leaf.path,
        by: leaf.by,
        at: leaf.at,
        revision: leaf.revision,
        version: leaf.version,
        ticket: None,
        confidence: leaf.confidence.map(String::from),
        trust: leaf.untrusted.then_some(Trust::Untrusted),
        source: leaf.source,
        derived_from: leaf.derived_from,
        reason: leaf.reason.map(String::from),
        sha256: leaf.sha256,
    }
}

#[must_use]
pub(super) fn held(back: &HeldBack) -> Held {
    let (why, stands) = match &back.why {
        Why::LowerConfidence { stands } => (HeldWhy::LowerConfidence, Some(stands.to_string())),
        Why::Append => (HeldWhy::Append, None),
        Why::Ignore => (HeldWhy::Ignore, None),
    };
    Held {
        op: back.op.to_string(),
        path: back.path.clone(),
        value: back.value.as_ref().and_then(|value| value.json.as_ref()).map(Json::to_value),
        sha256: back.value.as_ref().map(|value| value.sha256),
        confidence: back.confidence.as_ref().map(ToString::to_string),
        source: back.source.clone(),
        reason: back.reason.as_ref().map(ToString::to_string),
        why,
        stands,
    }
}
