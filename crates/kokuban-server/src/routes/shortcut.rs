//! A way past the router for the calls that nearly all are: GET and PUT of an entry.
//!
//! **Invariant**: it takes no path that the router would not bring to [`ENTRY`] (a test asks both), and the handlers are
//! the router's own. So nothing but time tells which way a call came; decision 0009 says how much.
//! Not known here: what the handlers do.

use std::fmt;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use http::{Method, Request};

use super::entries::{self, ENTRY};
use crate::app::AppState;
use crate::call::Call;
use crate::edge::{RequestContext, Route};

/// See the module.
#[derive(Clone)]
pub struct Shortcut(AppState);

impl fmt::Debug for Shortcut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shortcut")
    }
}

impl Shortcut {
    #[must_use]
    pub fn new(app: AppState) -> Self {
        Self(app)
    }

    /// Whether it knows the way that the request asks for.
    pub(crate) fn takes(&self, request: &Request<Body>) -> bool {
        matches!(*request.method(), Method::GET | Method::PUT) && names_an_entry(request.uri().path())
    }

    /// The answer to a request that it takes.
    pub(crate) fn answer(&self, request: Request<Body>, context: &Arc<RequestContext>) -> BoxFuture<'static, Response> {
        let (parts, body) = request.into_parts();
        match Call::new(self.0.clone(), parts, body, Arc::clone(context), Some(Route::Known(ENTRY))) {
            Ok(call) if call.method == Method::GET => entries::read(call).map(|answer| answer.into_response()).boxed(),
            Ok(call) => entries::replace(call).map(|answer| answer.into_response()).boxed(),
            Err(error) => ready(error.into_response()).boxed(),
        }
    }
}

/// Whether a path fits [`ENTRY`].
fn names_an_entry(path: &str) -> bool {
    let segment = |rest: &'_ str| rest.bytes().position(|byte| byte == b'/').filter(|end| *end > 0);
    let Some(rest) = path.strip_prefix("/v1/boards/") else { return false };
    let Some(rest) = segment(rest).and_then(|end| rest[end..].strip_prefix("/entries/")) else { return false };
    segment(rest).is_some_and(|end| end + 1 < rest.len())
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn the_shortcut_leads_where_the_router_leads() {
        let router = Router::new().route(ENTRY, get(|| async {}));
        for (path, taken) in [
            ("/v1/boards/b/entries/z/k", true),
            ("/v1/boards/b/entries/z/k/l/m", true),
            ("/v1/boards/b/entries/z/k/", true),
            ("/v1/boards/b/entries/z//k", true),
            ("/v1/boards/%2F/entries/%00/%zz", true),
            ("/v1/boards/entries/entries/entries/entries", true),
            ("/v1/boards/b/entries//k", false),
            ("/v1/boards//entries/z/k", false),
            ("/v1/boards/b/entries/z/", false),
            ("/v1/boards/b/entries/z", false),
            ("/v1/boards/b/c/entries/z/k", false),
            ("//v1/boards/b/entries/z/k", false),
            ("/v1/boards/b/entriesz/k", false),
            ("/v1/boards/b/leases/z/k", false),
            ("/v1/boards/b%2Fentries/z/k", false),
            ("/V1/boards/b/entries/z/k", false),
            ("/v1/boards", false),
            ("/", false),
        ] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let routed = router.clone().oneshot(request).await.unwrap().status() == http::StatusCode::OK;
            assert_eq!((names_an_entry(path), routed || !taken), (taken, true), "{path}");
        }
    }
}
