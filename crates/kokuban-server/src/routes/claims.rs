//! Claims: the next free piece of work, leased.

use std::time::Duration;

use axum::Router;
use axum::response::Response;
use axum::routing::post;
use http::StatusCode;
use kokuban_api::Problem;
use kokuban_api::bodies::Claim;
use kokuban_api::from_core;
use kokuban_api::query::PlainQuery;
use kokuban_core::command::Command;
use kokuban_core::reply;

use crate::app::AppState;
use crate::call::{Asked, Call};
use crate::edge::BodyNeed;
use crate::error::{ApiError, ApiResult};
use crate::reply::Reply;

pub(crate) fn router() -> Router<AppState> {
    Router::new().route("/v1/boards/{board}/claims", post(claim))
}

async fn claim(mut call: Call) -> ApiResult<Response> {
    let board = call.board_name()?;
    let query = PlainQuery::read(call.query())?;
    call.takes_no_conditions()?;
    let body = call.json(BodyNeed::Required).await?.unwrap_or_default();
    let repeat = call.repeat(Some(&body))?;
    let body = Claim::read(body).map_err(Problem::from)?;
    let wait = Duration::from_millis(body.wait_ms);
    let command = Command::Claim(from_core::claim(body));
    let asked = Asked { repeat, dry_run: query.dry_run, wait, ..Asked::new(command) };
    let answer = call.ask(&board, asked).await?;
    match &answer.reply {
        None => Ok(Reply::empty(StatusCode::NO_CONTENT).at(answer.position).send()),
        Some(reply::Reply::Claimed { id, grant, entry, notes }) => {
            let claimed = from_core::claimed(id, entry, grant, *notes, answer.now, query.dry_run);
            let reply = Reply::json(StatusCode::CREATED, &claimed, query.pretty);
            Ok(reply.at(answer.position).replayed(answer.replayed).send())
        }
        Some(_) => Err(ApiError::unexpected()),
    }
}
