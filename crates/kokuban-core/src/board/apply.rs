//! Applying a commit: the only mutation of a board.
//!
//! Invariant: applying runs no rule. It fails only for a commit that does not belong here, and then the board must
//! be dropped. The indexes follow every change in the same step.
//! Not known here: why something happened.

use std::collections::BTreeSet;
use std::sync::Arc;

use smol_str::SmolStr;

use super::zone::Zone;
use super::{Board, ENDED_LEASES_MAX, KEYS_MAX, KEYS_MIN, KEYS_MS, KeyRecord, Life};
use crate::entry::{EndedLease, Entry, EntryParts, Lease, LeaseEnd, LeaseKind, Stamp, Tombstone};
use crate::event::{BoardCreated, BoardRestored, Commit, EntryWritten, Event, Keyed, Standing, Touched, token_of};
use crate::ids::{AgentName, BoardTime, EntryId, Revision, Version};

/// A commit that does not fit the board it is applied to: a defect or damage, never a user's fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyError {
    Board,
    Revision {
        expected: Revision,
        found: Revision,
    },
    /// An event names something that is not there.
    Missing(&'static str),
}

impl std::fmt::Display for ApplyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Board => f.write_str("the commit belongs to another board"),
            Self::Revision { expected, found } => write!(f, "revision {expected} was due, found {found}"),
            Self::Missing(what) => write!(f, "an event names {what} that is not there"),
        }
    }
}

impl std::error::Error for ApplyError {}

impl Board {
    /// The board after a commit that was just decided on this one; the commit learns how it left each entry.
    ///
    /// # Errors
    /// If the commit was decided on another board.
    pub fn advance(&self, commit: &mut Commit) -> Result<Self, ApplyError> {
        let mut after = self.clone();
        after.apply(commit)?;
        let mut touched: Vec<Touched> = Vec::new();
        let mut known = BTreeSet::new();
        for id in commit.events.iter().filter_map(Event::entry) {
            if known.insert(id) {
                touched.push(Touched {
                    id: id.clone(),
                    version: after.version_of(id),
                    before: self.standing(id),
                    after: after.standing(id),
                    held_by: after.lease(id).map(|lease| lease.holder.clone()),
                    untrusted: after.entry(id).is_some_and(|entry| entry.is_untrusted()),
                });
            }
        }
        commit.touched = touched;
        Ok(after)
    }

    fn version_of(&self, id: &EntryId) -> Version {
        let gone = || self.tombstones.get(id).map_or(Version::ZERO, |tombstone| tombstone.version);
        self.entry(id).map_or_else(gone, |entry| entry.version)
    }

    fn standing(&self, id: &EntryId) -> Option<Standing> {
        let entry = self.entry(id)?;
        Some(Standing { status: entry.status(), owner: self.owner(id, entry) })
    }

    /// Applies a commit.
    ///
    /// # Errors
    /// If the commit does not follow; the board is then in no defined state and must be dropped.
    pub fn apply(&mut self, commit: &Commit) -> Result<(), ApplyError> {
        if commit.board != self.name {
            return Err(ApplyError::Board);
        }
        if !commit.follows(self.revision) {
            return Err(ApplyError::Revision { expected: self.revision.next(), found: commit.revision });
        }
        self.revision = commit.revision;
        self.time = self.time.max(commit.board_time);
        for event in &commit.events {
            self.apply_event(event, commit)?;
        }
        if let (Some(keyed), Some(by)) = (&commit.keyed, &commit.by) {
            self.remember_key(by, keyed);
        }
        Ok(())
    }

