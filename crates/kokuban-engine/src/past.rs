//! Reading what a board was: single commits, pages of its history, its state at an earlier revision.
//!
//! Invariant: reading the past never holds up a board, and only shows what is durable. Work is bounded per call:
//! pages by count and bytes, folds by how many may run at once.
//! Not known here: what a caller may see.

use std::sync::Arc;

use kokuban_core::board::Board;
use kokuban_core::event::Commit;
use kokuban_core::ids::{ChainHash, EntryId, Revision, Version};
use kokuban_core::record;
use kokuban_journal::{ReadLimit, Record};

use crate::handle::BoardHandle;
use crate::logged::Logged;

/// Records read at a time while folding.
const FOLD_PAGE: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PastError {
    #[error("the history no longer reaches back so far")]
    Compacted,
    #[error("the revision is not there yet")]
    Future,
    #[error("the storage cannot be read now")]
    Unavailable,
    #[error("revision {revision}: {detail}")]
    Damaged { revision: Revision, detail: String },
}

/// Commits, newest first.
#[derive(Debug, Clone)]
pub struct HistoryPage {
    pub commits: Vec<Arc<Logged>>,
    /// Nothing older is kept.
    pub end: bool,
}

impl BoardHandle {
    /// Commits before `before`, newest first, at most `limit`.
    ///
    /// # Errors
    /// The journal cannot be read, or a record is damaged.
    pub async fn history(&self, before: Revision, limit: usize) -> Result<HistoryPage, PastError> {
        // What is stored ahead of the published state is not durable for anybody yet.
        let before = before.min(self.published().board.revision().next());
        // One more than asked for: its hash is what the oldest one asked for continues.
        let read =
            self.shared.journal.read_back(self.name.clone(), before, ReadLimit::records(limit.saturating_add(1)));
        let mut records = read.await.map_err(|error| unavailable(self, &error))?;
        let previous = if records.len() > limit { records.pop().map(|record| record.chain) } else { None };
        let end = records.last().is_none_or(|oldest| oldest.revision <= self.extent().oldest);
        records.reverse();
        let mut commits = decoded(records, previous)?;
        commits.reverse();
        Ok(HistoryPage { commits, end })
    }

    /// The revision that made this version of an entry, looked for backwards. `None`: no such version is kept.
    ///
    /// # Errors
    /// The journal cannot be read, or a record is damaged.
    pub async fn revision_of(&self, id: &EntryId, version: Version) -> Result<Option<Revision>, PastError> {
        let mut before = self.published().board.revision().next();
        loop {
            let page = self.history(before, FOLD_PAGE).await?;
            for logged in &page.commits {
                if logged
                    .commit
                    .events
                    .iter()
                    .any(|event| event.entry() == Some(id) && event.version() == Some(version))
                {
                    return Ok(Some(logged.revision()));
                }
            }
            // A version is never above its revision, so nothing older can have made it.
            match page.commits.last() {
                Some(oldest) if !page.end && oldest.revision().0 > version.0 => before = oldest.revision(),
                _ => return Ok(None),
            }
        }
    }

    /// The board as it was right after `revision`.
    ///
    /// # Errors
    /// The revision lies ahead, before what is kept, or among those that a restore left out.
    pub async fn at(&self, revision: Revision) -> Result<Board, PastError> {
        let published = self.published();
        if revision == published.board.revision() {
            return Ok(published.board.clone());
        }
        if revision > published.board.revision() {
            return Err(PastError::Future);
        }
        let _turn = self.shared.folds.acquire().await.map_err(|_| PastError::Unavailable)?;
        let mut board = Board::absent(self.name.clone());
        let mut chain = ChainHash::GENESIS;
        while board.revision() < revision {
            let read = self.shared.journal.read(self.name.clone(), board.revision(), ReadLimit::records(FOLD_PAGE));
            let records = read.await.map_err(|error| unavailable(self, &error))?;
            let Some(first) = records.first() else { return Err(PastError::Unavailable) };
            let at_beginning = board.revision() == Revision::ZERO;
            if first.revision > revision || (at_beginning && follows_what_is_gone(first)) {
                return Err(PastError::Compacted);
            }
            (board, chain) = tokio::task::spawn_blocking(move || fold(board, chain, &records, revision))
                .await
                .map_err(|_| PastError::Unavailable)??;
        }
        Ok(board)
    }
}

