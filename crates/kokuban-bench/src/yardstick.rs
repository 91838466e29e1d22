//! The bare routes: what axum costs alone, in the way that anybody would write it.
//!
//! Invariant: the same paths, request bytes, worker threads and allocator as the server that is compared with them. A PUT
//! parses the same JSON and answers with it; a GET answers with as many bytes as the server's answer has, head and body.
//! Not known here: boards; nothing is kept.

use std::io::{BufRead as _, Read as _, Write as _};

use anyhow::Context as _;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

/// What a GET answers, as the first line of standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Shown {
    pub(crate) body: String,
    /// A header of this many bytes beside those that every answer has.
    pub(crate) header_bytes: usize,
}

/// Bytes that a header has beside its value: `x-pad: ` and the end of the line.
pub(crate) const HEADER_OVERHEAD: usize = "x-pad: \r\n".len();
const PAD: HeaderName = HeaderName::from_static("x-pad");

#[derive(Debug, Serialize, Deserialize)]
struct Put {
    value: serde_json::Value,
    version: u64,
}

#[derive(Debug, Clone)]
struct Constant {
    body: Bytes,
    pad: HeaderValue,
}

async fn show(State(constant): State<Constant>) -> impl IntoResponse {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, JSON), (PAD, constant.pad)], constant.body)
}

async fn echo(Json(mut put): Json<Put>) -> Json<Put> {
    put.version += 1;
    Json(put)
}

/// Serves until standard input ends.
pub(crate) fn serve() -> anyhow::Result<()> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let shown: Shown = serde_json::from_str(&line).context("the first line says what a GET answers")?;
    let pad = HeaderValue::from_str(&"x".repeat(shown.header_bytes))?;
    let constant = Constant { body: shown.body.into(), pad };
    let router =
        Router::new().route("/v1/boards/{board}/entries/{zone}/{*key}", get(show).put(echo)).with_state(constant);
    tokio::runtime::Runtime::new()?.block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
        writeln!(std::io::stdout(), "listening on http://{}", listener.local_addr()?)?;
        let parent_left = tokio::task::spawn_blocking(|| std::io::stdin().lock().read_to_end(&mut Vec::new()));
        tokio::select! {
            served = axum::serve(listener, router) => Ok(served?),
            _ = parent_left => Ok(()),
        }
    })
}
