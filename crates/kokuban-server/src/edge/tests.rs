//! The edge around a router of a few lines.

use axum::extract::Path;
use axum::routing::{get, put};
use http_body_util::BodyExt as _;
use serde_json::Value;

use super::*;
use crate::config::{AuthMode, Config};

async fn panics() -> &'static str {
    panic!("secret-value")
}

fn edge_with(config: Config) -> Edge {
    let router = Router::new()
        .route("/v1", get(|| async { "v1" }))
        .route("/v1/things/{id}", put(|Path(id): Path<u8>| async move { id.to_string() }).get(|| async { "thing" }))
        .route("/v1/refused", get(|| async { Err::<(), _>(ApiError::new(ErrorCode::VersionConflict, "now at 7")) }))
        .route("/v1/panics", get(panics))
        .route("/v1/stuck", get(std::future::pending::<&'static str>))
        .route("/livez", get(|| async { "ok" }));
    Edge::new(router, None, InForce::new(Settings::of(config).unwrap()), Metrics::new())
}

fn edge() -> Edge {
    edge_with(Config::default())
}

struct Answer {
    status: u16,
    headers: http::HeaderMap,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// It is a whole problem with this code.
    #[track_caller]
    fn is_problem(&self, status: u16, code: &str) -> &Self {
        assert_eq!((self.status, self.header("content-type")), (status, "application/problem+json"), "{}", self.body);
        let json = self.json();
        assert_eq!((json["code"].as_str(), json["status"].as_u64()), (Some(code), Some(status.into())));
        assert_eq!(json["request_id"].as_str(), Some(self.header("kokuban-request-id")));
        for member in ["type", "title", "detail", "retryable", "side_effects", "next"] {
            assert!(json.get(member).is_some(), "{member} is missing in {json}");
        }
        self
    }
}

async fn ask(edge: &Edge, method: &str, target: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(method).uri(target);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "localhost:7411");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = edge.handle(request.body(Body::empty()).unwrap(), HeadFraming::Sound).await;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body: String::from_utf8(bytes.to_vec()).unwrap() }
}

#[tokio::test]
async fn every_answer_has_a_request_id_of_ours_and_is_not_sniffed() {
    let edge = edge();
    let first = ask(&edge, "GET", "/v1", &[("kokuban-request-id", "mine")]).await;
    assert_eq!((first.status, first.body.as_str()), (200, "v1"));
    assert_eq!(first.header("x-content-type-options"), "nosniff");
    let second = ask(&edge, "GET", "/nowhere", &[]).await;
    assert!(
        first.header("kokuban-request-id").len() == 36
            && first.header("kokuban-request-id") != second.header("kokuban-request-id")
    );
}

#[tokio::test]
async fn refusals_of_handlers_and_of_the_framework_are_problems() {
    let edge = edge();
    ask(&edge, "GET", "/v1/refused", &[]).await.is_problem(409, "version_conflict");
    ask(&edge, "GET", "/nowhere", &[]).await.is_problem(404, "not_found");
    ask(&edge, "PUT", "/v1/things/x", &[]).await.is_problem(400, "malformed");
    ask(&edge, "HEAD", "/nowhere", &[]).await.is_problem(404, "not_found");
    let wrong = ask(&edge, "DELETE", "/v1/things/1", &[]).await;
    wrong.is_problem(405, "method_not_allowed");
    assert_eq!(wrong.header("allow"), "PUT,GET,HEAD");
    assert_eq!(wrong.json()["allowed"], serde_json::json!(["PUT", "GET", "HEAD"]));
}

#[tokio::test]
async fn a_panic_hurts_one_request_and_its_message_stays_inside() {
    let edge = edge();
    let answer = ask(&edge, "GET", "/v1/panics", &[]).await;
    answer.is_problem(500, "internal");
    assert!(!answer.body.contains("secret-value"));
    assert_eq!(ask(&edge, "GET", "/v1", &[]).await.status, 200);
}

#[tokio::test]
async fn host_origin_and_query_are_judged_before_the_route() {
    let edge = edge();
    ask(&edge, "GET", "/nowhere", &[("host", "evil.example")]).await.is_problem(421, "wrong_host");
    ask(&edge, "GET", "/nowhere", &[("origin", "http://evil.example")]).await.is_problem(403, "origin_refused");
    ask(&edge, "GET", "/v1", &[("host", "localhost"), ("host", "localhost")]).await.is_problem(400, "malformed");
    let secret = ask(&edge, "GET", "/v1?access_token=hunter2", &[]).await;
    secret.is_problem(400, "invalid_query");
    assert!(!secret.body.contains("hunter2"));
}

#[tokio::test]
async fn an_ambiguous_head_is_malformed_and_ends_the_connection() {
    let request = Request::builder().uri("/v1").header("host", "localhost").body(Body::empty()).unwrap();
    let response = edge().handle(request, HeadFraming::Ambiguous).await;
    assert_eq!((response.status().as_u16(), &response.headers()["connection"]), (400, &"close".parse().unwrap()));
}

