//! `GET …/history`: the commits of a board or of one entry, newest first.
//!
//! Invariant: a page is bounded in items, in bytes and in commits looked through; where it ends early, `next_page`
//! goes on. Of a zone the caller may not read nothing is shown, of scratch tables no value, and of other boards of
//! the same name nothing at all.
//! Not known here: how both sides of a change are found; see `sides`.

mod sides;
#[cfg(test)]
mod tests;

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kokuban_api::answers::{HistoryCommit, List};
use kokuban_api::query::{HistoryQuery, Place};
use kokuban_api::{ErrorCode, from_core};
use kokuban_core::board::Board;
use kokuban_core::ids::{Key, Position, Revision, ZoneName};
use kokuban_engine::{BoardHandle, Logged, Published};

use self::sides::Sides;
use super::boards::stale_page;
use crate::app::AppState;
use crate::call::{Call, board_not_found, position_problem};
use crate::error::ApiResult;
use crate::reply::Reply;
use crate::streams::is_scratch;

/// Commits looked through for one answer.
const LOOKED_AT_MAX: usize = 5_000;
/// Commits read at a time.
const PAGE_COMMITS: usize = 250;
/// Size of one answer, about.
const BYTES_MAX: usize = 2 * 1_024 * 1_024;
/// A change without values, about.
const CHANGE_BYTES: usize = 256;

pub(crate) fn router() -> Router<AppState> {
    Router::new()
        .route("/v1/boards/{board}/history", get(of_board))
        .route("/v1/boards/{board}/history/{zone}/{*key}", get(of_entry))
}

async fn of_board(call: Call) -> ApiResult<Response> {
    let query = HistoryQuery::read(call.query())?;
    answer(&call, query).await
}

async fn of_entry(call: Call) -> ApiResult<Response> {
    let id = call.entry_id()?;
    let mut query = HistoryQuery::read(call.query())?;
    if query.zone.is_some() || query.key.is_some() {
        let detail = "the address names zone and key already; leave `zone` and `key` out of the query";
        return Err(crate::error::ApiError::new(ErrorCode::InvalidQuery, detail));
    }
    (query.zone, query.key) = (Some(id.zone), Some(id.key));
    answer(&call, query).await
}

async fn answer(call: &Call, query: HistoryQuery) -> ApiResult<Response> {
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    let board = &published.board;
    let head = board.position().ok_or_else(|| board_not_found(handle.name()))?;
    if let Some(zone) = &query.zone {
        call.may_read(board, zone)?;
    }
    let range = Range::of(&query, head, &handle, &published)?;
    let found = match query.ticket {
        // No commit of this server has a ticket yet.
        Some(_) => Found::default(),
        None => {
            Search { call, query: &query, board, found: Found::default(), sides: Sides::default(), bytes: 0 }
                .run(&handle, range)
                .await?
        }
    };
    let next_page = found.next.map(|revision| Position { revision, ..head }.to_string());
    let list = List { items: found.items, position: Some(head), next_page };
    Ok(Reply::json(StatusCode::OK, &list, query.pretty).at(Some(head)).send())
}

/// Which revisions are asked for. Both ends are exclusive.
#[derive(Debug, Clone, Copy)]
struct Range {
    after: Revision,
    before: Revision,
}

impl Range {
    fn of(query: &HistoryQuery, head: Position, handle: &BoardHandle, published: &Published) -> ApiResult<Self> {
        let revision = |place: Place| match place.epoch {
            Some(epoch) if epoch != head.epoch => Err(position_problem(ErrorCode::UnknownEpoch, handle, published)),
            _ => Ok(place.revision),
        };
        let after = query.after.map(revision).transpose()?.unwrap_or(Revision::ZERO);
        let mut before = query.before.map(revision).transpose()?.unwrap_or(Revision(u64::MAX));
        if let Some(page) = &query.page {
            let page: Position = page.parse().map_err(|_| stale_page())?;
            if page.epoch != head.epoch {
                return Err(position_problem(ErrorCode::UnknownEpoch, handle, published));
            }
            before = before.min(page.revision);
        }
        Ok(Self { after, before: before.min(head.revision.next()) })
    }
}

#[derive(Debug, Default)]
struct Found {
    items: Vec<HistoryCommit>,
    /// Where the next page begins, exclusive.
    next: Option<Revision>,
}

struct Search<'a> {
    call: &'a Call,
    query: &'a HistoryQuery,
    board: &'a Board,
    found: Found,
    sides: Sides,
    /// Of the items, without both sides.
    bytes: usize,
}

