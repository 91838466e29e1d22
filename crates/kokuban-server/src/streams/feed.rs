//! The body of an event stream, made when the socket asks for more.
//!
//! Invariants: at most 64 KiB, or one message, is held at a time. Every id stands for all revisions up to it; a
//! window that is open holds the ids back. A stream is silent for 15 s at most.
//! Not known here: HTTP, who may open a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::stream::unfold;
use kokuban_api::sse::{self, EventName};
use kokuban_api::stream::{Bye, ByeReason, Hello, Reset, ResetReason};
use kokuban_core::ids::Revision;
use kokuban_engine::{BoardHandle, Gap, Logged, Published};
use tokio::time::{Instant, Sleep};

use super::blocks::{self, Block};
use super::counts::Place;
use super::reader::{Next, Reader};
use super::scope::Scope;
use super::snapshot::Snapshot;
use super::start::Start;
use super::window::Window;

/// Longest silence of a stream.
const HEARTBEAT: Duration = Duration::from_secs(15);
const HEARTBEAT_MS: u64 = 15_000;
/// A filtered stream is told its place at least every so many revisions.
const TOLD_REVISIONS_MAX: u64 = 1_000;
/// Blocks are handed to the socket together up to this size.
pub(super) const FRAME_BYTES: usize = 16 * 1_024;

/// All that a stream needs.
pub(crate) struct Setup {
    pub(crate) handle: Arc<BoardHandle>,
    /// What the start was judged on.
    pub(crate) published: Arc<Published>,
    pub(crate) scope: Scope,
    pub(crate) start: Start,
    /// Whether a reset begins with a snapshot.
    pub(crate) snapshot: bool,
    pub(crate) coalesce: Option<Duration>,
    /// Resolves when the stream has to end, whatever happens on the board.
    pub(crate) ends: Ends,
    pub(crate) place: Place,
}

pub(crate) type Ends = Pin<Box<dyn Future<Output = ByeReason> + Send>>;

/// See the module.
pub(crate) struct Feed {
    reader: Reader,
    scope: Scope,
    snapshot: bool,
    coalesce: Option<Duration>,
    phase: Phase,
    window: Option<(Window, Instant)>,
    /// The revision of the last id.
    told: Revision,
    last_block: Instant,
    /// Fires no later than a heartbeat is due; set anew only when it fires, not with every block.
    heartbeat: Pin<Box<Sleep>>,
    ends: Ends,
    _place: Place,
}

enum Phase {
    Opening(Start, Arc<Published>),
    Snapshot(Box<Snapshot>),
    Live,
    Ended,
}

impl Feed {
    /// `None` if the board has been deleted.
    pub(crate) fn new(setup: Setup) -> Option<Self> {
        let Setup { handle, published, scope, start, snapshot, coalesce, ends, place } = setup;
        let reader = Reader::new(&handle, published.board.life()?, start.after);
        let last_block = Instant::now();
        Some(Self {
            reader,
            scope,
            snapshot,
            coalesce,
            phase: Phase::Opening(start, published),
            window: None,
            told: start.after,
            last_block,
            heartbeat: Box::pin(tokio::time::sleep_until(last_block + HEARTBEAT)),
            ends,
            _place: place,
        })
    }

    pub(crate) fn into_body(self) -> Body {
        Body::from_stream(unfold(self, |mut feed| async move {
            let block = feed.next().await?;
            Some((Ok::<_, Infallible>(block), feed))
        }))
    }

