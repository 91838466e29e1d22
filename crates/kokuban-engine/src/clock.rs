//! Time: read once from the wall at start, then only counted.
//!
//! Invariant: board time never goes backwards, whatever the wall clock does while the server runs.
//! Not known here: what runs out when.

use std::time::{SystemTime, UNIX_EPOCH};

use kokuban_core::ids::{BoardTime, Timestamp};
use tokio::time::Instant;

const FAR: std::time::Duration = std::time::Duration::from_secs(100 * 365 * 24 * 3_600);

/// The clock of the process.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    start_ms: u64,
}

impl Clock {
    /// Reads the wall clock, for the only time that matters.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now(), start_ms: wall_ms() }
    }

    /// A clock that found the wall clock at `start_ms`.
    #[cfg(test)]
    pub(crate) fn starting_at(start_ms: u64) -> Self {
        Self { start: Instant::now(), start_ms }
    }

    /// Milliseconds of the wall clock at start, plus the time since.
    #[must_use]
    pub fn process_time(&self) -> BoardTime {
        BoardTime(self.start_ms.saturating_add(self.uptime_ms()))
    }

    /// Time since the start.
    #[must_use]
    pub fn uptime_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What the wall clock gained, or lost, against the time since the start: it was set, or does not keep time.
    #[must_use]
    pub fn stepped_ms(&self) -> i64 {
        stepped_ms(wall_ms(), self.process_time())
    }

    /// The moment at which `process_time` will be `time`.
    #[must_use]
    pub fn instant_of(&self, time: BoardTime) -> Instant {
        let ahead = std::time::Duration::from_millis(time.0.saturating_sub(self.start_ms));
        // Further than an instant reaches is as good as never.
        self.start.checked_add(ahead).unwrap_or_else(|| self.start + FAR)
    }

    /// Wall time as it is now: recorded for people, never decided upon.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        Timestamp(i64::try_from(wall_ms()).unwrap_or(i64::MAX))
    }
}

fn stepped_ms(wall_ms: u64, counted: BoardTime) -> i64 {
    let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    signed(wall_ms).saturating_sub(signed(counted.0))
}

fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The clock of one board: ahead of the process where the wall clock was set back between two starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoardClock {
    clock: Clock,
    ahead_ms: u64,
}

impl BoardClock {
    pub(crate) fn new(clock: Clock, last_commit: BoardTime) -> Self {
        Self { clock, ahead_ms: clock.process_time().ms_until(last_commit) }
    }

    pub(crate) fn now(&self) -> BoardTime {
        self.clock.process_time().plus_ms(self.ahead_ms)
    }

    pub(crate) fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    pub(crate) fn instant_of(&self, time: BoardTime) -> Instant {
        self.clock.instant_of(BoardTime(time.0.saturating_sub(self.ahead_ms)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_was_set_is_told_from_the_time_that_passed() {
        assert_eq!(stepped_ms(1_000_000, BoardTime(1_000_000)), 0);
        assert_eq!(stepped_ms(4_600_000, BoardTime(1_000_000)), 3_600_000);
        assert_eq!(stepped_ms(400_000, BoardTime(1_000_000)), -600_000);
        let clock = Clock::start();
        assert!(clock.stepped_ms().abs() < 1_000, "{}", clock.stepped_ms());
    }
}
