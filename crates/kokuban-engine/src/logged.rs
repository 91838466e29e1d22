//! A commit as readers of the log meet it.
//!
//! Invariant: what is here is durable, or on its way and not yet visible to anybody.
//! Not known here: how a commit is shown.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use kokuban_core::event::Commit;
use kokuban_core::ids::{ChainHash, Revision};

/// A commit with its place in the chain.
#[derive(Debug)]
pub struct Logged {
    pub commit: Commit,
    pub chain: ChainHash,
    /// Size of its record.
    pub bytes: usize,
    /// Rendered once for all readers who see everything; filled by the edge.
    pub rendered: OnceLock<Bytes>,
}

impl Logged {
    pub(crate) fn new(commit: Commit, chain: ChainHash, bytes: usize) -> Arc<Self> {
        Arc::new(Self { commit, chain, bytes, rendered: OnceLock::new() })
    }

    #[must_use]
    pub fn revision(&self) -> Revision {
        self.commit.revision
    }
}
