//! One loaded board: its published state, its mailbox, and whether it is set aside.
//!
//! Invariant: the mailbox is bounded, in requests (`Options::mailbox_requests_max`) and in bytes; what goes back into
//! it after a failed append was in it before, two batches at most. A sequencer task exists only while there is
//! something to do.
//! Not known here: how a batch is decided.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use kokuban_core::board::Board;
use kokuban_core::ids::{BoardName, BoardTime, ChainHash, Revision, Sha256};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use crate::answer::{Answer, Error, Request};
use crate::clock::BoardClock;
use crate::effects::scratch::ScratchInLog;
use crate::engine::Shared;
use crate::load::Found;
use crate::published::Published;
use crate::{sequencer, weight};

/// What the requests in one mailbox may hold.
const MAILBOX_BYTES_MAX: usize = 64 * 1_024 * 1_024;
/// Nobody waits longer for a lease, whatever was asked.
const WAIT_MAX: Duration = Duration::from_secs(3_600);

/// Why a board takes no writes, and where its records are damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantine {
    pub revision: Option<Revision>,
    pub detail: String,
}

/// A loaded board.
#[derive(Debug)]
pub struct BoardHandle {
    pub(crate) name: BoardName,
    pub(crate) clock: BoardClock,
    pub(crate) published: watch::Sender<Arc<Published>>,
    pub(crate) inbox: Mutex<Inbox>,
    /// Wakes the sequencer, where one runs.
    pub(crate) mail: Notify,
    pub(crate) shared: Arc<Shared>,
    pub(crate) quarantine: OnceLock<Quarantine>,
    pub(crate) log: Mutex<LogExtent>,
    /// Held by whoever changes what is stored behind the published state. Neither writers nor readers take it.
    pub(crate) upkeep: tokio::sync::Mutex<()>,
}

/// What is known of the stored log.
#[derive(Debug, Clone)]
pub(crate) struct LogExtent {
    pub(crate) oldest: Revision,
    pub(crate) snapshot: Revision,
    /// Bytes of records since the snapshot.
    pub(crate) tail_bytes: usize,
    pub(crate) snapshotting: bool,
    /// After a snapshot failed, none is tried until then.
    pub(crate) rest_until: Option<Instant>,
    /// Values that commits say are erased and that may still be stored. No snapshot passes those commits before.
    pub(crate) erasures: Vec<Sha256>,
    pub(crate) scratch: ScratchInLog,
}

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    queue: VecDeque<Pending>,
    queued_bytes: usize,
    pub(crate) running: bool,
    pub(crate) closing: bool,
    pub(crate) last_use: Option<Instant>,
}

impl Inbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many requests wait, and about how many bytes they hold.
    pub(crate) fn depth(&self) -> (usize, usize) {
        (self.queue.len(), self.queued_bytes)
    }

    fn push(&mut self, pending: Pending) {
        self.queued_bytes += pending.bytes;
        self.queue.push_back(pending);
    }

    /// The oldest requests, at most `n`.
    pub(crate) fn take(&mut self, n: usize) -> Vec<Pending> {
        let n = n.min(self.queue.len());
        let taken: Vec<_> = self.queue.drain(..n).collect();
        self.queued_bytes -= taken.iter().map(|pending| pending.bytes).sum::<usize>();
        taken
    }

    /// Requests that go back to the front, in their old order.
    pub(crate) fn put_back(&mut self, requests: Vec<Pending>) {
        for pending in requests.into_iter().rev() {
            self.queued_bytes += pending.bytes;
            self.queue.push_front(pending);
        }
    }
}

/// A request and whoever waits for the answer.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) request: Task,
    pub(crate) reply: oneshot::Sender<Result<Answer, Error>>,
    /// Until when a claim or lease may wait.
    pub(crate) patience: Instant,
    /// How often it was decided again after another server wrote.
    pub(crate) tries: u32,
    /// Its place among those who wait, once it has waited.
    pub(crate) turn: Option<u64>,
    /// About what it holds in memory.
    pub(crate) bytes: usize,
}

#[derive(Debug)]
pub(crate) enum Task {
    Ask(Box<Request>),
    /// The server started with a lease live on this board.
    Resume,
}

impl Pending {
    /// Whether the caller would rather wait than be told that nothing can be had.
    pub(crate) fn is_patient(&self, shared: &Shared) -> bool {
        self.patience > Instant::now() && !shared.hasty.load(Ordering::Relaxed)
    }
}

impl BoardHandle {
    pub(crate) fn new(name: BoardName, found: Found, shared: Arc<Shared>) -> Arc<Self> {
        let clock = BoardClock::new(shared.clock, found.board.time());
        let quarantine = OnceLock::new();
        if let Some(damage) = found.damage {
            let _ = quarantine.set(damage);
        }
        let log = LogExtent {
            oldest: found.oldest,
            snapshot: found.snapshot,
            tail_bytes: found.tail_bytes,
            snapshotting: false,
            rest_until: None,
            erasures: found.erasures,
            scratch: ScratchInLog::unknown(found.board.revision()),
        };
        let (published, _) = watch::channel(Arc::new(Published::new(found.board, found.chain)));
        let inbox = Inbox { last_use: Some(Instant::now()), ..Inbox::default() };
        Arc::new(Self {
            name,
            clock,
            published,
            inbox: Mutex::new(inbox),
            mail: Notify::new(),
            shared,
            quarantine,
            log: Mutex::new(log),
            upkeep: tokio::sync::Mutex::new(()),
        })
    }

