//! What the writer thread, the readers and the callers know together, and what the log is told of it.
//!
//! Invariant: no lock is held across I/O; a lock that a panic poisoned is used as it is, because every change under
//! one is complete in itself.
//! Not known here: who changes what.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use super::heads::Heads;
use crate::journal::{Health, Stats};
use crate::memory::count;

#[derive(Debug, Default)]
pub(super) struct Shared {
    heads: RwLock<Heads>,
    pub(super) closed: AtomicBool,
    failing: AtomicBool,
    last_error: Mutex<Option<String>>,
    trouble: Mutex<Option<Trouble>>,
    /// Frames in the log after the last commit.
    pub(super) log_frames: AtomicU32,
    pub(super) counters: Counters,
}

/// Since the first group that could not be stored, until one is.
#[derive(Debug)]
struct Trouble {
    began: Instant,
    groups: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    groups: AtomicU64,
    commits: AtomicU64,
    body_bytes: AtomicU64,
    failures: AtomicU64,
    sync_nanos_total: AtomicU64,
    sync_nanos_last: AtomicU64,
    sync_nanos_max: AtomicU64,
    by_commits: [AtomicU64; 11],
    by_sync: [AtomicU64; 16],
    pub(super) snapshots: AtomicU64,
    pub(super) checkpoints: AtomicU64,
}

/// The shortest syncs that are told apart.
const SYNC_NANOS_LEAST: u64 = 100_000;

/// Counts a value among those of at most the same power of two.
fn note(buckets: &[AtomicU64], value: u64) {
    let power = usize::try_from(value.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1)).unwrap_or(usize::MAX);
    buckets[power.min(buckets.len() - 1)].fetch_add(1, Relaxed);
}

impl Shared {
    pub(super) fn heads(&self) -> RwLockReadGuard<'_, Heads> {
        self.heads.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the writer thread alone.
    pub(super) fn heads_mut(&self) -> RwLockWriteGuard<'_, Heads> {
        self.heads.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stored(&self, n_commits: usize, body_bytes: usize, sync: Duration) {
        let Counters { groups, commits, body_bytes: bytes, .. } = &self.counters;
        groups.fetch_add(1, Relaxed);
        commits.fetch_add(count(n_commits), Relaxed);
        bytes.fetch_add(count(body_bytes), Relaxed);
        let nanos = u64::try_from(sync.as_nanos()).unwrap_or(u64::MAX);
        self.counters.sync_nanos_total.fetch_add(nanos, Relaxed);
        self.counters.sync_nanos_last.store(nanos, Relaxed);
        self.counters.sync_nanos_max.fetch_max(nanos, Relaxed);
        note(&self.counters.by_commits, count(n_commits));
        note(&self.counters.by_sync, nanos.div_ceil(SYNC_NANOS_LEAST));
        self.failing.store(false, Relaxed);
        if let Some(Trouble { began, groups }) = self.trouble().take() {
            let after_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(after_ms, failed_groups = groups, "the storage takes writes again");
        }
    }

    /// Told in the log once for all groups of one trouble: a full disk is not made better by lines about it.
    pub(super) fn group_failed(&self, detail: &str) {
        self.counters.failures.fetch_add(1, Relaxed);
        self.failing.store(true, Relaxed);
        self.remember(detail);
        let mut trouble = self.trouble();
        match &mut *trouble {
            Some(Trouble { groups, .. }) => *groups += 1,
            None => {
                *trouble = Some(Trouble { began: Instant::now(), groups: 1 });
                tracing::error!(detail, "the storage takes no writes; reads go on, and writes when it does again");
            }
        }
    }

    fn trouble(&self) -> std::sync::MutexGuard<'_, Option<Trouble>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log was renewed after a failure: nothing speaks against the next group.
    pub(super) fn recovered(&self) {
        self.failing.store(false, Relaxed);
    }

    /// Keeps an error for [`Shared::health`] without saying that appends fail.
    pub(super) fn remember(&self, detail: &str) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(detail.to_owned());
    }

    pub(super) fn health(&self) -> Health {
        Health {
            writable: !self.failing.load(Relaxed) && !self.closed.load(Relaxed),
            last_error: self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    pub(super) fn stats(&self) -> Stats {
        let counters = &self.counters;
        Stats {
            boards: count(self.heads().len()),
            groups: counters.groups.load(Relaxed),
            commits: counters.commits.load(Relaxed),
            body_bytes: counters.body_bytes.load(Relaxed),
            failures: counters.failures.load(Relaxed),
            sync_nanos_total: counters.sync_nanos_total.load(Relaxed),
            sync_nanos_last: counters.sync_nanos_last.load(Relaxed),
            sync_nanos_max: counters.sync_nanos_max.load(Relaxed),
            groups_by_commits: counters.by_commits.each_ref().map(|n| n.load(Relaxed)),
            groups_by_sync: counters.by_sync.each_ref().map(|n| n.load(Relaxed)),
            snapshots: counters.snapshots.load(Relaxed),
            checkpoints: counters.checkpoints.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_counted_among_those_of_at_most_the_same_power_of_two() {
        let shared = Shared::default();
        for commits in [1, 2, 3, 4, 5, 8, 512, 513, 100_000] {
            shared.stored(commits, 0, Duration::from_nanos(100_000 * commits as u64));
        }
        let stats = shared.stats();
        assert_eq!(stats.groups_by_commits, [1, 1, 2, 2, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(stats.groups_by_sync, [1, 1, 2, 2, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1]);
        assert_eq!((stats.groups_by_commits.iter().sum::<u64>(), stats.groups), (9, 9));
    }
}
