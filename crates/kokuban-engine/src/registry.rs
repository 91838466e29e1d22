//! Which boards are in memory.
//!
//! Invariant: a board is loaded once, however many ask at the same time; a name that no journal knows takes no memory
//! unless somebody may create it. No guard of the map is held across an await.
//! Not known here: what a board is asked.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dashmap::DashMap;
use kokuban_core::ids::{BoardName, Revision};
use kokuban_journal::ReadLimit;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::answer::Error;
use crate::effects;
use crate::engine::Shared;
use crate::handle::{BoardHandle, Quarantine};
use crate::load::{self, Found};
use crate::stats::Counters;

/// Records read at a time where a board has to be folded from its beginning.
const FOLD_PAGE: usize = 1_000;

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

    /// Names that take memory.
    #[cfg(test)]
    pub(crate) fn n_names(&self) -> usize {
        self.slots.len()
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

    /// Lets boards leave memory that nobody used since `limit`, and names at once that no board was made of. Answers
    /// how many boards left.
    pub(crate) fn evict(&self, limit: Instant) -> usize {
        let limit_of = |handle: &BoardHandle| if handle.is_blank() { Instant::now() } else { limit };
        let loaded = self.loaded().into_iter().map(|handle| (handle.name.clone(), limit_of(&handle)));
        let idle: Vec<_> = loaded.collect();
        let n = idle.iter().filter(|(name, limit)| self.evict_one(name, *limit)).count();
        // Of loads that their callers gave up.
        self.slots.retain(|_, slot| slot.get().is_some() || Arc::strong_count(slot) > 1);
        n
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
    let mut found = match shared.journal.load(name.clone()).await {
        // Kept in memory although nothing of it can be read: a board that is set aside is told of.
        Err(kokuban_journal::Error::Damaged { revision, detail, .. }) => {
            Found { damage: Some(Quarantine { revision, detail }), ..Found::nothing(name, Revision(1)) }
        }
        Err(error) => {
            tracing::warn!(board = %name, %error, "a board could not be loaded");
            return Err(Failure::Error(Error::Unavailable));
        }
        Ok(Some(loaded)) => {
            let folded = name.clone();
            let found = tokio::task::spawn_blocking(move || load::fold(&folded, loaded))
                .await
                .map_err(|_| Failure::Error(Error::Internal))?;
            if found.damage.is_some() { last_good(shared, name, found).await } else { found }
        }
        Ok(None) if absent == Absent::Leave => return Err(Failure::Absent),
        Ok(None) => Found::nothing(name, shared.journal.caps().base.next()),
    };
    if let Some(damage) = &found.damage {
        let revision = damage.revision.map(|revision| revision.0);
        tracing::error!(board = %name, revision, detail = %damage.detail, "a board is set aside");
    }
    Counters::add(&shared.counters.loads, 1);
    shared.rules.share(&mut found.board);
    let handle = BoardHandle::new(name.clone(), found, Arc::clone(shared));
    effects::make_up(&handle);
    if !shared.starting.load(Ordering::Relaxed) {
        handle.mind_deadlines();
    }
    Ok(handle)
}

/// Where not even the snapshot can be used, the log itself may still tell what can be read.
async fn last_good(shared: &Arc<Shared>, name: &BoardName, damaged: Found) -> Found {
    if damaged.board.revision() > Revision::ZERO || damaged.oldest > Revision(1) {
        return damaged;
    }
    let mut found = Found { damage: damaged.damage, ..Found::nothing(name, damaged.oldest) };
    loop {
        let limit = ReadLimit::records(FOLD_PAGE);
        let read = shared.journal.read(name.clone(), found.board.revision(), limit).await;
        let records = match read {
            Ok(records) if !records.is_empty() => records,
            _ => return found,
        };
        for stored in records {
            if load::extend(&mut found, &stored).is_err() {
                return found;
            }
        }
        tokio::task::yield_now().await;
    }
}