    #[must_use]
    pub fn name(&self) -> &BoardName {
        &self.name
    }

    /// The newest durable state.
    #[must_use]
    pub fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.borrow())
    }

    /// Board time now: what is live is judged by it.
    #[must_use]
    pub fn now(&self) -> BoardTime {
        self.clock.now().max(self.published.borrow().board.time())
    }

    #[must_use]
    pub fn quarantine(&self) -> Option<&Quarantine> {
        self.quarantine.get()
    }

    /// The oldest position from which a stream can go on: the commit after it is still there.
    #[must_use]
    pub fn oldest(&self) -> Revision {
        Revision(self.extent().oldest.0.saturating_sub(1))
    }

    pub(crate) fn extent(&self) -> MutexGuard<'_, LogExtent> {
        self.log.lock().expect("no code panics while it holds the extent of the log")
    }

    pub(crate) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().expect("no code panics while it holds the mailbox")
    }

    /// Waits until a state satisfies `test`, or until `deadline`. The state at the end is returned in both cases.
    pub async fn wait_until(&self, deadline: Instant, mut test: impl FnMut(&Published) -> bool) -> Arc<Published> {
        let mut changes = self.published.subscribe();
        let wait = async {
            match changes.wait_for(|published| test(published)).await {
                Ok(found) => Arc::clone(&found),
                Err(_) => self.published(),
            }
        };
        match tokio::time::timeout_at(deadline, wait).await {
            Ok(found) => found,
            Err(_) => self.published(),
        }
    }

    /// Hands a request over and waits for its answer.
    ///
    /// # Errors
    /// Everything that can happen to a request; what is refused or not recorded changed nothing.
    pub async fn submit(self: &Arc<Self>, request: Request) -> Result<Answer, Error> {
        let wait = request.wait.min(WAIT_MAX);
        self.ask(Task::Ask(Box::new(request)), wait).await
    }

    /// Lets the server's start count for the leases of this board.
    pub(crate) async fn resume(self: &Arc<Self>) -> Result<Answer, Error> {
        self.ask(Task::Resume, Duration::ZERO).await
    }

    async fn ask(self: &Arc<Self>, request: Task, wait: Duration) -> Result<Answer, Error> {
        self.may_decide()?;
        let patience = Instant::now() + wait;
        let bytes = weight::of(&request);
        let (reply, answer) = oneshot::channel();
        self.post(Pending { request, reply, patience, tries: 0, turn: None, bytes })?;
        answer.await.unwrap_or(Err(Error::OutcomeUnknown))
    }

    fn may_decide(&self) -> Result<(), Error> {
        self.set_aside().map_or(Ok(()), Err)
    }

    /// What whoever wants to write is told, where the board is set aside.
    pub(crate) fn set_aside(&self) -> Option<Error> {
        let damage = self.quarantine()?;
        Some(Error::Quarantined { revision: damage.revision, detail: damage.detail.clone() })
    }

    fn post(self: &Arc<Self>, pending: Pending) -> Result<(), Error> {
        let mut inbox = self.inbox();
        if inbox.closing || self.shared.closing.load(Ordering::Relaxed) {
            return Err(Error::Closing);
        }
        let full = inbox.queue.len() >= self.shared.options.mailbox_requests_max
            || inbox.queued_bytes.saturating_add(pending.bytes) > MAILBOX_BYTES_MAX;
        if full {
            return Err(Error::Overloaded);
        }
        inbox.push(pending);
        inbox.last_use = Some(Instant::now());
        self.run(inbox);
        Ok(())
    }

    /// Makes sure that what runs out on this board is ended in time.
    pub(crate) fn mind_deadlines(self: &Arc<Self>) {
        if self.quarantine().is_none() && self.published.borrow().board.next_deadline().is_some() {
            self.run(self.inbox());
        }
    }

    /// Wakes the sequencer, or starts one.
    fn run(self: &Arc<Self>, mut inbox: MutexGuard<'_, Inbox>) {
        if inbox.running {
            drop(inbox);
            self.mail.notify_one();
        } else {
            inbox.running = true;
            drop(inbox);
            tokio::spawn(sequencer::run(Arc::clone(self)));
        }
    }

    /// Lets the sequencer end once it has answered what it has.
    pub(crate) fn close(&self) {
        self.inbox().closing = true;
        self.mail.notify_one();
    }

    pub(crate) fn publish(&self, board: Board, chain: ChainHash, commits: &[Arc<crate::logged::Logged>]) {
        self.published.send_modify(|published| *published = Arc::new(published.after(board, chain, commits)));
    }

    /// Whether no board was ever made under this name.
    pub(crate) fn is_blank(&self) -> bool {
        self.published.borrow().board.revision() == Revision::ZERO && self.quarantine().is_none()
    }

    /// Whether nothing would be lost if the board left memory now. That it is set aside would be forgotten.
    pub(crate) fn is_idle_since(&self, limit: Instant) -> bool {
        let inbox = self.inbox();
        !inbox.running
            && inbox.is_empty()
            && self.quarantine().is_none()
            && inbox.last_use.is_none_or(|used| used < limit)
            && self.published.receiver_count() == 0
            && !self.extent().snapshotting
            && self.published.borrow().board.next_deadline().is_none()
    }

    /// Marks the board as used, so that it stays loaded while it is read.
    pub(crate) fn touch(&self) {
        self.inbox().last_use = Some(Instant::now());
    }
}
