//! Boards: create, list, show, delete; their rules and their refusals.

use axum::Router;
use axum::response::Response;
use axum::routing::{get, put};
use http::StatusCode;
use kokuban_api::answers::{BoardState, BoardSummary, LargestEntry, List, StateLevel, Warning, ZoneCount};
use kokuban_api::bodies::{BlueprintRef, CreateBoard};
use kokuban_api::from_core;
use kokuban_api::names::board_href;
use kokuban_api::problem::{Next, NextAction};
use kokuban_api::query::{BoardsQuery, LabelFilter, PlainQuery, ReadQuery, RefusalsQuery};
use kokuban_api::{ErrorCode, ErrorItem, Problem};
use kokuban_core::blueprint::Blueprint;
use kokuban_core::board::Board;
use kokuban_core::caller::{Actor, readable_zone};
use kokuban_core::command::{self, Command};
use kokuban_core::ids::{BoardName, BoardTime, Position, ZoneName};
use kokuban_core::reply;
use kokuban_engine::BoardHandle;
use serde::Serialize;
use smol_str::SmolStr;
use std::sync::Arc;

use crate::app::AppState;
use crate::call::{Asked, Call, problem_of};
use crate::edge::BodyNeed;
use crate::error::{ApiError, ApiResult};
use crate::pages;
use crate::reply::Reply;
use crate::settings::Settings;

/// Above this the prompt-visible state is called large.
const STATE_BYTES_LARGE: u64 = 32 * 1_024;
const LARGEST_SHOWN: usize = 5;
/// Boards looked at for one page of a list.
const BOARDS_LOOKED_AT_MAX: usize = 2_000;
/// Names read at a time.
const NAMES_PER_PAGE: usize = 1_000;

pub(crate) fn router() -> Router<AppState> {
    Router::new()
        .route("/v1/boards", get(list))
        .route("/v1/boards/{board}", put(create).get(show).delete(remove))
        .route("/v1/boards/{board}/blueprint", get(blueprint))
        .route("/v1/boards/{board}/refusals", get(refusals))
}

async fn create(mut call: Call) -> ApiResult<Response> {
    let name = call.board_name()?;
    let query = PlainQuery::read(call.query())?;
    call.takes_no_conditions()?;
    let body = call.json(BodyNeed::Required).await?.unwrap_or_default();
    let repeat = call.repeat(Some(&body))?;
    let body = CreateBoard::read(body).map_err(Problem::from)?;
    call.reach(&name)?;
    let blueprint = resolve(&call.context.settings, body.blueprint)?;
    let command = Command::CreateBoard(command::CreateBoard {
        blueprint,
        title: body.title.map(SmolStr::from),
        labels: body.labels.into_iter().map(|(k, v)| (SmolStr::from(k), SmolStr::from(v))).collect(),
        inputs: from_core::inputs(body.inputs.into_iter().collect())?,
    });
    let asked = Asked { repeat, dry_run: query.dry_run, ..Asked::new(command) };
    let answer = call.ask(&name, asked).await?;
    let Some(reply::Reply::Board { created, warnings }) = &answer.reply else { return Err(ApiError::unexpected()) };
    let status = if *created { StatusCode::CREATED } else { StatusCode::OK };
    let handle = call.app.engine.board(&name).await.map_err(|error| call.engine_problem(&name, error))?;
    let warnings = warnings.iter().map(from_core::warning).collect();
    let board = match &handle {
        // As it was then: it may have gone on since, or be gone.
        Some(handle) if answer.replayed => past_of(handle, answer.position).await,
        Some(handle) => Some(handle.published().board.clone()),
        None => None,
    };
    let reply = match board.filter(Board::exists) {
        Some(board) => {
            let mut summary = summary(&board, &call.actor(), answer.now)?;
            summary.warnings = warnings;
            summary.dry_run = query.dry_run;
            Reply::json(status, &summary, query.pretty)
        }
        // A dry run of a board that is not there, or a creation of which no more is known.
        None => {
            let known = Created { board: &name, created: *created, warnings, dry_run: query.dry_run };
            Reply::json(status, &known, query.pretty)
        }
    };
    let head = call.head(&name, &answer, query.dry_run).await;
    Ok(reply.at(head).replayed(answer.replayed).located(&board_href(&name)).send())
}

