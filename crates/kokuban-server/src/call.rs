//! One call: who makes it, on which board, entry and with which query and body.
//!
//! Invariant: the checks before a board is asked run in the order route, credential, path and query, body, board.
//! A board that the credential does not reach is answered like one that is not there.
//! Not known here: what calls do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, MatchedPath, Request};
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, Uri};
use kokuban_api::headers::{self, MediaType, ReturnPreference};
use kokuban_api::names::{self, read_key, read_segment};
use kokuban_api::problem::Next;
use kokuban_api::{ErrorCode, ErrorItem, NextAction, Problem};
use kokuban_core::board::Board;
use kokuban_core::caller::{Actor, readable_zone};
use kokuban_core::command::{Command, Repeat};
use kokuban_core::ids::{BoardName, EntryId, Position, Sha256, ZoneName};
use kokuban_core::json;
use kokuban_engine::{Answer, BoardHandle, Published};
use serde_json::Value;
use smol_str::{SmolStr, ToSmolStr};
use tokio::time::Instant;

use crate::app::AppState;
use crate::auth::{Caller, Standing};
use crate::config::Config;
use crate::edge::{BodyNeed, RequestContext, Route, read_body, read_bytes};
use crate::error::{ApiError, ApiResult};
use crate::streams::Place;

/// Longest wait for a position that the journal knows and this server has not reached.
const BEHIND_MS: u64 = 1_000;
/// The segment of a path that a key begins with; it may go on over the next ones.
const KEY_SEGMENT: usize = 5;

/// A request whose caller is known.
#[derive(Debug)]
pub struct Call {
    pub app: AppState,
    pub caller: Caller,
    pub context: Arc<RequestContext>,
    pub headers: HeaderMap,
    pub method: http::Method,
    /// As it came, still percent-encoded.
    uri: Uri,
    /// Where the segments of its path begin, up to that of the key.
    slashes: [usize; KEY_SEGMENT + 1],
    /// Behind a lock only because a body is not `Sync`, and calls are shared over awaits.
    body: Mutex<Body>,
}

impl FromRequest<AppState> for Call {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let context = parts.extensions.remove::<Arc<RequestContext>>();
        let context = context.ok_or_else(|| ApiError::new(ErrorCode::Internal, "the edge was not passed"))?;
        let route = parts.extensions.remove::<MatchedPath>().map(Route::Matched);
        Self::new(app.clone(), parts, body, context, route)
    }
}

impl Call {
    /// The call that a request is, if its credential is known.
    ///
    /// # Errors
    /// Those of [`Caller::of`].
    pub(crate) fn new(
        app: AppState,
        parts: Parts,
        body: Body,
        context: Arc<RequestContext>,
        route: Option<Route>,
    ) -> ApiResult<Self> {
        let caller = Caller::of(&context, &parts.headers, route)?;
        let Parts { headers, method, uri, .. } = parts;
        let mut slashes = [uri.path().len(); KEY_SEGMENT + 1];
        let found = uri.path().bytes().enumerate().filter(|(_, byte)| *byte == b'/').map(|(at, _)| at);
        slashes.iter_mut().zip(found).for_each(|(slash, at)| *slash = at);
        Ok(Self { app, caller, context, headers, method, uri, slashes, body: Mutex::new(body) })
    }