    fn apply_event(&mut self, event: &Event, commit: &Commit) -> Result<(), ApplyError> {
        match event {
            Event::BoardCreated(created) => self.create(created, commit),
            Event::BoardDeleted => self.delete_board(),
            Event::BoardRestored(restored) => self.restore(restored, commit),
            Event::EntryWritten(written) => self.write(written, commit)?,
            Event::EntryMoved { id, version, to, under_lease, reason, .. } => {
                self.change(id, commit, |entry| {
                    entry.status = Some(to.clone());
                    renew(entry, *version, commit, reason.as_ref());
                    if *under_lease {
                        entry.attempts = 0;
                    }
                })?;
            }
            Event::EntryDeleted { id, version, .. } => self.delete(id, *version)?,
            Event::TombstonesCollected { through, floor } => {
                self.collect_tombstones(*through);
                self.floor = self.floor.max(*floor);
            }
            Event::LeaseGranted { id, holder, kind, ttl_ms, deadline } => {
                self.grant(id, holder, *kind, *ttl_ms, *deadline, commit)?;
            }
            Event::LeaseRenewed { id, ttl_ms, deadline, .. } => {
                self.extend(id, *deadline, |lease| {
                    lease.ttl_ms = *ttl_ms;
                    lease.resumed = 0;
                })?;
            }
            Event::LeaseResumed { id, deadline, .. } => self.extend(id, *deadline, |lease| lease.resumed += 1)?,
            Event::LeaseReleased { id, .. } => {
                let ended = self.end_lease(id, LeaseEnd::Released).ok_or(ApplyError::Missing("a lease"))?;
                self.change(id, commit, |entry| {
                    // The end of a hold says nothing about whether work on the entry succeeds.
                    if ended.kind == LeaseKind::Lease {
                        entry.attempts = 0;
                    }
                })?;
            }
            Event::LeaseRevoked { id, .. } => {
                self.end_lease(id, LeaseEnd::Revoked).ok_or(ApplyError::Missing("a lease"))?;
                self.change(id, commit, |entry| entry.disowned = true)?;
            }
            Event::LeaseExpired { id, kind, fallback, .. } => {
                self.end_lease(id, LeaseEnd::Expired).ok_or(ApplyError::Missing("a lease"))?;
                self.change(id, commit, |entry| {
                    entry.disowned = true;
                    if *kind == LeaseKind::Lease {
                        entry.attempts = entry.attempts.saturating_add(1);
                    }
                    if let Some(fallback) = fallback {
                        entry.status = Some(fallback.to.clone());
                        renew(entry, fallback.version, commit, None);
                    }
                })?;
            }
            Event::Noted { id, note } => {
                self.notes.entry(id.clone()).or_default().push_back(note.clone());
            }
            Event::NoteClosed { id, note } => self.close_note(id, note),
            Event::Erased { .. } => {}
        }
        Ok(())
    }

    fn create(&mut self, created: &BoardCreated, commit: &Commit) {
        self.clear();
        self.floor = created.floor;
        let by = commit.by.clone().unwrap_or_else(server_name);
        self.life = Some(Life {
            epoch: commit.epoch,
            since: commit.revision,
            blueprint: Arc::clone(&created.blueprint),
            title: created.title.clone(),
            labels: created.labels.clone(),
            created: Stamp { by, at: commit.at },
        });
    }

    fn delete_board(&mut self) {
        self.clear();
        self.life = None;
    }

    fn restore(&mut self, restored: &BoardRestored, commit: &Commit) {
        self.restored = self.restored.max(restored.floor);
        self.floor = self.floor.max(restored.floor);
        if let Some(life) = &mut self.life {
            life.epoch = commit.epoch;
        }
        // Nobody knows what became of the leases after the backup: none may be used again.
        let running: Vec<EntryId> = self.leases.keys().cloned().collect();
        for id in running {
            let Some(lease) = self.leases.get_mut(&id) else { continue };
            self.deadlines.remove(&(lease.deadline, id.clone()));
            lease.deadline = lease.deadline.min(commit.board_time);
            self.deadlines.insert((lease.deadline, id));
        }
    }

    /// Everything goes but name, revision, time, floor, and the keys: a repeat that comes late must not create or
    /// delete a board a second time.
    fn clear(&mut self) {
        *self = Self {
            revision: self.revision,
            time: self.time,
            floor: self.floor,
            restored: self.restored,
            keys: std::mem::take(&mut self.keys),
            keys_by_age: std::mem::take(&mut self.keys_by_age),
            ..Self::absent(self.name.clone())
        };
    }

