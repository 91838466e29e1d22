//! A board: the fold of its commits, and what one may ask of it.
//!
//! Invariant: `apply` is the only mutation, and cloning is O(1): a clone is a consistent view for ever.
//! Indexes (claim queues, deadlines, counts, bytes) always agree with the entries; `check` proves it in tests.
//! Not known here: whether a change is allowed. Start at `apply`; the entries are in `zone`.

mod apply;
mod index;
mod snapshot;
mod zone;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet, Vector};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use zone::Zone;

pub use apply::ApplyError;
pub use zone::ZoneTally;

use crate::blueprint::{Blueprint, Lifecycle, Tier};
use crate::entry::{EndedLease, Entry, Lease, LeaseEnd, Note, Stamp, Tombstone};
use crate::ids::{
    AgentName, BoardName, BoardTime, EntryId, Epoch, Key, LeaseToken, Position, Revision, Sha256, Status, Version,
    ZoneName,
};

/// Idempotency-Keys kept at the most and at the least, and for how long between.
pub const KEYS_MAX: usize = 10_000;
pub const KEYS_MIN: usize = 1_000;
pub const KEYS_MS: u64 = 24 * 60 * 60 * 1_000;
/// Ended leases remembered per entry, to tell a late holder what happened.
pub const ENDED_LEASES_MAX: usize = 8;

#[derive(Debug, Clone)]
#[cfg_attr(test, derive(PartialEq))]
pub struct Board {
    name: BoardName,
    revision: Revision,
    time: BoardTime,
    /// `None` before the first creation and after a deletion.
    life: Option<Life>,
    /// Every version given from now on to a key of which nothing is known is above this.
    floor: Version,
    /// Every version given from now on to any key is above this: the floor of the last restore.
    restored: Version,
    /// Those that hold entries, shared so that a write in one copies nothing of the others.
    zones: OrdMap<ZoneName, Arc<Zone>>,
    n_entries: usize,
    tombstones: OrdMap<EntryId, Tombstone>,
    ended_leases: OrdMap<EntryId, Vector<EndedLease>>,
    notes: OrdMap<EntryId, Vector<Note>>,
    keys: OrdMap<(AgentName, SmolStr), KeyRecord>,
    /// Indexes; derived from the above.
    keys_by_age: OrdMap<Revision, (AgentName, SmolStr)>,
    tombstones_by_age: OrdSet<(Revision, EntryId)>,
    deadlines: OrdSet<(BoardTime, EntryId)>,
    bytes: u64,
}

/// What a board is between its creation and its deletion.
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    /// Another one after each restore.
    pub epoch: Epoch,
    /// The revision of the creation: commits from here on are of this life.
    pub since: Revision,
    pub blueprint: Arc<Blueprint>,
    pub title: Option<SmolStr>,
    pub labels: BTreeMap<SmolStr, SmolStr>,
    pub created: Stamp,
}

/// What is remembered of a keyed request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    pub fingerprint: Sha256,
    pub revision: Revision,
    pub since: BoardTime,
}

impl Board {
    /// A board of which nothing is known yet.
    #[must_use]
    pub fn absent(name: BoardName) -> Self {
        Self {
            name,
            revision: Revision::ZERO,
            time: BoardTime(0),
            life: None,
            floor: Version::ZERO,
            restored: Version::ZERO,
            zones: OrdMap::new(),
            n_entries: 0,
            tombstones: OrdMap::new(),
            ended_leases: OrdMap::new(),
            notes: OrdMap::new(),
            keys: OrdMap::new(),
            keys_by_age: OrdMap::new(),
            tombstones_by_age: OrdSet::new(),
            deadlines: OrdSet::new(),
            bytes: 0,
        }
    }

    #[must_use]
    pub fn name(&self) -> &BoardName {
        &self.name
    }

    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The board time of the last commit.
    #[must_use]
    pub fn time(&self) -> BoardTime {
        self.time
    }

    #[must_use]
    pub fn life(&self) -> Option<&Life> {
        self.life.as_ref()
    }

    #[must_use]
    pub fn exists(&self) -> bool {
        self.life.is_some()
    }

