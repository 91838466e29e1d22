//! What the server says about itself: the table of routes, OpenAPI, a page for people, and `llms.txt` for agents.
//!
//! **Invariant**: the first three are one table, made once, at the first request for them; the last is the document of
//! the repository, word for word.
//! Not known here: handlers. Start at `table.rs`.

#[cfg(test)]
mod compare;
mod openapi;
mod page;
mod query;
mod schemas;
mod spec;
mod table;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};

#[cfg(test)]
pub(crate) use compare::disagreements;
pub use openapi::document;
pub use query::{QuerySpec, Takes};
pub use spec::{AnswerSpec, BodySpec, Content, RouteSpec};
pub use table::ROUTES;

static OPENAPI: LazyLock<Bytes> =
    LazyLock::new(|| serde_json::to_vec(&document()).expect("a JSON value serialises").into());
static PAGE: LazyLock<Bytes> = LazyLock::new(|| page::render().into());

/// How to work with a board, for whoever reads nothing else.
pub const LLMS_TXT: &str = include_str!("../../../../docs/llms.txt");

/// `/openapi.json`, `/docs` and `/llms.txt`.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/openapi.json", get(serve_openapi))
        .route("/docs", get(serve_page))
        .route("/llms.txt", get(serve_text))
}

async fn serve_openapi() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-cache")], OPENAPI.clone())
}

async fn serve_text() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; charset=utf-8"), (CACHE_CONTROL, "no-cache")], LLMS_TXT)
}

async fn serve_page() -> impl IntoResponse {
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    (
        [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, policy), (CACHE_CONTROL, "no-cache")],
        PAGE.clone(),
    )
}
