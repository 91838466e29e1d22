//! The calls about one board and its entries.
//!
//! Invariant: one method is one logical call; a write carries its own Idempotency-Key through all its attempts.
//! A conflict comes back as an error, see `update` for the loop that reads again.
//! Not known here: leases that renew themselves (`lease`), streams (`events`), pages (`pages`).

use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use http::{Method, StatusCode};
use kokuban_api::answers::{
    BoardSummary, Claimed, Entry, HistoryCommit, Lease, Note, NoteCreated, Receipt, Refusal, TransactionReceipt,
};
use kokuban_api::bodies::{
    Claim, CreateBoard, DeleteItem, LeaseRenewal, LeaseRequest, NoteBody, Patch, Put, Terms, Transaction,
};
use kokuban_api::names::{self, Resource};
use kokuban_core::ids::{BoardName, EntryId, LeaseToken, Position, Revision, Status, Version};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;
use crate::events::{EventFilter, EventStream};
use crate::pages::{self, HistoryFilter, ListFilter, Pages};
use crate::place::Place;
use crate::query::Query;
use crate::transport::{Answer, Call, Transport};

/// One board, seen as one caller. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Board {
    transport: Transport,
    name: BoardName,
}

/// Which state of an entry to read, and how much of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Get {
    full: bool,
    at: Option<Revision>,
    version: Option<Version>,
    after_version: Option<Version>,
    until_status: Option<Status>,
    wait: Duration,
    min_position: Option<Position>,
}

impl Get {
    /// The entry as it is, in its brief view.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All that is known about it.
    #[must_use]
    pub fn full(mut self) -> Self {
        self.full = true;
        self
    }

    /// As it was at this revision of the board.
    #[must_use]
    pub fn at(mut self, revision: Revision) -> Self {
        self.at = Some(revision);
        self
    }

    /// As it was at this version of its own.
    #[must_use]
    pub fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Waits up to `wait` for a higher version; then the entry as it is.
    #[must_use]
    pub fn after_version(mut self, version: Version, wait: Duration) -> Self {
        (self.after_version, self.wait) = (Some(version), wait);
        self
    }

    /// Waits up to `wait` for this status; then the entry as it is.
    #[must_use]
    pub fn until_status(mut self, status: Status, wait: Duration) -> Self {
        (self.until_status, self.wait) = (Some(status), wait);
        self
    }

    /// At least as new as this position.
    #[must_use]
    pub fn min_position(mut self, position: Position) -> Self {
        self.min_position = Some(position);
        self
    }

    fn query(&self) -> Query {
        let mut query = Query::default();
        if self.full {
            query.push("view", "full");
        }
        query.push_some("at", self.at);
        query.push_some("version", self.version);
        query.push_some("after_version", self.after_version);
        query.push_some("until_status", self.until_status.as_ref());
        if !self.wait.is_zero() {
            query.push("wait_ms", self.wait.as_millis());
        }
        query.push_some("min_position", self.min_position);
        query
    }
}

impl Board {
    pub(crate) fn new(transport: Transport, name: BoardName) -> Self {
        Self { transport, name }
    }

    #[must_use]
    pub fn name(&self) -> &BoardName {
        &self.name
    }

    /// Creates the board; done again with the same blueprint it changes nothing.
    ///
    /// # Errors
    /// As all calls: the problem the server answered, or why there is no answer.
    pub async fn create(&self, board: &CreateBoard) -> Result<BoardSummary, Error> {
        self.write(Method::PUT, names::board_href(&self.name), board).await
    }

    /// # Errors
    /// As [`Board::create`].
    pub async fn summary(&self) -> Result<BoardSummary, Error> {
        self.read(names::board_href(&self.name)).await
    }

