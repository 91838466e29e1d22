//! The engine: all boards of one journal.
//!
//! Invariant: bounds. Loaded boards leave memory when idle; mailboxes, batches and folds are limited by `Options`.
//! Not known here: HTTP, configuration files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kokuban_core::command::Command;
use kokuban_core::ids::BoardName;
use kokuban_core::rejection::{Refusal, Rejection};
use kokuban_core::reply::Reply;
use kokuban_journal::{BoardInfo, Journal};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::answer::{Answer, Error, Request};
use crate::clock::Clock;
use crate::effects;
use crate::handle::BoardHandle;
use crate::registry::{Absent, Registry};
use crate::stats::{Counters, Stats};

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
    pub(crate) folds: Semaphore,
    /// Told whenever a sequencer ends.
    pub(crate) idle: Notify,
}

#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    registry: Registry,
    n_boards: AtomicU64,
}

impl Engine {
    /// Opens the boards of a journal. Those with a deadline are loaded, and their leases given a moment.
    ///
    /// # Errors
    /// The journal cannot be listed.
    pub async fn start(journal: Arc<dyn Journal>, options: Options) -> Result<Arc<Self>, kokuban_journal::Error> {
        let folds = Semaphore::new(options.folds_max);
        let counters = Counters::default();
        let shared = Arc::new(Shared { journal, clock: Clock::start(), options, counters, folds, idle: Notify::new() });
        let engine =
            Arc::new(Self { shared, registry: Registry::default(), n_boards: AtomicU64::new(0) });
        engine.load_boards_with_deadlines().await?;
        let sweeper = Arc::downgrade(&engine);
        tokio::spawn(async move {
            loop {
                let Some(engine) = sweeper.upgrade() else { return };
                let pause = engine.shared.options.idle / 4;
                engine.evict_idle();
                drop(engine);
                tokio::time::sleep(pause.max(Duration::from_millis(50))).await;
            }
        });
        Ok(engine)
    }

    async fn load_boards_with_deadlines(&self) -> Result<(), kokuban_journal::Error> {
        let mut after = None;
        loop {
            let page = self.shared.journal.list(after.clone(), 1_000).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.board.clone());
            self.n_boards.fetch_add(page.len() as u64, Ordering::Relaxed);
            for info in page.into_iter().filter(|info| info.deadline.is_some()) {
                let Ok(Some(handle)) = self.board(&info.board).await else { continue };
                if let Err(error) = handle.resume().await {
                    tracing::warn!(board = %info.board, %error, "the leases of a board could not be resumed");
                }
            }
        }
    }

    /// A board that has records, loaded. It may be deleted: ask its published state whether it exists.
    ///
    /// # Errors
    /// It is damaged, or the journal cannot be read.
    pub async fn board(&self, name: &BoardName) -> Result<Option<Arc<BoardHandle>>, Error> {
        let opened = self.registry.open(&self.shared, name, Absent::Leave).await?;
        if let Some(handle) = &opened {
            handle.touch();
        }
        Ok(opened)
    }

    /// Asks a board. One that has no record is made only for a command that may create it.
    ///
    /// # Errors
    /// Everything that can happen to a request.
    pub async fn submit(&self, name: &BoardName, request: Request) -> Result<Answer, Error> {
        let creates = matches!(request.command, Command::CreateBoard(_)) || request.create_with.is_some();
        let absent = if creates && !request.dry_run { Absent::Make } else { Absent::Leave };
        let known = self.registry.open(&self.shared, name, Absent::Leave).await?;
        let handle = match (known, absent) {
            (Some(handle), _) => handle,
            (None, Absent::Leave) if !creates => {
                let refusal = Box::new(Refusal::of(Rejection::BoardNotFound));
                let now = self.shared.clock.process_time();
                return Err(Error::Refused { refusal, position: None, now });
            }
            (None, _) => {
                self.may_create()?;
                let made = self.registry.open(&self.shared, name, Absent::Make).await?;
                made.ok_or(Error::Internal)?
            }
        };
        let erased = match &request.command {
            Command::Erase { sha256, .. } if !request.dry_run => Some(*sha256),
            _ => None,
        };
        let was_new = handle.published().board.revision().0 == 0;
        let answer = match handle.submit(request).await {
            Ok(answer) => answer,
            Err(error) => {
                // A creation that was refused leaves nothing behind, not even memory.
                drop(handle);
                if was_new {
                    self.registry.evict_one(name, Instant::now() + Duration::from_millis(1));
                }
                return Err(error);
            }
        };
        if was_new && handle.published().board.revision().0 > 0 {
            self.n_boards.fetch_add(1, Ordering::Relaxed);
        }
        match erased {
            Some(sha256) => {
                let values = effects::erase(&handle, sha256).await.map_err(|error| {
                    tracing::error!(board = %name, %error, "a value could not be erased from the log; erase it again");
                    Error::Unavailable
                })?;
                Ok(Answer { reply: Some(Reply::Erased { values }), ..answer })
            }
            None => Ok(answer),
        }
    }

    fn may_create(&self) -> Result<(), Error> {
        let max = self.shared.options.boards_max;
        if self.n_boards.load(Ordering::Relaxed) >= max { Err(Error::TooManyBoards { max }) } else { Ok(()) }
    }

    /// Boards with records, by name.
    ///
    /// # Errors
    /// The journal cannot be listed.
    pub async fn list(
        &self,
        after: Option<BoardName>,
        limit: usize,
    ) -> Result<Vec<BoardInfo>, kokuban_journal::Error> {
        self.shared.journal.list(after, limit).await
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

    #[must_use]
    pub fn stats(&self) -> Stats {
        let loaded = self.registry.loaded();
        Stats {
            boards_loaded: loaded.len() as u64,
            boards_quarantined: loaded.iter().filter(|handle| handle.quarantine().is_some()).count() as u64,
            ..self.shared.counters.read()
        }
    }

    /// Live leases of all loaded boards; boards with leases are always loaded.
    #[must_use]
    pub fn n_leases(&self) -> u64 {
        self.registry.loaded().iter().map(|handle| handle.published().board.n_leases() as u64).sum()
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
        for handle in self.registry.loaded() {
            handle.inbox().closing = true;
            handle.mail.notify_one();
        }
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
        if let Err(error) = self.shared.journal.close().await {
            tracing::error!(%error, "the journal could not be closed cleanly");
        }
    }
}
