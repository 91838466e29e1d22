//! Counters of the engine.
//!
//! Invariant: only ever counts; never a board, agent or key.
//! Not known here: how metrics are exposed.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) commits: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) refusals: AtomicU64,
    pub(crate) replays: AtomicU64,
    pub(crate) expiries: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) snapshots: AtomicU64,
    pub(crate) loads: AtomicU64,
    pub(crate) evictions: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, n: usize) {
        counter.fetch_add(n as u64, Ordering::Relaxed);
    }
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    pub boards_loaded: u64,
    pub boards_quarantined: u64,
    /// Live leases of loaded boards; boards with leases are always loaded.
    pub leases: u64,
    /// Requests that wait for their boards, and about the bytes they hold.
    pub mailbox_requests: u64,
    pub mailbox_bytes: u64,
    /// Those of the board for which most wait.
    pub mailbox_requests_deepest: u64,
    pub commits: u64,
    pub batches: u64,
    pub refusals: u64,
    pub replays: u64,
    pub expiries: u64,
    pub panics: u64,
    pub retries: u64,
    pub snapshots: u64,
    pub loads: u64,
    pub evictions: u64,
}

impl Counters {
    pub(crate) fn read(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            boards_loaded: 0,
            boards_quarantined: 0,
            leases: 0,
            mailbox_requests: 0,
            mailbox_bytes: 0,
            mailbox_requests_deepest: 0,
            commits: get(&self.commits),
            batches: get(&self.batches),
            refusals: get(&self.refusals),
            replays: get(&self.replays),
            expiries: get(&self.expiries),
            panics: get(&self.panics),
            retries: get(&self.retries),
            snapshots: get(&self.snapshots),
            loads: get(&self.loads),
            evictions: get(&self.evictions),
        }
    }
}
