//! `GET …/changes`: the commits after a position, by long poll.

use std::time::Duration;

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::header::CACHE_CONTROL;
use http::{Method, StatusCode};
use kokuban_api::ErrorCode;
use kokuban_api::query::ChangesQuery;
use kokuban_engine::Gap;

use crate::app::AppState;
use crate::call::{Call, board_not_found, position_problem};
use crate::error::{ApiError, ApiResult};
use crate::reply::Reply;
use crate::streams::{Poll, Scope, of_poll, poll};

pub(crate) fn router() -> Router<AppState> {
    Router::new().route("/v1/boards/{board}/changes", get(changes))
}

async fn changes(call: Call) -> ApiResult<Response> {
    let query = ChangesQuery::read(call.query())?;
    let (handle, published) = call.followed(query.min_position, &query.filter.zones).await?;
    let start = of_poll(&call.headers, query.after, &handle, &published)?;
    let wait_ms = if call.method == Method::HEAD { 0 } else { query.wait_ms };
    let _place = if wait_ms > 0 { Some(call.wait_in_line()?) } else { None };
    let asked = Poll {
        scope: Scope { actor: call.actor(), filter: query.filter, include_value: query.include_value },
        start,
        wait: Duration::from_millis(wait_ms),
        coalesce: query.coalesce_ms.map(|ms| Duration::from_millis(ms.get())),
        limit: query.limit,
        shutdown: call.app.shutdown.clone(),
    };
    let found = call.while_let_in(handle.name(), poll(&handle, &published, asked)).await?;
    let found = found.map_err(|gap| match gap {
        Gap::Compacted => position_problem(ErrorCode::Compacted, &handle, &published),
        Gap::Unavailable => ApiError::new(ErrorCode::Unavailable, "the storage cannot be read now"),
    })?;
    let found = found.ok_or_else(|| board_not_found(handle.name()))?;
    let reply = Reply::json(StatusCode::OK, &found, query.pretty).at(Some(found.position));
    Ok(reply.header(CACHE_CONTROL, "no-store").send())
}