/// Whether there may be more.
#[derive(PartialEq, Eq)]
enum Reach {
    More,
    End,
}

impl Search<'_> {
    async fn run(mut self, handle: &BoardHandle, range: Range) -> ApiResult<Found> {
        let mut before = range.before;
        let mut looked_at = 0;
        loop {
            if self.is_full() || looked_at >= LOOKED_AT_MAX {
                self.found.next = Some(before);
                break;
            }
            let page = handle.history(before, PAGE_COMMITS).await.map_err(|error| self.call.past_problem(&error))?;
            looked_at += page.commits.len();
            let reach = self.take_page(&page.commits, range.after, &mut before);
            if reach == Reach::End || page.end || page.commits.is_empty() {
                if self.found.next.is_none() {
                    before = range.after.next();
                }
                break;
            }
        }
        self.complete_sides(handle, before).await;
        self.sides.fill(&mut self.found.items);
        Ok(self.found)
    }

    fn is_full(&self) -> bool {
        self.found.items.len() >= self.query.limit || self.bytes + self.sides.bytes() >= BYTES_MAX
    }

    /// Goes through commits, newest first.
    fn take_page(&mut self, commits: &[std::sync::Arc<Logged>], after: Revision, before: &mut Revision) -> Reach {
        for logged in commits {
            let other_life = self.board.life().is_none_or(|life| logged.revision() < life.since);
            if logged.revision() <= after || other_life {
                return Reach::End;
            }
            if self.is_full() {
                self.found.next = Some(*before);
                return Reach::End;
            }
            self.take(logged);
            *before = logged.revision();
        }
        Reach::More
    }

    fn take(&mut self, logged: &Logged) {
        let commit = &logged.commit;
        // Changes above may wait for what this commit wrote, whether it is shown or not.
        self.sides.see(commit);
        if self.query.by.as_ref().is_some_and(|by| commit.by.as_ref() != Some(by)) {
            return;
        }
        let mut changes = Vec::new();
        for (touched, change) in from_core::changes_of(commit) {
            let kinds = match touched {
                Some(touched) if self.shows(&touched.id.zone, &touched.id.key) => {
                    from_core::kinds_of(commit, &touched.id)
                }
                None if self.query.zone.is_none() && self.query.key.is_none() => vec![change.kind],
                _ => continue,
            };
            let wanted = &self.query.kinds;
            if !wanted.is_empty() && !kinds.iter().any(|kind| wanted.contains(kind)) {
                continue;
            }
            let scratch = touched.is_some_and(|touched| is_scratch(self.board.blueprint(), &touched.id.zone));
            let place = sides::Place { item: self.found.items.len(), change: changes.len(), scratch };
            if let (Some(touched), true) = (touched, self.query.include_value) {
                self.sides.expect(place, commit, touched);
            }
            let operations = self.query.include_operations && !scratch;
            let change = from_core::history_change(commit, touched, change, operations);
            let values = change.operations.iter().filter_map(|operation| operation.value.as_ref());
            self.bytes += CHANGE_BYTES + values.map(kokuban_core::json::Json::len).sum::<usize>();
            changes.push(change);
        }
        if !changes.is_empty() {
            self.found.items.push(from_core::history_commit(commit, Some(logged.chain), changes));
        }
    }

    fn shows(&self, zone: &ZoneName, key: &Key) -> bool {
        let named = self.query.zone.as_ref();
        named.is_none_or(|named| named == zone)
            && self.query.key.as_ref().is_none_or(|named| named == key)
            && self.call.may_read(self.board, zone).is_ok()
            && (named.is_some() || !is_scratch(self.board.blueprint(), zone))
    }

    /// Looks further back for what stood before the oldest changes shown, within a bound.
    async fn complete_sides(&mut self, handle: &BoardHandle, mut before: Revision) {
        let mut looked_at = 0;
        let Some(life) = self.board.life() else { return };
        while self.sides.is_waiting() && looked_at < sides::LOOK_BACK_MAX && before > Revision(1) {
            // What cannot be read is left out; the page itself is complete.
            let Ok(page) = handle.history(before, PAGE_COMMITS).await else { return };
            let Some(oldest) = page.commits.last() else { return };
            before = oldest.revision();
            looked_at += page.commits.len();
            for logged in &page.commits {
                if logged.revision() < life.since {
                    return;
                }
                self.sides.see(&logged.commit);
            }
            if page.end {
                return;
            }
        }
    }
}
