//! Entries: list, read, wait for, put, patch, delete.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::{Method, StatusCode};
use kokuban_api::answers::List;
use kokuban_api::bodies::{Patch, Put, json_patch, merge_patch};
use kokuban_api::from_core::{self, ReceiptValue, View, receipt};
use kokuban_api::headers::{EntityTag, MediaType, POSITION, Preconditions, ReturnPreference};
use kokuban_api::names::{self, Resource, entry_href};
use kokuban_api::problem::Next;
use kokuban_api::query::{self, EntriesQuery, EntryQuery, WriteQuery};
use kokuban_api::{ErrorCode, ErrorItem, NextAction, Problem};
use kokuban_core::board::Board;
use kokuban_core::caller::readable_zone;
use kokuban_core::command::{Command, Conditions, TagMatch, Write};
use kokuban_core::entry::Entry;
use kokuban_core::ids::{BoardName, BoardTime, EntryId, Key, Position, Version};
use kokuban_core::rejection::Rejection;
use kokuban_core::reply;
use kokuban_engine::{Answer, BoardHandle, PastError, Published};
use tokio::time::Instant;

use super::boards::stale_page;
use crate::app::AppState;
use crate::call::{Asked, Call, board_not_found, position_problem, problem_of};
use crate::edge::BodyNeed;
use crate::error::{ApiError, ApiResult};
use crate::pages;
use crate::reply::Reply;

/// The address of an entry.
pub(crate) const ENTRY: &str = "/v1/boards/{board}/entries/{zone}/{*key}";

pub(crate) fn router() -> Router<AppState> {
    Router::new()
        .route("/v1/boards/{board}/entries", get(list))
        .route("/v1/boards/{board}/entries/{zone}", get(list_zone))
        .route(ENTRY, get(read).put(replace).patch(patch).delete(remove))
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
    let page = query.page.as_deref().map(PageToken::parse).transpose()?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    let board = match (&page, query.at) {
        (Some(token), _) => {
            let kept = call.app.pages.find(handle.name(), token.position);
            kept.ok_or_else(|| page_is_over(published.board.position()))?
        }
        (None, Some(revision)) => handle.at(revision).await.map_err(|error| not_kept(&call, &handle, &error))?,
        (None, None) => published.board.clone(),
    };
    let board = &board;
    let Some(position) = board.position() else {
        // The board did not exist at that revision of its life.
        let position = published.board.position().zip(query.at).map(|(now, revision)| Position { revision, ..now });
        let none = List { items: Vec::<kokuban_api::answers::Entry>::new(), position, next_page: None };
        return Ok(Reply::json(StatusCode::OK, &none, query.pretty).at(position).send());
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
            && query.status.as_ref().is_none_or(|status| entry.status().as_ref() == Some(status))
            && query.owner.as_ref().is_none_or(|owner| board.owner(id, entry).as_ref() == Some(owner))
    };
    let mut items = Vec::new();
    let mut last = None;
    let mut next_page = None;
    for (id, entry) in board.entries_from(bound(&start)) {
        if query.zone.as_ref().is_some_and(|zone| id.zone > *zone) {
            break;
        }
        if !fits(&id, entry) {
            continue;
        }
        if items.len() == query.limit {
            next_page = last.map(|last| PageToken { position, last }.to_string());
            break;
        }
        items.push(from_core::entry(board, &id, entry, now, view));
        last = Some(id);
    }
    if next_page.is_some() {
        call.app.pages.keep(board);
    }
    let list = List { items, position: Some(position), next_page };
    Ok(Reply::json(StatusCode::OK, &list, query.pretty).at(Some(position)).send())
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
        write!(f, "{}.{}", self.position, pages::written(&self.last.to_string()))
    }
}

impl PageToken {
    fn parse(text: &str) -> ApiResult<Self> {
        let read = || {
            let (position, last) = text.rsplit_once('.')?;
            let last = pages::read(last)?;
            let (zone, key) = last.split_once('/')?;
            let last = EntryId::new(zone.parse().ok()?, key.parse().ok()?);
            Some(Self { position: position.parse().ok()?, last })
        };
        read().ok_or_else(stale_page)
    }
}

