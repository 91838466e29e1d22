//! Open streams and waiting reads by caller.
//!
//! Invariant: a place is given up when its stream or wait is dropped, however it ended; a caller without any takes no
//! memory. Bound: `limits.streams_per_caller_max`.
//! Not known here: what is streamed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use kokuban_api::{ErrorCode, Problem};
use kokuban_core::ids::AgentName;
use prometheus_client::metrics::gauge::Gauge;

/// What a caller who has too many should wait before trying again.
const RETRY_MS: u64 = 1_000;

/// See the module.
#[derive(Debug, Default)]
pub struct StreamCounts {
    by_caller: Mutex<HashMap<AgentName, usize>>,
}

impl StreamCounts {
    /// A place for one more stream or waiting read of this caller.
    ///
    /// # Errors
    /// 429 `rate_limited`.
    pub(crate) fn enter(self: &Arc<Self>, caller: &AgentName, max: usize, open: &Gauge) -> Result<Place, Problem> {
        let mut counts = self.counts();
        let count = counts.entry(caller.clone()).or_default();
        if *count >= max {
            let detail = format!("{caller} has {max} streams and waiting reads on this server; end one first");
            let problem = Problem::new(ErrorCode::RateLimited, detail).with_retry_after_ms(RETRY_MS);
            return Err(problem.with_limit("streams_per_caller_max", max as u64));
        }
        *count += 1;
        drop(counts);
        open.inc();
        Ok(Place { of: Arc::clone(self), caller: caller.clone(), open: open.clone() })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<AgentName, usize>> {
        self.by_caller.lock().expect("no code panics while it holds the counts")
    }
}

/// One stream among those of its caller.
#[derive(Debug)]
pub(crate) struct Place {
    of: Arc<StreamCounts>,
    caller: AgentName,
    open: Gauge,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.dec();
        let mut counts = self.of.counts();
        if let Some(count) = counts.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_has_so_many_streams_and_gets_a_place_back_when_one_ends() {
        let (counts, open) = (Arc::new(StreamCounts::default()), Gauge::default());
        let (ra, rv) = (AgentName::new("ra").unwrap(), AgentName::new("rv").unwrap());
        let first = counts.enter(&ra, 2, &open).unwrap();
        let _second = counts.enter(&ra, 2, &open).unwrap();
        let refused = counts.enter(&ra, 2, &open).unwrap_err();
        assert!(refused.is(ErrorCode::RateLimited) && refused.status == 429);
        let _other = counts.enter(&rv, 2, &open).unwrap();
        assert_eq!(open.get(), 3);
        drop(first);
        assert!(counts.enter(&ra, 2, &open).is_ok());
        assert_eq!(open.get(), 2);
    }
}
