//! Which boards are in memory.
//!
//! Invariant: a board is loaded once, however many ask at the same time; a name that no journal knows takes no memory
//! unless somebody may create it. No guard of the map is held across an await.
//! Not known here: what a board is asked.

use std::sync::Arc;

use dashmap::DashMap;
use kokuban_core::board::Board;
use kokuban_core::ids::{BoardName, ChainHash, Revision};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::answer::Error;
use crate::engine::Shared;
use crate::handle::BoardHandle;
use crate::load::{self, Found};
use crate::stats::Counters;

type Slot = Arc<OnceCell<Arc<BoardHandle>>>;

#[derive(Debug, Default)]
pub(crate) struct Registry {
    slots: DashMap<BoardName, Slot>,
}

/// Whether a board that is not there may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    Make,
    Leave,
}

impl Registry {
    pub(crate) fn get(&self, name: &BoardName) -> Option<Arc<BoardHandle>> {
        self.slots.get(name).and_then(|slot| slot.get().cloned())
    }

    pub(crate) fn loaded(&self) -> Vec<Arc<BoardHandle>> {
        self.slots.iter().filter_map(|slot| slot.get().cloned()).collect()
    }

    pub(crate) async fn open(
        &self,
        shared: &Arc<Shared>,
        name: &BoardName,
        absent: Absent,
    ) -> Result<Option<Arc<BoardHandle>>, Error> {
        if let Some(handle) = self.get(name) {
            return Ok(Some(handle));
        }
        let slot = Arc::clone(&self.slots.entry(name.clone()).or_default());
        let opened = slot.get_or_try_init(|| load(shared, name, absent)).await.map(Arc::clone);
        match opened {
            Ok(handle) => Ok(Some(handle)),
            Err(failure) => {
                drop(slot);
                self.slots.remove_if(name, |_, slot| slot.get().is_none() && Arc::strong_count(slot) == 1);
                match failure {
                    Failure::Absent => Ok(None),
                    Failure::Error(error) => Err(error),
                }
            }
        }
    }

    /// Lets boards leave memory that nobody used since `limit`. Answers how many.
    pub(crate) fn evict(&self, limit: Instant) -> usize {
        let idle: Vec<_> =
            self.loaded().into_iter().filter(|handle| handle.is_idle_since(limit)).map(|h| h.name.clone()).collect();
        idle.iter().filter(|name| self.evict_one(name, limit)).count()
    }

    /// Lets one board go if nobody has it and nothing would be lost.
    pub(crate) fn evict_one(&self, name: &BoardName, limit: Instant) -> bool {
        // Whoever holds the slot or the handle got it before the guard of the map was taken.
        let unused = |slot: &Slot| {
            Arc::strong_count(slot) == 1
                && slot.get().is_none_or(|handle| Arc::strong_count(handle) == 1 && handle.is_idle_since(limit))
        };
        self.slots.remove_if(name, |_, slot| unused(slot)).is_some()
    }
}

enum Failure {
    Absent,
    Error(Error),
}

async fn load(shared: &Arc<Shared>, name: &BoardName, absent: Absent) -> Result<Arc<BoardHandle>, Failure> {
    let loaded = match shared.journal.load(name.clone()).await {
        Ok(loaded) => loaded,
        Err(kokuban_journal::Error::Damaged { revision, detail, .. }) => {
            tracing::error!(board = %name, ?revision, %detail, "a board is set aside: its records are damaged");
            return Err(Failure::Error(Error::Quarantined { revision, detail }));
        }
        Err(error) => {
            tracing::warn!(board = %name, %error, "a board could not be loaded");
            return Err(Failure::Error(Error::Unavailable));
        }
    };
    let found = match loaded {
        Some(loaded) => {
            let name = name.clone();
            tokio::task::spawn_blocking(move || load::fold(&name, loaded))
                .await
                .map_err(|_| Failure::Error(Error::Internal))?
        }
        None if absent == Absent::Leave => return Err(Failure::Absent),
        None => Found {
            board: Board::absent(name.clone()),
            chain: ChainHash::GENESIS,
            oldest: Revision(1),
            snapshot: Revision::ZERO,
            tail_bytes: 0,
            damage: None,
        },
    };
    if let Some(damage) = &found.damage {
        tracing::error!(board = %name, revision = ?damage.revision, detail = %damage.detail, "a board is set aside");
    }
    Counters::add(&shared.counters.loads, 1);
    Ok(BoardHandle::new(name.clone(), found, Arc::clone(shared)))
}
