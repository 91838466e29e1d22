//! `GET …/export`: the whole log of a board as JSON lines, for `kokuban verify`.
//!
//! Invariant: the export shows the board at one revision, read page by page, and holds the hashed bytes as they are
//! stored. Values of scratch tables are left out; a commit that touched what the caller may not read is there by
//! its hash only. An export that breaks off has no last line.
//! Not known here: how an export is checked; that is `kokuban_core::verify`.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use futures::stream::unfold;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use kokuban_api::query::ReadQuery;
use kokuban_core::blueprint::Blueprint;
use kokuban_core::caller::{Actor, readable};
use kokuban_core::event::{Commit, Event, Payloads as _};
use kokuban_core::ids::{ChainHash, EntryId, Position, Revision};
use kokuban_core::json::Json;
use kokuban_core::record::{self, Decoded};
use kokuban_core::reply;
use kokuban_core::verify::{After, CommitLine, End, EndLine, FORMAT, Header};
use kokuban_engine::{BoardHandle, Published};
use kokuban_journal::{ReadLimit, Record};
use serde_json::value::RawValue;

use crate::app::AppState;
use crate::auth::{Caller, Standing};
use crate::call::{Call, board_not_found};
use crate::error::ApiResult;
use crate::reply::Reply;
use crate::streams::is_scratch;

/// Records read at a time.
const PAGE: ReadLimit = ReadLimit { records: 256, body_bytes: 64 * 1_024 };
const JSON_LINES: HeaderValue = HeaderValue::from_static("application/jsonl");

pub(crate) fn router() -> Router<AppState> {
    Router::new().route("/v1/boards/{board}/export", get(export))
}

async fn export(call: Call) -> ApiResult<Response> {
    let query = ReadQuery::read(call.query())?;
    let handle = call.board().await?;
    let published = call.state(&handle, query.min_position).await?;
    let Some(position) = published.board.position() else { return Err(board_not_found(handle.name())) };
    let mut response = Reply::empty(StatusCode::OK).at(Some(position)).send();
    response.headers_mut().insert(CONTENT_TYPE, JSON_LINES);
    if call.method != Method::HEAD {
        call.context.waits();
        let export = Export::new(&call, handle, &published, position);
        *response.body_mut() = export.into_body();
    }
    Ok(response)
}

/// An export under way.
struct Export {
    app: AppState,
    caller: Caller,
    handle: Arc<BoardHandle>,
    actor: Actor,
    position: Position,
    chain: ChainHash,
    entries: u64,
    /// The last revision written.
    at: Revision,
    withheld: bool,
    /// The rules that the life began with which the commits read last belong to.
    rules: Option<Arc<Blueprint>>,
    phase: Phase,
}

enum Phase {
    Header,
    Commits(VecDeque<Record>),
    Ended,
}

impl Export {
    fn new(call: &Call, handle: Arc<BoardHandle>, published: &Published, position: Position) -> Self {
        Self {
            app: call.app.clone(),
            caller: call.caller.clone(),
            actor: call.actor(),
            position,
            chain: published.chain,
            entries: published.board.n_entries() as u64,
            at: handle.oldest(),
            handle,
            withheld: false,
            rules: None,
            phase: Phase::Header,
        }
    }

    fn into_body(self) -> Body {
        Body::from_stream(unfold(self, |mut export| async move {
            let lines = export.next().await.transpose()?;
            if let Err(error) = &lines {
                tracing::warn!(board = %export.handle.name(), at = %export.at, %error, "an export broke off");
                export.phase = Phase::Ended;
            }
            Some((lines, export))
        }))
    }

