//! A journal that fails on command, so that its callers are tested for what storage can do to them.
//!
//! Invariant: with nothing planned it behaves as the journal inside; each planned fault hits one append call, in
//! order of the calls, and says of it only what [`Outcome`] promises.
//! Not known here: which implementation is inside.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use futures::stream::{BoxStream, StreamExt};
use kokuban_core::ids::{BoardName, Revision};
use tokio::sync::{broadcast, watch};

use crate::journal::{Caps, Health, Journal, ReadLimit, Stats, Wake};
use crate::outcome::{Error, Outcome, Refusal, Resolved};
use crate::record::{Append, BoardInfo, CommitId, Head, Loaded, Record, Rewrite, Snapshot, SnapshotPart};

/// What happens to one append call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The group is appended, the answer is [`Outcome::Unknown`].
    UnknownLanded,
    /// Nothing is appended, the answer is [`Outcome::Unknown`].
    UnknownLost,
    /// Nothing is appended, the answer is a conflict with the newest record.
    Conflict,
    /// Nothing is appended, the answer is this refusal.
    Refused(Refusal),
}

/// See the module. Clones share the plan.
#[derive(Debug, Clone)]
pub struct Faulty {
    inner: Arc<dyn Journal>,
    plan: Arc<Plan>,
}

#[derive(Debug)]
struct Plan {
    appends: Mutex<VecDeque<Fault>>,
    /// Errors of the next calls of `resolve`, and of those that read.
    resolves: Mutex<VecDeque<Error>>,
    reads: Mutex<VecDeque<Error>>,
    /// Whether answers to appends are held back.
    held: watch::Sender<bool>,
    /// Append calls so far.
    calls: watch::Sender<usize>,
    wakes: broadcast::Sender<Wake>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faulty {
    #[must_use]
    pub fn new(inner: impl Journal) -> Self {
        Self::over(Arc::new(inner))
    }

    #[must_use]
    pub fn over(inner: Arc<dyn Journal>) -> Self {
        let plan = Plan {
            appends: Mutex::default(),
            resolves: Mutex::default(),
            reads: Mutex::default(),
            held: watch::Sender::new(false),
            calls: watch::Sender::new(0),
            wakes: broadcast::Sender::new(64),
        };
        Self { inner, plan: Arc::new(plan) }
    }

    /// The journal inside, for what another server would write.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn Journal> {
        &self.inner
    }

    /// Plans a fault for an append call to come.
    pub fn next_append(&self, fault: Fault) {
        lock(&self.plan.appends).push_back(fault);
    }

    /// Plans an error for a call of `resolve` to come.
    pub fn next_resolve(&self, error: Error) {
        lock(&self.plan.resolves).push_back(error);
    }

    /// Plans an error for a call that reads records or a snapshot to come.
    pub fn next_read(&self, error: Error) {
        lock(&self.plan.reads).push_back(error);
    }

    /// Faults of appends that no call has met yet.
    #[must_use]
    pub fn planned(&self) -> usize {
        lock(&self.plan.appends).len()
    }

    /// From now on no append is answered, as if its sync took forever.
    pub fn hold(&self) {
        self.plan.held.send_replace(true);
    }

    /// Lets the held answers go.
    pub fn release(&self) {
        self.plan.held.send_replace(false);
    }

    /// Waits until there were `n` append calls since the start, held ones included.
    pub async fn n_appends(&self, n: usize) {
        let mut calls = self.plan.calls.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = calls.wait_for(|seen| *seen >= n).await;
    }

    /// Sends a hint to everybody who listens.
    pub fn wake(&self, wake: Wake) {
        // Nobody may be listening.
        let _ = self.plan.wakes.send(wake);
    }

    fn planned_read<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> BoxFuture<'static, Result<T, Error>>,
    ) -> BoxFuture<'static, Result<T, Error>> {
        match lock(&self.plan.reads).pop_front() {
            Some(error) => ready(Err(error)).boxed(),
            None => read(),
        }
    }
}

