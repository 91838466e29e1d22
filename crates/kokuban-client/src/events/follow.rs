//! The connections under a stream: opening, listening, noticing that one is dead, opening again.
//!
//! Invariant: every connection after the first asks for what follows the cursor's position; the pause before it is
//! random up to what the server's `retry:` asks for, doubled with each failure, so readers do not return in step.
//! A refusal that no repetition can change ends the stream with that error.
//! Not known here: what events mean.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use http::header;
use kokuban_core::ids::Position;
use sse_stream::Sse;
use tokio::time::{Instant, sleep, timeout};

use super::blocks::{BLOCK_BYTES_MAX, Blocks, blocks};
use super::cursor::{Cursor, Event, Interruption};
use crate::error::Error;
use crate::retry::{chance, doubled, fraction};
use crate::transport::{Call, Transport};

/// The server is never silent for longer than 15 s; after three times that the connection is dead.
const SILENCE_MAX: Duration = Duration::from_secs(45);
/// The pause before a reconnection where the server named none.
const RETRY_DEFAULT: Duration = Duration::from_secs(2);
/// Answers in a row that are no stream of ours before the stream gives up.
const NONSENSE_MAX: u32 = 3;

type Chunks = BoxStream<'static, io::Result<Bytes>>;

/// Events of one board. Ends only after an error that no repetition can change; dropped, it closes its connection.
pub struct EventStream {
    events: BoxStream<'static, Result<Event, Error>>,
    position: Arc<Mutex<Option<Position>>>,
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").field("position", &self.position()).finish_non_exhaustive()
    }
}

impl EventStream {
    pub(crate) fn new(transport: Transport, target: String, from: Option<Position>) -> Self {
        let position = Arc::new(Mutex::new(from));
        let follower = Follower {
            transport,
            target,
            cursor: Cursor::at(from),
            position: Arc::clone(&position),
            connection: None,
            failures: 0,
            nonsense: 0,
            pause: None,
            // What was never heard cannot be interrupted.
            interruption_told: true,
            ever_connected: false,
            begun: Instant::now(),
            ended: false,
            silence_max: SILENCE_MAX,
        };
        Self { events: stream::unfold(follower, Follower::step).boxed(), position }
    }

    /// Where the stream stands: what `Start::After` takes to go on from here, also in another process.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        *self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream for EventStream {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_next_unpin(context)
    }
}

struct Follower {
    transport: Transport,
    target: String,
    cursor: Cursor,
    position: Arc<Mutex<Option<Position>>>,
    connection: Option<Blocks<Chunks>>,
    /// Interruptions since the last block.
    failures: u32,
    nonsense: u32,
    /// To be waited before the next connection.
    pause: Option<Duration>,
    interruption_told: bool,
    ever_connected: bool,
    begun: Instant,
    ended: bool,
    silence_max: Duration,
}

/// What one turn of the follower leads to.
enum Turn {
    Event(Event),
    Nothing,
    Interrupted(Error),
    End(Error),
}

impl Follower {
    async fn step(mut self) -> Option<(Result<Event, Error>, Self)> {
        if self.ended {
            return None;
        }
        loop {
            if let Some(pause) = self.pause.take() {
                sleep(pause).await;
            }
            match self.turn().await {
                Turn::Event(event) => return Some((Ok(event), self)),
                Turn::Nothing => {}
                Turn::Interrupted(error) => {
                    self.connection = None;
                    self.failures = self.failures.saturating_add(1);
                    tracing::debug!(failures = self.failures, "stream interrupted: {}", error.kind());
                    if self.given_up() {
                        self.ended = true;
                        return Some((Err(error), self));
                    }
                    self.pause = Some(self.pause_after(&error));
                    if !self.interruption_told {
                        self.interruption_told = true;
                        let interruption = Interruption { why: in_words(&error) };
                        return Some((Ok(Event::Interrupted(interruption)), self));
                    }
                }
                Turn::End(error) => {
                    self.connection = None;
                    self.ended = true;
                    return Some((Err(error), self));
                }
            }
        }
    }

    async fn turn(&mut self) -> Turn {
        let Some(connection) = &mut self.connection else {
            return match self.connect().await {
                Ok(connection) => {
                    self.connection = Some(connection);
                    self.ever_connected = true;
                    Turn::Nothing
                }
                Err(error) if error.is_transient() => Turn::Interrupted(error),
                Err(error) => Turn::End(error),
            };
        };
        match connection.next().await {
            Some(Ok(block)) => self.take(&block),
            Some(Err(error)) => self.nonsense_or_interruption(error),
            None => Turn::Interrupted(Error::Protocol("the stream ended".into())),
        }
    }

