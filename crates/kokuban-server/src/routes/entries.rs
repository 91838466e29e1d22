//! Entries: list, read, wait for, put, patch, delete.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kokuban_api::answers::List;
use kokuban_api::bodies::{Patch, Put};
use kokuban_api::from_core::{self, ReceiptValue, View, receipt};
use kokuban_api::headers::{EntityTag, Preconditions, ReturnPreference};
use kokuban_api::names::entry_href;
use kokuban_api::query::{self, EntriesQuery, EntryQuery, WriteQuery};
use kokuban_api::{ErrorCode, ErrorItem, Problem};
use kokuban_core::board::Board;
use kokuban_core::caller::readable_zone;
use kokuban_core::command::{Command, Write};
use kokuban_core::entry::Entry;
use kokuban_core::ids::{BoardName, BoardTime, EntryId, Key, Position, Version, ZoneName};
use kokuban_core::rejection::Rejection;
use kokuban_core::reply;
use kokuban_engine::{Answer, BoardHandle, PastError, Published};
use tokio::time::Instant;

use super::boards::stale_page;
use crate::app::AppState;
use crate::call::{Asked, Call, problem_of};
use crate::edge::BodyNeed;
use crate::error::{ApiError, ApiResult};
use crate::reply::Reply;

pub(crate) fn router() -> Router<AppState> {
    Router::new()
        .route("/v1/boards/{board}/entries", get(list))
        .route("/v1/boards/{board}/entries/{zone}", get(list_zone))
        .route("/v1/boards/{board}/entries/{zone}/{*key}", get(read).put(replace).patch(patch).delete(remove))
}

async fn list(call: Call) -> ApiResult<Response> {
    let query = EntriesQuery::read(call.query())?;
    list_with(call, query).await
}

async fn list_zone(call: Call) -> ApiResult<Response> {
    let zone = call.zone()?;
    let mut query = EntriesQuery::read(call.query())?;
    if query.zone.as_ref().is_some_and(|named| *named != zone) {
        let detail = "`zone` names another zone than the path";
        return Err(problem_of(ErrorItem::new(ErrorCode::InvalidQuery, detail)));
    }
    query.zone = Some(zone);
    list_with(call, query).await
}

async fn list_with(call: Call, query: EntriesQuery) -> ApiResult<Response> {
    let handle = call.board().await?;
    let page = query.page.as_deref().map(PageToken::parse).transpose()?;
    let published = match &page {
        Some(token) => call.app.pages.find(handle.name(), token.position).ok_or_else(page_is_over)?,
        None => call.state(&handle, query.min_position).await?,
    };
    let rebuilt;
    let board = match query.at {
        Some(revision) => {
            rebuilt = handle.at(revision).await.map_err(|error| call.past_problem(&error))?;
            &rebuilt
        }
        None => &published.board,
    };
    if let Some(zone) = &query.zone {
        call.may_read(board, zone)?;
    }
    let now = handle.now();
    let view = if query.include_value { View::Brief } else { View::Listed };
    let start = page.as_ref().map_or_else(|| first_of(&query), |token| Bound::Excluded(token.last.clone()));
    let actor = call.actor();
    let fits = |id: &EntryId, entry: &Entry| {
        let in_zone = match &query.zone {
            Some(zone) => id.zone == *zone,
            None => !board.is_scratch(&id.zone) && readable_zone(board, &actor, &id.zone).is_ok(),
        };
        in_zone
            && query.prefix.as_ref().is_none_or(|prefix| id.key.as_str().starts_with(prefix.as_str()))
            && query.status.as_ref().is_none_or(|status| entry.status.as_ref() == Some(status))
            && query.owner.as_ref().is_none_or(|owner| board.owner(id, entry) == Some(owner))
    };
    let mut items = Vec::new();
    let mut last = None;
    let mut next_page = None;
    for (id, entry) in board.entries_from(bound(&start)) {
        if query.zone.as_ref().is_some_and(|zone| id.zone > *zone) {
            break;
        }
        if !fits(id, entry) {
            continue;
        }
        if items.len() == query.limit {
            next_page = last.zip(board.position()).map(|(last, position)| PageToken { position, last }.to_string());
            break;
        }
        items.push(from_core::entry(board, id, entry, now, view));
        last = Some(id.clone());
    }
    if next_page.is_some() && query.at.is_none() && page.is_none() {
        call.app.pages.keep(&published);
    }
    let position = board.position();
    Ok(Reply::json(StatusCode::OK, &List { items, position, next_page }, query.pretty).at(position).send())
}

