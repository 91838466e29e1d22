//! What one reader sees of one commit: rights, scratch tables, filters, the match before and after.
//!
//! Invariant: a function of rules, reader and commit alone; so a commit of years ago is filtered as it was then, and
//! read by who may read it now. Of a zone that may not be read nothing passes here.
//! Not known here: streams and polls, how changes are written.

use kokuban_api::from_core::{changes_of, kinds_of, value_in};
use kokuban_api::kinds::ChangeKind;
use kokuban_api::query::StreamFilter;
use kokuban_api::stream::{Change, Matched};
use kokuban_core::blueprint::{Blueprint, Tier};
use kokuban_core::caller::{Actor, readable};
use kokuban_core::entry::Entry;
use kokuban_core::event::{Commit, Standing, Touched};
use kokuban_core::ids::{EntryId, Status, ZoneName};

/// A reader and what it asked for.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) actor: Actor,
    pub(crate) filter: StreamFilter,
    /// With the value, where the commit wrote one: as it wrote it, not as it stands now.
    pub(crate) include_value: bool,
}

/// A change that the reader may see, before its match is judged.
#[derive(Debug)]
pub(crate) struct Candidate<'c> {
    /// `None`: it is about the board.
    pub(crate) touched: Option<&'c Touched>,
    pub(crate) kinds: Vec<ChangeKind>,
    pub(crate) change: Change,
}

impl Scope {
    /// Nothing is left out but what nobody or not this reader may see.
    pub(crate) fn is_unfiltered(&self) -> bool {
        self.filter.is_empty()
    }

    /// Whether every reader who may read what the commit touched sees the same of it as this one.
    pub(crate) fn shares(&self, rules: &Blueprint, commit: &Commit) -> bool {
        let seen = |touched: &Touched| is_scratch(rules, &touched.id.zone) || self.may_read(rules, &touched.id.zone);
        self.is_unfiltered() && !self.include_value && commit.touched.iter().all(seen)
    }

    /// What of a commit is shown by itself.
    pub(crate) fn changes(&self, rules: &Blueprint, commit: &Commit) -> Vec<Change> {
        let shown = self.candidates(rules, commit).into_iter().filter_map(|candidate| {
            let Candidate { touched, kinds, mut change } = candidate;
            if let Some(touched) = touched {
                change.matched = self.judge(touched.before.as_ref(), touched.after.as_ref())?;
            }
            self.wants_kind(&kinds).then_some(change)
        });
        shown.collect()
    }

    /// What of a commit may be shown, as far as that does not depend on statuses and kinds.
    pub(crate) fn candidates<'c>(&self, rules: &Blueprint, commit: &'c Commit) -> Vec<Candidate<'c>> {
        let candidates = changes_of(commit).into_iter().filter_map(|(touched, mut change)| {
            let kinds = match touched {
                None if self.is_about_entries() => return None,
                None => vec![change.kind],
                Some(touched) if self.passes(rules, &touched.id) => kinds_of(commit, &touched.id),
                Some(_) => return None,
            };
            let silent = kinds.iter().all(|kind| *kind == ChangeKind::LeaseRenewed);
            if silent && !self.filter.kinds.contains(&ChangeKind::LeaseRenewed) {
                return None;
            }
            if let (Some(touched), true) = (touched, self.include_value) {
                change.value = value_in(commit, &touched.id);
            }
            Some(Candidate { touched, kinds, change })
        });
        candidates.collect()
    }

    /// How the filter saw an entry before and after: `None` when neither fits, `Some(None)` when it fits and no
    /// match is told.
    #[expect(clippy::option_option, reason = "left out, shown without and shown with a match are three things")]
    pub(crate) fn judge(&self, before: Option<&Standing>, after: Option<&Standing>) -> Option<Option<Matched>> {
        let fits =
            |standing: Option<&Standing>| standing.is_some_and(|standing| self.wants_status(standing.status.as_ref()));
        if self.is_unfiltered() {
            return Some(None);
        }
        let matched = match (fits(before), fits(after)) {
            (false, false) => return None,
            (false, true) => Matched::Enter,
            (true, true) => Matched::Stay,
            (true, false) if after.is_none() => Matched::Gone,
            (true, false) => Matched::Leave,
        };
        Some(self.filter.kinds.is_empty().then_some(matched))
    }

    pub(crate) fn wants_kind(&self, kinds: &[ChangeKind]) -> bool {
        let wanted = &self.filter.kinds;
        wanted.is_empty() || kinds.iter().any(|kind| wanted.contains(kind))
    }

    /// Whether a snapshot shows this entry.
    pub(crate) fn shows(&self, rules: &Blueprint, id: &EntryId, entry: &Entry) -> bool {
        self.passes(rules, id) && self.wants_status(entry.status().as_ref())
    }

    fn passes(&self, rules: &Blueprint, id: &EntryId) -> bool {
        let StreamFilter { zones, keys, prefixes, .. } = &self.filter;
        let named = zones.contains(&id.zone);
        (zones.is_empty() || named)
            && (keys.is_empty() || keys.contains(&id.key))
            && (prefixes.is_empty() || prefixes.iter().any(|prefix| id.key.as_str().starts_with(prefix)))
            && self.may_read(rules, &id.zone)
            && (named || !is_scratch(rules, &id.zone))
    }

    fn wants_status(&self, status: Option<&Status>) -> bool {
        let wanted = &self.filter.statuses;
        wanted.is_empty() || status.is_some_and(|status| wanted.contains(status))
    }

    /// The filter asks for something that only entries have.
    fn is_about_entries(&self) -> bool {
        let StreamFilter { zones, keys, prefixes, statuses, .. } = &self.filter;
        !(zones.is_empty() && keys.is_empty() && prefixes.is_empty() && statuses.is_empty())
    }

    fn may_read(&self, rules: &Blueprint, zone: &ZoneName) -> bool {
        readable(rules, &self.actor, zone).is_some()
    }

    /// Whether new rules change what this reader may read of what it asked for.
    pub(crate) fn loses_or_gains(&self, old: &Blueprint, new: &Blueprint) -> bool {
        let asked = |zone: &&ZoneName| self.filter.zones.is_empty() || self.filter.zones.contains(zone);
        let mut zones = old.zones.keys().chain(new.zones.keys()).filter(asked);
        // A zone that is new takes nothing from what was promised before.
        zones.any(|zone| old.zone(zone).is_some() && self.may_read(old, zone) != self.may_read(new, zone))
    }
}

/// Whether a zone is each agent's own table, left out of all that does not name it.
pub(crate) fn is_scratch(rules: &Blueprint, zone: &ZoneName) -> bool {
    rules.zone(zone).is_some_and(|zone| zone.tier == Tier::Scratch)
}