    fn take(&mut self, block: &Sse) -> Turn {
        let event = match self.cursor.accept(block) {
            Ok(event) => event,
            Err(error) => return self.nonsense(error),
        };
        (self.failures, self.nonsense, self.interruption_told) = (0, 0, false);
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) = self.cursor.position();
        match event {
            Some(event @ Event::Bye(_)) => {
                self.connection = None;
                // The good-bye has told it.
                (self.failures, self.interruption_told) = (1, true);
                Turn::Event(event)
            }
            Some(event) => Turn::Event(event),
            None => Turn::Nothing,
        }
    }

    fn nonsense_or_interruption(&mut self, error: sse_stream::Error) -> Turn {
        match error {
            sse_stream::Error::Body(error) => Turn::Interrupted(Error::Protocol(error.to_string())),
            other => self.nonsense(Error::Protocol(other.to_string())),
        }
    }

    /// Once may be a broken intermediary; again and again it is another server.
    fn nonsense(&mut self, error: Error) -> Turn {
        self.nonsense += 1;
        if self.nonsense >= NONSENSE_MAX { Turn::End(error) } else { Turn::Interrupted(error) }
    }

    async fn connect(&mut self) -> Result<Blocks<Chunks>, Error> {
        let mut call = Call::read(self.target.clone()).header("accept", "text/event-stream")?;
        if let Some(position) = self.cursor.position() {
            call = call.header("last-event-id", &position.to_string())?;
        }
        let bound = self.transport.attempt_timeout;
        let response = timeout(bound, self.transport.open(&call)).await.unwrap_or(Err(Error::Timeout(bound)))?;
        if !response.status().is_success() {
            let problem = timeout(bound, Transport::problem(response)).await;
            return Err(problem.unwrap_or(Error::Timeout(bound)));
        }
        let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !content_type.is_some_and(|value| value.starts_with("text/event-stream")) {
            return Err(Error::Protocol("the answer is no event stream".into()));
        }
        let body = response.bytes_stream().map(|chunk| chunk.map_err(io::Error::other)).boxed();
        Ok(blocks(alive(body, self.silence_max), BLOCK_BYTES_MAX))
    }

    fn given_up(&self) -> bool {
        let policy = &self.transport.retry;
        let spent = self.failures >= policy.attempts_max || self.begun.elapsed() >= policy.total;
        !self.ever_connected && spent
    }

    fn pause_after(&self, error: &Error) -> Duration {
        let base = self.cursor.retry_ms().map_or(RETRY_DEFAULT, Duration::from_millis);
        let bound = doubled(base, self.failures.saturating_sub(1), Duration::from_secs(30));
        error.retry_after().unwrap_or_default() + fraction(bound.min(self.transport.retry.cap), chance())
    }
}

fn in_words(error: &Error) -> String {
    match error {
        Error::Protocol(what) => what.clone(),
        other => other.to_string(),
    }
}