fn page_is_over(position: Option<Position>) -> ApiError {
    ApiError::new(ErrorCode::Compacted, "a page token lives 60 s; start again at the first page").at(position)
}

/// Why the past of a board cannot be shown.
fn not_kept(call: &Call, handle: &BoardHandle, error: &PastError) -> ApiError {
    match error {
        PastError::Compacted => position_problem(ErrorCode::Compacted, handle, &handle.published()),
        PastError::Future => position_problem(ErrorCode::FuturePosition, handle, &handle.published()),
        PastError::Unavailable | PastError::Damaged { .. } => call.past_problem(error),
    }
}

pub(super) async fn read(call: Call) -> ApiResult<Response> {
    let id = call.entry_id()?;
    let query = EntryQuery::read(call.query())?;
    let preconditions = Preconditions::read(&call.headers).map_err(problem_of)?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    call.may_read(&published.board, &id.zone)?;
    let published = wait(&call, &handle, published, &id, &query).await?;
    // Few ask for the past, and the future of the others would be as large as if they did.
    let past = if query.at.is_some() || query.version.is_some() {
        Box::pin(past(&call, &handle, &published, &id, &query)).await?
    } else {
        None
    };
    if let Some(past) = past.as_ref().filter(|past| past.exists()) {
        // Another life of the board may have had other readers.
        call.may_read(past, &id.zone)?;
    }
    let board = past.as_ref().unwrap_or(&published.board);
    let (Some(entry), Some(position)) = (board.entry(&id), board.position()) else {
        return Err(match past {
            Some(_) => not_then(&published.board, &id, &query),
            None => not_found(&call, board, &id),
        });
    };
    if !entry.has_value() {
        let detail = format!(
            "the value of version {} was taken out of the history; its sha256 is {}",
            entry.version, entry.sha256
        );
        let error =
            ApiError::from(Problem::new(ErrorCode::Compacted, detail).with_next(Next::action(NextAction::Stop)));
        return Err(error.with_header(POSITION, position.to_string().parse().expect("digits and a dot")));
    }
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

/// The entry was not there, or not in that version; what there is now is one call away.
fn not_then(board: &Board, id: &EntryId, query: &EntryQuery) -> ApiError {
    let detail = match (query.at, query.version) {
        (Some(revision), _) => format!("there was no entry `{id}` at revision {revision}"),
        (None, Some(version)) => format!("the history has no version {version} of `{id}` with a value"),
        (None, None) => format!("there was no entry `{id}`"),
    };
    let history = names::href(board.name(), Resource::History, id);
    let next = Next::call(NextAction::FixRequest, "GET", history);
    let mut error = problem_of(ErrorItem::new(ErrorCode::NotFound, detail)).at(board.position());
    error.problem_mut().next = next;
    error
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
            Err(call.refuse_reading(board, rejection, id))
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
) -> ApiResult<Arc<Published>> {
    let arrived = |published: &Published| {
        if !published.board.exists() {
            return true;
        }
        let entry = published.board.entry(id);
        let newer = query.after_version.is_none_or(|version| entry.is_some_and(|entry| entry.version > version));
        let moved = query
            .until_status
            .as_ref()
            .is_none_or(|status| entry.is_some_and(|entry| entry.status().as_ref() == Some(status)));
        newer && moved
    };
    let waits = query.after_version.is_some() || query.until_status.is_some();
    let ms = query.wait_ms.unwrap_or(0);
    if !waits || ms == 0 || call.method == Method::HEAD || arrived(&published) {
        return Ok(published);
    }
    let _place = call.wait_in_line()?;
    let until = Instant::now() + Duration::from_millis(ms);
    let found = async {
        tokio::select! {
            found = handle.wait_until(until, arrived) => found,
            () = call.app.shutdown.stopping() => handle.published(),
        }
    };
    let found = call.while_let_in(handle.name(), found).await?;
    if found.board.exists() { Ok(found) } else { Err(board_not_found(handle.name())) }
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
        return handle.at(revision).await.map(Some).map_err(|error| not_kept(call, handle, &error));
    }
    let Some(version) = query.version else { return Ok(None) };
    if published.board.entry(id).is_some_and(|entry| entry.version == version) {
        return Ok(None);
    }
    // What was never given need not be looked for.
    let known = version != Version::ZERO && version < published.board.next_version(id);
    let found = if known { handle.revision_of(id, version).await } else { Ok(None) };
    let revision = match found {
        Ok(Some(revision)) => revision,
        Ok(None) => return Err(not_then(&published.board, id, query)),
        Err(error) => return Err(not_kept(call, handle, &error)),
    };
    match handle.at(revision).await {
        Ok(board) => Ok(Some(board)),
        Err(PastError::Future) => Err(not_then(&published.board, id, query)),
        Err(error) => Err(not_kept(call, handle, &error)),
    }
}