#[tokio::test]
async fn options_and_head_work_everywhere() {
    let edge = edge();
    let options = ask(&edge, "OPTIONS", "/v1/things/1", &[]).await;
    assert_eq!((options.status, options.header("allow"), options.body.as_str()), (204, "PUT, GET, HEAD, OPTIONS", ""));
    assert_eq!(ask(&edge, "OPTIONS", "*", &[]).await.status, 204);
    ask(&edge, "OPTIONS", "/nowhere", &[]).await.is_problem(404, "not_found");
    let head = ask(&edge, "HEAD", "/v1", &[]).await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[tokio::test]
async fn an_absolute_target_is_routed_by_its_path() {
    assert_eq!(ask(&edge(), "GET", "http://127.0.0.1:7411/v1", &[]).await.status, 200);
}

#[tokio::test]
async fn a_configured_origin_is_admitted_and_told_so() {
    let edge = edge_with(Config { origins: vec!["https://console.example".into()], ..Config::default() });
    let origin = ("origin", "https://console.example");
    let simple = ask(&edge, "GET", "/v1", &[origin]).await;
    assert_eq!(simple.header("access-control-allow-origin"), "https://console.example");
    assert!(simple.header("access-control-expose-headers").contains("Kokuban-Position"));
    assert_eq!(simple.header("vary"), "Origin");
    let preflight = ask(&edge, "OPTIONS", "/v1/things/1", &[origin, ("access-control-request-method", "PUT")]).await;
    assert_eq!(preflight.status, 204);
    assert!(preflight.header("access-control-allow-methods").contains("PUT"));
    assert!(preflight.header("access-control-allow-headers").contains("If-Match"));
    let refusal = ask(&edge, "GET", "/nowhere", &[origin]).await;
    assert_eq!(refusal.header("access-control-allow-origin"), "https://console.example", "a page may read why");
    let none = ask(&edge, "GET", "/v1", &[]).await;
    assert_eq!(none.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn beyond_the_bound_requests_are_turned_away_but_health_is_not() {
    let mut config = Config { auth: AuthMode::Open, ..Config::default() };
    config.limits.requests_in_flight_max = 1;
    let edge = edge_with(config);
    let other = edge.clone();
    let stuck = tokio::spawn(async move { ask(&other, "GET", "/v1/stuck", &[]).await.status });
    while edge.0.in_flight.count() < 1 {
        tokio::task::yield_now().await;
    }
    let turned_away = ask(&edge, "GET", "/v1", &[]).await;
    turned_away.is_problem(503, "overloaded");
    assert_eq!((turned_away.header("retry-after"), turned_away.json()["retry_after_ms"].as_u64()), ("1", Some(1000)));
    assert_eq!(ask(&edge, "GET", "/livez", &[]).await.status, 200);
    stuck.abort();
    assert!(stuck.await.is_err());
    assert_eq!(ask(&edge, "GET", "/v1", &[]).await.status, 200, "a cancelled request gives its place back");
}

/// What the log says while `run` runs.
async fn logged<F: Future>(run: F) -> (F::Output, String) {
    use std::sync::Mutex;
    use tracing::instrument::WithSubscriber as _;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(move || writer.clone()).finish();
    let output = run.with_subscriber(subscriber).await;
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    (output, text)
}

#[tokio::test]
async fn a_refused_request_has_one_line_with_its_facts_and_without_its_content() {
    let config = Config { log_requests: LogRequests::All, ..Config::default() };
    let router = Router::new().route(
        "/v1/things/{id}",
        get(|_: crate::auth::Caller| async { Err::<(), _>(ApiError::new(ErrorCode::Locked, "no")) }),
    );
    let edge = Edge::new(router, None, InForce::new(Settings::of(config).unwrap()), Metrics::new());
    let headers = [
        ("kokuban-agent", "ra"),
        ("authorization", "Bearer hunter2"),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ];
    let (answer, log) = logged(ask(&edge, "GET", "/v1/things/secret-id?value=hunter2", &headers)).await;
    let line: Value = serde_json::from_str(log.trim()).unwrap();
    assert_eq!(line["request_id"].as_str(), Some(answer.header("kokuban-request-id")));
    for (name, value) in [
        ("method", "GET"),
        ("route", "/v1/things/{id}"),
        ("code", "locked"),
        ("agent", "ra"),
        ("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"),
    ] {
        assert_eq!(line[name].as_str(), Some(value), "{log}");
    }
    assert!(line["status"] == 409 && line["us"].is_u64(), "{log}");
    assert!(!log.contains("hunter2") && !log.contains("secret-id"), "{log}");
}

#[tokio::test]
async fn accepted_requests_are_logged_only_on_demand() {
    let (_, log) = logged(async { ask(&edge(), "GET", "/v1", &[]).await }).await;
    assert_eq!(log, "");
    let (_, log) = logged(async { ask(&edge(), "GET", "/nowhere-s3cret", &[]).await }).await;
    assert!(log.contains("not_found") && !log.contains("s3cret"), "{log}");
}