/// A conflict with what is stored, without appending.
async fn conflicts(inner: Arc<dyn Journal>, boards: Vec<BoardName>) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(boards.len());
    for board in boards {
        outcomes.push(match inner.info(board).await {
            Ok(info) => Outcome::Conflict(info.map(|info| info.head)),
            Err(error) => Outcome::Refused(Refusal::Io { detail: error.to_string() }),
        });
    }
    outcomes
}

impl Journal for Faulty {
    fn append(&self, group: Vec<Append>) -> BoxFuture<'static, Vec<Outcome>> {
        let n = group.len();
        let fault = lock(&self.plan.appends).pop_front();
        let answer = match fault {
            None => self.inner.append(group),
            Some(Fault::UnknownLanded) => {
                self.inner.append(group).map(move |_| (0..n).map(|_| Outcome::Unknown).collect()).boxed()
            }
            Some(Fault::UnknownLost) => ready((0..n).map(|_| Outcome::Unknown).collect()).boxed(),
            Some(Fault::Refused(refusal)) => ready((0..n).map(|_| Outcome::Refused(refusal.clone())).collect()).boxed(),
            Some(Fault::Conflict) => {
                conflicts(self.inner.clone(), group.into_iter().map(|item| item.board).collect()).boxed()
            }
        };
        self.plan.calls.send_modify(|calls| *calls += 1);
        let mut held = self.plan.held.subscribe();
        async move {
            let outcomes = answer.await;
            // An error means that the journal is gone, and with it who could release.
            let _ = held.wait_for(|held| !*held).await;
            outcomes
        }
        .boxed()
    }

    fn resolve(
        &self,
        board: BoardName,
        expected: Option<Head>,
        commit_id: CommitId,
    ) -> BoxFuture<'static, Result<Resolved, Error>> {
        match lock(&self.plan.resolves).pop_front() {
            Some(error) => ready(Err(error)).boxed(),
            None => self.inner.resolve(board, expected, commit_id),
        }
    }

    fn load(&self, board: BoardName) -> BoxFuture<'static, Result<Option<Loaded>, Error>> {
        self.planned_read(|| self.inner.load(board))
    }

    fn read_snapshot(
        &self,
        board: BoardName,
        first: usize,
        bytes_max: usize,
    ) -> BoxFuture<'static, Result<Option<SnapshotPart>, Error>> {
        self.planned_read(|| self.inner.read_snapshot(board, first, bytes_max))
    }

    fn read(
        &self,
        board: BoardName,
        after: Revision,
        limit: ReadLimit,
    ) -> BoxFuture<'static, Result<Vec<Record>, Error>> {
        self.planned_read(|| self.inner.read(board, after, limit))
    }

    fn read_back(
        &self,
        board: BoardName,
        before: Revision,
        limit: ReadLimit,
    ) -> BoxFuture<'static, Result<Vec<Record>, Error>> {
        self.planned_read(|| self.inner.read_back(board, before, limit))
    }

    fn info(&self, board: BoardName) -> BoxFuture<'static, Result<Option<BoardInfo>, Error>> {
        self.inner.info(board)
    }

    fn list(&self, after: Option<BoardName>, limit: usize) -> BoxFuture<'static, Result<Vec<BoardInfo>, Error>> {
        self.inner.list(after, limit)
    }

    fn put_snapshot(&self, board: BoardName, snapshot: Snapshot) -> BoxFuture<'static, Result<(), Error>> {
        self.inner.put_snapshot(board, snapshot)
    }

    fn prune(&self, board: BoardName, below: Revision) -> BoxFuture<'static, Result<u64, Error>> {
        self.inner.prune(board, below)
    }

    fn rewrite(&self, board: BoardName, rewrites: Vec<Rewrite>) -> BoxFuture<'static, Result<(), Error>> {
        self.inner.rewrite(board, rewrites)
    }

    fn wakes(&self) -> BoxStream<'static, Wake> {
        let planned = futures::stream::unfold(self.plan.wakes.subscribe(), |mut wakes| async {
            match wakes.recv().await {
                Ok(wake) => Some((wake, wakes)),
                Err(broadcast::error::RecvError::Lagged(_)) => Some((Wake::MissedSome, wakes)),
                Err(broadcast::error::RecvError::Closed) => None,
            }
        });
        futures::stream::select(planned, self.inner.wakes()).boxed()
    }

    fn caps(&self) -> Caps {
        self.inner.caps()
    }

    fn health(&self) -> Health {
        self.inner.health()
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn close(&self) -> BoxFuture<'static, Result<(), Error>> {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use crate::conformance::{Author, Subject, board};

    mod without_faults {
        use super::{Faulty, Memory, Subject};

        crate::journal_conformance!(Subject::volatile(Faulty::new(Memory::new())));
    }

    async fn head(journal: &Faulty) -> Option<Head> {
        journal.info(board("b")).await.unwrap().map(|info| info.head)
    }

    #[tokio::test]
    async fn an_unknown_outcome_is_resolved_to_what_happened() {
        let journal = Faulty::new(Memory::new());
        journal.next_append(Fault::UnknownLanded);
        journal.next_append(Fault::UnknownLost);
        let mut author = Author::of("b");
        let landed = author.append_n(1);
        let id = landed.commits[0].commit_id;
        assert_eq!(journal.append(vec![landed]).await, [Outcome::Unknown]);
        assert_eq!(journal.resolve(board("b"), None, id).await, Ok(Resolved::Appended(author.head.unwrap())));

        let before = author.head;
        let lost = author.append_n(1);
        let id = lost.commits[0].commit_id;
        assert_eq!(journal.append(vec![lost]).await, [Outcome::Unknown]);
        assert_eq!(journal.resolve(board("b"), before, id).await, Ok(Resolved::Absent));
        assert_eq!((head(&journal).await, journal.planned()), (before, 0));
    }

    #[tokio::test]
    async fn a_planned_refusal_or_conflict_appends_nothing() {
        let journal = Faulty::new(Memory::new());
        journal.next_append(Fault::Refused(Refusal::StorageFull));
        journal.next_append(Fault::Conflict);
        let item = Author::of("b").append_n(1);
        assert_eq!(journal.append(vec![item.clone()]).await, [Outcome::Refused(Refusal::StorageFull)]);
        assert_eq!(journal.append(vec![item.clone()]).await, [Outcome::Conflict(None)]);
        assert_eq!(head(&journal).await, None);
        assert!(matches!(journal.append(vec![item]).await[..], [Outcome::Appended(_)]));
    }

    #[tokio::test]
    async fn held_answers_come_when_they_are_released() {
        let journal = Faulty::new(Memory::new());
        journal.hold();
        let mut answer = journal.append(vec![Author::of("b").append_n(1)]);
        journal.n_appends(1).await;
        assert!(futures::poll!(&mut answer).is_pending());
        journal.release();
        assert!(matches!(answer.await[..], [Outcome::Appended(_)]));
    }

    #[tokio::test]
    async fn hints_can_be_sent_and_lost() {
        let journal = Faulty::new(Memory::new());
        let mut wakes = journal.wakes();
        let wake = Wake::Board { board: board("b"), revision: Revision(3) };
        journal.wake(wake.clone());
        journal.wake(Wake::MissedSome);
        assert_eq!(wakes.next().await, Some(wake.clone()));
        assert_eq!(wakes.next().await, Some(Wake::MissedSome));
        (0..100).for_each(|_| journal.wake(wake.clone()));
        assert_eq!(wakes.next().await, Some(Wake::MissedSome));
    }

    #[tokio::test]
    async fn planned_errors_of_reading_and_resolving_come_once() {
        let journal = Faulty::new(Memory::new());
        journal.next_read(Error::io("gone"));
        journal.next_resolve(Error::io("gone"));
        assert_eq!(journal.load(board("b")).await, Err(Error::io("gone")));
        assert_eq!(journal.load(board("b")).await, Ok(None));
        let id = CommitId::from(1);
        assert_eq!(journal.resolve(board("b"), None, id).await, Err(Error::io("gone")));
        assert_eq!(journal.resolve(board("b"), None, id).await, Ok(Resolved::Absent));
    }
}
