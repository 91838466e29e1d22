//! Erasing a past value from the history by its hash, for admins.

use axum::Router;
use axum::response::Response;
use axum::routing::post;
use http::StatusCode;
use kokuban_api::Problem;
use kokuban_api::bodies::Erasure;
use kokuban_api::query::PlainQuery;
use kokuban_core::command::Command;
use kokuban_core::reply;
use serde_json::json;
use smol_str::SmolStr;

use crate::app::AppState;
use crate::call::{Asked, Call};
use crate::edge::BodyNeed;
use crate::error::{ApiError, ApiResult};
use crate::reply::Reply;

pub(crate) fn router() -> Router<AppState> {
    Router::new().route("/v1/boards/{board}/erasures", post(erase))
}

async fn erase(mut call: Call) -> ApiResult<Response> {
    let board = call.board_name()?;
    let query = PlainQuery::read(call.query())?;
    call.takes_no_conditions()?;
    let body = call.json(BodyNeed::Required).await?.unwrap_or_default();
    let repeat = call.repeat(Some(&body))?;
    let body = Erasure::read(body).map_err(Problem::from)?;
    let command = Command::Erase { sha256: body.sha256, reason: SmolStr::from(body.reason) };
    let asked = Asked { repeat, dry_run: query.dry_run, ..Asked::new(command) };
    let answer = call.ask(&board, asked).await?;
    let Some(reply::Reply::Erased { values }) = &answer.reply else {
        return Err(ApiError::unexpected());
    };
    let mut erased = json!({"sha256": body.sha256, "records": values});
    if query.dry_run {
        erased["dry_run"] = true.into();
    }
    let reply = Reply::json(StatusCode::OK, &erased, query.pretty);
    Ok(reply.at(answer.position).replayed(answer.replayed).send())
}