    /// The next bytes, or `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let bytes = match &mut self.phase {
                Phase::Ended => return None,
                Phase::Opening(start, published) => {
                    let (start, published) = (*start, Arc::clone(published));
                    self.open(start, &published)
                }
                Phase::Snapshot(_) => self.snapshot().await,
                Phase::Live => self.live().await,
            };
            if bytes.is_some() {
                self.last_block = Instant::now();
                return bytes;
            }
        }
    }

    fn open(&mut self, start: Start, published: &Arc<Published>) -> Option<Bytes> {
        let mut frame = Frame::default();
        let head = self.reader.position(published.board.revision());
        let oldest = self.reader.position(self.reader.handle().oldest());
        let hello = Hello {
            epoch: self.reader.epoch(),
            head,
            oldest,
            filter: (&self.scope.filter).into(),
            heartbeat_ms: HEARTBEAT_MS,
        };
        let id = self.reader.position(start.after);
        let id = (start.reset.is_none() && !start.snapshot).then_some(id);
        frame.push(sse::first_event(retry_ms(), id, EventName::Hello, &hello));
        if let Some(reason) = start.reset {
            self.reset(reason, start.snapshot, published, &mut frame);
        } else {
            self.begin(start.snapshot, published);
        }
        frame.finish()
    }

    fn begin(&mut self, snapshot: bool, published: &Arc<Published>) {
        self.phase = match snapshot {
            true => Phase::Snapshot(Box::new(Snapshot::of(published))),
            false => Phase::Live,
        };
    }

    /// Says that what was asked for cannot be had, and goes on with `published`.
    fn reset(&mut self, reason: ResetReason, snapshot: bool, published: &Arc<Published>, frame: &mut Frame) {
        let head = self.reader.position(published.board.revision());
        let oldest = self.reader.position(self.reader.handle().oldest());
        let id = (!snapshot).then_some(head);
        frame.push(sse::event(id, EventName::Reset, &Reset { reason, oldest, head }));
        self.told = head.revision;
        self.begin(snapshot, published);
    }

    async fn snapshot(&mut self) -> Option<Bytes> {
        let (rules, before) = self.reader.rules();
        let Phase::Snapshot(snapshot) = &mut self.phase else { return None };
        if before.is_some_and(|before| self.scope.loses_or_gains(&before, &rules)) {
            return Some(self.end(ByeReason::Rights));
        }
        if let Some(reason) = futures::FutureExt::now_or_never(&mut self.ends) {
            return Some(self.end(reason));
        }
        let now = self.reader.handle().now();
        if let Some(bytes) = snapshot.next(&self.scope, &rules, now) {
            if bytes.is_empty() {
                // Much was looked at and nothing fits: others have their turn.
                tokio::task::yield_now().await;
                return None;
            }
            return Some(bytes);
        }
        let end = snapshot.end();
        let id = self.reader.position(end.revision);
        self.told = end.revision;
        self.phase = Phase::Live;
        Some(sse::event(Some(id), EventName::SnapshotEnd, &end))
    }

    /// The next blocks, together as far as they are there. `None`: look again.
    async fn live(&mut self) -> Option<Bytes> {
        let mut frame = Frame::default();
        loop {
            if matches!(self.phase, Phase::Ended) || frame.len() >= FRAME_BYTES {
                return frame.finish();
            }
            if self.window.as_ref().is_some_and(|(window, closes)| window.is_full() || *closes <= Instant::now()) {
                self.close_window(&mut frame);
                continue;
            }
            match self.reader.next() {
                Next::Commit(logged) => self.take(&logged, &mut frame),
                Next::Deleted => {
                    self.close_window(&mut frame);
                    frame.push(self.end(ByeReason::Deleted));
                }
                Next::Nothing if frame.len() > 0 => return frame.finish(),
                Next::Nothing => self.wait(&mut frame).await,
            }
        }
    }

    fn take(&mut self, logged: &Logged, frame: &mut Frame) {
        let Some(rules) = self.rules(frame) else { return };
        if let Some((window, _)) = &mut self.window {
            window.absorb(&self.scope, &rules, &logged.commit);
            return;
        }
        match (blocks::of_commit(&self.scope, &rules, logged, self.reader.epoch()), self.coalesce) {
            (Block::Nothing, _) => self.pass(logged.revision(), frame),
            (Block::Message(_), Some(longest)) => {
                let window = Window::open(&self.scope, &rules, &logged.commit);
                self.window = Some((window, Instant::now() + longest));
            }
            (Block::Message(block), None) => {
                self.told = logged.revision();
                frame.push(block);
            }
        }
    }

    /// The rules that say what is seen now, unless they end the stream.
    fn rules(&mut self, frame: &mut Frame) -> Option<Arc<kokuban_core::blueprint::Blueprint>> {
        let (rules, before) = self.reader.rules();
        if before.is_some_and(|before| self.scope.loses_or_gains(&before, &rules)) {
            // What was gathered under the old rules is not sent: whoever resumes sees it by the new ones.
            self.window = None;
            frame.push(self.end(ByeReason::Rights));
            return None;
        }
        Some(rules)
    }

    fn close_window(&mut self, frame: &mut Frame) {
        if self.window.is_none() || self.rules(frame).is_none() {
            return;
        }
        let Some((window, _)) = self.window.take() else { return };
        let last = window.last();
        match window.close(&self.scope) {
            Some(message) => {
                self.told = last;
                frame.push(blocks::of_window(self.reader.epoch(), &message));
            }
            None => self.pass(last, frame),
        }
    }

    /// Nothing is seen of the revisions up to this one.
    fn pass(&mut self, revision: Revision, frame: &mut Frame) {
        if self.scope.is_unfiltered() || revision.0 - self.told.0 >= TOLD_REVISIONS_MAX {
            self.told = revision;
            frame.push(sse::id_only(self.reader.position(revision)));
        }
    }

    async fn wait(&mut self, frame: &mut Frame) {
        let closes = self.window.as_ref().map(|(_, closes)| *closes);
        let Self { reader, heartbeat, ends, .. } = self;
        let window_ends = async {
            match closes {
                Some(closes) => tokio::time::sleep_until(closes).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            reason = ends => {
                // Who may not read any more is not sent what was gathered for him.
                match reason {
                    ByeReason::Shutdown => self.close_window(frame),
                    _ => self.window = None,
                }
                frame.push(self.end(reason));
            }
            arrived = reader.wait() => {
                if let Err(gap) = arrived {
                    self.bridge(&gap, frame);
                }
            }
            () = window_ends => {}
            () = heartbeat => self.beat(frame),
        }
    }

    fn beat(&mut self, frame: &mut Frame) {
        let now = Instant::now();
        let due = self.last_block + HEARTBEAT;
        if now < due {
            self.heartbeat.as_mut().reset(due);
            return;
        }
        self.heartbeat.as_mut().reset(now + HEARTBEAT);
        if !self.scope.is_unfiltered() {
            let reached = match &self.window {
                Some((window, _)) => Revision(window.first().0.saturating_sub(1)),
                None => self.reader.at(),
            };
            self.told = reached.max(self.told);
            frame.push(sse::id_only(self.reader.position(self.told)));
        }
        frame.push(sse::heartbeat());
    }

    /// The commits that come next cannot be had.
    fn bridge(&mut self, gap: &Gap, frame: &mut Frame) {
        let published = self.reader.handle().published();
        let life = published.board.life().filter(|life| life.epoch == self.reader.epoch());
        match (gap, life) {
            (Gap::Compacted, Some(life)) => {
                self.window = None;
                let head = published.board.revision();
                self.reader = Reader::new(&Arc::clone(self.reader.handle()), life, head);
                self.reset(ResetReason::Compacted, self.snapshot, &published, frame);
            }
            (Gap::Compacted, None) => frame.push(self.end(ByeReason::Deleted)),
            // Whoever comes back resumes from the last id.
            (Gap::Unavailable, _) => self.phase = Phase::Ended,
        }
    }

    fn end(&mut self, reason: ByeReason) -> Bytes {
        self.phase = Phase::Ended;
        sse::event(None, EventName::Bye, &Bye { reason })
    }
}

/// Random, so that the readers of a server that stopped do not all come back at once.
fn retry_ms() -> u32 {
    2_000 + getrandom::u32().unwrap_or_default() % 3_001
}

/// Blocks that are sent together. One alone is passed on as it is.
#[derive(Debug, Default)]
struct Frame {
    first: Bytes,
    all: BytesMut,
}

impl Frame {
    fn push(&mut self, block: Bytes) {
        if self.len() == 0 {
            self.first = block;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&block);
    }

    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    fn finish(self) -> Option<Bytes> {
        match (self.len(), self.all.is_empty()) {
            (0, _) => None,
            (_, true) => Some(self.first),
            (_, false) => Some(self.all.freeze()),
        }
    }
}
