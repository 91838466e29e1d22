//! Leases: take, renew, release, revoke, show.

use std::time::Duration;

use axum::Router;
use axum::response::Response;
use axum::routing::post;
use http::StatusCode;
use kokuban_api::Problem;
use kokuban_api::answers::Lease;
use kokuban_api::bodies::{LeaseRenewal, LeaseRequest};
use kokuban_api::from_core;
use kokuban_api::query::{LeaseReleaseQuery, PlainQuery, ReadQuery};
use kokuban_core::command::{Acquire, Command, Release, Renew};
use kokuban_core::ids::EntryId;
use kokuban_core::rejection::Rejection;
use kokuban_core::reply;
use kokuban_engine::Answer;
use smol_str::SmolStr;

use crate::app::AppState;
use crate::call::{Asked, Call};
use crate::edge::BodyNeed;
use crate::error::{ApiError, ApiResult};
use crate::reply::Reply;

pub(crate) fn router() -> Router<AppState> {
    Router::new().route("/v1/boards/{board}/leases/{zone}/{*key}", post(acquire).put(renew).delete(release).get(show))
}

async fn acquire(mut call: Call) -> ApiResult<Response> {
    let (board, id) = call.target()?;
    let query = PlainQuery::read(call.query())?;
    call.takes_no_conditions()?;
    let body = call.json(BodyNeed::Optional).await?.unwrap_or_else(|| serde_json::json!({}));
    let repeat = call.repeat(Some(&body))?;
    let body = LeaseRequest::read(body).map_err(Problem::from)?;
    let command = Command::Acquire(Acquire { id: id.clone(), ttl_ms: body.ttl_ms, takeover: body.takeover });
    let asked = Asked {
        repeat,
        dry_run: query.dry_run,
        wait: Duration::from_millis(body.wait_ms),
        about: Some(id),
        ..Asked::new(command)
    };
    let answer = call.ask(&board, asked).await?;
    granted(StatusCode::CREATED, &answer, query)
}

async fn renew(mut call: Call) -> ApiResult<Response> {
    let (board, id) = call.target()?;
    let query = PlainQuery::read(call.query())?;
    call.takes_no_conditions()?;
    let body = call.json(BodyNeed::Required).await?.unwrap_or_default();
    let repeat = call.repeat(Some(&body))?;
    let body = LeaseRenewal::read(body).map_err(Problem::from)?;
    let command = Command::Renew(Renew { id: id.clone(), token: body.lease_token, ttl_ms: body.ttl_ms });
    let asked = Asked { repeat, dry_run: query.dry_run, about: Some(id), ..Asked::new(command) };
    let answer = call.ask(&board, asked).await?;
    granted(StatusCode::OK, &answer, query)
}

fn granted(status: StatusCode, answer: &Answer, query: PlainQuery) -> ApiResult<Response> {
    let Some(reply::Reply::Lease { grant, .. }) = &answer.reply else {
        return Err(ApiError::unexpected());
    };
    let lease = from_core::lease(grant, answer.now);
    let lease = if query.dry_run { lease.tried() } else { lease };
    Ok(Reply::json(status, &lease, query.pretty).at(answer.position).replayed(answer.replayed).send())
}

async fn release(call: Call) -> ApiResult<Response> {
    let (board, id) = call.target()?;
    let query = LeaseReleaseQuery::read(call.query())?;
    call.takes_no_conditions()?;
    let repeat = call.repeat(None)?;
    let command = Command::Release(Release {
        id: id.clone(),
        token: query.lease_token,
        reason: query.reason.as_ref().map(SmolStr::new),
    });
    let asked = Asked { repeat, dry_run: query.dry_run, about: Some(id), ..Asked::new(command) };
    let answer = call.ask(&board, asked).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT).at(answer.position).replayed(answer.replayed).send())
}

async fn show(call: Call) -> ApiResult<Response> {
    let id = call.entry_id()?;
    let query = ReadQuery::read(call.query())?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    let board = &published.board;
    call.may_read(board, &id.zone)?;
    let now = handle.now();
    let Some(lease) = board.live_lease(&id, now) else {
        return Err(call.refuse(board, absent(board, &id), Some(&id)));
    };
    let shown = Lease {
        holder: lease.holder.clone(),
        lease_token: None,
        ttl_ms: lease.ttl_ms,
        remaining_ms: now.ms_until(lease.deadline),
        dry_run: false,
    };
    Ok(Reply::json(StatusCode::OK, &shown, query.pretty).at(board.position()).send())
}

fn absent(board: &kokuban_core::board::Board, id: &EntryId) -> Rejection {
    match board.entry(id) {
        Some(_) => Rejection::NoLease { id: id.clone() },
        None => Rejection::NotFound { id: id.clone() },
    }
}