    /// The configuration that the request is judged by.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.context.settings.config
    }

    /// The raw query, for the reader of the route.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.uri.query()
    }

    /// The raw segment at `index`, below that of the key; 0 is `v1`.
    fn segment(&self, index: usize) -> &str {
        self.uri.path().get(self.slashes[index] + 1..self.slashes[index + 1]).unwrap_or_default()
    }

    /// The kind of thing that the call is about: `entries`, `leases`, …
    #[must_use]
    pub fn resource(&self) -> &str {
        let named = self.segment(3);
        if named.is_empty() { "boards" } else { named }
    }

    /// The board in `/v1/boards/{board}…`.
    ///
    /// # Errors
    /// `invalid_name`.
    pub fn board_name(&self) -> ApiResult<BoardName> {
        read_segment(self.segment(2)).map_err(problem_of)
    }

    /// The zone in `/v1/boards/{board}/{resource}/{zone}…`.
    ///
    /// # Errors
    /// `invalid_name`.
    pub fn zone(&self) -> ApiResult<ZoneName> {
        read_segment(self.segment(4)).map_err(problem_of)
    }

    /// The entry in `/v1/boards/{board}/{resource}/{zone}/{key…}`.
    ///
    /// # Errors
    /// `invalid_name`, for zone and key together.
    pub fn entry_id(&self) -> ApiResult<EntryId> {
        let raw_key = self.uri.path().get(self.slashes[KEY_SEGMENT] + 1..).unwrap_or_default();
        match (read_segment(self.segment(4)), read_key(raw_key)) {
            (Ok(zone), Ok(key)) => Ok(EntryId::new(zone, key)),
            (Err(zone), Err(key)) => Err(problem_of_all(vec![zone, key])),
            (Err(one), _) | (_, Err(one)) => Err(problem_of(one)),
        }
    }

    /// Board and entry of a path that names both.
    ///
    /// # Errors
    /// `invalid_name`; the board is judged first.
    pub fn target(&self) -> ApiResult<(BoardName, EntryId)> {
        Ok((self.board_name()?, self.entry_id()?))
    }

    #[must_use]
    pub fn actor(&self) -> Actor {
        Actor {
            agent: self.caller.agent.clone(),
            named: self.caller.named,
            admin: self.caller.admin,
            observer: self.caller.observer,
        }
    }

    #[must_use]
    pub fn request_id(&self) -> SmolStr {
        self.context.id.to_smolstr()
    }

    #[must_use]
    pub fn return_preference(&self) -> Option<ReturnPreference> {
        headers::return_preference(&self.headers)
    }

    /// Refuses conditions of headers where the call has nothing that they could be judged against: passed over in
    /// silence, they would be believed to have held.
    ///
    /// # Errors
    /// `invalid_value`.
    pub fn takes_no_conditions(&self) -> ApiResult<()> {
        let Some(name) = [IF_MATCH, IF_NONE_MATCH].into_iter().find(|name| self.headers.contains_key(name)) else {
            return Ok(());
        };
        let instead = match self.resource() {
            "transactions" => "name the versions in `checks` and `writes`",
            "boards" => "a board is created once, and left as it is by every repeat",
            _ => "only reads and writes of an entry take conditions",
        };
        Err(ApiError::new(ErrorCode::InvalidValue, format!("this call takes no header {name}: {instead}")))
    }

    /// The body as strict JSON; an absent one is `None` where the call may come without.
    ///
    /// # Errors
    /// 415, 413, 400 and the 422 of a number that cannot be kept.
    pub async fn json(&mut self, need: BodyNeed) -> ApiResult<Option<Value>> {
        let body = std::mem::take(self.body.get_mut().expect("nobody panics while taking the body"));
        let bytes = read_body(&self.headers, body, need, self.config().body_limits()).await?;
        if bytes.is_empty() && need == BodyNeed::Optional {
            return Ok(None);
        }
        json::parse(&bytes, &json::Bounds::body())
            .map(Some)
            .map_err(|error| kokuban_api::from_core::json_problem(&error).into())
    }

    /// The body with its media type, one of `taken`.
    ///
    /// # Errors
    /// 415, 413, 400 and the 422 of a number that cannot be kept.
    pub async fn json_of(&mut self, taken: &[MediaType]) -> ApiResult<(MediaType, Value)> {
        let media_type = headers::content_type(&self.headers, taken).map_err(ApiError::from)?;
        let body = std::mem::take(self.body.get_mut().expect("nobody panics while taking the body"));
        let bytes = read_bytes(&self.headers, body, self.config().body_limits()).await?;
        let value = json::parse(&bytes, &json::Bounds::body());
        value.map(|value| (media_type, value)).map_err(|error| kokuban_api::from_core::json_problem(&error).into())
    }

    /// The Idempotency-Key with the hash of everything this request asks: method, path, query, conditions, body.
    ///
    /// # Errors
    /// `invalid_value` for a key that is none.
    pub fn repeat(&self, body: Option<&Value>) -> ApiResult<Option<Repeat>> {
        let Some(key) = headers::idempotency_key(&self.headers).map_err(problem_of)? else { return Ok(None) };
        let mut asked = Vec::new();
        let mut part = |bytes: &[u8]| {
            asked.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            asked.extend_from_slice(bytes);
        };
        part(self.method.as_str().as_bytes());
        part(self.uri.path().as_bytes());
        part(self.uri.query().unwrap_or_default().as_bytes());
        for name in [IF_MATCH, IF_NONE_MATCH] {
            part(name.as_str().as_bytes());
            self.headers.get_all(name).iter().for_each(|line| part(line.as_bytes()));
        }
        if let Some(body) = body {
            let mut canonical = Vec::new();
            json::write_canonical(&mut canonical, body);
            part(&canonical);
        }
        Ok(Some(Repeat { key: SmolStr::new(key), fingerprint: Sha256::of(&asked) }))
    }

    /// The board, loaded, if it exists and the credential reaches it.
    ///
    /// # Errors
    /// 404 `board_not_found`, 503.
    pub async fn board(&self) -> ApiResult<Arc<BoardHandle>> {
        let name = self.board_name()?;
        self.reach(&name)?;
        let handle = self.app.engine.board(&name).await.map_err(|error| self.engine_problem(&name, error))?;
        handle.filter(|handle| handle.published().board.exists()).ok_or_else(|| board_not_found(&name))
    }

    /// # Errors
    /// 404 `board_not_found`, where the credential does not reach the board.
    pub fn reach(&self, name: &BoardName) -> ApiResult<()> {
        if self.caller.may_see(name) {
            return Ok(());
        }
        Err(self.not_reached())
    }

    /// Said of every such name, whether there is a board or not. To create one is no way out.
    fn not_reached(&self) -> ApiError {
        let detail = format!("the token of `{}` opens no board of this name", self.caller.agent);
        Problem::new(ErrorCode::BoardNotFound, detail).with_next(Next::action(NextAction::Stop)).into()
    }

    /// The newest state, at least as new as `min_position` asks.
    ///
    /// # Errors
    /// 409 `unknown_epoch`, `future_position`; 503 `behind`.
    pub async fn state(&self, handle: &BoardHandle, min_position: Option<Position>) -> ApiResult<Arc<Published>> {
        let published = handle.published();
        let Some(wanted) = min_position else { return Ok(published) };
        self.context.waits();
        let epoch = |published: &Published| published.board.position().map(|position| position.epoch);
        if epoch(&published) != Some(wanted.epoch) {
            return Err(position_problem(ErrorCode::UnknownEpoch, handle, &published));
        }
        if published.board.revision() >= wanted.revision {
            return Ok(published);
        }
        let known = self.app.engine.journal().info(handle.name().clone()).await;
        match known {
            Ok(Some(info)) if info.head.revision >= wanted.revision => {}
            Ok(_) => return Err(position_problem(ErrorCode::FuturePosition, handle, &published)),
            Err(_) => return Err(ApiError::new(ErrorCode::Unavailable, "the storage cannot be read now")),
        }
        let until = Instant::now() + Duration::from_millis(BEHIND_MS);
        let reached = handle.wait_until(until, |published| published.board.revision() >= wanted.revision).await;
        if reached.board.revision() >= wanted.revision {
            return Ok(reached);
        }
        let detail = format!("this server is at revision {}", reached.board.revision());
        Err(Problem::new(ErrorCode::Behind, detail).with_retry_after_ms(BEHIND_MS).into())
    }

    /// The board that a stream or poll follows: there is one, and the caller may read the zones that it names.
    ///
    /// # Errors
    /// 404 `board_not_found`, `zone_not_found`, and those of `state`.
    pub(crate) async fn followed(
        &self,
        min_position: Option<Position>,
        zones: &[ZoneName],
    ) -> ApiResult<(Arc<BoardHandle>, Arc<Published>)> {
        let handle = self.board().await?;
        let published = self.state(&handle, min_position).await?;
        if !published.board.exists() {
            return Err(board_not_found(handle.name()));
        }
        for zone in zones {
            self.may_read(&published.board, zone)?;
        }
        Ok((handle, published))
    }

    /// A place among the waiting reads of the caller, to be kept while it waits.
    ///
    /// # Errors
    /// 429 `rate_limited`.
    pub(crate) fn wait_in_line(&self) -> ApiResult<Place> {
        let max = self.config().limits.streams_per_caller_max;
        let place = self.app.streams.enter(&self.caller.agent, max, &self.app.metrics.waiting_reads)?;
        self.context.waits();
        Ok(place)
    }

    /// Waits for `work` as long as the caller's credential opens the board.
    ///
    /// # Errors
    /// 401 `unauthenticated`; 404 `board_not_found`, where the credential does not reach the board any more.
    pub(crate) async fn while_let_in<T>(&self, board: &BoardName, work: impl Future<Output = T>) -> ApiResult<T> {
        let shut_out = self.app.settings.when(self.caller.clone(), board.clone(), |standing| match standing {
            Standing::AsItWas | Standing::OtherRoles => None,
            Standing::OtherBoards => Some(self.not_reached()),
            Standing::Ended => Some(ApiError::new(ErrorCode::Unauthenticated, "this server knows the token no longer")),
        });
        tokio::select! {
            biased;
            done = work => Ok(done),
            refused = shut_out => Err(refused),
        }
    }

    /// Checks that the caller may read the zone of `board`.
    ///
    /// # Errors
    /// 404 `zone_not_found`.
    pub fn may_read(&self, board: &Board, zone: &ZoneName) -> ApiResult<()> {
        let found = readable_zone(board, &self.actor(), zone);
        found.map(|_| ()).map_err(|rejection| self.refuse(board, rejection, None))
    }

    /// Where the board stands after an answer. A dry run has moved nothing, and the life of a board that it would
    /// have created will never be.
    pub(crate) async fn head(&self, name: &BoardName, answer: &Answer, dry_run: bool) -> Option<Position> {
        if !dry_run {
            return answer.position;
        }
        let handle = self.app.engine.board(name).await.ok().flatten()?;
        handle.published().board.position()
    }

    /// Asks the board to do something.
    ///
    /// # Errors
    /// The problem of whatever refused it.
    pub async fn ask(&self, name: &BoardName, asked: Asked) -> ApiResult<Answer> {
        self.reach(name)?;
        let request = kokuban_engine::Request {
            command: asked.command,
            actor: self.actor(),
            request_id: self.request_id(),
            trace_id: self.context.trace.as_ref().map(|trace| SmolStr::new(&trace.trace_id)),
            repeat: asked.repeat,
            create_with: self.context.settings.create_with(name).filter(|_| asked.may_create),
            dry_run: asked.dry_run,
            wait: asked.wait,
        };
        let waits = !asked.wait.is_zero();
        if waits {
            self.context.waits();
        }
        let about = asked.about.clone();
        let version = asked.version;
        let submitted = self.app.engine.submit(name, request);
        let submitted = if waits { self.while_let_in(name, submitted).await? } else { submitted.await };
        match submitted {
            Ok(answer) => Ok(answer),
            Err(error) => {
                let mut error = self.engine_problem_about(name, error, about.as_ref());
                if let (Some(id), Some(version)) = (&about, version) {
                    self.tell_changes(name, id, version, error.problem_mut()).await;
                }
                // Of boards that are not there nobody could ask, and their names would push out those that are.
                if !error.problem().is(ErrorCode::BoardNotFound) {
                    self.app.refusals.note(name, self, about.as_ref(), version, error.problem());
                }
                Err(error)
            }
        }
    }
}

