//! What is known of a request besides its bytes: id, trace, place among those in flight, route, caller.
//!
//! **Invariant**: the id is made here and never taken from the caller. Nothing of a path, query or body is kept.
//! Not known here: what the request asks for.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::extract::MatchedPath;
use http::{HeaderValue, Method};
use kokuban_api::headers::TraceParent;
use kokuban_core::ids::AgentName;
use prometheus_client::metrics::gauge::Gauge;
use uuid::Uuid;

use crate::settings::Settings;

/// A UUID of version 7.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(Uuid);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl RequestId {
    #[must_use]
    pub fn to_header(self) -> HeaderValue {
        let mut buffer = Uuid::encode_buffer();
        HeaderValue::from_str(self.0.hyphenated().encode_lower(&mut buffer)).expect("hexadecimal digits and hyphens")
    }
}

/// Makes request ids: milliseconds, bits drawn once at the start, and a count. They are names, not secrets,
/// so none of them costs a draw of its own.
#[derive(Debug)]
pub struct RequestIds {
    start: u64,
    count: AtomicU64,
}

impl RequestIds {
    #[must_use]
    pub fn new() -> Self {
        // Without randomness two servers might name two requests alike in one millisecond; nothing depends on it.
        let start = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
        Self { start, count: AtomicU64::new(0) }
    }

    #[must_use]
    pub fn next(&self) -> RequestId {
        let ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis());
        let count = self.count.fetch_add(1, Relaxed);
        // 48 bits of time, 12 of the start, 30 of the start, 32 of the count; the rest is version and variant.
        let head = (ms & 0xffff_ffff_ffff) << 16 | 0x7000 | u128::from(self.start >> 52);
        let tail = 1 << 63 | (self.start & 0x3fff_ffff) << 32 | (count & 0xffff_ffff);
        RequestId(Uuid::from_u128(head << 64 | u128::from(tail)))
    }
}

impl Default for RequestIds {
    fn default() -> Self {
        Self::new()
    }
}

/// Counts the requests that are being worked on.
#[derive(Debug, Default)]
pub(super) struct InFlight(Gauge);

impl InFlight {
    pub(super) fn counted_by(gauge: &Gauge) -> Self {
        Self(gauge.clone())
    }

    pub(super) fn enter(self: &Arc<Self>) -> Place {
        self.0.inc();
        Place { of: Arc::clone(self), held: AtomicBool::new(true) }
    }

    pub(super) fn count(&self) -> usize {
        usize::try_from(self.0.get()).unwrap_or_default()
    }
}

/// A place among the requests in flight, given up once.
#[derive(Debug)]
pub(super) struct Place {
    of: Arc<InFlight>,
    held: AtomicBool,
}

impl Place {
    fn give_up(&self) {
        if self.held.swap(false, Relaxed) {
            self.of.0.dec();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// The template of a request's address.
#[derive(Debug)]
pub(crate) enum Route {
    /// As the router found it.
    Matched(MatchedPath),
    Known(&'static str),
}

/// One request. In the extensions of the request as `Arc<RequestContext>`.
#[derive(Debug)]
pub struct RequestContext {
    pub id: RequestId,
    pub trace: Option<TraceParent>,
    pub began: Instant,
    /// By which the request is judged from its head to its answer.
    pub settings: Arc<Settings>,
    pub(super) method: Method,
    place: Place,
    route: OnceLock<Route>,
    agent: OnceLock<AgentName>,
}

impl RequestContext {
    pub(super) fn new(
        id: RequestId,
        method: Method,
        trace: Option<TraceParent>,
        place: Place,
        settings: Arc<Settings>,
    ) -> Self {
        let (route, agent) = (OnceLock::new(), OnceLock::new());
        Self { id, trace, began: Instant::now(), settings, method, place, route, agent }
    }

    /// The request only waits from now on (long poll, stream), and no longer counts as being worked on.
    pub fn waits(&self) {
        self.place.give_up();
    }

    /// Who calls and by which route, for log and metrics.
    pub(crate) fn identify(&self, agent: AgentName, route: Option<Route>) {
        let _ = self.agent.set(agent);
        if let Some(route) = route {
            let _ = self.route.set(route);
        }
    }

    pub(super) fn route(&self) -> Option<&str> {
        self.route.get().map(|route| match route {
            Route::Matched(path) => path.as_str(),
            Route::Known(template) => template,
        })
    }

    pub(super) fn agent(&self) -> Option<&AgentName> {
        self.agent.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_of_version_7_and_differ() {
        let ids = RequestIds::new();
        let made: Vec<_> = (0..1000).map(|_| ids.next()).collect();
        for id in &made {
            assert_eq!((id.0.get_version_num(), id.0.get_variant()), (7, uuid::Variant::RFC4122));
        }
        let different: std::collections::HashSet<_> = made.iter().collect();
        assert_eq!(different.len(), made.len());
        assert_eq!(made[0].to_header().to_str().unwrap(), made[0].to_string());
    }

    #[test]
    fn a_request_that_waits_gives_up_its_place_once() {
        let in_flight = Arc::new(InFlight::default());
        let settings = Arc::new(Settings::of(crate::config::Config::default()).unwrap());
        let id = RequestIds::new().next();
        let context = RequestContext::new(id, Method::GET, None, in_flight.enter(), settings);
        assert_eq!(in_flight.count(), 1);
        context.waits();
        context.waits();
        drop(context);
        assert_eq!(in_flight.count(), 0);
    }
}