    /// What was known of a key goes with its tombstone.
    fn collect_tombstones(&mut self, through: Revision) {
        while let Some((revision, id)) = self.tombstones_by_age.get_min().cloned() {
            if revision > through {
                return;
            }
            self.tombstones_by_age.remove(&(revision, id.clone()));
            self.tombstones.remove(&id);
            self.ended_leases.remove(&id);
        }
    }

    fn write(&mut self, written: &EntryWritten, commit: &Commit) -> Result<(), ApplyError> {
        let by = commit.by.clone().unwrap_or_else(server_name);
        let stamp = Stamp { by, at: commit.at };
        let old = self.entry(&written.id).map(|old| old.parts());
        if old.is_none() != written.created {
            return Err(ApplyError::Missing("an entry"));
        }
        let mut entry = old.unwrap_or_else(|| EntryParts {
            value: written.value.clone(),
            version: written.version,
            revision: commit.revision,
            touched: commit.revision,
            status: None,
            created: stamp.clone(),
            updated: stamp.clone(),
            value_version: written.version,
            value_by: stamp.by.clone(),
            disowned: false,
            last_holder: None,
            attempts: 0,
            marks: None,
            schema_version: written.schema_version,
            reason: None,
            request_id: commit.request_id.clone(),
        });
        if written.value_changed {
            entry.value = written.value.clone();
            entry.value_version = written.version;
            entry.value_by = stamp.by;
            entry.schema_version = written.schema_version;
        }
        // A write of the same value by another still makes him responsible only if it changed something: marks do not.
        entry.disowned = entry.disowned && !written.value_changed;
        entry.status.clone_from(&written.status);
        entry.marks = (!written.marks.is_empty()).then(|| Box::new(written.marks.clone()));
        if written.under_lease && written.status_from != written.status {
            entry.attempts = 0;
        }
        renew(&mut entry, written.version, commit, written.reason.as_ref());
        entry.touched = commit.revision;
        if let Some(tombstone) = self.tombstones.remove(&written.id) {
            self.tombstones_by_age.remove(&(tombstone.revision, written.id.clone()));
        }
        self.put(&written.id, &entry);
        Ok(())
    }

    /// Replaces an entry by what `change` makes of it, and moves it to the end of its queue.
    fn change(
        &mut self,
        id: &EntryId,
        commit: &Commit,
        change: impl FnOnce(&mut EntryParts),
    ) -> Result<(), ApplyError> {
        let mut entry = self.entry(id).ok_or(ApplyError::Missing("an entry"))?.parts();
        change(&mut entry);
        entry.touched = commit.revision;
        self.put(id, &entry);
        Ok(())
    }

    pub(super) fn put(&mut self, id: &EntryId, entry: &EntryParts) {
        let entry = Entry::pack(entry);
        match self.zones.get_mut(&id.zone) {
            Some(zone) => {
                let zone = Arc::make_mut(zone);
                (self.n_entries, self.bytes) = (self.n_entries - zone.n_entries(), self.bytes - zone.bytes());
                zone.put(&id.key, entry);
                (self.n_entries, self.bytes) = (self.n_entries + zone.n_entries(), self.bytes + zone.bytes());
            }
            None => {
                (self.n_entries, self.bytes) = (self.n_entries + 1, self.bytes + entry.bytes());
                self.zones.insert(id.zone.clone(), Arc::new(Zone::from_iter([(id.key.clone(), entry)])));
            }
        }
    }

    fn delete(&mut self, id: &EntryId, version: Version) -> Result<(), ApplyError> {
        let zone = self.zones.get_mut(&id.zone).map(Arc::make_mut).ok_or(ApplyError::Missing("an entry"))?;
        let old = zone.remove(&id.key).ok_or(ApplyError::Missing("an entry"))?;
        if zone.n_entries() == 0 {
            // A zone that was emptied is like one that never held anything: a board from a snapshot knows no difference.
            self.zones.remove(&id.zone);
        }
        (self.n_entries, self.bytes) = (self.n_entries - 1, self.bytes - old.bytes());
        self.end_lease(id, LeaseEnd::Deleted);
        self.notes.remove(id);
        self.tombstones.insert(id.clone(), Tombstone { version, revision: self.revision, deleted: self.time });
        self.tombstones_by_age.insert((self.revision, id.clone()));
        Ok(())
    }

