//! What is known of typed state: how complete a board is, and who set each leaf of an entry.
//!
//! Invariant: a caller is told of what he may read, and of nothing else.
//! Not known here: how either is reckoned.

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kokuban_api::from_core;
use kokuban_api::query::ReadQuery;
use kokuban_core::blame::{self, Blamed};
use kokuban_core::completeness;
use kokuban_core::entry::Entry;
use kokuban_core::ids::EntryId;
use kokuban_core::rejection::Rejection;
use kokuban_engine::BoardHandle;

use crate::app::AppState;
use crate::call::Call;
use crate::error::{ApiError, ApiResult};
use crate::reply::Reply;

pub(crate) fn router() -> Router<AppState> {
    Router::new()
        .route("/v1/boards/{board}/completeness", get(completeness))
        .route("/v1/boards/{board}/blame/{zone}/{*key}", get(blame))
}

async fn completeness(call: Call) -> ApiResult<Response> {
    let query = ReadQuery::read(call.query())?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    let position = published.board.position().ok_or_else(ApiError::unexpected)?;
    let score = completeness::of(&published.board, &call.actor());
    let answer = from_core::board_completeness(score.as_ref(), position);
    Ok(Reply::json(StatusCode::OK, &answer, query.pretty).at(Some(position)).send())
}

async fn blame(call: Call) -> ApiResult<Response> {
    let id = call.entry_id()?;
    let query = ReadQuery::read(call.query())?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    let board = &published.board;
    call.may_read(board, &id.zone)?;
    let (Some(entry), Some(position)) = (board.entry(&id), board.position()) else {
        return Err(call.refuse(board, Rejection::NotFound { id: id.clone() }, Some(&id)));
    };
    let mut leaves = blame::of(board, &id, entry);
    for leaf in leaves.iter_mut().filter(|leaf| leaf.revision.is_none()) {
        date(&handle, &id, entry, leaf).await;
    }
    let answer = from_core::blame(&id, entry.version, leaves, position);
    Ok(Reply::json(StatusCode::OK, &answer, query.pretty).at(Some(position)).send())
}

/// When the value of an entry that is one leaf was written, from the history; unknown where that no longer says.
async fn date(handle: &BoardHandle, id: &EntryId, entry: &Entry, leaf: &mut Blamed) {
    let Ok(Some(revision)) = handle.revision_of(id, entry.value_version).await else { return };
    let Ok(then) = handle.at(revision).await else { return };
    if let Some(written) = then.entry(id).filter(|then| then.version == entry.value_version) {
        leaf.revision = Some(revision);
        leaf.at = Some(written.updated_at);
        leaf.reason = written.reason().cloned();
    }
}
