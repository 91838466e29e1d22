//! What readers of a board hold: the board and the end of its log, at one revision.
//!
//! Invariant: immutable, and the tail has no hole and ends at the board's revision. Bound: 512 commits or 512 KiB of
//! records per board, whichever is less.
//! Not known here: how it is replaced.

use std::sync::Arc;

use kokuban_core::board::Board;
use kokuban_core::ids::{ChainHash, Revision};
use kokuban_journal::ReadLimit;

use crate::logged::Logged;

const TAIL_COMMITS_MAX: usize = 512;
const TAIL_BYTES_MAX: usize = 512 * 1_024;

#[derive(Debug, Clone)]
pub struct Published {
    pub board: Board,
    pub chain: ChainHash,
    tail: tail::Tail,
}

impl Published {
    pub(crate) fn new(board: Board, chain: ChainHash) -> Self {
        Self { board, chain, tail: tail::Tail::default() }
    }

    /// The same after more commits.
    pub(crate) fn after(&self, board: Board, chain: ChainHash, commits: &[Arc<Logged>]) -> Self {
        let mut tail = self.tail.clone();
        commits.iter().for_each(|commit| tail.push(Arc::clone(commit)));
        Self { board, chain, tail }
    }

    /// The same board with nothing of its log in memory, after records were rewritten.
    pub(crate) fn without_tail(&self) -> Self {
        Self { tail: tail::Tail::default(), ..self.clone() }
    }

    /// The commits after `revision`, if the tail reaches back so far.
    #[must_use]
    pub fn tail_after(&self, revision: Revision, limit: ReadLimit) -> Option<Vec<Arc<Logged>>> {
        if revision >= self.board.revision() {
            return Some(Vec::new());
        }
        let oldest = self.tail.commits.front()?.revision();
        let skip = usize::try_from((revision.0 + 1).checked_sub(oldest.0)?).ok()?;
        let mut bytes = 0;
        let fits = |logged: &&Arc<Logged>| {
            let first = bytes == 0;
            bytes += logged.bytes;
            first || bytes <= limit.body_bytes
        };
        let rest = self.tail.commits.focus().narrow(skip..);
        Some(rest.into_iter().take(limit.records).take_while(fits).cloned().collect())
    }

    /// One commit of the tail.
    #[must_use]
    pub fn commit(&self, revision: Revision) -> Option<&Arc<Logged>> {
        let oldest = self.tail.commits.front()?.revision();
        let index = revision.0.checked_sub(oldest.0)?;
        self.tail.commits.get(usize::try_from(index).ok()?)
    }
}

mod tail {
    use std::sync::Arc;

    use imbl::Vector;

    use super::{TAIL_BYTES_MAX, TAIL_COMMITS_MAX};
    use crate::logged::Logged;

    /// A persistent queue: cloned with every publication, shared with every older one.
    #[derive(Debug, Clone, Default)]
    pub(super) struct Tail {
        pub(super) commits: Vector<Arc<Logged>>,
        bytes: usize,
    }

    impl Tail {
        pub(super) fn push(&mut self, commit: Arc<Logged>) {
            self.bytes += commit.bytes;
            self.commits.push_back(commit);
            while self.commits.len() > TAIL_COMMITS_MAX || (self.bytes > TAIL_BYTES_MAX && self.commits.len() > 1) {
                let Some(oldest) = self.commits.pop_front() else { return };
                self.bytes -= oldest.bytes;
            }
        }
    }
}