    /// The rules of the board, as data.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn blueprint(&self) -> Result<Value, Error> {
        self.read(self.target("/blueprint")).await
    }

    /// Deletes the board, as an admin.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn delete_board(&self) -> Result<(), Error> {
        self.transport.send(&Call::write(Method::DELETE, names::board_href(&self.name))).await.map(drop)
    }

    /// # Errors
    /// As [`Board::create`]; 404 where there is no such entry, see [`Board::find`].
    pub async fn get(&self, place: impl Place) -> Result<Entry, Error> {
        self.get_with(place, &Get::new()).await
    }

    /// # Errors
    /// As [`Board::get`].
    pub async fn get_with(&self, place: impl Place, get: &Get) -> Result<Entry, Error> {
        let target = format!("{}{}", self.href(Resource::Entries, place)?, get.query());
        self.transport.send(&Call::read(target).waiting(get.wait)).await?.json()
    }

    /// The entry, or `None` where the board has none of this name.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn find(&self, place: impl Place) -> Result<Option<Entry>, Error> {
        match self.get(place).await {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.code() == Some(kokuban_api::ErrorCode::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the whole value.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn put(&self, place: impl Place, put: &Put) -> Result<Receipt, Error> {
        self.write(Method::PUT, self.href(Resource::Entries, place)?, put).await
    }

    /// Changes leaves, status and marks.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn patch(&self, place: impl Place, patch: &Patch) -> Result<Receipt, Error> {
        self.write(Method::PATCH, self.href(Resource::Entries, place)?, patch).await
    }

    /// Moves an entry to another status.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn shift(&self, place: impl Place, to: &Status, version: Version) -> Result<Receipt, Error> {
        let terms = Terms { status: Some(to.clone()), ..Terms::at_version(version) };
        self.patch(place, &Patch { terms, ..Patch::default() }).await
    }

    /// Deletes an entry; its counter stays. The members of `delete` are the conditions.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn delete(&self, place: impl Place, delete: &DeleteItem) -> Result<Receipt, Error> {
        let mut query = Query::default();
        query.push_some("version", delete.version);
        query.push_some("lease_token", delete.lease_token);
        query.push_some("confidence", delete.confidence.as_ref());
        query.push_some("reason", delete.reason.as_ref());
        let target = format!("{}{query}", self.href(Resource::Entries, place)?);
        self.transport.send(&Call::write(Method::DELETE, target)).await?.json()
    }

    /// All of it, or nothing.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn transaction(&self, transaction: &Transaction) -> Result<TransactionReceipt, Error> {
        self.write(Method::POST, self.target("/transactions"), transaction).await
    }

    /// The entries that fit, page by page as they are asked for.
    #[must_use]
    pub fn list(&self, filter: &ListFilter) -> Pages<Entry> {
        pages::pages(self.transport.clone(), self.target("/entries"), filter.query())
    }

    /// Past commits that fit, newest first, page by page as they are asked for.
    #[must_use]
    pub fn history(&self, filter: &HistoryFilter) -> Pages<HistoryCommit> {
        let target = match &filter.entry {
            Some(id) => names::href(&self.name, Resource::History, id),
            None => self.target("/history"),
        };
        pages::pages(self.transport.clone(), target, filter.query())
    }

    /// Refused writes of late, newest first.
    #[must_use]
    pub fn refusals(&self) -> Pages<Refusal> {
        pages::pages(self.transport.clone(), self.target("/refusals"), Query::default())
    }

    /// The whole board as JSON lines. One attempt: what was read before an interruption is not enough for a check.
    ///
    /// # Errors
    /// As [`Board::create`]; later errors come in the stream.
    pub async fn export(&self) -> Result<BoxStream<'static, Result<bytes::Bytes, Error>>, Error> {
        let response = self.transport.open(&Call::read(self.target("/export"))).await?;
        if !response.status().is_success() {
            return Err(Transport::problem(response).await);
        }
        Ok(response.bytes_stream().map(|chunk| chunk.map_err(Error::from_http)).boxed())
    }

    /// What happens on the board, across interruptions.
    #[must_use]
    pub fn events(&self, filter: &EventFilter) -> EventStream {
        let target = format!("{}{}", self.target("/events"), filter.query());
        EventStream::new(self.transport.clone(), target, filter.resume_position())
    }

    /// Leaves a remark on an entry.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn add_note(&self, place: impl Place, note: &NoteBody) -> Result<NoteCreated, Error> {
        self.write(Method::POST, self.href(Resource::Notes, place)?, note).await
    }

    /// The open remarks on an entry.
    ///
    /// # Errors
    /// The name is none.
    pub fn notes(&self, place: impl Place) -> Result<Pages<Note>, Error> {
        let target = self.href(Resource::Notes, place)?;
        Ok(pages::pages(self.transport.clone(), target, Query::default()))
    }

    /// # Errors
    /// As [`Board::create`].
    pub async fn close_note(&self, place: impl Place, id: &str) -> Result<(), Error> {
        let mut query = Query::default();
        query.push("id", id);
        let target = format!("{}{query}", self.href(Resource::Notes, place)?);
        self.transport.send(&Call::write(Method::DELETE, target)).await.map(drop)
    }

    /// Leases an entry; [`Board::lease`] also keeps it.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn acquire(&self, place: impl Place, request: &LeaseRequest) -> Result<Lease, Error> {
        let call = Call::write(Method::POST, self.href(Resource::Leases, place)?).json(request)?;
        let wait = Duration::from_millis(request.wait_ms);
        self.transport.send(&call.waiting(wait)).await?.json()
    }

    /// # Errors
    /// As [`Board::create`].
    pub async fn renew(&self, place: impl Place, renewal: &LeaseRenewal) -> Result<Lease, Error> {
        self.write(Method::PUT, self.href(Resource::Leases, place)?, renewal).await
    }

    /// # Errors
    /// As [`Board::create`].
    pub async fn release(&self, place: impl Place, token: LeaseToken) -> Result<(), Error> {
        let mut query = Query::default();
        query.push("lease_token", token);
        self.end_lease(place, &query).await
    }

    /// Takes a lease away from its holder, as an arbiter.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn revoke(&self, place: impl Place, reason: Option<&str>) -> Result<(), Error> {
        let mut query = Query::default();
        query.push_some("reason", reason);
        self.end_lease(place, &query).await
    }

    async fn end_lease(&self, place: impl Place, query: &Query) -> Result<(), Error> {
        let target = format!("{}{query}", self.href(Resource::Leases, place)?);
        self.transport.send(&Call::write(Method::DELETE, target)).await.map(drop)
    }

    /// Who holds an entry, and for how long.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn lease_of(&self, place: impl Place) -> Result<Lease, Error> {
        self.read(self.href(Resource::Leases, place)?).await
    }

    /// Leases the next free entry that fits, or `None` where there is none; [`Board::claim_lease`] also keeps it.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub async fn claim(&self, claim: &Claim) -> Result<Option<Claimed>, Error> {
        let call = Call::write(Method::POST, self.target("/claims")).json(claim)?;
        let answer = self.transport.send(&call.waiting(Duration::from_millis(claim.wait_ms))).await?;
        if answer.status == StatusCode::NO_CONTENT { Ok(None) } else { answer.json().map(Some) }
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(crate) fn with_transport(&self, transport: Transport) -> Self {
        Self { transport, name: self.name.clone() }
    }

    fn target(&self, rest: &str) -> String {
        names::board_href(&self.name) + rest
    }

    fn href(&self, resource: Resource, place: impl Place) -> Result<String, Error> {
        let id: EntryId = place.entry_id()?;
        Ok(names::href(&self.name, resource, &id))
    }

    async fn read<T: DeserializeOwned>(&self, target: String) -> Result<T, Error> {
        self.transport.send(&Call::read(target)).await.and_then(|answer: Answer| answer.json())
    }

    async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        target: String,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        self.transport.send(&Call::write(method, target).json(body)?).await?.json()
    }
}