fn first_of(query: &EntriesQuery) -> Bound<EntryId> {
    // `+` is the least character of names.
    let least = || Key::new("+").expect("a plus sign is a name");
    query.zone.as_ref().map_or(Bound::Unbounded, |zone| Bound::Included(EntryId::new(zone.clone(), least())))
}

fn bound(bound: &Bound<EntryId>) -> Bound<&EntryId> {
    match bound {
        Bound::Included(id) => Bound::Included(id),
        Bound::Excluded(id) => Bound::Excluded(id),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// Where the next page goes on: the state that all pages show, and the last entry given.
struct PageToken {
    position: Position,
    last: EntryId,
}

impl std::fmt::Display for PageToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.position, self.last)
    }
}

impl PageToken {
    fn parse(text: &str) -> ApiResult<Self> {
        let mut parts = text.splitn(3, '/');
        let mut next = || parts.next().unwrap_or_default();
        let position = next().parse().map_err(|_| stale_page())?;
        let zone: ZoneName = next().parse().map_err(|_| stale_page())?;
        let key: Key = next().parse().map_err(|_| stale_page())?;
        Ok(Self { position, last: EntryId::new(zone, key) })
    }
}

fn page_is_over() -> ApiError {
    ApiError::new(ErrorCode::Compacted, "a page token lives 60 s; start again at the first page")
}

async fn read(call: Call) -> ApiResult<Response> {
    let id = call.entry_id()?;
    let query = EntryQuery::read(call.query())?;
    let preconditions = Preconditions::read(&call.headers).map_err(problem_of)?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    call.may_read(&published.board, &id.zone)?;
    let published = wait(&call, &handle, published, &id, &query).await;
    let past = past(&call, &handle, &published, &id, &query).await?;
    let board = past.as_ref().unwrap_or(&published.board);
    let (Some(entry), Some(position)) = (board.entry(&id), board.position()) else {
        return Err(not_found(&call, board, &id));
    };
    let tag = EntityTag { version: entry.version, epoch: position.epoch };
    if let Err(failed) = preconditions.judge(Some(tag)) {
        return not_as_asked(&call, board, &id, entry, tag, failed);
    }
    let view = match query.view {
        query::View::Brief => View::Brief,
        query::View::Full => View::Full,
    };
    let now = if past.is_some() { BoardTime(u64::MAX) } else { handle.now() };
    let shown = from_core::entry(board, &id, entry, now, view);
    Ok(Reply::json(StatusCode::OK, &shown, query.pretty).at(Some(position)).tagged(tag).send())
}

fn not_found(call: &Call, board: &Board, id: &EntryId) -> ApiError {
    call.refuse(board, Rejection::NotFound { id: id.clone() }, Some(id))
}

/// A read whose condition fails: 304 where the caller has it already, else 412.
fn not_as_asked(
    call: &Call,
    board: &Board,
    id: &EntryId,
    entry: &Entry,
    tag: EntityTag,
    failed: kokuban_api::headers::FailedCondition,
) -> ApiResult<Response> {
    match failed {
        kokuban_api::headers::FailedCondition::IfNoneMatch => {
            Ok(Reply::empty(StatusCode::NOT_MODIFIED).at(board.position()).tagged(tag).send())
        }
        kokuban_api::headers::FailedCondition::IfMatch => {
            let condition = kokuban_core::rejection::Condition::Header;
            let rejection = Rejection::VersionConflict { condition, expected: None, actual: Some(entry.version) };
            Err(call.refuse(board, rejection, Some(id)))
        }
    }
}

