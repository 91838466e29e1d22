//! `GET …/events`: every commit as it happens, as server-sent events.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use kokuban_api::query::EventsQuery;
use kokuban_api::sse;
use kokuban_api::stream::ByeReason;
use kokuban_core::ids::BoardName;

use crate::app::AppState;
use crate::auth::Standing;
use crate::call::{Call, board_not_found};
use crate::error::ApiResult;
use crate::reply::Reply;
use crate::streams::{Ends, Feed, Scope, Setup, of_stream};

/// Asks proxies of the nginx kind to pass every block on at once.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

pub(crate) fn router() -> Router<AppState> {
    Router::new().route("/v1/boards/{board}/events", get(events))
}

async fn events(call: Call) -> ApiResult<Response> {
    let query = EventsQuery::read(call.query())?;
    let (handle, published) = call.followed(query.min_position, &query.filter.zones).await?;
    let start = of_stream(&call.headers, &query, &handle, &published)?;
    let position = published.board.position();
    let body = if call.method == Method::HEAD {
        Body::empty()
    } else {
        let app = &call.app;
        let max = call.config().limits.streams_per_caller_max;
        let place = app.streams.enter(&call.caller.agent, max, &app.metrics.streams)?;
        call.context.waits();
        let feed = Feed::new(Setup {
            published,
            scope: Scope { actor: call.actor(), filter: query.filter, include_value: query.include_value },
            start,
            snapshot: query.snapshot,
            coalesce: query.coalesce_ms.map(|ms| Duration::from_millis(ms.get())),
            ends: ends(&call, handle.name()),
            place,
            handle: handle.clone(),
        });
        feed.ok_or_else(|| board_not_found(handle.name()))?.into_body()
    };
    let mut response = Reply::empty(StatusCode::OK).at(position).send();
    *response.body_mut() = body;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(sse::CONTENT_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// What ends a stream, whatever happens on the board.
fn ends(call: &Call, board: &BoardName) -> Ends {
    let credential = call.app.settings.when(call.caller.clone(), board.clone(), |standing| match standing {
        Standing::AsItWas => None,
        Standing::OtherRoles => Some(ByeReason::Rights),
        Standing::OtherBoards | Standing::Ended => Some(ByeReason::Auth),
    });
    let shutdown = call.app.shutdown.clone();
    Box::pin(async move {
        tokio::select! {
            biased;
            () = shutdown.stopping() => ByeReason::Shutdown,
            reason = credential => reason,
        }
    })
}
