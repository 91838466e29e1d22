//! Requests by route, method and class of status, and refusals by code.
//!
//! **Invariants**: a series is looked up once, when it first counts; after that a request costs an index and two
//! additions. A series that never counted is not shown.
//! Not known here: how a request came to its route.

use std::collections::HashMap;
use std::sync::OnceLock;

use http::{Method, StatusCode};
use kokuban_api::problem::ErrorCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::docs::ROUTES;
use crate::edge::{METHODS, method_number};

/// What is asked for and is no route.
const NO_ROUTE: &str = "none";
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    /// A template.
    route: &'static str,
    /// The class.
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabels {
    code: &'static str,
}

#[derive(Debug)]
pub(super) struct Requests {
    counted: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
    refusals: Family<CodeLabels, Counter>,
    routes: HashMap<&'static str, OfRoute>,
    none: OfRoute,
    by_code: HashMap<ErrorCode, OnceLock<Counter>>,
}

/// What is counted of one route, as far as it has been.
#[derive(Debug)]
struct OfRoute {
    template: &'static str,
    seconds: OnceLock<Histogram>,
    counted: [[OnceLock<Counter>; CLASSES.len()]; METHODS.len()],
}

/// 0.1 ms to 26 s.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 4.0, 10))
}

impl OfRoute {
    fn new(template: &'static str) -> Self {
        Self { template, seconds: OnceLock::new(), counted: Default::default() }
    }
}

impl Requests {
    pub(super) fn new() -> Self {
        Self {
            counted: Family::default(),
            seconds: Family::new_with_constructor(buckets),
            refusals: Family::default(),
            routes: ROUTES.iter().map(|route| (route.path, OfRoute::new(route.path))).collect(),
            none: OfRoute::new(NO_ROUTE),
            by_code: ErrorCode::ALL.iter().map(|code| (*code, OnceLock::new())).collect(),
        }
    }

    pub(super) fn register(&self, r: &mut Registry) {
        r.register("http_requests", "Requests by route, method and class of status", self.counted.clone());
        let seconds = "From the head of a request to the head of its answer";
        r.register_with_unit("http_request", seconds, Unit::Seconds, self.seconds.clone());
        r.register("refusals", "Problems by code", self.refusals.clone());
    }

    pub(super) fn count(
        &self,
        method: &Method,
        route: Option<&str>,
        status: StatusCode,
        refused: Option<ErrorCode>,
        seconds: f64,
    ) {
        let of = route.and_then(|route| self.routes.get(route)).unwrap_or(&self.none);
        let (method, class) = (method_number(method), usize::from(status.as_u16() / 100 - 1).min(CLASSES.len() - 1));
        let counter = of.counted[method][class].get_or_init(|| {
            let labels = RequestLabels { method: METHODS[method], route: of.template, status: CLASSES[class] };
            self.counted.get_or_create_owned(&labels)
        });
        counter.inc();
        let histogram =
            of.seconds.get_or_init(|| self.seconds.get_or_create_owned(&RouteLabels { route: of.template }));
        histogram.observe(seconds);
        if let Some((code, counter)) = refused.and_then(|code| Some((code, self.by_code.get(&code)?))) {
            counter.get_or_init(|| self.refusals.get_or_create_owned(&CodeLabels { code: code.as_str() })).inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;

    use super::*;

    #[test]
    fn requests_are_counted_by_template_method_and_class() {
        let requests = Requests::new();
        let mut registry = Registry::default();
        requests.register(&mut registry);
        let invented = Method::from_bytes(b"EVIL-METHOD").unwrap();
        for method in [&Method::GET, &Method::GET, &invented] {
            requests.count(method, Some("/v1"), StatusCode::OK, None, 0.01);
        }
        requests.count(&Method::PUT, None, StatusCode::NOT_FOUND, Some(ErrorCode::NotFound), 0.01);
        requests.count(&Method::PUT, Some("/evil"), StatusCode::from_u16(999).unwrap(), None, 0.01);
        let mut text = String::new();
        text::encode(&mut text, &registry).unwrap();
        for line in [
            r#"http_requests_total{method="GET",route="/v1",status="2xx"} 2"#,
            r#"http_requests_total{method="OTHER",route="/v1",status="2xx"} 1"#,
            r#"http_requests_total{method="PUT",route="none",status="4xx"} 1"#,
            r#"http_requests_total{method="PUT",route="none",status="5xx"} 1"#,
            r#"refusals_total{code="not_found"} 1"#,
            r#"http_request_seconds_count{route="/v1"} 3"#,
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is missing in\n{text}");
        }
        assert!(!text.to_lowercase().contains("evil"));
    }
}