    /// The next lines, or `None` at the end.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        match &mut self.phase {
            Phase::Header => {
                self.phase = Phase::Commits(VecDeque::new());
                self.header().map(Some)
            }
            Phase::Ended => Ok(None),
            Phase::Commits(page) if page.is_empty() && self.at >= self.position.revision => {
                self.phase = Phase::Ended;
                let entries = (!self.withheld).then_some(self.entries);
                let end = End { revision: self.position.revision, hash: self.chain, entries };
                line(&EndLine { end }).map(Some)
            }
            Phase::Commits(_) => self.page().await.map(Some),
        }
    }

    fn header(&self) -> io::Result<Bytes> {
        let hash = (self.at == Revision::ZERO).then_some(ChainHash::GENESIS);
        line(&Header {
            format: FORMAT.to_owned(),
            board: self.handle.name().clone(),
            position: self.position,
            after: After { revision: self.at, hash },
        })
    }

    async fn page(&mut self) -> io::Result<Bytes> {
        let settings = self.app.settings.now();
        if settings.authenticator.standing(&self.caller, self.handle.name()) != Standing::AsItWas {
            return Err(io::Error::other("the credential of the caller ended or changed"));
        }
        let journal = self.app.engine.journal();
        let read = journal.read(self.handle.name().clone(), self.at, PAGE).await;
        let records = read.map_err(|error| io::Error::other(error.to_string()))?;
        let mut lines = Vec::new();
        for stored in &records {
            let decoded = record::decode::<Commit>(&stored.body).map_err(io::Error::other)?;
            if !decoded.content.follows(self.at) || stored.revision > self.position.revision {
                break;
            }
            self.commit(stored, &decoded, &mut lines)?;
            self.at = stored.revision;
        }
        // The log was cut back meanwhile, or is damaged: the export ends without a last line.
        if lines.is_empty() { Err(io::Error::other("commits are missing")) } else { Ok(lines.into()) }
    }

    fn commit(&mut self, stored: &Record, decoded: &Decoded<Commit>, lines: &mut Vec<u8>) -> io::Result<()> {
        let commit = &decoded.content;
        let rules = self.rules_of(commit);
        let may_read =
            |id: &EntryId| rules.as_ref().is_some_and(|rules| readable(rules, &self.actor, &id.zone).is_some());
        let shown = commit.touched.iter().all(|touched| may_read(&touched.id))
            && commit.events.iter().filter_map(Event::entry).all(may_read)
            && commit.events.iter().all(|event| tells_no_secret_zone(event, &self.actor));
        self.withheld |= !shown;
        let text = std::str::from_utf8(&decoded.head).map_err(io::Error::other)?;
        let written = CommitLine {
            revision: stored.revision,
            hash: stored.chain,
            commit: shown.then(|| serde_json::from_str::<&RawValue>(text)).transpose()?,
            values: if shown { values(commit, rules.as_deref())? } else { Vec::new() },
        };
        serde_json::to_writer(&mut *lines, &written)?;
        lines.push(b'\n');
        Ok(())
    }

    /// The rules that say who may read a commit: of this life those in force now, of an earlier one those it began
    /// with. Where these are not kept, nobody may.
    fn rules_of(&mut self, commit: &Commit) -> Option<Arc<Blueprint>> {
        let created = commit.events.iter().find_map(|event| match event {
            Event::BoardCreated(created) => Some(&created.blueprint),
            _ => None,
        });
        if let Some(created) = created {
            self.rules = Some(Arc::clone(created));
        }
        let published = self.handle.published();
        let now = published.board.life().filter(|life| life.since <= commit.revision);
        now.map(|life| Arc::clone(&life.blueprint)).or_else(|| self.rules.clone())
    }
}

/// The values of a commit in their order, without those of scratch tables.
fn values<'c>(commit: &'c Commit, rules: Option<&Blueprint>) -> io::Result<Vec<Option<&'c RawValue>>> {
    let written = commit.events.iter().filter_map(|event| match event {
        Event::EntryWritten(written) => Some(&written.id),
        _ => None,
    });
    let claimed = commit.keyed.as_ref().and_then(|keyed| match &keyed.reply {
        reply::Reply::Claimed { id, .. } => Some(id),
        _ => None,
    });
    let mut owners = written.chain(claimed);
    let mut values = Vec::new();
    let mut outcome = Ok(());
    commit.payloads(&mut |payload| {
        let scratch = owners.next().is_none_or(|id| rules.is_none_or(|rules| is_scratch(rules, &id.zone)));
        let json = payload.json.as_ref().filter(|_| !scratch).map(Json::as_str);
        match json.map(serde_json::from_str::<&RawValue>).transpose() {
            Ok(raw) => values.push(raw),
            Err(error) => outcome = Err(error),
        }
    });
    outcome?;
    Ok(values)
}

fn line<T: serde::Serialize>(content: &T) -> io::Result<Bytes> {
    let mut line = serde_json::to_vec(content)?;
    line.push(b'\n');
    Ok(line.into())
}

/// A blueprint names all zones; for a reader, one that it may not read does not exist.
fn tells_no_secret_zone(event: &Event, actor: &Actor) -> bool {
    let Event::BoardCreated(created) = event else { return true };
    created.blueprint.zones.keys().all(|zone| readable(&created.blueprint, actor, zone).is_some())
}

#[cfg(test)]
mod tests;
