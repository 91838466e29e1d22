//! What a connection is waiting for, and since when: the facts its time-outs are judged by.
//!
//! Written by the socket (bytes), the service (a request begins) and the answer's body (it ends), read by
//! the driver. All of them run in the one task of the connection, so relaxed atomics are enough; they are
//! atomics only because the parts are owned by different layers of hyper.
//! **Invariant**: at most one deadline is in force, see [`Vitals::deadline`].
//! Not known here: sockets and HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::Timeouts;

/// Why a connection was closed by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overdue {
    Idle,
    Head,
    Write,
}

#[derive(Debug)]
pub(super) struct Vitals {
    born: Instant,
    /// Requests whose answer has not ended; 0 or 1, as hyper serves one after the other.
    busy: AtomicU32,
    idle_since: AtomicU64,
    head_since: Since,
    write_blocked_since: Since,
    between_requests: AtomicBool,
    /// Number of the ambiguous head plus 1, or 0.
    ambiguous: AtomicU64,
    n_requests: AtomicU64,
}

/// Milliseconds since birth plus 1, or 0 for not at all.
#[derive(Debug, Default)]
struct Since(AtomicU64);

impl Since {
    fn get(&self) -> Option<u64> {
        self.0.load(Relaxed).checked_sub(1)
    }

    fn set(&self, ms: u64) {
        self.0.store(ms + 1, Relaxed);
    }

    fn clear(&self) {
        self.0.store(0, Relaxed);
    }
}

impl Vitals {
    pub(super) fn new() -> Self {
        Self {
            born: Instant::now(),
            busy: AtomicU32::new(0),
            idle_since: AtomicU64::new(0),
            head_since: Since::default(),
            write_blocked_since: Since::default(),
            between_requests: AtomicBool::new(true),
            ambiguous: AtomicU64::new(0),
            n_requests: AtomicU64::new(0),
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// After a read: does a head stand open?
    pub(super) fn head_open(&self, open: bool) {
        if !open {
            self.head_since.clear();
        } else if self.head_since.get().is_none() {
            self.head_since.set(self.now_ms());
        }
    }

    pub(super) fn set_between_requests(&self, between: bool) {
        self.between_requests.store(between, Relaxed);
    }

    pub(super) fn between_requests(&self) -> bool {
        self.between_requests.load(Relaxed)
    }

    pub(super) fn set_ambiguous(&self, head: u64) {
        self.ambiguous.store(head + 1, Relaxed);
    }

    pub(super) fn write_blocked(&self, blocked: bool) {
        match (blocked, self.write_blocked_since.get()) {
            (true, None) => self.write_blocked_since.set(self.now_ms()),
            (false, Some(_)) => self.write_blocked_since.clear(),
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Begins a request; true if its head states its body's length twice.
    pub(super) fn request_begins(self: &Arc<Self>) -> (Busy, bool) {
        self.busy.fetch_add(1, Relaxed);
        let number = self.n_requests.fetch_add(1, Relaxed) + 1;
        (Busy(Arc::clone(self)), self.ambiguous.load(Relaxed) == number)
    }

    /// No request is being answered.
    pub(super) fn is_idle(&self) -> bool {
        self.busy.load(Relaxed) == 0
    }

    /// The deadline in force and what missing it means. While a request is answered only a peer that does
    /// not take the answer is held to one; slow bodies are timed where they are read.
    pub(super) fn deadline(&self, timeouts: &Timeouts) -> Option<(Instant, Overdue)> {
        let at = |ms: u64, after: Duration| self.born + Duration::from_millis(ms) + after;
        if let Some(since) = self.write_blocked_since.get() {
            return Some((at(since, timeouts.write), Overdue::Write));
        }
        if !self.is_idle() {
            return None;
        }
        match self.head_since.get() {
            Some(since) => Some((at(since, timeouts.head), Overdue::Head)),
            None => Some((at(self.idle_since.load(Relaxed), timeouts.idle), Overdue::Idle)),
        }
    }
}

/// A request from its head to the end of its answer.
#[derive(Debug)]
pub(super) struct Busy(Arc<Vitals>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Relaxed);
        self.0.idle_since.store(self.0.now_ms(), Relaxed);
    }
}
