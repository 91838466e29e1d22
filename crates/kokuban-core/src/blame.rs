//! Who set each leaf of an entry, when, how sure and from where.
//!
//! Invariant: every leaf that stands is named once, in order; a document by its own marks, everything else as one leaf.
//! Not known here: the past. An entry that is one leaf knows the version of its value; when that was is in the history.

use serde_json::Value;
use smol_str::SmolStr;

use crate::blueprint::Slot;
use crate::board::Board;
use crate::entry::{DerivedFrom, Entry, LeafMark, Source};
use crate::ids::{AgentName, EntryId, Revision, Sha256, Timestamp, Version};
use crate::json::Json;
use crate::path::Path;
use crate::reduce::leaves_of;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blamed {
    pub path: Path,
    pub by: AgentName,
    /// Where only the version is known.
    pub at: Option<Timestamp>,
    pub revision: Option<Revision>,
    pub version: Version,
    pub confidence: Option<SmolStr>,
    pub untrusted: bool,
    pub source: Option<Source>,
    pub derived_from: Vec<DerivedFrom>,
    pub reason: Option<SmolStr>,
    pub sha256: Sha256,
}

/// The leaves of an entry of this board.
#[must_use]
pub fn of(board: &Board, id: &EntryId, entry: &Entry) -> Vec<Blamed> {
    let slot = board.life().and_then(|life| life.blueprint.slot_of(id)).map(|(_, slot)| slot);
    let value = entry.value().map(|value| value.to_value());
    match value.filter(|_| slot.is_some_and(Slot::has_leaves)) {
        Some(value) => {
            leaves_of(&Path::ROOT, &value).into_iter().map(|(path, leaf)| by_mark(entry, path, &leaf)).collect()
        }
        None => vec![whole(entry, Path::ROOT, entry.sha256)],
    }
}

fn by_mark(entry: &Entry, path: Path, leaf: &Value) -> Blamed {
    let sha256 = Json::from_value(leaf).sha256();
    let marks = entry.marks();
    let known = marks.leaves.touching(&path).next().map(|(_, mark)| mark.clone());
    let Some(mark) = known.or_else(|| marks.leaves.rest().cloned()) else { return whole(entry, path, sha256) };
    let LeafMark { version, revision, by, at, confidence, untrusted, source, derived_from, reason } = mark;
    let (at, revision) = (Some(at), Some(revision));
    Blamed { path, by, at, revision, version, confidence, untrusted, source, derived_from, reason, sha256 }
}

fn whole(entry: &Entry, path: Path, sha256: Sha256) -> Blamed {
    let marks = entry.marks();
    let is_last = entry.value_version == entry.version;
    Blamed {
        path,
        by: entry.value_by(),
        at: is_last.then_some(entry.updated_at),
        revision: is_last.then_some(entry.revision),
        version: entry.value_version,
        confidence: marks.confidence.clone(),
        untrusted: marks.untrusted,
        source: marks.source.clone(),
        derived_from: marks.derived_from.clone(),
        reason: entry.reason().cloned().filter(|_| is_last),
        sha256,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::of;
    use crate::entry::SourceKind;
    use crate::json::Json;
    use crate::scenario::{Stage, id, patch, put, touch};

    const RULES: &str = "[zones.z]\n[slots.\"z/doc\"]\nkind = \"document\"\n";

    #[test]
    fn each_leaf_of_a_document_has_its_author_and_origin() {
        let mut stage = Stage::with(RULES);
        stage.ok("ra", put("z/doc", json!({"a": {"x": 1}, "b": [1, 2]})).confidence("stated").reason("whole"));
        stage.ok("rb", patch("z/doc").set("a.y", json!("text")).source(SourceKind::Web, "page"));
        stage.ok("rc", patch("z/doc").set("b", json!([3])).version(2).confidence("stated"));
        let blamed = of(&stage.board, &id("z/doc"), stage.board.entry(&id("z/doc")).expect("an entry"));
        let told: Vec<_> = blamed
            .iter()
            .map(|leaf| {
                let source = leaf.source.as_ref().map(|source| source.reference.as_str());
                (leaf.path.to_string(), leaf.by.to_string(), leaf.version.0, leaf.confidence.as_deref(), source)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("/a/x".into(), "ra".into(), 1, Some("stated"), None),
                ("/a/y".into(), "rb".into(), 2, None, Some("page")),
                ("/b".into(), "rc".into(), 3, Some("stated"), None),
            ]
        );
        assert!(blamed[1].untrusted && !blamed[0].untrusted);
        assert_eq!(blamed[2].sha256, Json::from_value(&json!([3])).sha256());
        assert_eq!(blamed[1].revision.map(|revision| revision.0), Some(3));
    }

    #[test]
    fn everything_else_is_one_leaf() {
        let mut stage = Stage::with(RULES);
        stage.ok("ra", put("z/free", json!({"a": 1})));
        stage.ok("rb", touch("z/free").summary("s").version(1));
        let blamed = of(&stage.board, &id("z/free"), stage.board.entry(&id("z/free")).expect("an entry"));
        assert_eq!((blamed.len(), blamed[0].by.as_str(), blamed[0].version.0, blamed[0].at), (1, "ra", 1, None));
    }
}