/// All that can be said of a board that cannot be shown.
#[derive(Serialize)]
struct Created<'a> {
    board: &'a BoardName,
    created: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

async fn past_of(handle: &BoardHandle, position: Option<Position>) -> Option<Board> {
    handle.at(position?.revision).await.ok()
}

fn resolve(settings: &Settings, blueprint: BlueprintRef) -> ApiResult<Arc<Blueprint>> {
    match blueprint {
        BlueprintRef::Name(name) => settings.blueprints.get(&name).cloned().ok_or_else(|| {
            let known = settings.blueprints.keys().map(ToString::to_string);
            let detail = format!("this server has no blueprint `{name}`");
            problem_of(ErrorItem::at(ErrorCode::InvalidValue, "/blueprint", detail).with_allowed(known))
        }),
        BlueprintRef::Inline(rules) => Blueprint::from_value(&rules)
            .map(Arc::new)
            .map_err(|flaws| from_core::flaws_problem(&flaws, "/blueprint").into()),
    }
}

async fn show(call: Call) -> ApiResult<Response> {
    let query = ReadQuery::read(call.query())?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    let summary = summary(&published.board, &call.actor(), handle.now())?;
    Ok(Reply::json(StatusCode::OK, &summary, query.pretty).at(published.board.position()).send())
}

/// A board in short, as far as the caller may read it.
fn summary(board: &Board, actor: &Actor, now: BoardTime) -> ApiResult<BoardSummary> {
    let (Some(life), Some(position)) = (board.life(), board.position()) else { return Err(ApiError::unexpected()) };
    let readable = |zone: &_| readable_zone(board, actor, zone).is_ok();
    let zones = life.blueprint.zones.keys().filter(|zone| readable(zone)).map(|zone| {
        let tally = board.tally(zone);
        let count = tally.map(|tally| ZoneCount { entries: tally.entries, statuses: tally.by_status });
        (zone.clone(), count.unwrap_or_default())
    });
    let zones = zones.collect();
    let leases = board.leases().filter(|(id, lease)| lease.is_live(now) && readable(&id.zone)).count() as u64;
    Ok(BoardSummary {
        board: board.name().clone(),
        title: life.title.as_ref().map(ToString::to_string),
        labels: life.labels.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        blueprint: life.blueprint.name.clone(),
        schema_version: life.blueprint.schema_version,
        epoch: life.epoch,
        revision: position.revision,
        position,
        created_at: life.created.at,
        created_by: life.created.by.clone(),
        zones,
        state: state(board, actor),
        leases,
        conflicts: 0,
        proposals: 0,
        completeness: None,
        warnings: Vec::new(),
        dry_run: false,
    })
}

fn state(board: &Board, actor: &Actor) -> BoardState {
    let bytes = board.state_bytes();
    let max = board.blueprint().limits.state_bytes_max;
    let level = match max {
        Some(max) if bytes >= max => StateLevel::Full,
        _ if bytes > STATE_BYTES_LARGE => StateLevel::Warn,
        _ => StateLevel::Ok,
    };
    let visible =
        |zone: &ZoneName| board.blueprint().is_prompt_visible(zone) && readable_zone(board, actor, zone).is_ok();
    let mut largest: Vec<LargestEntry> = Vec::new();
    for (id, entry) in board.entries() {
        let smallest = largest.last().map_or(0, |entry| entry.bytes);
        let bytes = entry.bytes();
        if (largest.len() == LARGEST_SHOWN && bytes <= smallest) || !visible(&id.zone) {
            continue;
        }
        let at = largest.partition_point(|other| other.bytes >= bytes);
        largest.insert(at, LargestEntry { zone: id.zone, key: id.key, bytes });
        largest.truncate(LARGEST_SHOWN);
    }
    BoardState { bytes, level, largest }
}

