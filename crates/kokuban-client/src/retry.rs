//! When a call is sent again, and how long to wait before that. Pure: the caller brings the clock and the chance.
//!
//! Invariant: a pause is never shorter than what the server asked for, and attempts and total time are both bounded.
//! Not known here: what a call is. Only calls whose repetition has one effect (reads, and writes under an
//! Idempotency-Key) ever come here, and a conflict never does: sent again blindly, it would be refused again or,
//! worse, overwrite what the caller has not seen.

use std::time::Duration;

/// Bounds of the repetition of one logical call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all, the first included.
    pub attempts_max: u32,
    /// No new attempt begins when it would begin later than this after the first.
    pub total: Duration,
    /// The upper bound of the first pause; it doubles with each attempt.
    pub base: Duration,
    /// The upper bound of every pause, and of the pause before a stream reconnects.
    pub cap: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 8,
            total: Duration::from_secs(30),
            base: Duration::from_millis(100),
            cap: Duration::from_secs(5),
        }
    }
}

impl RetryPolicy {
    /// One attempt and no more.
    #[must_use]
    pub fn never() -> Self {
        Self { attempts_max: 1, ..Self::default() }
    }

    /// The pause before the next attempt, `None` when the bounds are spent.
    ///
    /// `attempts` were made, `elapsed` passed since the first began, `asked` is the pause the server asked for and
    /// `chance` a random number. Full jitter: any pause up to the bound, so callers that failed together do not
    /// come back together.
    pub(crate) fn pause(
        &self,
        attempts: u32,
        elapsed: Duration,
        asked: Option<Duration>,
        chance: u64,
    ) -> Option<Duration> {
        if attempts >= self.attempts_max {
            return None;
        }
        let bound = self.bound(attempts);
        let pause = asked.unwrap_or(Duration::ZERO) + fraction(bound, chance);
        (elapsed + pause <= self.total).then_some(pause)
    }

    fn bound(&self, attempts: u32) -> Duration {
        doubled(self.base, attempts.saturating_sub(1), self.cap)
    }
}

/// `base` doubled `times`, at most `cap`.
pub(crate) fn doubled(base: Duration, times: u32, cap: Duration) -> Duration {
    base.saturating_mul(2_u32.saturating_pow(times.min(20))).min(cap)
}

/// Somewhere between zero and `bound`, as `chance` decides.
pub(crate) fn fraction(bound: Duration, chance: u64) -> Duration {
    let micros = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(chance % micros.saturating_add(1).max(1))
}

/// A random number for `pause` and `fraction`. Jitter needs no secrecy, so a failing source gives 0.
pub(crate) fn chance() -> u64 {
    getrandom::u64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        attempts_max: 4,
        total: Duration::from_secs(10),
        base: Duration::from_millis(100),
        cap: Duration::from_millis(300),
    };

    #[test]
    fn pauses_grow_up_to_the_cap_and_end_with_the_attempts() {
        let longest = |attempts| POLICY.bound(attempts).as_millis();
        assert_eq!([1, 2, 3, 40].map(longest), [100, 200, 300, 300]);
        assert!(POLICY.pause(3, Duration::ZERO, None, 7).is_some());
        assert_eq!(POLICY.pause(4, Duration::ZERO, None, 7), None);
    }

    #[test]
    fn a_pause_stays_within_its_bound_for_every_chance() {
        for chance in [0, 1, 99_999, 100_000, 100_001, u64::MAX] {
            let pause = POLICY.pause(1, Duration::ZERO, None, chance).expect("attempts left");
            assert!(pause <= Duration::from_millis(100), "{chance}: {pause:?}");
        }
    }

    #[test]
    fn a_pause_is_never_shorter_than_the_server_asked_for() {
        let asked = Duration::from_secs(2);
        assert!(POLICY.pause(1, Duration::ZERO, Some(asked), 5).expect("attempts left") >= asked);
        assert_eq!(POLICY.pause(1, Duration::ZERO, Some(Duration::from_secs(11)), 5), None, "beyond the total time");
    }

    #[test]
    fn no_attempt_begins_after_the_total_time() {
        assert_eq!(POLICY.pause(1, Duration::from_secs(11), None, 0), None);
    }
}
