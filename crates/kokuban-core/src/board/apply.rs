//! Applying a commit: the only mutation of a board.
//!
//! Invariant: applying runs no rule. It fails only for a commit that does not belong here, and then the board must
//! be dropped. The indexes follow every change in the same step.
//! Not known here: why something happened.

use std::collections::BTreeSet;
use std::sync::Arc;

use smol_str::SmolStr;

use super::zone::Zone;
use super::{Board, ENDED_LEASES_MAX, KEYS_MAX, KEYS_MIN, KEYS_MS, KeyRecord, Life, owner_of};
use crate::entry::{
    Draft, DraftValue, EndedLease, Entry, LeafAuthor, Lease, LeaseEnd, LeaseKind, Leaves, Rare, RequestId, Stamp,
    Tombstone,
};
use crate::event::{BoardCreated, BoardRestored, Commit, EntryWritten, Event, Keyed, Standing, Touched, token_of};
use crate::ids::{AgentName, BoardTime, EntryId, Revision, Status, Version, ZoneName};

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
                let (standing, now) = (self.at(id), after.at(id));
                touched.push(Touched {
                    id: id.clone(),
                    version: now.map_or_else(|| after.version_gone(id), |(entry, _)| entry.version),
                    before: standing.map(standing_of),
                    after: now.map(standing_of),
                    held_by: now.and_then(|(_, lease)| lease).map(|lease| lease.holder.clone()),
                    untrusted: now.is_some_and(|(entry, _)| entry.is_untrusted()),
                });
            }
        }
        commit.touched = touched;
        Ok(after)
    }

    /// The last version of an entry that is not there any more.
    fn version_gone(&self, id: &EntryId) -> Version {
        self.tombstones.get(id).map_or(Version::ZERO, |tombstone| tombstone.version)
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
                let old = self.standing_entry(id)?;
                let mut entry = old.draft();
                entry.status = to.as_str();
                renew(&mut entry, *version, commit, reason.as_ref());
                if *under_lease {
                    entry.attempts = 0;
                }
                self.put(id, entry);
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
                let old = self.standing_entry(id)?;
                let mut entry = old.draft();
                // The end of a hold says nothing about whether work on the entry succeeds.
                if ended.kind == LeaseKind::Lease {
                    entry.attempts = 0;
                }
                self.put(id, entry);
            }
            Event::LeaseRevoked { id, .. } => {
                self.end_lease(id, LeaseEnd::Revoked).ok_or(ApplyError::Missing("a lease"))?;
                let old = self.standing_entry(id)?;
                self.put(id, Draft { disowned: true, ..old.draft() });
            }
            Event::LeaseExpired { id, kind, fallback, .. } => {
                self.end_lease(id, LeaseEnd::Expired).ok_or(ApplyError::Missing("a lease"))?;
                let old = self.standing_entry(id)?;
                let mut entry = Draft { disowned: true, ..old.draft() };
                if *kind == LeaseKind::Lease {
                    entry.attempts = entry.attempts.saturating_add(1);
                }
                if let Some(fallback) = fallback {
                    entry.status = fallback.to.as_str();
                    renew(&mut entry, fallback.version, commit, None);
                }
                self.put(id, entry);
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
        let by = commit.by.clone().unwrap_or_else(|| AgentName::known(SERVER));
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
        let running: Vec<(EntryId, Lease)> = self.leases().map(|(id, lease)| (id, lease.clone())).collect();
        for (id, lease) in running {
            self.deadlines.remove(&(lease.deadline, id.clone()));
            let deadline = lease.deadline.min(commit.board_time);
            self.put_lease(&id, Lease { deadline, ..lease });
            self.deadlines.insert((deadline, id));
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
        let by = commit.by.as_ref().map_or(SERVER, AgentName::as_str);
        let old = self.entry(&written.id).cloned();
        if old.is_none() != written.created {
            return Err(ApplyError::Missing("an entry"));
        }
        let mut entry = match &old {
            Some(old) => old.draft(),
            None => Draft {
                sha256: written.value.sha256,
                version: written.version,
                revision: commit.revision,
                touched: commit.revision,
                value_version: written.version,
                created_at: commit.at,
                updated_at: commit.at,
                value: DraftValue::from(&written.value),
                disowned: false,
                status: "",
                created_by: by,
                updated_by: by,
                value_by: by,
                last_holder: "",
                request_id: RequestId::Text(""),
                schema_version: written.schema_version,
                attempts: 0,
                rare: None,
            },
        };
        if written.value_changed {
            entry.sha256 = written.value.sha256;
            entry.value = DraftValue::from(&written.value);
            entry.value_version = written.version;
            entry.value_by = by;
            entry.schema_version = written.schema_version;
            // A write of the same value by another makes him responsible only if it changed something: marks do not.
            entry.disowned = false;
        }
        entry.status = written.status.as_ref().map_or("", Status::as_str);
        if written.under_lease && written.status_from != written.status {
            entry.attempts = 0;
        }
        let mut marks = written.marks.clone();
        if written.per_leaf {
            let by = commit.by.clone().unwrap_or_else(|| AgentName::known(SERVER));
            let author = LeafAuthor { version: written.version, revision: commit.revision, by, at: commit.at };
            marks.leaves = Leaves::after(old.as_deref(), &written.assignments, &marks.derived_from, &author);
        }
        entry.rare = Rare { marks, reason: None }.boxed();
        renew(&mut entry, written.version, commit, written.reason.as_ref());
        if let Some(tombstone) = self.tombstones.remove(&written.id) {
            self.tombstones_by_age.remove(&(tombstone.revision, written.id.clone()));
        }
        self.put(&written.id, entry);
        Ok(())
    }

    /// An entry that is about to be replaced, free of the board.
    fn standing_entry(&self, id: &EntryId) -> Result<Arc<Entry>, ApplyError> {
        self.entry(id).cloned().ok_or(ApplyError::Missing("an entry"))
    }

    /// Puts an entry in its place, touched by this commit: the last of its queue.
    fn put(&mut self, id: &EntryId, entry: Draft<'_>) {
        self.put_packed(id, Draft { touched: self.revision, ..entry }.pack());
    }

    pub(super) fn put_packed(&mut self, id: &EntryId, entry: Entry) {
        let zone = self.zone_mut(&id.zone);
        let (n_entries, bytes) = (zone.n_entries(), zone.bytes());
        zone.put(&id.key, entry);
        let (n_more, bytes_after) = (zone.n_entries() - n_entries, zone.bytes());
        self.n_entries += n_more;
        self.bytes = self.bytes - bytes + bytes_after;
    }

    pub(super) fn put_lease(&mut self, id: &EntryId, lease: Lease) {
        self.zone_mut(&id.zone).put_lease(&id.key, lease);
    }

    fn zone_mut(&mut self, name: &ZoneName) -> &mut Zone {
        if !self.zones.contains_key(name) {
            self.zones.insert(name.clone(), Arc::default());
        }
        Arc::make_mut(self.zones.get_mut(name).expect("just seen to be there"))
    }

    fn delete(&mut self, id: &EntryId, version: Version) -> Result<(), ApplyError> {
        self.entry(id).ok_or(ApplyError::Missing("an entry"))?;
        self.end_lease(id, LeaseEnd::Deleted);
        let zone = self.zone_mut(&id.zone);
        let old = zone.remove(&id.key).ok_or(ApplyError::Missing("an entry"))?;
        if zone.n_entries() == 0 {
            // A zone that was emptied is like one that never held anything: a board from a snapshot knows no difference.
            self.zones.remove(&id.zone);
        }
        (self.n_entries, self.bytes) = (self.n_entries - 1, self.bytes - old.bytes());
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
        // Asked before anything is changed: a place that is not there gets no lease.
        let old = self.standing_entry(id)?;
        let held = self.lease(id);
        // Who holds the entry already goes on holding it, with whatever token: the cap on holding counts from the first.
        let granted = held.filter(|held| held.holder == *holder).map_or(commit.board_time, |held| held.granted);
        self.end_lease(id, LeaseEnd::Superseded);
        let token = token_of(commit.revision);
        let lease = Lease { holder: holder.clone(), token, kind, ttl_ms, granted, deadline, resumed: 0 };
        self.put_lease(id, lease);
        self.deadlines.insert((deadline, id.clone()));
        self.put(id, Draft { disowned: false, last_holder: holder.as_str(), ..old.draft() });
        Ok(())
    }

    fn extend(&mut self, id: &EntryId, deadline: BoardTime, change: impl FnOnce(&mut Lease)) -> Result<(), ApplyError> {
        let mut lease = self.lease(id).cloned().ok_or(ApplyError::Missing("a lease"))?;
        self.deadlines.remove(&(lease.deadline, id.clone()));
        lease.deadline = deadline;
        change(&mut lease);
        self.deadlines.insert((deadline, id.clone()));
        self.put_lease(id, lease);
        Ok(())
    }

    fn end_lease(&mut self, id: &EntryId, end: LeaseEnd) -> Option<Lease> {
        self.lease(id)?;
        let lease = self.zone_mut(&id.zone).remove_lease(&id.key)?;
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

fn standing_of((entry, lease): (&Arc<Entry>, Option<&Lease>)) -> Standing {
    Standing { status: entry.status(), owner: owner_of(entry, lease) }
}

/// The new version of an entry, by whom and in which request.
fn renew<'a>(entry: &mut Draft<'a>, version: Version, commit: &'a Commit, reason: Option<&SmolStr>) {
    entry.version = version;
    entry.revision = commit.revision;
    entry.updated_at = commit.at;
    entry.updated_by = commit.by.as_ref().map_or(SERVER, AgentName::as_str);
    entry.request_id = RequestId::from(commit.request_id.as_str());
    let mut rare = entry.rare.take().map(|rare| *rare).unwrap_or_default();
    rare.reason = reason.cloned();
    entry.rare = rare.boxed();
}

/// Who acts where no caller does.
const SERVER: &str = "kokuban";