async fn list(call: Call) -> ApiResult<Response> {
    let query = BoardsQuery::read(call.query())?;
    let mut after = match &query.page {
        Some(page) => {
            let name = pages::read(page).and_then(|name| name.parse::<BoardName>().ok());
            Some(name.ok_or_else(stale_page)?)
        }
        None => None,
    };
    let mut items = Vec::new();
    let mut looked = 0;
    let mut last: Option<BoardName> = None;
    let mut next_page = None;
    'pages: loop {
        let page = call.app.engine.list(after.clone(), NAMES_PER_PAGE).await;
        let page = page.map_err(|_| ApiError::new(ErrorCode::Unavailable, "the storage cannot be read now"))?;
        if page.is_empty() {
            break;
        }
        for info in page {
            after = Some(info.board.clone());
            // Neither a page nor a token tells of boards that the caller may not see.
            if !call.caller.may_see(&info.board) {
                continue;
            }
            if items.len() == query.limit || looked == BOARDS_LOOKED_AT_MAX {
                next_page = last.map(|name| pages::written(name.as_str()));
                break 'pages;
            }
            looked += 1;
            last = Some(info.board.clone());
            // One that is set aside is not lost from sight: it is in `/readyz` and answers 503 by name.
            let Ok(Some(handle)) = call.app.engine.board(&info.board).await else { continue };
            let published = handle.published();
            let Some(life) = published.board.life() else { continue };
            if query.labels.iter().all(|filter| has_label(life, filter)) {
                items.push(summary(&published.board, &call.actor(), handle.now())?);
            }
        }
    }
    Ok(Reply::json(StatusCode::OK, &List { items, position: None::<Position>, next_page }, query.pretty).send())
}

fn has_label(life: &kokuban_core::board::Life, filter: &LabelFilter) -> bool {
    let found = life.labels.get(filter.name.as_str());
    found.is_some_and(|value| filter.value.as_ref().is_none_or(|wanted| *wanted == value.as_str()))
}

pub(crate) fn stale_page() -> ApiError {
    ApiError::new(ErrorCode::InvalidQuery, "`page` is not a token that this list gave out")
}

async fn remove(call: Call) -> ApiResult<Response> {
    let name = call.board_name()?;
    let query = PlainQuery::read(call.query())?;
    call.takes_no_conditions()?;
    let repeat = call.repeat(None)?;
    let asked = Asked { repeat, dry_run: query.dry_run, ..Asked::new(Command::DeleteBoard) };
    let answer = call.ask(&name, asked).await.map_err(|mut error| {
        // Whoever wants it gone is done, and is not to be led to create it.
        if error.problem().is(ErrorCode::BoardNotFound) {
            error.problem_mut().next = Next::action(NextAction::Stop);
        }
        error
    })?;
    Ok(Reply::empty(StatusCode::NO_CONTENT).at(answer.position).replayed(answer.replayed).send())
}

async fn blueprint(call: Call) -> ApiResult<Response> {
    let query = ReadQuery::read(call.query())?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    let mut blueprint = Blueprint::clone(published.board.blueprint());
    let actor = call.actor();
    // A zone that the caller may not read does not exist for it.
    blueprint.zones.retain(|zone, _| readable_zone(&published.board, &actor, zone).is_ok());
    let zones = &blueprint.zones;
    blueprint.slots.retain(|place, _| place.split_once('/').is_some_and(|(zone, _)| zones.contains_key(zone)));
    blueprint.prompt_zones.iter_mut().for_each(|named| named.retain(|zone| zones.contains_key(zone)));
    blueprint.triggers.retain(|_, trigger| trigger.on.zones.iter().all(|zone| zones.contains_key(zone)));
    Ok(Reply::json(StatusCode::OK, &blueprint.to_value(), query.pretty).at(published.board.position()).send())
}

async fn refusals(call: Call) -> ApiResult<Response> {
    let query = RefusalsQuery::read(call.query())?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    let actor = call.actor();
    let mut items = call.app.refusals.of(handle.name(), query.by.as_ref(), query.limit);
    items.retain(|refusal| {
        refusal.zone.as_ref().is_none_or(|zone| readable_zone(&published.board, &actor, zone).is_ok())
    });
    let list = List { items, position: published.board.position(), next_page: None };
    Ok(Reply::json(StatusCode::OK, &list, query.pretty).at(published.board.position()).send())
}

#[cfg(test)]
mod tests;
