//! Following a board's log: a cursor that misses nothing and holds up nobody.
//!
//! Invariant: a cursor gives every commit after its start exactly once, in order, from the tail in memory or the
//! journal behind it; where the log no longer reaches back it says so. Bound of what one holds: 256 commits in
//! 64 KiB of records, or one that is larger.
//! Not known here: filters, rights, SSE.

use std::sync::Arc;

use kokuban_core::ids::Revision;
use kokuban_journal::ReadLimit;
use tokio::sync::watch;

use crate::handle::BoardHandle;
use crate::logged::Logged;
use crate::past::{self, PastError};
use crate::published::Published;

/// What is given at a time: of a slow reader it stays in memory until the reader comes back.
const PAGE: ReadLimit = ReadLimit { records: 256, body_bytes: 64 * 1_024 };

/// Why a cursor cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gap {
    /// The log no longer reaches back so far.
    Compacted,
    /// The journal cannot be read now.
    Unavailable,
}

/// A place in the log of a board, between two commits.
#[derive(Debug)]
pub struct Cursor {
    handle: Arc<BoardHandle>,
    changes: watch::Receiver<Arc<Published>>,
    after: Revision,
}

impl BoardHandle {
    /// A cursor that gives the commits after `after` next.
    #[must_use]
    pub fn follow(self: &Arc<Self>, after: Revision) -> Cursor {
        Cursor { handle: Arc::clone(self), changes: self.published.subscribe(), after }
    }
}

impl Cursor {
    /// The revision of the last commit given.
    #[must_use]
    pub fn position(&self) -> Revision {
        self.after
    }

    #[must_use]
    pub fn handle(&self) -> &Arc<BoardHandle> {
        &self.handle
    }

    /// Waits until there is something, then gives the next commits, at least one.
    ///
    /// # Errors
    /// The commits after the position cannot be had.
    pub async fn next(&mut self) -> Result<Vec<Arc<Logged>>, Gap> {
        loop {
            let ready = self.take().await?;
            if !ready.is_empty() {
                return Ok(ready);
            }
            // The sender lives in the handle that this cursor holds, so the channel cannot close.
            let _ = self.changes.changed().await;
        }
    }

    /// The next commits that are there now, perhaps none.
    ///
    /// # Errors
    /// The commits after the position cannot be had.
    pub async fn take(&mut self) -> Result<Vec<Arc<Logged>>, Gap> {
        let published = Arc::clone(&self.changes.borrow_and_update());
        let ready = match published.tail_after(self.after, PAGE) {
            Some(ready) => ready,
            None => self.read_behind().await?,
        };
        if let Some(last) = ready.last() {
            self.after = last.revision();
        }
        Ok(ready)
    }

    async fn read_behind(&self) -> Result<Vec<Arc<Logged>>, Gap> {
        let read = past::commits_after(&self.handle, self.after, PAGE).await;
        match read {
            Ok(commits) if commits.first().is_some_and(|first| first.commit.follows(self.after)) => Ok(commits),
            Ok(_) => Err(Gap::Compacted),
            Err(PastError::Compacted) => Err(Gap::Compacted),
            Err(_) => Err(Gap::Unavailable),
        }
    }
}