/// Whether the oldest record that is kept is not the first one there was. Not every board begins with revision 1.
fn follows_what_is_gone(oldest: &Record) -> bool {
    oldest.revision > Revision(1)
        && record::decode::<Commit>(&oldest.body)
            .is_ok_and(|decoded| ChainHash::GENESIS.extend(&decoded.head) != oldest.chain)
}

fn fold(
    mut board: Board,
    mut chain: ChainHash,
    records: &[Record],
    until: Revision,
) -> Result<(Board, ChainHash), PastError> {
    for stored in records.iter().take_while(|stored| stored.revision <= until) {
        let damaged = |detail: String| PastError::Damaged { revision: stored.revision, detail };
        let commit = record::decode_commit(&stored.body, chain, stored.chain).map_err(|d| damaged(d.to_string()))?;
        board.apply(&commit).map_err(|error| damaged(error.to_string()))?;
        chain = stored.chain;
    }
    Ok((board, chain))
}

/// Commits after `after`, oldest first.
pub(crate) async fn commits_after(
    handle: &BoardHandle,
    after: Revision,
    limit: ReadLimit,
) -> Result<Vec<Arc<Logged>>, PastError> {
    let head = handle.published().board.revision();
    let read = async |from, limit| {
        let read = handle.shared.journal.read(handle.name.clone(), from, limit).await;
        read.map_err(|error| unavailable(handle, &error))
    };
    // The record before tells what the first one continues.
    let with_previous = ReadLimit { records: limit.records.saturating_add(1), ..limit };
    let mut records = read(Revision(after.0.saturating_sub(1)), with_previous).await?;
    let mut previous = None;
    if after == Revision::ZERO && records.first().is_some_and(|first| first.revision == Revision(1)) {
        previous = Some(ChainHash::GENESIS);
    }
    if records.first().is_some_and(|first| first.revision == after) {
        previous = Some(records.remove(0).chain);
        if records.is_empty() && after < head {
            // It alone was as large as a page.
            records = read(after, limit).await?;
        }
    }
    records.truncate(limit.records);
    records.retain(|stored| stored.revision <= head);
    decoded(records, previous)
}

/// One commit, from the tail or the journal.
pub(crate) async fn commit_at(handle: &BoardHandle, revision: Revision) -> Result<Arc<Logged>, PastError> {
    if let Some(logged) = handle.published().commit(revision) {
        return Ok(Arc::clone(logged));
    }
    let before = Revision(revision.0.saturating_sub(1));
    let found = commits_after(handle, before, ReadLimit::records(1)).await?.into_iter().next();
    found.filter(|logged| logged.revision() == revision).ok_or(PastError::Compacted)
}

/// Decodes consecutive records, oldest first, the first of which continues `previous` where that is known.
fn decoded(records: Vec<Record>, mut previous: Option<ChainHash>) -> Result<Vec<Arc<Logged>>, PastError> {
    let mut commits = Vec::with_capacity(records.len());
    for stored in records {
        let damaged =
            |damage: record::Damage| PastError::Damaged { revision: stored.revision, detail: damage.to_string() };
        let decoded = record::decode(&stored.body).map_err(damaged)?;
        if previous.is_some_and(|previous| previous.extend(&decoded.head) != stored.chain) {
            return Err(damaged(record::Damage::Chain));
        }
        previous = Some(stored.chain);
        commits.push(Logged::new(decoded.content, stored.chain, stored.body.len()));
    }
    Ok(commits)
}

fn unavailable(handle: &BoardHandle, error: &kokuban_journal::Error) -> PastError {
    tracing::warn!(board = %handle.name, %error, "the journal cannot be read");
    PastError::Unavailable
}
