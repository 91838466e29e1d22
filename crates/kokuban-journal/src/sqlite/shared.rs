//! What the writer thread, the readers and the callers know together.
//!
//! Invariant: no lock is held across I/O; a lock that a panic poisoned is used as it is, because every change under
//! one is complete in itself.
//! Not known here: who changes what.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use super::heads::Heads;
use crate::journal::{Health, Stats};
use crate::memory::count;

#[derive(Debug, Default)]
pub(super) struct Shared {
    heads: RwLock<Heads>,
    pub(super) closed: AtomicBool,
    failing: AtomicBool,
    last_error: Mutex<Option<String>>,
    /// Frames in the log after the last commit.
    pub(super) log_frames: AtomicU32,
    pub(super) counters: Counters,
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
    pub(super) snapshots: AtomicU64,
    pub(super) checkpoints: AtomicU64,
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
        self.failing.store(false, Relaxed);
    }

    pub(super) fn group_failed(&self, detail: &str) {
        self.counters.failures.fetch_add(1, Relaxed);
        self.failing.store(true, Relaxed);
        self.remember(detail);
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
            snapshots: counters.snapshots.load(Relaxed),
            checkpoints: counters.checkpoints.load(Relaxed),
        }
    }
}
