//! The one word that stops the server, and everybody who listens for it.
//!
//! Invariant: the phase only moves forward: running, leaving, stopping, killed.
//! Not known here: signals, and what a stream or a connection does when it hears the word.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    /// All is served as before, and whoever asks is told to go elsewhere.
    Leaving,
    /// Nothing new is begun; what runs may end within the bound.
    Stopping,
    /// Everything ends now.
    Killed,
}

/// Cheap to clone: the accept loop, every connection and every stream hold one.
#[derive(Debug, Clone)]
pub struct Shutdown {
    phase: watch::Sender<Phase>,
    /// The same in short: every connection looks at it whenever it wakes, and must not take a lock for that.
    stopping: Arc<AtomicBool>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { phase: watch::Sender::new(Phase::Running), stopping: Arc::default() }
    }
}

impl Shutdown {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that the graceful stop comes soon.
    pub fn leave(&self) {
        self.advance(Phase::Leaving);
    }

    /// Asks for the graceful stop.
    pub fn begin(&self) {
        self.advance(Phase::Stopping);
    }

    /// Asks for the immediate stop.
    pub fn kill(&self) {
        self.advance(Phase::Killed);
    }

    /// Whether the server is about to stop, or stops.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        *self.phase.borrow() >= Phase::Leaving
    }

    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Resolves when the stop was asked for. A stream says `bye` then.
    pub async fn stopping(&self) {
        self.reached(Phase::Stopping).await;
    }

    /// Resolves when the immediate stop was asked for.
    pub async fn killed(&self) {
        self.reached(Phase::Killed).await;
    }

    fn advance(&self, to: Phase) {
        if to >= Phase::Stopping {
            self.stopping.store(true, Ordering::Release);
        }
        self.phase.send_if_modified(|phase| {
            let forward = to > *phase;
            if forward {
                *phase = to;
            }
            forward
        });
    }

    async fn reached(&self, phase: Phase) {
        // An error means that the sender is gone, and `self` is one.
        let _ = self.phase.subscribe().wait_for(|now| *now >= phase).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stop_is_heard_by_those_who_listen_and_by_those_who_come_later() {
        let shutdown = Shutdown::new();
        let listener = shutdown.clone();
        let task = tokio::spawn(async move { listener.stopping().await });
        assert!(!shutdown.is_stopping());
        shutdown.begin();
        task.await.unwrap();
        shutdown.stopping().await;
        assert!(shutdown.is_stopping());
    }

    #[tokio::test]
    async fn who_leaves_has_not_stopped() {
        let shutdown = Shutdown::new();
        assert!(!shutdown.is_leaving());
        shutdown.leave();
        assert!(shutdown.is_leaving() && !shutdown.is_stopping());
        assert!(futures::FutureExt::now_or_never(shutdown.stopping()).is_none());
        shutdown.begin();
        assert!(shutdown.is_leaving() && shutdown.is_stopping());
    }

    #[tokio::test]
    async fn a_kill_is_also_a_stop_and_is_never_taken_back() {
        let shutdown = Shutdown::new();
        shutdown.kill();
        shutdown.begin();
        shutdown.stopping().await;
        shutdown.killed().await;
    }
}
