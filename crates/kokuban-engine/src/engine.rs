//! The engine: all boards of one journal.
//!
//! Invariant: bounds. Loaded boards leave memory when idle; mailboxes, batches and folds are limited by `Options`.
//! Not known here: HTTP, configuration files.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::StreamExt;
use kokuban_core::command::Command;
use kokuban_core::ids::{BoardName, Revision, Sha256};
use kokuban_core::rejection::{Refusal, Rejection};
use kokuban_core::reply::Reply;
use kokuban_journal::{BoardInfo, Journal};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::answer::{Answer, Error, Request};
use crate::clock::Clock;
use crate::commit_ids::CommitIds;
use crate::copy::Copies;
use crate::effects;
use crate::handle::BoardHandle;
use crate::registry::{Absent, Registry};
use crate::rules::Rules;
use crate::stats::{Counters, Stats};

/// Boards that are loaded side by side at start.
const STARTS_AT_ONCE: usize = 64;
/// What the journal is given to close, however long the boards took.
const JOURNAL_CLOSE_MIN: Duration = Duration::from_secs(5);
const SWEEP_PAUSE_MIN: Duration = Duration::from_millis(50);
const SWEEP_PAUSE_MAX: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct Options {
    /// Requests that may wait for one board.
    pub mailbox_requests_max: usize,
    /// Requests decided at once.
    pub batch_requests_max: usize,
    /// After this without use a board leaves memory.
    pub idle: Duration,
    /// Boards in the journal; no more are created.
    pub boards_max: u64,
    /// A snapshot is due when the records since the last one exceed this, and this share of the state.
    pub snapshot_bytes_min: usize,
    pub snapshot_percent_min: u64,
    /// Past states that may be rebuilt at the same time.
    pub folds_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mailbox_requests_max: 1_024,
            batch_requests_max: 256,
            idle: Duration::from_secs(300),
            boards_max: 100_000,
            snapshot_bytes_min: 1_024 * 1_024,
            snapshot_percent_min: 400,
            folds_max: 2,
        }
    }
}

/// What all boards share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) clock: Clock,
    pub(crate) options: Options,
    pub(crate) counters: Counters,
    pub(crate) commit_ids: CommitIds,
    pub(crate) rules: Rules,
    pub(crate) folds: Semaphore,
    pub(crate) copies: Copies,
    /// Told whenever a sequencer ends.
    pub(crate) idle: Notify,
    /// Boards that are loaded now are met by the start of the server.
    pub(crate) starting: AtomicBool,
    /// Claims and leases wait no longer: the server is about to stop.
    pub(crate) hasty: AtomicBool,
    /// Nothing more is taken.
    pub(crate) closing: AtomicBool,
}

#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    pub(crate) registry: Registry,
}

impl Engine {
    /// Opens the boards of a journal. Those with a deadline are loaded, and their leases given a moment.
    ///
    /// # Errors
    /// The journal cannot be listed.
    pub async fn start(journal: Arc<dyn Journal>, options: Options) -> Result<Arc<Self>, kokuban_journal::Error> {
        Self::start_at(Clock::start(), journal, options).await
    }

    pub(crate) async fn start_at(
        clock: Clock,
        journal: Arc<dyn Journal>,
        options: Options,
    ) -> Result<Arc<Self>, kokuban_journal::Error> {
        let shared = Arc::new(Shared {
            folds: Semaphore::new(options.folds_max),
            copies: Copies::default(),
            journal,
            clock,
            options,
            counters: Counters::default(),
            commit_ids: CommitIds::draw(),
            rules: Rules::default(),
            idle: Notify::new(),
            starting: AtomicBool::new(true),
            hasty: AtomicBool::new(false),
            closing: AtomicBool::new(false),
        });
        let engine = Arc::new(Self { shared, registry: Registry::default() });
        engine.load_boards_with_deadlines().await?;
        engine.shared.starting.store(false, Ordering::Relaxed);
        tokio::spawn(sweep(Arc::downgrade(&engine)));
        Ok(engine)
    }

