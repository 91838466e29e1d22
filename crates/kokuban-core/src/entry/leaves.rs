//! What is known of each leaf of a document: who set it, at which version, how sure, from where.
//!
//! Invariant: no leaf lies within another; leaves that one write set share one mark, also after a snapshot.
//! Not known here: the values.

use std::sync::Arc;

use imbl::OrdMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use super::{DerivedFrom, Entry, Marks, Source};
use crate::event::Assignment;
use crate::ids::{AgentName, Revision, Timestamp, Version};
use crate::path::Path;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafMark {
    pub version: Version,
    pub revision: Revision,
    pub by: AgentName,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<SmolStr>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived_from: Vec<DerivedFrom>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SmolStr>,
}

impl LeafMark {
    fn of(assignment: &Assignment, derived_from: &[DerivedFrom], author: &LeafAuthor) -> Self {
        Self {
            version: author.version,
            revision: author.revision,
            by: author.by.clone(),
            at: author.at,
            confidence: assignment.confidence.clone(),
            untrusted: assignment.untrusted,
            source: assignment.source.clone(),
            derived_from: derived_from.to_vec(),
            reason: assignment.reason.clone(),
        }
    }
}

/// The marks of the leaves of one entry, by place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leaves {
    marks: OrdMap<Path, Arc<LeafMark>>,
    /// Of leaves without a mark of their own: they stood before the entry was declared a document.
    rest: Option<Arc<LeafMark>>,
}

/// Who assigns leaves, and when.
#[derive(Debug, Clone)]
pub(crate) struct LeafAuthor {
    pub(crate) version: Version,
    pub(crate) revision: Revision,
    pub(crate) by: AgentName,
    pub(crate) at: Timestamp,
}

impl Leaves {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.rest.is_none()
    }

    /// The leaves of `entry` once `assignments` were made.
    pub(crate) fn after(
        entry: Option<&Entry>,
        assignments: &[Assignment],
        derived_from: &[DerivedFrom],
        author: &LeafAuthor,
    ) -> Self {
        let mut leaves = match entry {
            Some(entry) => {
                let marks = entry.marks();
                if marks.leaves.is_empty() { Self::before(entry, marks) } else { marks.leaves.clone() }
            }
            None => Self::default(),
        };
        let mut last: Option<Arc<LeafMark>> = None;
        for assignment in assignments {
            if assignment.removed {
                leaves.remove(&assignment.path);
                continue;
            }
            let mark = LeafMark::of(assignment, derived_from, author);
            let shared = last.take().filter(|last| **last == mark).unwrap_or_else(|| Arc::new(mark));
            leaves.set(&assignment.path, &shared);
            last = Some(shared);
        }
        leaves
    }

    /// What is known of the leaves of an entry that was one leaf so far.
    fn before(entry: &Entry, marks: &Marks) -> Self {
        let rest = LeafMark {
            version: entry.value_version,
            revision: entry.revision,
            by: entry.value_by(),
            at: entry.updated_at,
            confidence: marks.confidence.clone(),
            untrusted: marks.untrusted,
            source: marks.source.clone(),
            derived_from: marks.derived_from.clone(),
            reason: entry.reason().cloned(),
        };
        Self { marks: OrdMap::new(), rest: Some(Arc::new(rest)) }
    }

    /// Of a leaf that has no mark of its own.
    #[must_use]
    pub fn rest(&self) -> Option<&LeafMark> {
        self.rest.as_deref()
    }

    /// The lowest level of all leaves.
    pub(crate) fn lowest(&self, rank: impl Fn(&Option<SmolStr>) -> usize) -> Option<SmolStr> {
        let levels = self.marks.values().chain(&self.rest).map(|mark| &mark.confidence);
        levels.min_by_key(|level| rank(level)).cloned().flatten()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Path, &LeafMark)> {
        self.marks.iter().map(|(path, mark)| (path, &**mark))
    }

    /// The marks of the leaf at `path`, of the leaves below it, and of the leaf that it lies in.
    pub fn touching<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = (&'a Path, &'a LeafMark)> {
        let above = (0..path.segments().len()).filter_map(|count| self.marks.get_key_value(&path.first(count)));
        let within = self.marks.range(path.clone()..).take_while(|(at, _)| at.starts_with(path));
        above.chain(within).map(|(path, mark)| (path, &**mark))
    }

    /// The leaf at `path` is gone, with all that was below it.
    pub(crate) fn remove(&mut self, path: &Path) {
        let doomed: Vec<Path> = self.touching(path).map(|(path, _)| path.clone()).collect();
        for path in doomed {
            self.marks.remove(&path);
        }
    }

    /// A leaf stands at `path` now.
    pub(crate) fn set(&mut self, path: &Path, mark: &Arc<LeafMark>) {
        self.remove(path);
        self.marks.insert(path.clone(), Arc::clone(mark));
    }
}

/// One mark, and the leaves that share it; without leaves it is that of the rest.
#[derive(Serialize, Deserialize)]
struct Shared {
    mark: Arc<LeafMark>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<Path>,
}

impl Serialize for Leaves {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rest = self.rest.iter().map(|mark| Shared { mark: Arc::clone(mark), paths: Vec::new() });
        let mut groups: Vec<Shared> = rest.collect();
        let n_rest = groups.len();
        for (path, mark) in &self.marks {
            match groups[n_rest..].iter_mut().find(|group| group.mark == *mark) {
                Some(group) => group.paths.push(path.clone()),
                None => groups.push(Shared { mark: Arc::clone(mark), paths: vec![path.clone()] }),
            }
        }
        groups.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Leaves {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut groups = Vec::<Shared>::deserialize(deserializer)?;
        let rest = groups.first().is_some_and(|group| group.paths.is_empty()).then(|| groups.remove(0).mark);
        let each = groups.into_iter().flat_map(|group| {
            let mark = group.mark;
            group.paths.into_iter().map(move |path| (path, Arc::clone(&mark)))
        });
        Ok(Self { marks: each.collect(), rest })
    }
}