/// Waits until the entry is as the query wants it, or its time is over.
async fn wait(
    call: &Call,
    handle: &BoardHandle,
    published: Arc<Published>,
    id: &EntryId,
    query: &EntryQuery,
) -> Arc<Published> {
    let arrived = |published: &Published| {
        let entry = published.board.entry(id);
        let newer = query.after_version.is_none_or(|version| entry.is_some_and(|entry| entry.version > version));
        let moved = query
            .until_status
            .as_ref()
            .is_none_or(|status| entry.is_some_and(|entry| entry.status.as_ref() == Some(status)));
        newer && moved
    };
    let waits = query.after_version.is_some() || query.until_status.is_some();
    let ms = query.wait_ms.unwrap_or(0);
    if !waits || ms == 0 || arrived(&published) {
        return published;
    }
    call.context.waits();
    let until = Instant::now() + Duration::from_millis(ms);
    tokio::select! {
        found = handle.wait_until(until, arrived) => found,
        () = call.app.shutdown.stopping() => handle.published(),
    }
}

/// The board as it was, where the query asks for the past.
async fn past(
    call: &Call,
    handle: &BoardHandle,
    published: &Published,
    id: &EntryId,
    query: &EntryQuery,
) -> ApiResult<Option<Board>> {
    if let Some(revision) = query.at {
        return handle.at(revision).await.map(Some).map_err(|error| call.past_problem(&error));
    }
    let Some(version) = query.version else { return Ok(None) };
    if published.board.entry(id).is_some_and(|entry| entry.version == version) {
        return Ok(None);
    }
    let revision = match handle.revision_of(id, version).await {
        Ok(Some(revision)) => revision,
        Ok(None) => return Err(not_found(call, &published.board, id)),
        Err(error) => return Err(call.past_problem(&error)),
    };
    match handle.at(revision).await {
        Ok(board) => Ok(Some(board)),
        Err(PastError::Future) => Err(not_found(call, &published.board, id)),
        Err(error) => Err(call.past_problem(&error)),
    }
}

async fn replace(mut call: Call) -> ApiResult<Response> {
    let (board, id) = (call.board_name(), call.entry_id());
    let (board, id) = (board?, id?);
    let query = WriteQuery::read(call.query())?;
    let preconditions = Preconditions::read(&call.headers).map_err(problem_of)?;
    let body = call.json(BodyNeed::Required).await?.unwrap_or_default();
    let repeat = call.repeat(Some(&body))?;
    let body = Put::read(body).map_err(Problem::from)?;
    let write = from_core::put(&board, id, body, &preconditions)?;
    write_with(&call, &board, write, &query, repeat, ReceiptValue::Never).await
}

async fn patch(mut call: Call) -> ApiResult<Response> {
    let (board, id) = (call.board_name(), call.entry_id());
    let (board, id) = (board?, id?);
    let query = WriteQuery::read(call.query())?;
    let preconditions = Preconditions::read(&call.headers).map_err(problem_of)?;
    let body = call.json(BodyNeed::Required).await?.unwrap_or_default();
    let repeat = call.repeat(Some(&body))?;
    let body = Patch::read(body).map_err(Problem::from)?;
    let pointers: Vec<_> = body.operations.iter().map(|operation| operation.pointer.clone()).collect();
    let write = from_core::patch(&board, id, body, &preconditions)?;
    let answer = write_with(&call, &board, write, &query, repeat, ReceiptValue::UpTo4KiB).await;
    answer.map_err(|mut error| {
        from_core::point_at_operations(error.problem_mut(), "", &pointers);
        error
    })
}

