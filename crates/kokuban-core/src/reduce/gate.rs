//! What may replace what: conditions and confidence, leaf by leaf.
//!
//! Invariant: nothing that stands is overwritten blind, and a lower level never replaces a higher one.
//! Not known here: what an operation does.

use serde_json::Value;
use smol_str::SmolStr;

use super::effect::{Kept, Step};
use super::{Op, Operation};
use crate::blueprint::{Confidence, Slot};
use crate::caller::Actor;
use crate::entry::{Entry, LeafMark, Marks, Source};
use crate::ids::{AgentName, Version};
use crate::path::Path;
use crate::rejection::{Condition, Rejection};

/// What the leaves of a value that a write meets are judged by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) slot: Option<&'a Slot>,
    pub(crate) levels: &'a Confidence,
    /// The highest level that the caller may claim; `None` is every level.
    pub(crate) cap: Option<usize>,
    pub(crate) entry: Option<&'a Entry>,
    pub(crate) caller: &'a AgentName,
    pub(crate) arbiter: bool,
    /// The write names the version of the entry, so no operation needs a condition of its own.
    pub(crate) versioned: bool,
    /// A scratch table: its agent overwrites freely.
    pub(crate) free: bool,
    /// What the write as a whole says.
    pub(crate) claim: &'a Claim,
    pub(crate) source: Option<&'a Source>,
    /// The write as a whole brings something from outside.
    pub(crate) untrusted: bool,
}

/// A level as claimed, once the cap of the caller was applied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Claim {
    /// `None` where none was named, which counts as the lowest.
    pub(crate) level: Option<SmolStr>,
    pub(crate) rank: usize,
    /// The level that was asked for, where it was too high for the caller.
    pub(crate) capped: Option<SmolStr>,
}

/// The level that a caller may claim by `named`.
///
/// # Errors
/// The blueprint has no such level.
pub(crate) fn claim(levels: &Confidence, cap: Option<usize>, named: Option<&SmolStr>) -> Result<Claim, Rejection> {
    let Some(named) = named else { return Ok(Claim::default()) };
    let Some(rank) = levels.rank(named) else {
        let known = levels.levels.iter().map(SmolStr::new).collect();
        return Err(Rejection::UnknownConfidence { given: named.clone(), known });
    };
    Ok(match cap.filter(|cap| rank > *cap) {
        Some(cap) => Claim { level: Some(SmolStr::new(&levels.levels[cap])), rank: cap, capped: Some(named.clone()) },
        None => Claim { level: Some(named.clone()), rank, capped: None },
    })
}

impl Confidence {
    /// The highest level that `actor` may claim: the highest cap among his roles, and none if a role has no cap.
    pub(crate) fn cap_of(
        &self,
        actor: &Actor,
        roles: &std::collections::BTreeMap<crate::ids::RoleName, Vec<AgentName>>,
    ) -> Option<usize> {
        let cap_of_role = |role: &str| {
            let level = self.cap.iter().find(|(name, _)| name.as_str() == role).map(|(_, level)| level)?;
            self.rank(level)
        };
        let held = roles.iter().filter(|(_, members)| members.contains(&actor.agent)).map(|(role, _)| role.as_str());
        std::iter::once("agent")
            .chain(held)
            .map(cap_of_role)
            .try_fold(0, |highest, cap| cap.map(|cap| highest.max(cap)))
    }
}

/// What is known of a leaf that stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) version: Version,
    pub(crate) by: AgentName,
    pub(crate) level: Option<SmolStr>,
    pub(crate) rank: usize,
    pub(crate) untrusted: bool,
    /// Whether `by` wrote all of it.
    pub(crate) sole: bool,
}

/// What becomes of one step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    Apply,
    Hold { stands: SmolStr },
    Nothing,
}

