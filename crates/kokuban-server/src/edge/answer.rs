//! Completes answers: problem bodies, OPTIONS, the headers that every answer has.
//!
//! **Invariant**: what leaves here with a status of 400 or more has a problem document as its body.
//! Not known here: why something was refused, beyond the status the framework gave it.

use axum::body::Body;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW, CONNECTION,
    CONTENT_LENGTH, CONTENT_TYPE, ORIGIN, RETRY_AFTER, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use kokuban_api::headers::REQUEST_ID;
use kokuban_api::problem::{CONTENT_TYPE as PROBLEM_TYPE, ErrorCode, Problem};

use super::context::RequestId;
use crate::error::Refused;

/// Headers of ours that a page of a configured origin may read, and send.
const EXPOSED: &str = "ETag, Idempotency-Replayed, Kokuban-Position, Kokuban-Request-Id, Location, Retry-After";
const SENT: &str = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Kokuban-Agent, \
                    Last-Event-ID, Prefer, Traceparent";
/// How long a browser may remember what a preflight said, in seconds.
const PREFLIGHT_S: &str = "600";
/// Paths without parameters that no caller's name is needed for: safe as they are in logs and labels.
const FIXED: [&str; 7] = ["/v1", "/livez", "/readyz", "/metrics", "/openapi.json", "/docs", "/llms.txt"];

/// What has to be remembered of a request until its answer.
#[derive(Debug)]
pub(super) struct Asked {
    is_options: bool,
    is_preflight: bool,
    is_asterisk: bool,
    /// The query asks for lines and indentation.
    is_pretty: bool,
    origin: Option<HeaderValue>,
    fixed: Option<&'static str>,
}

impl Asked {
    pub(super) fn of(request: &Request<Body>) -> Self {
        let path = request.uri().path();
        let is_options = request.method() == Method::OPTIONS;
        Self {
            is_options,
            is_preflight: is_options && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD),
            is_asterisk: path == "*",
            is_pretty: request.uri().query().is_some_and(asks_for_pretty),
            origin: request.headers().get(ORIGIN).cloned(),
            fixed: FIXED.into_iter().find(|fixed| *fixed == path),
        }
    }

    /// `OPTIONS *`
    pub(super) fn is_for_the_server(&self) -> bool {
        self.is_options && self.is_asterisk
    }

    pub(super) fn fixed(&self) -> Option<&'static str> {
        self.fixed
    }
}

/// Turns what a handler or the framework gave into what is sent, and says with which code it was refused.
pub(super) fn complete(response: Response<Body>, asked: &Asked, id: RequestId) -> (Response<Body>, Option<ErrorCode>) {
    if asked.is_options && response.status() == StatusCode::METHOD_NOT_ALLOWED {
        return (options(response), None);
    }
    let (mut parts, body) = response.into_parts();
    let problem = match parts.extensions.remove::<Refused>() {
        Some(Refused(problem)) => problem,
        None if parts.status.as_u16() < 400 || is_problem(&parts.headers) => {
            return (Response::from_parts(parts, body), None);
        }
        None => of_the_framework(parts.status, &parts.headers),
    };
    let code = problem.known_code();
    parts.status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_TYPE));
    if let Some(seconds) = problem.retry_after_s() {
        parts.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if parts.status == StatusCode::UNAUTHORIZED {
        parts.headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    let problem = problem.with_request_id(id.to_string());
    let body = if asked.is_pretty { crate::reply::pretty(&problem.to_bytes()) } else { problem.to_bytes() };
    (Response::from_parts(parts, Body::from(body)), code)
}

fn asks_for_pretty(query: &str) -> bool {
    query.split('&').any(|member| matches!(member, "pretty" | "pretty=" | "pretty=true"))
}

/// A router knows its methods and says so when it refuses one; that is the answer to OPTIONS.
fn options(refusal: Response<Body>) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let methods = refusal.headers().get(ALLOW).and_then(|allow| allow.to_str().ok()).unwrap_or_default();
    let methods: Vec<_> = methods.split(',').filter(|m| !m.is_empty()).chain(["OPTIONS"]).collect();
    if let Ok(allow) = HeaderValue::from_str(&methods.join(", ")) {
        response.headers_mut().insert(ALLOW, allow);
    }
    response
}

fn is_problem(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(PROBLEM_TYPE.as_bytes()))
}

/// The problem for an answer that no handler of ours gave.
fn of_the_framework(status: StatusCode, headers: &HeaderMap) -> Problem {
    match status.as_u16() {
        404 => Problem::new(ErrorCode::NotFound, "there is nothing at this address; `/docs` lists what there is"),
        405 => {
            let allow = headers.get(ALLOW).and_then(|v| v.to_str().ok()).unwrap_or_default();
            let methods: Vec<_> = allow.split(',').map(str::trim).filter(|m| !m.is_empty()).collect();
            Problem::new(ErrorCode::MethodNotAllowed, format!("this address knows {}", methods.join(", ")))
                .with_allowed(methods)
        }
        408 => Problem::new(ErrorCode::Timeout, "the request took too long to arrive"),
        413 => Problem::new(ErrorCode::BodyTooLarge, "the request body is too large"),
        415 => Problem::new(ErrorCode::UnsupportedMediaType, "send the header `Content-Type: application/json`"),
        400..=499 => Problem::new(ErrorCode::Malformed, "the request cannot be read"),
        _ => Problem::new(ErrorCode::Internal, "the server made a mistake; report the request id"),
    }
}

pub(super) fn add_headers(
    headers: &mut HeaderMap,
    asked: &Asked,
    id: RequestId,
    from_origin: bool,
    origins_configured: bool,
) {
    headers.insert(REQUEST_ID, id.to_header());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if origins_configured {
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    let (true, Some(origin)) = (from_origin, &asked.origin) else { return };
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    if asked.is_preflight {
        if let Some(methods) = headers.get(ALLOW).cloned() {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        }
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(SENT));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(PREFLIGHT_S));
    }
}

pub(super) fn close_after(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
}