async fn write_with(
    call: &Call,
    board: &BoardName,
    mut write: Write,
    query: &WriteQuery,
    repeat: Option<kokuban_core::command::Repeat>,
    shows: ReceiptValue,
) -> ApiResult<Response> {
    add_query(&mut write, query)?;
    write.atomic = query.atomic;
    let (id, version) = (write.id.clone(), named_version(&write));
    let asked = Asked {
        repeat,
        dry_run: query.dry_run,
        may_create: true,
        about: Some(id.clone()),
        version,
        ..Asked::new(Command::Write(Box::new(write)))
    };
    let answer = call.ask(board, asked).await?;
    written(call, board, &id, &answer, query, shows)
}

/// The version that a refused caller had read.
fn named_version(write: &Write) -> Option<Version> {
    use kokuban_core::command::TagMatch;
    match (&write.conditions.if_match, write.conditions.version) {
        (_, Some(version)) => Some(version),
        (Some(TagMatch::Tags(tags)), None) => tags.first().map(|(version, _)| *version),
        _ => None,
    }
}

/// Terms of the write that stand in the query; they may not stand in the body too.
fn add_query(write: &mut Write, query: &WriteQuery) -> ApiResult<()> {
    let mut errors = Vec::new();
    let mut twice = |name: &str| {
        errors.push(ErrorItem::new(ErrorCode::InvalidQuery, format!("`{name}` stands in the query and in the body")));
    };
    match (query.version, write.conditions.version) {
        (Some(_), Some(_)) => twice("version"),
        (Some(version), None) => write.conditions.version = Some(version),
        (None, _) => {}
    }
    match (query.lease_token, write.lease.token) {
        (Some(_), Some(_)) => twice("lease_token"),
        (Some(token), None) => write.lease.token = Some(token),
        (None, _) => {}
    }
    match (&query.confidence, &write.marks.confidence) {
        (Some(_), Some(_)) => twice("confidence"),
        (Some(confidence), None) => write.marks.confidence = Some(confidence.into()),
        (None, _) => {}
    }
    match (&query.reason, &write.reason) {
        (Some(_), Some(_)) => twice("reason"),
        (Some(reason), None) => write.reason = Some(reason.into()),
        (None, _) => {}
    }
    if errors.is_empty() { Ok(()) } else { Err(crate::call::problem_of_all(errors)) }
}

async fn remove(call: Call) -> ApiResult<Response> {
    let (board, id) = (call.board_name(), call.entry_id());
    let (board, id) = (board?, id?);
    let query = WriteQuery::read(call.query())?;
    let preconditions = Preconditions::read(&call.headers).map_err(problem_of)?;
    let repeat = call.repeat(None)?;
    let delete = from_core::delete(id.clone(), &query, &preconditions);
    let version = delete.conditions.version;
    let asked = Asked {
        repeat,
        dry_run: query.dry_run,
        about: Some(id.clone()),
        version,
        ..Asked::new(Command::Delete(delete))
    };
    let answer = call.ask(&board, asked).await?;
    written(&call, &board, &id, &answer, &query, ReceiptValue::Never)
}

fn written(
    call: &Call,
    board: &BoardName,
    id: &EntryId,
    answer: &Answer,
    query: &WriteQuery,
    shows: ReceiptValue,
) -> ApiResult<Response> {
    let (Some(reply::Reply::Receipt(written)), Some(position)) = (&answer.reply, answer.position) else {
        return Err(ApiError::new(ErrorCode::Internal, "the answer does not belong to the question"));
    };
    let preference = call.return_preference();
    let shows = match preference {
        Some(ReturnPreference::Minimal) => ReceiptValue::Never,
        Some(ReturnPreference::Representation) => ReceiptValue::Always,
        None => shows,
    };
    let created = written.outcome == reply::Outcome::Created;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    let body = receipt(written, position, answer.now, shows, query.dry_run);
    let reply = Reply::json(status, &body, query.pretty).at(Some(position)).replayed(answer.replayed);
    let reply = reply.preferring(preference);
    Ok(if created { reply.located(&entry_href(board, id)) } else { reply }.send())
}
