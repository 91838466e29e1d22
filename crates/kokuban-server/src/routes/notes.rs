//! Notes on entries: add, list, close.

use axum::Router;
use axum::response::Response;
use axum::routing::post;
use http::StatusCode;
use kokuban_api::Problem;
use kokuban_api::answers::{List, NoteCreated};
use kokuban_api::bodies::NoteBody;
use kokuban_api::from_core;
use kokuban_api::query::{ListQuery, NoteCloseQuery, PlainQuery};
use kokuban_core::command::{AddNote, CloseNote, Command};
use kokuban_core::rejection::Rejection;
use kokuban_core::reply;
use smol_str::SmolStr;

use super::boards::stale_page;
use crate::app::AppState;
use crate::call::{Asked, Call};
use crate::edge::BodyNeed;
use crate::error::{ApiError, ApiResult};
use crate::reply::Reply;

pub(crate) fn router() -> Router<AppState> {
    Router::new().route("/v1/boards/{board}/notes/{zone}/{*key}", post(add).get(list).delete(close))
}

async fn add(mut call: Call) -> ApiResult<Response> {
    let (board, id) = call.target()?;
    let query = PlainQuery::read(call.query())?;
    call.takes_no_conditions()?;
    let body = call.json(BodyNeed::Required).await?.unwrap_or_default();
    let repeat = call.repeat(Some(&body))?;
    let body = NoteBody::read(body).map_err(Problem::from)?;
    let command = Command::AddNote(AddNote {
        id: id.clone(),
        text: SmolStr::from(body.text),
        refers_to_version: body.refers_to_version,
    });
    let asked = Asked { repeat, dry_run: query.dry_run, about: Some(id), ..Asked::new(command) };
    let answer = call.ask(&board, asked).await?;
    let Some(reply::Reply::Noted { note, .. }) = &answer.reply else {
        return Err(ApiError::unexpected());
    };
    let created = NoteCreated { id: note.to_string(), dry_run: query.dry_run };
    let reply = Reply::json(StatusCode::CREATED, &created, query.pretty);
    Ok(reply.at(answer.position).replayed(answer.replayed).send())
}

async fn list(call: Call) -> ApiResult<Response> {
    let id = call.entry_id()?;
    let query = ListQuery::read(call.query())?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    let board = &published.board;
    call.may_read(board, &id.zone)?;
    if board.entry(&id).is_none() {
        return Err(call.refuse(board, Rejection::NotFound { id: id.clone() }, Some(&id)));
    }
    // At most a hundred notes are open on an entry, in the order of their ids; a page goes on after one of them.
    let open: Vec<_> = board.notes(&id).into_iter().flatten().collect();
    let start = match &query.page {
        None => 0,
        Some(last) => open.iter().position(|note| note.id == last.as_str()).map(|at| at + 1).ok_or_else(stale_page)?,
    };
    let items: Vec<_> = open.iter().skip(start).take(query.limit).map(|note| from_core::note(note)).collect();
    let more = start + items.len() < open.len();
    let next_page = items.last().filter(|_| more).map(|note| note.id.clone());
    let list = List { items, position: board.position(), next_page };
    Ok(Reply::json(StatusCode::OK, &list, query.pretty).at(board.position()).send())
}

async fn close(call: Call) -> ApiResult<Response> {
    let (board, id) = call.target()?;
    let query = NoteCloseQuery::read(call.query())?;
    call.takes_no_conditions()?;
    let repeat = call.repeat(None)?;
    let command = Command::CloseNote(CloseNote { id: id.clone(), note: SmolStr::from(query.id) });
    let asked = Asked { repeat, dry_run: query.dry_run, about: Some(id), ..Asked::new(command) };
    let answer = call.ask(&board, asked).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT).at(answer.position).replayed(answer.replayed).send())
}
