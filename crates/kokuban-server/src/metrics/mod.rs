//! What the server counts and measures, in the text format of OpenMetrics.
//!
//! **Invariants**: no label has a value that a caller can invent: routes are templates; methods, codes, limits and
//! outcomes closed lists. So the number of series is bounded, and none names a board, an agent or a key. Whatever is
//! shown stands in `docs/metrics.md`, and the other way round (a test compares them).
//! Not known here: when something happened. Whoever knows counts; what can be looked up is read when it is asked for.

mod process;
mod readings;
mod requests;

use std::fmt::Write as _;
use std::sync::Arc;

use http::{Method, StatusCode};
use kokuban_api::problem::ErrorCode;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

pub(crate) use process::Process;
pub(crate) use readings::{DataDirectory, Readings};
use requests::Requests;

/// The content type of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const PREFIX: &str = "kokuban";

/// Every instrument. Cheap to clone; clones count together.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    requests: Arc<Requests>,
    /// Requests that are being worked on; those that wait are not.
    pub requests_in_flight: Gauge,
    /// Open event streams.
    pub streams: Gauge,
    /// Reads that wait for a change.
    pub waiting_reads: Gauge,
    /// Open connections, see `accept::Options`.
    pub connections: Gauge,
    /// Duration of an append: waiting for the writer, the group and its sync.
    pub append_seconds: Histogram,
    /// Duration of storing a snapshot, and its size.
    pub snapshot_seconds: Histogram,
    pub snapshot_bytes: Counter,
    reloads: Family<OutcomeLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    #[must_use]
    pub fn new() -> Self {
        let mut made = Self {
            registry: Arc::default(),
            requests: Arc::new(Requests::new()),
            requests_in_flight: Gauge::default(),
            streams: Gauge::default(),
            waiting_reads: Gauge::default(),
            connections: Gauge::default(),
            append_seconds: Histogram::new(exponential_buckets(0.0001, 2.0, 16)),
            snapshot_seconds: Histogram::new(exponential_buckets(0.001, 4.0, 8)),
            snapshot_bytes: Counter::default(),
            reloads: Family::default(),
        };
        made.registry = Arc::new(made.register());
        // Known from the start, so that a first failure is a change and not a new series.
        for outcome in ["taken_over", "refused"] {
            drop(made.reloads.get_or_create(&OutcomeLabels { outcome }));
        }
        made
    }

    fn register(&self) -> Registry {
        let mut r = Registry::with_prefix(PREFIX);
        self.requests.register(&mut r);
        let seconds = || Unit::Seconds;
        r.register("requests_in_flight", "Requests being worked on", self.requests_in_flight.clone());
        r.register("streams", "Open event streams", self.streams.clone());
        r.register("waiting_reads", "Reads that wait for a change", self.waiting_reads.clone());
        r.register("connections", "Open connections", self.connections.clone());
        let append = "From handing commits over to their being durable";
        r.register_with_unit("journal_append", append, seconds(), self.append_seconds.clone());
        r.register_with_unit("snapshot", "Storing a snapshot of a board", seconds(), self.snapshot_seconds.clone());
        r.register_with_unit("snapshot", "Bytes of snapshots stored", Unit::Bytes, self.snapshot_bytes.clone());
        r.register("configuration_reloads", "Configurations read again, by what came of it", self.reloads.clone());
        r
    }

    /// Counts an answered request by the template of its address.
    pub(crate) fn request(
        &self,
        method: &Method,
        route: Option<&str>,
        status: StatusCode,
        refused: Option<ErrorCode>,
        seconds: f64,
    ) {
        self.requests.count(method, route, status, refused, seconds);
    }

    pub(crate) fn reloaded(&self, taken_over: bool) {
        let outcome = if taken_over { "taken_over" } else { "refused" };
        self.reloads.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    /// The text of `/metrics`.
    #[must_use]
    pub(crate) fn render(&self, readings: Readings, process: Process) -> String {
        let mut of_server = Registry::with_prefix(PREFIX);
        of_server.register_collector(Box::new(readings));
        let mut of_process = Registry::default();
        of_process.register_collector(Box::new(process));
        let mut out = String::new();
        for registry in [&*self.registry, &of_server, &of_process] {
            text::encode_registry(&mut out, registry).expect("writing to memory does not fail");
        }
        out.write_str("# EOF\n").expect("writing to memory does not fail");
        out
    }
}