impl Rules<'_> {
    /// The level of an operation, or that of the whole write.
    pub(crate) fn claim_of(&self, named: Option<&SmolStr>) -> Result<Claim, Rejection> {
        if named.is_none() { Ok(self.claim.clone()) } else { claim(self.levels, self.cap, named) }
    }

    /// Leaves of their own have documents only; everything else is one leaf.
    pub(crate) fn per_leaf(&self) -> bool {
        self.slot.is_some_and(Slot::has_leaves)
    }

    /// What is known of the leaves at and below `path`: the newest version, the highest level.
    pub(crate) fn leaf(&self, path: &Path) -> Option<Leaf> {
        let entry = self.entry?;
        let marks = entry.marks();
        let whole = || Leaf {
            version: entry.value_version,
            by: entry.value_by(),
            level: marks.confidence.clone(),
            rank: self.rank(marks.confidence.as_ref()),
            untrusted: marks.untrusted,
            sole: true,
        };
        if !self.per_leaf() {
            return Some(whole());
        }
        let of_mark = |mark: &LeafMark| Leaf {
            version: mark.version,
            by: mark.by.clone(),
            level: mark.confidence.clone(),
            rank: self.rank(mark.confidence.as_ref()),
            untrusted: mark.untrusted,
            sole: true,
        };
        Some(self.known(marks, path).or_else(|| marks.leaves.rest().map(of_mark)).unwrap_or_else(whole))
    }

    fn known(&self, marks: &Marks, path: &Path) -> Option<Leaf> {
        let mut found: Option<Leaf> = None;
        for (_, mark) in marks.leaves.touching(path) {
            let rank = self.rank(mark.confidence.as_ref());
            let Some(leaf) = &mut found else {
                found = Some(Leaf {
                    version: mark.version,
                    by: mark.by.clone(),
                    level: mark.confidence.clone(),
                    rank,
                    untrusted: mark.untrusted,
                    sole: true,
                });
                continue;
            };
            leaf.sole &= leaf.by == mark.by;
            leaf.untrusted |= mark.untrusted;
            if mark.version > leaf.version {
                leaf.version = mark.version;
                leaf.by = mark.by.clone();
            }
            if rank > leaf.rank {
                leaf.rank = rank;
                leaf.level.clone_from(&mark.confidence);
            }
        }
        found
    }

    pub(crate) fn rank(&self, level: Option<&SmolStr>) -> usize {
        level.and_then(|level| self.levels.rank(level)).unwrap_or(0)
    }

    /// Judges one step of an operation.
    pub(super) fn judge(
        &self,
        before: Option<&Value>,
        operation: &Operation,
        step: &Step,
        claim: &Claim,
    ) -> Result<Verdict, Rejection> {
        let standing = before.and_then(|before| step.path.get(before));
        let leaf = self.leaf(&step.path).filter(|_| standing.is_some());
        if step.kept == Kept::Value {
            let rises = leaf.is_some_and(|leaf| claim.rank > leaf.rank);
            return Ok(if rises { Verdict::Apply } else { Verdict::Nothing });
        }
        if self.free {
            return Ok(Verdict::Apply);
        }
        // What is one leaf as a whole is not lowered by a part that is new in it either.
        let whole = self.leaf(&Path::ROOT).filter(|_| !self.per_leaf() && step.kept == Kept::Nothing);
        if let Some(whole) = whole.filter(|whole| whole.rank > claim.rank) {
            return Ok(Verdict::Hold { stands: whole.level.unwrap_or_default() });
        }
        let Some(leaf) = leaf else { return Ok(Verdict::Apply) };
        self.unchanged(operation, &leaf)?;
        if step.kept == Kept::Level {
            return Ok(Verdict::Apply);
        }
        if leaf.rank > claim.rank {
            // Nothing is overwritten, so nobody has to show what he has read.
            return Ok(Verdict::Hold { stands: leaf.level.unwrap_or_default() });
        }
        if self.needs_condition(operation, &leaf, claim) {
            let path = step.path.to_string();
            return Err(Rejection::LeafConditionRequired { path, version: leaf.version, by: leaf.by });
        }
        Ok(Verdict::Apply)
    }

    fn unchanged(&self, operation: &Operation, leaf: &Leaf) -> Result<(), Rejection> {
        match operation.unchanged_since {
            Some(since) if leaf.version > since && !self.versioned => Err(Rejection::VersionConflict {
                condition: Condition::Named,
                expected: Some(since),
                actual: Some(leaf.version),
            }),
            _ => Ok(()),
        }
    }

    fn needs_condition(&self, operation: &Operation, leaf: &Leaf, claim: &Claim) -> bool {
        if self.versioned || operation.unchanged_since.is_some() {
            return false;
        }
        match &operation.op {
            Op::Unset | Op::Reset(_) => true,
            Op::Set(_) | Op::Merge(_) => !(leaf.sole && leaf.by == *self.caller) && leaf.rank >= claim.rank,
            Op::Add(_) | Op::Remove(_) | Op::Append(_) | Op::Increment(_) => false,
        }
    }

    /// Whether a leaf that is written now comes from outside, or stays beside what does.
    pub(crate) fn taints(&self, source: Option<&Source>, path: &Path) -> bool {
        self.untrusted
            || source.is_some_and(|source| source.kind.is_outside())
            || self.leaf(path).is_some_and(|leaf| leaf.untrusted)
    }
}