/// A command and how it is to be carried out.
#[derive(Debug)]
pub struct Asked {
    pub command: Command,
    pub repeat: Option<Repeat>,
    pub dry_run: bool,
    pub wait: Duration,
    /// An absent board may be created by it, where the configuration says so.
    pub may_create: bool,
    /// The entry that a refusal would be about.
    pub about: Option<EntryId>,
    /// The version of it that the caller named.
    pub version: Option<kokuban_core::ids::Version>,
}

impl Asked {
    #[must_use]
    pub fn new(command: Command) -> Self {
        Self {
            command,
            repeat: None,
            dry_run: false,
            wait: Duration::ZERO,
            may_create: false,
            about: None,
            version: None,
        }
    }
}

/// A problem of one failed check.
#[must_use]
pub fn problem_of(item: ErrorItem) -> ApiError {
    problem_of_all(vec![item])
}

/// A problem of failed checks; the first gives the code.
#[must_use]
pub fn problem_of_all(items: Vec<ErrorItem>) -> ApiError {
    Problem::from_errors(items)
        .unwrap_or_else(|| Problem::new(ErrorCode::Internal, "a check failed without saying why"))
        .into()
}

/// The answer for a board that is not there, or not for this caller.
#[must_use]
pub fn board_not_found(name: &BoardName) -> ApiError {
    let refusal = kokuban_core::rejection::Refusal::of(kokuban_core::rejection::Rejection::BoardNotFound);
    kokuban_api::from_core::problem(
        &refusal,
        &kokuban_api::from_core::Place { board: name, position: None, call: None },
    )
    .into()
}

/// A position that cannot be served, with those that can.
#[must_use]
pub fn position_problem(code: ErrorCode, handle: &BoardHandle, published: &Published) -> ApiError {
    let detail = match code {
        ErrorCode::UnknownEpoch => "the position belongs to another life of this board",
        ErrorCode::FuturePosition => "the board has not come so far",
        _ => "the log no longer reaches back so far",
    };
    let next = Next::call(NextAction::Reread, "GET", names::board_href(handle.name()));
    let problem = Problem::new(code, detail).with_next(next);
    match published.board.position() {
        Some(head) => {
            let oldest = Position { epoch: head.epoch, revision: handle.oldest() };
            let error = ApiError::from(problem.with_positions(oldest, head));
            let value = head.to_string().parse().expect("digits and a dot");
            error.with_header(headers::POSITION, value)
        }
        None => problem.into(),
    }
}
