//! A cursor into one life of a board, with the rules that say who may read what.
//!
//! Invariant: commits of other lives under the same name are never given; the deletion of this one is the end. All
//! positions have the epoch that holds now, those of commits before a restore too: so every one can be resumed from.
//! Rules are those of the newest published state, looked at for every commit.
//! Not known here: filters, blocks.

use std::sync::Arc;

use kokuban_core::blueprint::Blueprint;
use kokuban_core::board::Life;
use kokuban_core::event::Event;
use kokuban_core::ids::{Epoch, Position, Revision};
use kokuban_engine::{BoardHandle, Cursor, Gap, Logged};

#[derive(Debug)]
pub(super) struct Reader {
    cursor: Cursor,
    epoch: Epoch,
    /// Where the life begins.
    since: Revision,
    page: std::vec::IntoIter<Arc<Logged>>,
    /// The last revision given or passed over.
    at: Revision,
    rules: Arc<Blueprint>,
}

/// What a reader has at hand.
#[derive(Debug)]
pub(super) enum Next {
    Commit(Arc<Logged>),
    /// Nothing in memory: ask [`Reader::fill`] or [`Reader::wait`].
    Nothing,
    /// The board was deleted after what was given.
    Deleted,
}

impl Reader {
    pub(super) fn new(handle: &Arc<BoardHandle>, life: &Life, after: Revision) -> Self {
        let rules = Arc::clone(&life.blueprint);
        let page = Vec::new().into_iter();
        Self { cursor: handle.follow(after), epoch: life.epoch, since: life.since, page, at: after, rules }
    }

    pub(super) fn handle(&self) -> &Arc<BoardHandle> {
        self.cursor.handle()
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(super) fn at(&self) -> Revision {
        self.at
    }

    pub(super) fn position(&self, revision: Revision) -> Position {
        Position { epoch: self.epoch, revision }
    }

    /// The rules in force now; those before, where they changed since this was asked last.
    pub(super) fn rules(&mut self) -> (Arc<Blueprint>, Option<Arc<Blueprint>>) {
        let published = self.cursor.handle().published();
        let newest = published.board.life().filter(|life| life.epoch == self.epoch).map(|life| &life.blueprint);
        match newest {
            Some(newest) if !Arc::ptr_eq(newest, &self.rules) => {
                let before = std::mem::replace(&mut self.rules, Arc::clone(newest));
                (Arc::clone(newest), Some(before))
            }
            // A board that is gone is read by the rules it had last.
            _ => (Arc::clone(&self.rules), None),
        }
    }

    pub(super) fn next(&mut self) -> Next {
        for logged in self.page.by_ref() {
            self.at = logged.revision();
            if logged.revision() < self.since {
                continue;
            }
            if logged.commit.events.iter().any(|event| matches!(event, Event::BoardDeleted)) {
                return Next::Deleted;
            }
            return Next::Commit(logged);
        }
        Next::Nothing
    }

    /// Takes in what is there now. False: nothing is.
    ///
    /// # Errors
    /// What comes next cannot be had.
    pub(super) async fn fill(&mut self) -> Result<bool, Gap> {
        self.page = self.cursor.take().await?.into_iter();
        Ok(self.page.len() > 0)
    }

    /// Waits until there is something, and takes it in. May be given up at any time.
    ///
    /// # Errors
    /// What comes next cannot be had.
    pub(super) async fn wait(&mut self) -> Result<(), Gap> {
        self.page = self.cursor.next().await?.into_iter();
        Ok(())
    }
}
