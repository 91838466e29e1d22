//! Conditions on the version of an entry.
//!
//! Invariant: a header condition is judged before a named version, and a condition on a missing entry never holds.
//! Not known here: how conditions are written in a request.

use crate::command::{Failures, Scene};
use crate::entry::Entry;
use crate::ids::{EntryId, Epoch, Version};
use crate::rejection::{Condition, Rejection};

/// What must hold for a write to happen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conditions {
    /// The version read; 0 means that the entry must not exist.
    pub version: Option<Version>,
    pub if_match: Option<TagMatch>,
    pub if_none_match: Option<TagMatch>,
}

/// Entity tags of a header. Weak and foreign ones are left out when it is read: they never match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagMatch {
    Any,
    Tags(Vec<(Version, Epoch)>),
}

impl TagMatch {
    fn matches(&self, version: Version, epoch: Epoch) -> bool {
        match self {
            Self::Any => true,
            Self::Tags(tags) => tags.contains(&(version, epoch)),
        }
    }
}

impl Conditions {
    /// Whether they can show that the caller knows the entry that it changes. `If-None-Match` with tags, weak ones
    /// left out above all, holds for nearly every entry and shows nothing; with `*` it fails for every one.
    pub(crate) fn is_about_what_stands(&self) -> bool {
        self.version.is_some() || self.if_match.is_some() || self.if_none_match == Some(TagMatch::Any)
    }

    /// Adds what does not hold of `entry`.
    pub(crate) fn judge(&self, scene: &Scene<'_>, entry: Option<&Entry>, failures: &mut Failures) {
        let epoch = scene.board.life().map_or(scene.ctx.fresh_epoch, |life| life.epoch);
        let actual = entry.map(|entry| entry.version);
        let matches = |tags: &TagMatch| actual.is_some_and(|version| tags.matches(version, epoch));
        let header_fails = self.if_match.as_ref().is_some_and(|tags| !matches(tags))
            || self.if_none_match.as_ref().is_some_and(matches);
        if header_fails {
            failures.add(Rejection::VersionConflict { condition: Condition::Header, expected: None, actual });
        }
        if let Some(expected) = self.version
            && expected != actual.unwrap_or(Version::ZERO)
        {
            let expected = Some(expected);
            failures.add(Rejection::VersionConflict { condition: Condition::Named, expected, actual });
        }
    }

    /// Adds what does not hold; an entry that exists may only be changed under a condition.
    pub(crate) fn require(&self, scene: &Scene<'_>, id: &EntryId, entry: Option<&Entry>, failures: &mut Failures) {
        self.judge(scene, entry, failures);
        if entry.is_some() && !self.is_about_what_stands() && !scene.board.is_scratch(&id.zone) {
            failures.add(Rejection::PreconditionRequired { id: id.clone() });
        }
    }
}
