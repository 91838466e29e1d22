//! The indexes of a board from what they are derived from: rebuilt for a snapshot, compared in tests.
//!
//! Invariant: a board that was rebuilt is equal to the one whose indexes followed every change.
//! Not known here: changes; `apply` keeps the indexes up with them. Those of the entries are their zone's.

use super::Board;

impl Board {
    /// Whether every index says what the board without indexes says.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let mut again = self.clone();
        again.reindex();
        assert_eq!((self.n_entries, self.bytes), (again.n_entries, again.bytes), "entries and bytes");
        assert_eq!(self.deadlines, again.deadlines, "deadlines");
        assert_eq!(self.keys_by_age, again.keys_by_age, "keys by age");
        assert_eq!(self.tombstones_by_age, again.tombstones_by_age, "tombstones by age");
        for (name, zone) in &self.zones {
            assert!(zone.n_entries() > 0, "{name} holds nothing");
            zone.check();
        }
        for (id, entry) in self.entries() {
            assert!(entry.version.0 <= self.revision.0, "{id} has version {} at {}", entry.version, self.revision);
            assert!(self.tombstones.get(&id).is_none(), "{id} is there and deleted");
            assert!(entry.revision <= entry.touched && entry.touched <= self.revision, "{id}");
            assert!(crate::entry::Entry::pack(&entry.parts()) == **entry, "{id}");
        }
        for (id, lease) in self.leases() {
            assert!(lease.token.0 <= self.revision.0, "{id}");
        }
        assert!(self.floor.0 <= self.revision.0, "floor");
        assert!(self.notes.iter().all(|(id, notes)| self.entry(id).is_some() && !notes.is_empty()), "notes");
    }

    /// Rebuilds the indexes from what they are derived from.
    pub(super) fn reindex(&mut self) {
        self.n_entries = self.zones.values().map(|zone| zone.n_entries()).sum();
        self.bytes = self.zones.values().map(|zone| zone.bytes()).sum();
        self.tombstones_by_age = self.tombstones.iter().map(|(id, t)| (t.revision, id.clone())).collect();
        self.deadlines = self.leases().map(|(id, lease)| (lease.deadline, id)).collect();
        self.keys_by_age = self.keys.iter().map(|(name, record)| (record.revision, name.clone())).collect();
    }
}
