//! The ids under which commits are appended, by which the fate of an append is asked for.
//!
//! Invariant: no two appends of this process have the same id, and those of two processes do not meet by chance.
//! Not known here: who asks.

use std::sync::atomic::{AtomicU64, Ordering};

use kokuban_journal::CommitId;

/// Random once, counted from then on: drawing each would cost a call of the system.
#[derive(Debug)]
pub(crate) struct CommitIds {
    first: u128,
    given: AtomicU64,
}

impl CommitIds {
    pub(crate) fn draw() -> Self {
        Self { first: uuid::Uuid::new_v4().as_u128(), given: AtomicU64::new(0) }
    }

    pub(crate) fn next(&self) -> CommitId {
        let n = self.given.fetch_add(1, Ordering::Relaxed);
        CommitId::from(self.first.wrapping_add(u128::from(n)))
    }
}
