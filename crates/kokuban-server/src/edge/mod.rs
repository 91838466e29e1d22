//! The way in and out of the server: one plain function around the router.
//!
//! **Invariants**: the order of contract §3.9 up to the route: framing, Host, Origin, load. Every answer has a
//! request id, and every refusal, the framework's and a panic's too, is a problem document. It is one function
//! because stacked middleware costs a boxed future and a clone per layer and request.
//! Not known here: credentials (`auth`), boards, bodies beyond their bounds. Start at [`Edge::handle`].

mod answer;
mod body;
mod checks;
mod context;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wire_tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse as _;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use http::{Method, Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};
use kokuban_api::headers::trace_parent;
use kokuban_api::problem::{ErrorCode, Problem};
use tower::Service as _;

use crate::accept::{HeadFraming, Serve};
use crate::config::LogRequests;
use crate::error::ApiError;
use crate::metrics::Metrics;
use crate::routes::Shortcut;
use crate::settings::{InForce, Settings};

pub use body::{BodyLimits, BodyNeed, read_body, read_bytes};
pub use checks::Reach;
pub(crate) use context::Route;
pub use context::{RequestContext, RequestId, RequestIds};

use answer::Asked;
use checks::Admitted;
use context::InFlight;

/// Paths that answer also when the server takes on no more work.
const ALWAYS_SERVED: [&str; 3] = ["/livez", "/readyz", "/metrics"];
/// What a caller who is turned away should wait.
const OVERLOAD_RETRY_MS: u64 = 1000;

/// The router behind its checks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Edge(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shortcut: Option<Shortcut>,
    router: Router,
    settings: InForce,
    in_flight: Arc<InFlight>,
    ids: RequestIds,
    metrics: Metrics,
}

impl Edge {
    #[must_use]
    pub fn new(router: Router, shortcut: Option<Shortcut>, settings: InForce, metrics: Metrics) -> Self {
        let in_flight = Arc::new(InFlight::counted_by(&metrics.requests_in_flight));
        Self(Arc::new(Inner { shortcut, router, settings, in_flight, ids: RequestIds::new(), metrics }))
    }

    /// Answers one request. What needs no waiting is done before there is a future, so that the future is small: it is
    /// moved, and lives as long as a stream.
    pub fn handle(
        &self,
        request: Request<Body>,
        framing: HeadFraming,
    ) -> impl Future<Output = Response<Body>> + Send + use<> {
        let inner = Arc::clone(&self.0);
        let context = Arc::new(RequestContext::new(
            inner.ids.next(),
            request.method().clone(),
            trace_parent(request.headers()),
            inner.in_flight.enter(),
            inner.settings.now(),
        ));
        let asked = Asked::of(&request);
        let admitted = inner.admit(&request, framing, &context.settings);
        let from_origin = admitted.as_ref().is_ok_and(|admitted| admitted.from_origin);
        let answering = match admitted {
            Err(problem) => ready(ApiError::from(problem).into_response()).boxed(),
            Ok(_) if asked.is_for_the_server() => ready(StatusCode::NO_CONTENT.into_response()).boxed(),
            Ok(_) => inner.begin(request, &context),
        };
        async move {
            let response = AssertUnwindSafe(answering).catch_unwind().await.unwrap_or_else(|_| panicked(&context));
            inner.finish(response, &asked, &context, from_origin, framing)
        }
    }
}

impl Serve for Edge {
    fn serve(
        &self,
        request: Request<Incoming>,
        framing: HeadFraming,
    ) -> impl Future<Output = Response<Body>> + Send + use<> {
        let is_empty = request.body().is_end_stream();
        self.handle(request.map(|body| if is_empty { Body::empty() } else { Body::new(body) }), framing)
    }
}