pub(super) async fn replace(mut call: Call) -> ApiResult<Response> {
    let (board, id) = call.target()?;
    let query = WriteQuery::read(call.query())?;
    let preconditions = Preconditions::read(&call.headers).map_err(problem_of)?;
    let body = call.json(BodyNeed::Required).await?.unwrap_or_default();
    let repeat = call.repeat(Some(&body))?;
    let body = Put::read(body).map_err(Problem::from)?;
    let write = from_core::put(&board, id, body, &preconditions)?;
    write_with(&call, &board, write, &query, repeat, ReceiptValue::Never).await
}

async fn patch(mut call: Call) -> ApiResult<Response> {
    let (board, id) = call.target()?;
    let query = WriteQuery::read(call.query())?;
    let preconditions = Preconditions::read(&call.headers).map_err(problem_of)?;
    let (media_type, body) = call.json_of(&[MediaType::Json, MediaType::JsonPatch, MediaType::MergePatch]).await?;
    let repeat = call.repeat(Some(&body))?;
    if media_type != MediaType::Json {
        let read = if media_type == MediaType::JsonPatch { json_patch(body) } else { merge_patch(body) };
        let write = from_core::rfc(&board, id, read.map_err(Problem::from)?, &preconditions)?;
        return write_with(&call, &board, write, &query, repeat, ReceiptValue::UpTo4KiB).await;
    }
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
    let (id, version) = (write.id.clone(), named_version(&write.conditions));
    let asked = Asked {
        repeat,
        dry_run: query.dry_run,
        may_create: true,
        about: Some(id.clone()),
        version,
        ..Asked::new(Command::Write(Box::new(write)))
    };
    let answer = call.ask(board, asked).await?;
    written(call, board, &id, &answer, query, shows).await
}

/// The version that a refused caller had read.
fn named_version(conditions: &Conditions) -> Option<Version> {
    match (&conditions.if_match, conditions.version) {
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
    let (board, id) = call.target()?;
    let query = WriteQuery::read(call.query())?;
    let preconditions = Preconditions::read(&call.headers).map_err(problem_of)?;
    let repeat = call.repeat(None)?;
    let delete = from_core::delete(id.clone(), &query, &preconditions);
    let version = named_version(&delete.conditions);
    let asked = Asked {
        repeat,
        dry_run: query.dry_run,
        about: Some(id.clone()),
        version,
        ..Asked::new(Command::Delete(delete))
    };
    let answer = call.ask(&board, asked).await?;
    written(&call, &board, &id, &answer, &query, ReceiptValue::Never).await
}

async fn written(
    call: &Call,
    board: &BoardName,
    id: &EntryId,
    answer: &Answer,
    query: &WriteQuery,
    shows: ReceiptValue,
) -> ApiResult<Response> {
    let (Some(reply::Reply::Receipt(written)), Some(position)) = (&answer.reply, answer.position) else {
        return Err(ApiError::unexpected());
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
    let head = call.head(board, answer, query.dry_run).await;
    let reply = Reply::json(status, &body, query.pretty).at(head).replayed(answer.replayed);
    let reply = reply.preferring(preference);
    Ok(if created { reply.located(&entry_href(board, id)) } else { reply }.send())
}

#[cfg(test)]
mod tests;
