//! What the server counts, in the Prometheus text format.
//!
//! **Invariant**: no label has a value that a caller can invent: routes are templates, methods and codes closed
//! lists. So the number of series is bounded, and none names a board, an agent or a key.
//! Not known here: when something happened. Whoever knows counts.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use axum::extract::MatchedPath;
use http::{Method, StatusCode};
use kokuban_api::problem::ErrorCode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::edge::known_method;

/// The content type of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Every instrument. Cheap to clone; clones count together.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
    refusals: Family<CodeLabels, Counter>,
    /// Commits that are durable.
    pub commits: Counter,
    /// Commits per append of the journal.
    pub group_commits: Histogram,
    /// Duration of an append with its sync.
    pub append_seconds: Histogram,
    pub append_failures: Counter,
    /// Open event streams.
    pub streams: Gauge,
    /// Reads that wait for a change.
    pub waiting_reads: Gauge,
    pub boards_loaded: Gauge,
    pub boards_quarantined: Gauge,
    pub leases: Gauge,
    /// Open connections, see `accept::Options`.
    pub connections: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: Route,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: Route,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabels {
    code: &'static str,
}

/// A route by its template. Holds what the router holds, so that a request copies no text.
#[derive(Clone)]
enum Route {
    Matched(MatchedPath),
    Fixed(&'static str),
}

impl Route {
    fn as_str(&self) -> &str {
        match self {
            Self::Matched(path) => path.as_str(),
            Self::Fixed(path) => path,
        }
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Route {}

impl Hash for Route {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl EncodeLabelValue for Route {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), fmt::Error> {
        EncodeLabelValue::encode(&self.as_str(), encoder)
    }
}

/// 0.1 ms to 26 s.
fn request_buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 4.0, 10))
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
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(request_buckets),
            refusals: Family::default(),
            commits: Counter::default(),
            group_commits: Histogram::new(exponential_buckets(1.0, 2.0, 10)),
            append_seconds: Histogram::new(exponential_buckets(0.0001, 2.0, 16)),
            append_failures: Counter::default(),
            streams: Gauge::default(),
            waiting_reads: Gauge::default(),
            boards_loaded: Gauge::default(),
            boards_quarantined: Gauge::default(),
            leases: Gauge::default(),
            connections: Gauge::default(),
        };
        made.registry = Arc::new(made.register());
        made
    }

    fn register(&self) -> Registry {
        let mut r = Registry::with_prefix("kokuban");
        let seconds = || Unit::Seconds;
        r.register("http_requests", "Requests by route, method and class of status", self.requests.clone());
        r.register_with_unit(
            "http_request",
            "From the head of a request to the head of its answer",
            seconds(),
            self.request_seconds.clone(),
        );
        r.register("refusals", "Problems by code", self.refusals.clone());
        r.register("commits", "Durable commits", self.commits.clone());
        r.register("journal_group_commits", "Commits per append", self.group_commits.clone());
        r.register_with_unit("journal_append", "Append with its sync", seconds(), self.append_seconds.clone());
        r.register("journal_append_failures", "Appends that failed", self.append_failures.clone());
        r.register("streams", "Open event streams", self.streams.clone());
        r.register("waiting_reads", "Reads that wait for a change", self.waiting_reads.clone());
        r.register("boards_loaded", "Boards in memory", self.boards_loaded.clone());
        r.register("boards_quarantined", "Boards set aside for damage", self.boards_quarantined.clone());
        r.register("leases", "Live leases of loaded boards", self.leases.clone());
        r.register("connections", "Open connections", self.connections.clone());
        r
    }

    /// Counts an answered request. `fixed` names the route where the router's template is not known.
    pub(crate) fn request(
        &self,
        method: &Method,
        matched: Option<&MatchedPath>,
        fixed: Option<&'static str>,
        status: StatusCode,
        refused: Option<ErrorCode>,
        seconds: f64,
    ) {
        let route = match (matched, fixed) {
            (Some(path), _) => Route::Matched(path.clone()),
            (None, Some(path)) => Route::Fixed(path),
            (None, None) => Route::Fixed("none"),
        };
        let labels = RequestLabels { method: known_method(method), route, status: class(status) };
        self.requests.get_or_create(&labels).inc();
        self.request_seconds.get_or_create(&RouteLabels { route: labels.route }).observe(seconds);
        if let Some(code) = refused {
            self.refusals.get_or_create(&CodeLabels { code: code.as_str() }).inc();
        }
    }

    /// The text of `/metrics`.
    #[must_use]
    pub fn render(&self) -> String {
        let mut out = String::new();
        text::encode(&mut out, &self.registry).expect("writing to memory does not fail");
        out
    }
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        500..=599 => "5xx",
        _ => "1xx",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_template_method_and_class() {
        let metrics = Metrics::new();
        let invented = Method::from_bytes(b"EVIL-METHOD").unwrap();
        for method in [&Method::GET, &Method::GET, &invented] {
            metrics.request(method, None, Some("/v1"), StatusCode::OK, None, 0.01);
        }
        metrics.request(&Method::PUT, None, None, StatusCode::NOT_FOUND, Some(ErrorCode::NotFound), 0.01);
        metrics.clone().commits.inc();
        let text = metrics.render();
        for line in [
            r#"kokuban_http_requests_total{method="GET",route="/v1",status="2xx"} 2"#,
            r#"kokuban_http_requests_total{method="OTHER",route="/v1",status="2xx"} 1"#,
            r#"kokuban_http_requests_total{method="PUT",route="none",status="4xx"} 1"#,
            r#"kokuban_refusals_total{code="not_found"} 1"#,
            r#"kokuban_http_request_seconds_count{route="/v1"} 3"#,
            "kokuban_commits_total 1",
            "kokuban_connections 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is missing in\n{text}");
        }
        assert!(!text.contains("EVIL"));
    }
}
