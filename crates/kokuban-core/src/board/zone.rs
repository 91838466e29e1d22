//! The entries of one zone with their leases, and what is counted and found of them.
//!
//! Invariant: counts and queue always agree with the entries; `check` proves it in tests. Cloning is O(1).
//! The queue is built when somebody first claims in the zone, and followed from then on: a zone where nobody does pays
//! nothing for it.
//! Not known here: what may change, and everything that stands beside entries.

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::{Arc, OnceLock};

use imbl::{OrdMap, OrdSet};

use crate::entry::{Entry, Lease};
use crate::ids::{Key, Revision, Status};

#[derive(Debug, Clone, Default)]
pub(super) struct Zone {
    entries: OrdMap<Key, Arc<Entry>>,
    leases: OrdMap<Key, Lease>,
    /// Of the values.
    bytes: u64,
    by_status: OrdMap<Status, u64>,
    queue: OnceLock<Queue>,
}

/// What a zone holds, in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ZoneTally {
    pub entries: u64,
    pub bytes: u64,
    pub by_status: BTreeMap<Status, u64>,
}

/// Keys by status in the order in which they changed last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Queue {
    by_status: OrdMap<Option<Status>, OrdSet<(Revision, Key)>>,
}

/// All else follows from entries and leases.
impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries && self.leases == other.leases
    }
}

impl Zone {
    pub(super) fn entry(&self, key: &Key) -> Option<&Arc<Entry>> {
        self.entries.get(key)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&Key, &Arc<Entry>)> {
        self.entries.iter()
    }

    pub(super) fn range(&self, keys: impl RangeBounds<Key>) -> impl Iterator<Item = (&Key, &Arc<Entry>)> {
        self.entries.range(keys)
    }

    pub(super) fn n_entries(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn lease(&self, key: &Key) -> Option<&Lease> {
        self.leases.get(key)
    }

    pub(super) fn leases(&self) -> impl Iterator<Item = (&Key, &Lease)> {
        self.leases.iter()
    }

    pub(super) fn put_lease(&mut self, key: &Key, lease: Lease) {
        self.leases.insert(key.clone(), lease);
    }

    pub(super) fn remove_lease(&mut self, key: &Key) -> Option<Lease> {
        self.leases.remove(key)
    }

    pub(super) fn tally(&self) -> ZoneTally {
        ZoneTally {
            entries: self.entries.len() as u64,
            bytes: self.bytes,
            by_status: self.by_status.iter().map(|(status, n)| (status.clone(), *n)).collect(),
        }
    }

    pub(super) fn put(&mut self, key: &Key, entry: Entry) {
        let entry = Arc::new(entry);
        let old = match self.entries.get_mut(key) {
            Some(standing) => Some(std::mem::replace(standing, Arc::clone(&entry))),
            None => self.entries.insert(key.clone(), Arc::clone(&entry)),
        };
        self.follow(key, old.as_deref(), Some(&entry));
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Arc<Entry>> {
        let old = self.entries.remove(key)?;
        self.follow(key, Some(&old), None);
        Some(old)
    }

    /// Keeps up what follows from the entries.
    fn follow(&mut self, key: &Key, old: Option<&Entry>, new: Option<&Entry>) {
        self.bytes -= old.map_or(0, Entry::bytes);
        self.bytes += new.map_or(0, Entry::bytes);
        let (before, after) = (old.and_then(Entry::status), new.and_then(Entry::status));
        if before != after {
            if let Some(status) = &before {
                leave(&mut self.by_status, status);
            }
            if let Some(status) = &after {
                *self.by_status.entry(status.clone()).or_default() += 1;
            }
        }
        if let Some(queue) = self.queue.get_mut() {
            if let Some(old) = old {
                queue.remove(before, old.touched, key);
            }
            if let Some(new) = new {
                queue.insert(after, new.touched, key);
            }
        }
    }

    /// Keys in the order in which they changed last, of those in a status that `wanted` takes.
    pub(super) fn queue<'z, W: Fn(Option<&Status>) -> bool>(
        &'z self,
        wanted: W,
    ) -> impl Iterator<Item = &'z Key> + use<'z, W> {
        let queue = self.queue.get_or_init(|| Queue::of(&self.entries));
        let wanted = queue.by_status.iter().filter(|(status, _)| wanted(status.as_ref()));
        let mut queues: Vec<_> = wanted
            .map(|(_, keys)| {
                let mut keys = keys.iter();
                (keys.next(), keys)
            })
            .collect();
        std::iter::from_fn(move || {
            queues.retain(|(head, _)| head.is_some());
            let (head, keys) = queues.iter_mut().min_by_key(|(head, _)| *head)?;
            std::mem::replace(head, keys.next()).map(|(_, key)| key)
        })
    }

    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut again = Self::default();
        for (key, entry) in &self.entries {
            again.put(key, Entry::clone(entry));
        }
        assert_eq!((self.bytes, &self.by_status), (again.bytes, &again.by_status), "counts");
        assert!(self.leases.keys().all(|key| self.entries.contains_key(key)), "a lease on nothing");
        if let Some(queue) = self.queue.get() {
            assert_eq!(*queue, Queue::of(&self.entries), "queue");
        }
    }
}

impl FromIterator<(Key, Entry)> for Zone {
    fn from_iter<I: IntoIterator<Item = (Key, Entry)>>(entries: I) -> Self {
        let mut zone = Self::default();
        entries.into_iter().for_each(|(key, entry)| zone.put(&key, entry));
        zone
    }
}

impl Queue {
    fn of(entries: &OrdMap<Key, Arc<Entry>>) -> Self {
        let mut queue = Self::default();
        entries.iter().for_each(|(key, entry)| queue.insert(entry.status(), entry.touched, key));
        queue
    }

    fn insert(&mut self, status: Option<Status>, touched: Revision, key: &Key) {
        self.by_status.entry(status).or_default().insert((touched, key.clone()));
    }

    fn remove(&mut self, status: Option<Status>, touched: Revision, key: &Key) {
        if let Some(keys) = self.by_status.get_mut(&status) {
            keys.remove(&(touched, key.clone()));
            if keys.is_empty() {
                self.by_status.remove(&status);
            }
        }
    }
}

fn leave(by_status: &mut OrdMap<Status, u64>, status: &Status) {
    if let Some(n) = by_status.get_mut(status) {
        *n -= 1;
        if *n == 0 {
            by_status.remove(status);
        }
    }
}