/// `chunks`, with an error where nothing arrives for `silence_max`.
fn alive(chunks: Chunks, silence_max: Duration) -> Chunks {
    let next = move |state: Option<Chunks>| async move {
        let mut chunks = state?;
        match timeout(silence_max, chunks.next()).await {
            Ok(Some(chunk)) => Some((chunk, Some(chunks))),
            Ok(None) => None,
            Err(_) => Some((Err(io::Error::new(io::ErrorKind::TimedOut, "the stream fell silent")), None)),
        }
    };
    stream::unfold(Some(chunks), next).boxed()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::EventFilter;
    use crate::fake::{Fake, Reply};

    const EPOCH: &str = "00000000000000ab";

    fn commit(revision: u64) -> String {
        format!(
            "event: commit\nid: {EPOCH}.{revision}\ndata: {{\"revision\":{revision},\
             \"at\":\"2026-11-30T12:00:00.000Z\",\"by\":\"ra\",\"request_id\":\"r\",\"changes\":[]}}\n\n"
        )
    }

    fn hello(revision: u64) -> String {
        format!(
            "retry: 5\n\nevent: hello\nid: {EPOCH}.{revision}\ndata: {{\"epoch\":\"{EPOCH}\",\"head\":\"{EPOCH}.9\",\
             \"oldest\":\"{EPOCH}.1\",\"filter\":{{}},\"heartbeat_ms\":15000}}\n\n"
        )
    }

    fn whole(text: String) -> Reply {
        Reply::Stream(vec![text.into_bytes()])
    }

    fn follow(fake: &Fake) -> EventStream {
        fake.client().board("b").expect("a name").events(&EventFilter::new())
    }

    /// The revisions of the next commits.
    async fn revisions(events: &mut EventStream, n: usize) -> Vec<u64> {
        let mut seen = Vec::new();
        while seen.len() < n {
            let event = timeout(Duration::from_secs(10), events.next()).await.expect("in time");
            if let Event::Commit(commit) = event.expect("not over").expect("no error") {
                seen.push(commit.position.revision.0);
            }
        }
        seen
    }

    #[tokio::test]
    async fn an_interrupted_stream_goes_on_with_the_next_commit() {
        let first = hello(3) + &commit(4) + &format!("id: {EPOCH}.5\n\n");
        let fake = Fake::start([whole(first), whole(hello(5) + &commit(6)), Reply::Close, whole(commit(7))]).await;
        let mut events = follow(&fake);
        assert_eq!(revisions(&mut events, 3).await, [4, 6, 7]);
        let asked: Vec<_> = fake.received().iter().map(|r| r.headers.get("last-event-id").cloned()).collect();
        assert_eq!(asked, [None, Some(format!("{EPOCH}.5")), Some(format!("{EPOCH}.6")), Some(format!("{EPOCH}.6"))]);
        assert_eq!(events.position(), Some(format!("{EPOCH}.7").parse().expect("a position")));
    }

    #[tokio::test]
    async fn an_interruption_is_told_once_and_its_end_by_the_next_hello() {
        let fake = Fake::start([whole(hello(3)), Reply::Close, Reply::Close, whole(hello(3) + &commit(4))]).await;
        let told: Vec<_> = follow(&fake).take(4).collect().await;
        let told: Vec<_> = told.into_iter().map(|event| event.expect("no error")).collect();
        assert!(
            matches!(told[..], [Event::Hello(_), Event::Interrupted(_), Event::Hello(_), Event::Commit(_)]),
            "{told:?}"
        );
    }

    #[tokio::test]
    async fn a_message_cut_anywhere_is_seen_exactly_once() {
        let message = commit(4);
        for cut in 0..=message.len() {
            let expected = if cut == message.len() { 4 } else { 3 };
            let again = if cut == message.len() { commit(5) } else { commit(4) + &commit(5) };
            let script = [whole(hello(3) + &message[..cut]), whole(hello(expected) + &again)];
            let fake = Fake::start(script).await;
            assert_eq!(revisions(&mut follow(&fake), 2).await, [4, 5], "cut after {cut} bytes");
            let resumed = fake.received()[1].headers["last-event-id"].clone();
            assert_eq!(resumed, format!("{EPOCH}.{expected}"), "cut after {cut} bytes");
        }
    }

    #[tokio::test]
    async fn bytes_that_arrive_one_by_one_make_the_same_events() {
        let bytes = (hello(3) + &commit(4) + &commit(5)).into_bytes();
        let fake = Fake::start([Reply::Stream(bytes.iter().map(|byte| vec![*byte]).collect())]).await;
        assert_eq!(revisions(&mut follow(&fake), 2).await, [4, 5]);
    }

    #[tokio::test]
    async fn a_reset_is_told_and_survived() {
        let reset = format!(
            "event: reset\nid: {EPOCH}.9\ndata: {{\"reason\":\"compacted\",\"oldest\":\"{EPOCH}.8\",\"head\":\"{EPOCH}.9\"}}\n\n"
        );
        let fake = Fake::start([whole(hello(3)), whole(reset + &commit(10))]).await;
        let mut events = follow(&fake);
        let mut resets = 0;
        loop {
            match events.next().await.expect("not over").expect("no error") {
                Event::Reset(_) => resets += 1,
                Event::Commit(commit) => {
                    assert_eq!((resets, commit.position.revision.0), (1, 10));
                    return;
                }
                _ => {}
            }
        }
    }

    #[tokio::test]
    async fn after_a_good_bye_the_stream_connects_again() {
        let bye = "event: bye\ndata: {\"reason\":\"shutdown\"}\n\n";
        let fake = Fake::start([Reply::Silent((hello(3) + bye).into_bytes()), whole(hello(3) + &commit(4))]).await;
        assert_eq!(revisions(&mut follow(&fake), 1).await, [4]);
    }

    #[tokio::test]
    async fn a_refusal_ends_the_stream_with_its_reason() {
        let fake =
            Fake::start([whole(hello(3)), Reply::problem(404, "board_not_found", json!({"retryable": false}))]).await;
        let mut events = follow(&fake);
        assert!(matches!(events.next().await, Some(Ok(Event::Hello(_)))));
        assert!(matches!(events.next().await, Some(Ok(Event::Interrupted(_)))));
        assert_eq!(events.next().await.expect("an outcome").expect_err("refused").status(), Some(404));
        assert!(events.next().await.is_none());
    }

    #[tokio::test]
    async fn something_else_than_a_kokuban_server_is_given_up_soon() {
        let nonsense = || Reply::Stream(vec![b"event: commit\ndata: hello\n\n".to_vec()]);
        let fake = Fake::start([nonsense(), nonsense(), nonsense(), nonsense()]).await;
        let error = follow(&fake).next().await.expect("an outcome").expect_err("nonsense");
        assert!(matches!(error, Error::Protocol(_)) && fake.received().len() == 3, "{error:?}");
        let page = Fake::start([Reply::Json(200, json!({"items": []}))]).await;
        assert!(matches!(follow(&page).next().await, Some(Err(Error::Protocol(_)))));
    }

    #[tokio::test]
    async fn a_server_that_was_never_there_is_unreachable_within_the_bounds() {
        let fake = Fake::start((0..9).map(|_| Reply::Close)).await;
        let error = follow(&fake).next().await.expect("an outcome").expect_err("unreachable");
        assert!(error.is_unreachable() && fake.received().len() == 4, "{error:?}");
    }

    #[tokio::test]
    async fn a_silent_connection_counts_as_broken() {
        let silent = stream::pending::<io::Result<Bytes>>().boxed();
        let mut chunks = alive(silent, Duration::from_millis(20));
        let error = chunks.next().await.expect("an outcome").expect_err("silence");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(chunks.next().await.is_none());
    }
}