    /// The epoch, for a board that exists.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.life.as_ref().map(|life| Position { epoch: life.epoch, revision: self.revision })
    }

    /// The rules of the board.
    ///
    /// # Panics
    /// If the board does not exist. Ask `exists` first; every command is judged so.
    #[must_use]
    pub fn blueprint(&self) -> &Arc<Blueprint> {
        &self.life.as_ref().expect("commands on an absent board are refused before they are judged").blueprint
    }

    /// Takes an equal blueprint that others hold too in place of its own.
    pub fn share_blueprint(&mut self, shared: &Arc<Blueprint>) {
        if let Some(life) = self.life.as_mut().filter(|life| life.blueprint == *shared) {
            life.blueprint = Arc::clone(shared);
        }
    }

    #[must_use]
    pub fn entry(&self, id: &EntryId) -> Option<&Arc<Entry>> {
        self.zones.get(&id.zone)?.entry(&id.key)
    }

    /// In order of zone and key.
    pub fn entries(&self) -> impl Iterator<Item = (EntryId, &Arc<Entry>)> {
        self.zones.iter().flat_map(|(zone, entries)| placed(zone, entries.entries()))
    }

    /// Entries from `start` on, in order of zone and key.
    pub fn entries_from<'b>(
        &'b self,
        start: Bound<&EntryId>,
    ) -> impl Iterator<Item = (EntryId, &'b Arc<Entry>)> + use<'b> {
        let zone_of = |id: &EntryId| self.zones.get_key_value(&id.zone);
        let (first, zones) = match start {
            Bound::Unbounded => (None, Bound::Unbounded),
            Bound::Included(id) | Bound::Excluded(id) => (zone_of(id), Bound::Excluded(id.zone.clone())),
        };
        let keys = (start.map(|id| id.key.clone()), Bound::Unbounded);
        let first = first.map(|(zone, entries)| placed(zone, entries.range(keys)));
        let later = self.zones.range((zones, Bound::Unbounded));
        let later = later.flat_map(|(zone, entries)| placed(zone, entries.entries()));
        first.into_iter().flatten().chain(later)
    }

    /// Live entries and tombstones: what the limit counts.
    #[must_use]
    pub fn n_places(&self) -> usize {
        self.n_entries + self.tombstones.len()
    }

    #[must_use]
    pub fn n_entries(&self) -> usize {
        self.n_entries
    }

    #[must_use]
    pub fn tombstone(&self, id: &EntryId) -> Option<&Tombstone> {
        self.tombstones.get(id)
    }

    /// Oldest first, with the revisions of the deletions.
    pub(crate) fn tombstones_by_age(&self) -> impl Iterator<Item = (Revision, &Tombstone)> {
        self.tombstones_by_age.iter().filter_map(|(revision, id)| Some((*revision, self.tombstones.get(id)?)))
    }

    pub fn tombstones(&self) -> impl Iterator<Item = (&EntryId, &Tombstone)> {
        self.tombstones.iter()
    }

    #[must_use]
    pub fn lease(&self, id: &EntryId) -> Option<&Lease> {
        self.zones.get(&id.zone)?.lease(&id.key)
    }

    /// What stands at a place: the entry, and the lease on it.
    pub(crate) fn at(&self, id: &EntryId) -> Option<(&Arc<Entry>, Option<&Lease>)> {
        let zone = self.zones.get(&id.zone)?;
        Some((zone.entry(&id.key)?, zone.lease(&id.key)))
    }

    /// The lease if it is live at `now`; a reader's view.
    #[must_use]
    pub fn live_lease(&self, id: &EntryId, now: BoardTime) -> Option<&Lease> {
        self.lease(id).filter(|lease| lease.is_live(now))
    }

    /// In order of zone and key.
    pub fn leases(&self) -> impl Iterator<Item = (EntryId, &Lease)> {
        let placed = |name: &ZoneName, key: &Key| EntryId::new(name.clone(), key.clone());
        self.zones
            .iter()
            .flat_map(move |(name, zone)| zone.leases().map(move |(key, lease)| (placed(name, key), lease)))
    }

    #[must_use]
    pub fn n_leases(&self) -> usize {
        self.deadlines.len()
    }

    /// How the lease with this token ended, as far as it is remembered.
    #[must_use]
    pub fn lease_end(&self, id: &EntryId, agent: &AgentName, token: LeaseToken) -> LeaseEnd {
        let ended = self.ended_leases.get(id);
        let known = ended.into_iter().flatten().find(|ended| ended.token == token);
        match known {
            Some(ended) if ended.holder == *agent => ended.end,
            Some(_) => LeaseEnd::NeverHeld,
            // Forgotten ones are older than all that are remembered, and so were followed by others.
            None if ended.is_some_and(|ended| ended.len() == ENDED_LEASES_MAX)
                && ended.and_then(|ended| ended.front()).is_some_and(|oldest| token < oldest.token) =>
            {
                LeaseEnd::Superseded
            }
            None => LeaseEnd::NeverHeld,
        }
    }

    #[must_use]
    pub fn notes(&self, id: &EntryId) -> Option<&Vector<Note>> {
        self.notes.get(id)
    }

    #[must_use]
    pub fn n_notes(&self, id: &EntryId) -> u64 {
        self.notes.get(id).map_or(0, |notes| notes.len() as u64)
    }

    /// Who is responsible for the entry now.
    #[must_use]
    pub fn owner(&self, id: &EntryId, entry: &Entry) -> Option<AgentName> {
        owner_of(entry, self.lease(id))
    }

    /// The version that the next change of this key makes.
    #[must_use]
    pub fn next_version(&self, id: &EntryId) -> Version {
        self.version_after(self.entry(id).map(|entry| &**entry), id)
    }

    /// The same for an entry at hand, or a key that has none.
    pub(crate) fn version_after(&self, entry: Option<&Entry>, id: &EntryId) -> Version {
        match entry.map(|entry| entry.version).or_else(|| Some(self.tombstones.get(id)?.version)) {
            Some(version) => version.max(self.restored).next(),
            // The counter of a key that is not known may have been collected: the floor is above all such.
            None => self.floor.next(),
        }
    }

    #[must_use]
    pub fn key_record(&self, agent: &AgentName, key: &str) -> Option<&KeyRecord> {
        self.keys.get(&(agent.clone(), SmolStr::new(key)))
    }

    /// The revision of the oldest commit that a repeated request may still ask for.
    #[must_use]
    pub fn oldest_key(&self) -> Option<Revision> {
        self.keys_by_age.get_min().map(|(revision, _)| *revision)
    }

    /// The next moment at which something on the board runs out.
    #[must_use]
    pub fn next_deadline(&self) -> Option<BoardTime> {
        self.deadlines.get_min().map(|(time, _)| *time)
    }

    /// What has run out at `now`, earliest first.
    pub fn overdue(&self, now: BoardTime) -> impl Iterator<Item = &EntryId> {
        self.deadlines.iter().take_while(move |(deadline, _)| *deadline <= now).map(|(_, id)| id)
    }

    /// Keys of a zone in the order in which they changed last, of those in a status that `wanted` takes.
    pub fn queue<'b, W: Fn(Option<&Status>) -> bool>(
        &'b self,
        zone: &ZoneName,
        wanted: W,
    ) -> impl Iterator<Item = &'b Key> + use<'b, W> {
        self.zones.get(zone).map(|zone| zone.queue(wanted)).into_iter().flatten()
    }

    /// What a zone holds, if it holds anything.
    #[must_use]
    pub fn tally(&self, zone: &ZoneName) -> Option<ZoneTally> {
        self.zones.get(zone).map(|zone| zone.tally())
    }

    /// Bytes of all live values.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the values that count as part of the prompt.
    #[must_use]
    pub fn state_bytes(&self) -> u64 {
        let Some(life) = &self.life else { return 0 };
        self.zones.iter().filter(|(name, _)| life.blueprint.is_prompt_visible(name)).map(|(_, zone)| zone.bytes()).sum()
    }

    #[must_use]
    pub fn lifecycle(&self, zone: &ZoneName) -> Option<&Lifecycle> {
        let blueprint = self.blueprint();
        blueprint.zone(zone).and_then(|zone| blueprint.lifecycle_of(zone))
    }

    #[must_use]
    pub fn is_scratch(&self, zone: &ZoneName) -> bool {
        self.life.as_ref().and_then(|life| life.blueprint.zone(zone)).is_some_and(|zone| zone.tier == Tier::Scratch)
    }
}

/// Who is responsible for an entry under this lease, or under none.
pub(crate) fn owner_of(entry: &Entry, lease: Option<&Lease>) -> Option<AgentName> {
    match lease {
        Some(lease) => Some(lease.holder.clone()),
        None if entry.is_disowned() => None,
        None => Some(entry.value_by()),
    }
}

fn placed<'b>(
    zone: &'b ZoneName,
    entries: impl Iterator<Item = (&'b Key, &'b Arc<Entry>)>,
) -> impl Iterator<Item = (EntryId, &'b Arc<Entry>)> {
    entries.map(|(key, entry)| (EntryId::new(zone.clone(), key.clone()), entry))
}
