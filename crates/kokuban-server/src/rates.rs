//! How often a caller may ask: `limits.requests_per_s_per_caller_max`.
//!
//! **Invariants**: counted by the caller's name, whatever address it calls from. Who was quiet for a second may ask a
//! second's worth at once, and nobody else is held up by it. Memory is bounded: callers who are quiet are forgotten,
//! and while more names call than agents exist anywhere, all share one count.
//! Not known here: who calls.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use governor::clock::{Clock as _, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use kokuban_api::{ErrorCode, Problem};
use kokuban_core::ids::AgentName;

/// Names that are counted apart. Tokens are at most 1,000, so there are more only where callers invent them.
const NAMES_MAX: usize = 16_384;
/// Requests between two times that quiet callers are forgotten; sooner while there are too many.
const FORGET_EVERY: u32 = 4_096;
const FORGET_EVERY_OF_MANY: u32 = 64;

type Limiter =
    RateLimiter<Option<AgentName>, DashMapStateStore<Option<AgentName>>, MonotonicClock, NoOpMiddleware<Instant>>;

/// See the module.
#[derive(Debug)]
pub(crate) struct Rates {
    per_second: NonZeroU32,
    limiter: Limiter,
    asked: AtomicU32,
    too_many: AtomicBool,
}

impl Rates {
    /// None where the rate is 0: not bounded.
    pub(crate) fn new(per_second: u32) -> Option<Self> {
        let per_second = NonZeroU32::new(per_second)?;
        let limiter = RateLimiter::new(Quota::per_second(per_second), DashMapStateStore::default(), MonotonicClock);
        Some(Self { per_second, limiter, asked: AtomicU32::new(0), too_many: AtomicBool::new(false) })
    }

    /// Counts a request of this caller.
    ///
    /// # Errors
    /// 429 `rate_limited`, with how long to wait.
    pub(crate) fn count(&self, caller: &AgentName) -> Result<(), Problem> {
        let too_many = self.too_many.load(Relaxed);
        let every = if too_many { FORGET_EVERY_OF_MANY } else { FORGET_EVERY };
        if self.asked.fetch_add(1, Relaxed) % every == every - 1 {
            self.forget();
        }
        let name = (!too_many).then(|| caller.clone());
        let counted = self.limiter.check_key(&name);
        counted.map_err(|refused| self.problem(caller, refused.wait_time_from(MonotonicClock.now())))
    }

    fn forget(&self) {
        self.limiter.retain_recent();
        self.limiter.shrink_to_fit();
        self.too_many.store(self.limiter.len() > NAMES_MAX, Relaxed);
    }

    fn problem(&self, caller: &AgentName, wait: Duration) -> Problem {
        let detail = format!("{caller} may ask {} times a second; nothing was done", self.per_second);
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        let problem = Problem::new(ErrorCode::RateLimited, detail).with_retry_after_ms(wait_ms);
        problem.with_limit("requests_per_s_per_caller_max", self.per_second.get().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> AgentName {
        AgentName::new(name).unwrap()
    }

    #[test]
    fn a_caller_may_ask_a_second_s_worth_at_once_and_others_are_not_held_up() {
        let rates = Rates::new(3).unwrap();
        let ra = agent("ra");
        for _ in 0..3 {
            assert!(rates.count(&ra).is_ok());
        }
        let refused = rates.count(&ra).unwrap_err();
        assert!(refused.is(ErrorCode::RateLimited) && refused.status == 429 && refused.retryable);
        let wait_ms = refused.retry_after_ms.unwrap();
        assert!((1..=335).contains(&wait_ms), "a third of a second: {wait_ms}");
        assert_eq!(refused.retry_after_s(), Some(1));
        assert!(rates.count(&agent("rv")).is_ok());
    }

    #[test]
    fn a_rate_of_nothing_is_none() {
        assert!(Rates::new(0).is_none());
    }

    #[test]
    fn invented_names_take_bounded_memory() {
        let rates = Rates::new(1).unwrap();
        for number in 0..100_000 {
            let _ = rates.count(&agent(&format!("a{number}")));
            if number % 1_000 == 0 {
                assert!(rates.limiter.len() <= NAMES_MAX + FORGET_EVERY as usize + 1, "{}", rates.limiter.len());
            }
        }
    }
}