impl Inner {
    fn admit(&self, request: &Request<Body>, framing: HeadFraming, settings: &Settings) -> Result<Admitted, Problem> {
        let admitted = settings.reach.check(request.uri(), request.headers(), framing)?;
        // The request itself is counted already.
        let max = settings.config.limits.requests_in_flight_max;
        if self.in_flight.count() > max && !ALWAYS_SERVED.contains(&request.uri().path()) {
            return Err(Problem::new(ErrorCode::Overloaded, "the server has as many requests in work as it takes on")
                .with_retry_after_ms(OVERLOAD_RETRY_MS));
        }
        Ok(admitted)
    }

    /// The handler at work. Most calls are for entries, and need not look for their route.
    fn begin(&self, mut request: Request<Body>, context: &Arc<RequestContext>) -> BoxFuture<'static, Response<Body>> {
        let begun = catch_unwind(AssertUnwindSafe(|| match &self.shortcut {
            Some(shortcut) if shortcut.takes(&request) => shortcut.answer(request, context),
            _ => {
                request.extensions_mut().insert(Arc::clone(context));
                let answered = self.router.clone().call(request);
                answered.map(|answer| answer.unwrap_or_else(|never| match never {})).boxed()
            }
        }));
        begun.unwrap_or_else(|_| ready(panicked(context)).boxed())
    }

    fn finish(
        &self,
        response: Response<Body>,
        asked: &Asked,
        context: &RequestContext,
        from_origin: bool,
        framing: HeadFraming,
    ) -> Response<Body> {
        context.waits();
        let (mut response, refused) = answer::complete(response, asked, context.id);
        answer::add_headers(
            response.headers_mut(),
            asked,
            context.id,
            from_origin,
            context.settings.reach.has_origins(),
        );
        if framing == HeadFraming::Ambiguous {
            answer::close_after(response.headers_mut());
        }
        let route = context.route().or(asked.fixed());
        let seconds = context.began.elapsed().as_secs_f64();
        self.metrics.request(&context.method, route, response.status(), refused, seconds);
        self.log(&response, asked, context, refused);
        response
    }

    /// One line per request, without a query, a body or anything of the caller's but names.
    fn log(&self, response: &Response<Body>, asked: &Asked, context: &RequestContext, refused: Option<ErrorCode>) {
        let status = response.status();
        let wanted = match context.settings.config.log_requests {
            LogRequests::All => true,
            LogRequests::Refused => status.as_u16() >= 400,
            LogRequests::None => status.is_server_error(),
        };
        if !wanted {
            return;
        }
        let route = context.route().or(asked.fixed()).unwrap_or("-");
        let agent = context.agent().map_or("-", |a| a.as_str());
        let (method, request_id) = (METHODS[method_number(&context.method)], context.id);
        let trace_id = context.trace.as_ref().map_or("-", |t| t.trace_id.as_str());
        let us = u64::try_from(context.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let (status, code) = (status.as_u16(), refused.map_or("-", ErrorCode::as_str));
        // The same fields in both; their names are documented.
        if status == 500 {
            tracing::error!(target: "kokuban::request", method, route, status, code, us, %request_id, agent, trace_id, "failed");
        } else {
            tracing::info!(target: "kokuban::request", method, route, status, code, us, %request_id, agent, trace_id, "answered");
        }
    }
}

fn panicked(context: &RequestContext) -> Response<Body> {
    // The panic hook has written where. What it said may hold a value.
    tracing::error!(request_id = %context.id, "a handler panicked");
    ApiError::new(ErrorCode::Internal, "the server made a mistake; report the request id").into_response()
}

/// Methods by name, and one word for all that a caller may invent.
pub(crate) const METHODS: [&str; 8] = ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS", "OTHER"];

/// The place of a method among [`METHODS`].
pub(crate) fn method_number(method: &Method) -> usize {
    match *method {
        Method::GET => 0,
        Method::HEAD => 1,
        Method::PUT => 2,
        Method::PATCH => 3,
        Method::POST => 4,
        Method::DELETE => 5,
        Method::OPTIONS => 6,
        _ => 7,
    }
}