    fn grant(
        &mut self,
        id: &EntryId,
        holder: &AgentName,
        kind: LeaseKind,
        ttl_ms: u64,
        deadline: BoardTime,
        commit: &Commit,
    ) -> Result<(), ApplyError> {
        let held = self.leases.get(id);
        // Who holds the entry already goes on holding it, with whatever token: the cap on holding counts from the first.
        let granted = held.filter(|held| held.holder == *holder).map_or(commit.board_time, |held| held.granted);
        self.end_lease(id, LeaseEnd::Superseded);
        let token = token_of(commit.revision);
        let lease = Lease { holder: holder.clone(), token, kind, ttl_ms, granted, deadline, resumed: 0 };
        self.leases.insert(id.clone(), lease);
        self.deadlines.insert((deadline, id.clone()));
        self.change(id, commit, |entry| {
            entry.disowned = false;
            entry.last_holder = Some(holder.clone());
        })
    }

    fn extend(&mut self, id: &EntryId, deadline: BoardTime, change: impl FnOnce(&mut Lease)) -> Result<(), ApplyError> {
        let mut lease = self.leases.get(id).cloned().ok_or(ApplyError::Missing("a lease"))?;
        self.deadlines.remove(&(lease.deadline, id.clone()));
        lease.deadline = deadline;
        change(&mut lease);
        self.deadlines.insert((deadline, id.clone()));
        self.leases.insert(id.clone(), lease);
        Ok(())
    }

    fn end_lease(&mut self, id: &EntryId, end: LeaseEnd) -> Option<Lease> {
        let lease = self.leases.remove(id)?;
        self.deadlines.remove(&(lease.deadline, id.clone()));
        if lease.kind == LeaseKind::Lease {
            let ended = self.ended_leases.entry(id.clone()).or_default();
            ended.push_back(EndedLease { holder: lease.holder.clone(), token: lease.token, end });
            if ended.len() > ENDED_LEASES_MAX {
                ended.pop_front();
            }
        }
        Some(lease)
    }

    fn close_note(&mut self, id: &EntryId, note: &SmolStr) {
        let Some(notes) = self.notes.get_mut(id) else { return };
        notes.retain(|open| open.id != *note);
        if notes.is_empty() {
            self.notes.remove(id);
        }
    }

    fn remember_key(&mut self, by: &AgentName, keyed: &Keyed) {
        let name = (by.clone(), keyed.key.clone());
        let record = KeyRecord { fingerprint: keyed.fingerprint, revision: self.revision, since: self.time };
        self.keys.insert(name.clone(), record);
        self.keys_by_age.insert(self.revision, name);
        self.forget_keys();
    }

    /// Drops the oldest keys: all beyond the most that are kept, and the aged ones down to the least.
    fn forget_keys(&mut self) {
        while let Some((revision, name)) = self.keys_by_age.get_min() {
            let aged = self.keys.get(name).is_none_or(|record| record.since.plus_ms(KEYS_MS) < self.time);
            if self.keys.len() <= KEYS_MIN || (self.keys.len() <= KEYS_MAX && !aged) {
                return;
            }
            let (revision, name) = (*revision, name.clone());
            self.keys_by_age.remove(&revision);
            self.keys.remove(&name);
        }
    }
}

/// The new version of an entry, by whom and in which request.
fn renew(entry: &mut EntryParts, version: Version, commit: &Commit, reason: Option<&SmolStr>) {
    entry.version = version;
    entry.revision = commit.revision;
    entry.updated = Stamp { by: commit.by.clone().unwrap_or_else(server_name), at: commit.at };
    entry.request_id = commit.request_id.clone();
    entry.reason = reason.cloned();
}

/// Who acts where no caller does.
fn server_name() -> AgentName {
    AgentName::new("kokuban").expect("a plain name")
}