    async fn load_boards_with_deadlines(&self) -> Result<(), kokuban_journal::Error> {
        let mut after = None;
        loop {
            let page = self.shared.journal.list(after.clone(), 1_000).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.board.clone());
            let with_deadline = page.into_iter().filter(|info| info.deadline.is_some());
            // Side by side, so that their commits share a sync.
            let resumed = futures::stream::iter(with_deadline).for_each_concurrent(STARTS_AT_ONCE, |info| async move {
                self.resume(&info.board).await;
            });
            resumed.await;
        }
    }

    async fn resume(&self, name: &BoardName) {
        let resumed = match self.board(name).await {
            Ok(Some(handle)) => handle.resume().await.map(drop),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = resumed {
            tracing::warn!(board = %name, %error, "the leases of a board could not be resumed");
        }
    }

    /// A board that has records, loaded. It may be deleted: ask its published state whether it exists.
    ///
    /// # Errors
    /// It is damaged, or the journal cannot be read.
    pub async fn board(&self, name: &BoardName) -> Result<Option<Arc<BoardHandle>>, Error> {
        let Some(handle) = self.registry.open(&self.shared, name, Absent::Leave).await? else { return Ok(None) };
        handle.touch();
        match handle.set_aside() {
            // Nothing of it can be read, which is not the same as nothing being there.
            Some(damaged) if handle.published().board.revision() == Revision::ZERO => Err(damaged),
            _ => Ok(Some(handle)),
        }
    }

    /// Asks a board. One that has no record is made only for a command that may create it.
    ///
    /// # Errors
    /// Everything that can happen to a request.
    pub async fn submit(&self, name: &BoardName, request: Request) -> Result<Answer, Error> {
        let creates = matches!(request.command, Command::CreateBoard(_)) || request.create_with.is_some();
        let handle = match self.registry.open(&self.shared, name, Absent::Leave).await? {
            Some(handle) => handle,
            None if creates => {
                self.may_create()?;
                let made = self.registry.open(&self.shared, name, Absent::Make).await?;
                made.ok_or(Error::Internal)?
            }
            None => {
                let refusal = Box::new(Refusal::of(Rejection::BoardNotFound));
                let now = self.shared.clock.process_time();
                return Err(Error::Refused { refusal, position: None, now });
            }
        };
        let erased = match &request.command {
            Command::Erase { sha256, .. } if !request.dry_run => Some(*sha256),
            _ => None,
        };
        let answer = handle.submit(request).await;
        if handle.is_blank() {
            // A creation that was refused or tried leaves nothing behind. Where it is still busy, the sweeper comes.
            drop(handle);
            self.registry.evict_one(name, Instant::now() + Duration::from_millis(1));
            return answer;
        }
        match (answer, erased) {
            (Ok(answer), Some(sha256)) => {
                let values = erase(handle, sha256).await?;
                Ok(Answer { reply: Some(Reply::Erased { values }), ..answer })
            }
            (answer, _) => answer,
        }
    }

    fn may_create(&self) -> Result<(), Error> {
        let max = self.shared.options.boards_max;
        if self.shared.journal.stats().boards >= max { Err(Error::TooManyBoards { max }) } else { Ok(()) }
    }

    /// Boards with records, by name.
    ///
    /// # Errors
    /// The journal cannot be listed.
    pub async fn list(&self, after: Option<BoardName>, limit: usize) -> Result<Vec<BoardInfo>, kokuban_journal::Error> {
        self.shared.journal.list(after, limit).await
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    #[must_use]
    pub fn clock(&self) -> Clock {
        self.shared.clock
    }

    #[must_use]
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.shared.journal
    }

    /// Boards in memory that take no writes because their records are damaged.
    #[must_use]
    pub fn quarantined(&self) -> Vec<BoardName> {
        self.registry.loaded().iter().filter(|h| h.quarantine().is_some()).map(|h| h.name.clone()).collect()
    }

    /// Looks at every loaded board.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = self.shared.counters.read();
        for handle in self.registry.loaded() {
            let (requests, bytes) = handle.inbox().depth();
            stats.boards_loaded += 1;
            stats.boards_quarantined += u64::from(handle.quarantine().is_some());
            stats.leases += handle.published().board.n_leases() as u64;
            stats.mailbox_requests += requests as u64;
            stats.mailbox_bytes += bytes as u64;
            stats.mailbox_requests_deepest = stats.mailbox_requests_deepest.max(requests as u64);
        }
        stats
    }

    /// Lets idle boards leave memory now.
    pub fn evict_idle(&self) -> usize {
        let Some(limit) = Instant::now().checked_sub(self.shared.options.idle) else { return 0 };
        let n = self.registry.evict(limit);
        Counters::add(&self.shared.counters.evictions, n);
        n
    }

    /// Stops: what was handed over is finished and answered, later requests are refused, the journal is closed.
    pub async fn close(&self, bound: Duration) {
        let deadline = Instant::now() + bound;
        self.stop_taking();
        loop {
            let ended = self.shared.idle.notified();
            if self.registry.loaded().iter().all(|handle| !handle.inbox().running) {
                break;
            }
            if tokio::time::timeout_at(deadline, ended).await.is_err() {
                tracing::warn!("a board did not come to rest in time");
                break;
            }
        }
        // What is durable stays so, whether or not the journal ends tidily.
        let bound = deadline.max(Instant::now() + JOURNAL_CLOSE_MIN);
        match tokio::time::timeout_at(bound, self.shared.journal.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the journal could not be closed cleanly"),
            Err(_) => tracing::error!("the journal could not be closed in time"),
        }
    }

    /// Answers every claim and lease that waits as if its time were over. Other requests go on.
    pub fn end_waits(&self) {
        self.shared.hasty.store(true, Ordering::SeqCst);
        self.registry.loaded().iter().for_each(|handle| handle.mail.notify_one());
    }

    fn stop_taking(&self) {
        // In this order: whoever does not see the flag has a handle that is found here.
        self.shared.closing.store(true, Ordering::SeqCst);
        self.registry.loaded().iter().for_each(|handle| handle.close());
    }
}

impl Drop for Engine {
    /// Sequencers that wait for a deadline hold their boards: without this they would outlive the engine.
    fn drop(&mut self) {
        self.stop_taking();
    }
}

async fn sweep(engine: Weak<Engine>) {
    loop {
        let Some(engine) = engine.upgrade() else { return };
        let pause = (engine.shared.options.idle / 4).clamp(SWEEP_PAUSE_MIN, SWEEP_PAUSE_MAX);
        engine.evict_idle();
        drop(engine);
        tokio::time::sleep(pause).await;
    }
}

/// Finishes what the commit says, also when the caller goes away.
async fn erase(handle: Arc<BoardHandle>, sha256: Sha256) -> Result<u64, Error> {
    let board = handle.name.clone();
    let erased = tokio::spawn(async move { effects::erase(&handle, sha256).await }).await;
    match erased {
        Ok(Ok(values)) => Ok(values),
        Ok(Err(error)) => {
            tracing::error!(%board, %error, "a value could not be taken out of the log yet; the next snapshot or start will");
            Err(Error::Unavailable)
        }
        Err(_) => Err(Error::Internal),
    }
}
