//! The write path of one board: take a batch, decide it, make it durable, publish it, answer it.
//!
//! Invariants: decisions see every decision before them; the next batch is decided while the last one syncs, but
//! nothing of it is seen or answered before its own append is durable, and none before the batch in front of it.
//! When an append fails, everything decided on top of it is decided again on the published board.
//! Whatever happens to this task, nobody is left without an answer.
//! Not known here: rules, HTTP. `batch` decides, `settle` ends an append.

pub(crate) mod batch;
mod replay;
mod settle;
mod waiting;

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt;
use futures::future::BoxFuture;
use kokuban_core::board::Board;
use kokuban_core::ids::ChainHash;
use kokuban_journal::Outcome;
use tokio::time::Instant;

use self::batch::Batch;
use self::waiting::Waiting;
use crate::answer::Error;
use crate::handle::{BoardHandle, Pending, Quarantine};
use crate::stats::Counters;

/// Batches decided and not yet durable: one that syncs, and one that will sync next.
const IN_FLIGHT_MAX: usize = 2;

/// The task of one board.
struct Sequencer {
    handle: Arc<BoardHandle>,
    /// The published board and everything in flight on top of it.
    work: Board,
    chain: ChainHash,
    in_flight: VecDeque<InFlight>,
    waiting: Waiting,
    /// After a failure of the storage, deadlines rest until then.
    rest_until: Instant,
}

/// A decided batch and the append that makes it durable.
struct InFlight {
    batch: Batch,
    outcome: BoxFuture<'static, Outcome>,
}

/// Runs until there is nothing to do.
pub(crate) async fn run(handle: Arc<BoardHandle>) {
    let mut sequencer = Sequencer::new(handle);
    let work = async { while sequencer.step().await {} };
    if AssertUnwindSafe(work).catch_unwind().await.is_err() {
        sequencer.set_aside_after_panic();
    }
}

impl Sequencer {
    fn new(handle: Arc<BoardHandle>) -> Self {
        let published = handle.published();
        Self {
            work: published.board.clone(),
            chain: published.chain,
            handle,
            in_flight: VecDeque::new(),
            waiting: Waiting::default(),
            rest_until: Instant::now(),
        }
    }

    /// One round. False when the task may end.
    async fn step(&mut self) -> bool {
        if self.handle.quarantine().is_some() {
            self.abandon();
            return false;
        }
        if self.in_flight.len() < IN_FLIGHT_MAX {
            if !self.handle.inbox().is_empty() {
                // Whoever is about to ask shares this batch, and all that is done once for each.
                tokio::task::yield_now().await;
            }
            let requests = self.take_requests();
            if !requests.is_empty() || self.has_due_work() {
                self.decide(requests);
            }
        }
        if self.in_flight.is_empty() {
            return self.sleep_or_end().await;
        }
        let handle = Arc::clone(&self.handle);
        let room = self.in_flight.len() < IN_FLIGHT_MAX;
        let front = self.in_flight.front_mut().expect("just seen not to be empty");
        tokio::select! {
            biased;
            outcome = &mut front.outcome => self.settle(outcome).await,
            () = handle.mail.notified(), if room => {}
        }
        true
    }

    /// Everything that waits, up to the bounds of a batch. Callers who gave up are left out.
    fn take_requests(&mut self) -> Vec<Pending> {
        let mut inbox = self.handle.inbox();
        if inbox.closing {
            self.waiting.drain().for_each(refuse_closing);
        }
        let mut requests = inbox.take(self.handle.shared.options.batch_requests_max);
        requests.retain(|pending| !pending.reply.is_closed());
        requests
    }

    fn has_due_work(&mut self) -> bool {
        let now = self.handle.clock.now();
        let rested = self.rest_until <= Instant::now();
        let overdue = rested && self.work.next_deadline().is_some_and(|deadline| deadline <= now);
        overdue || self.has_impatient() || self.waiting.has_freed()
    }

    fn has_impatient(&self) -> bool {
        let hasty = self.handle.shared.hasty.load(Ordering::Relaxed);
        !self.waiting.is_empty()
            && (hasty || self.waiting.first_patience().is_some_and(|patience| patience <= Instant::now()))
    }

    fn decide(&mut self, requests: Vec<Pending>) {
        let batch = Batch::decide(self, requests);
        if batch.is_empty() {
            return;
        }
        let outcome = match batch.append(&self.handle.name) {
            Some(append) => self
                .handle
                .shared
                .journal
                .append(vec![append])
                .map(|outcomes| outcomes.into_iter().next().unwrap_or(Outcome::Unknown))
                .boxed(),
            // Nothing to make durable, but answers wait for the batches in front of this one.
            None => futures::future::ready(Outcome::Appended(batch.head())).boxed(),
        };
        self.in_flight.push_back(InFlight { batch, outcome });
    }

    /// Nothing is in flight: wait for mail, a deadline or a patience that ends, or end the task.
    async fn sleep_or_end(&mut self) -> bool {
        let deadline =
            self.work.next_deadline().map(|deadline| self.handle.clock.instant_of(deadline).max(self.rest_until));
        let wake = deadline.into_iter().chain(self.waiting.first_patience()).min();
        {
            let mut inbox = self.handle.inbox();
            if !inbox.is_empty() {
                return true;
            }
            if wake.is_none() || inbox.closing {
                self.waiting.drain().for_each(refuse_closing);
                inbox.running = false;
                inbox.last_use = Some(Instant::now());
                drop(inbox);
                self.handle.shared.idle.notify_waiters();
                return false;
            }
        }
        let wake = wake.expect("just seen to be there");
        tokio::select! {
            () = self.handle.mail.notified() => {}
            () = tokio::time::sleep_until(wake) => {}
        }
        true
    }

    /// The board was set aside: nobody is left waiting. What was handed to the journal may land, the rest will not.
    fn abandon(&mut self) {
        for pending in self.in_flight.drain(..).flat_map(|in_flight| in_flight.batch.into_requests()) {
            let _ = pending.reply.send(Err(Error::OutcomeUnknown));
        }
        let nothing_happened = self.handle.set_aside().unwrap_or(Error::Internal);
        let mut inbox = self.handle.inbox();
        inbox.running = false;
        let undecided = inbox.take(usize::MAX);
        drop(inbox);
        for pending in self.waiting.drain().chain(undecided) {
            let _ = pending.reply.send(Err(nothing_happened.clone()));
        }
        self.handle.shared.idle.notify_waiters();
    }

    /// A defect outside of a single decision: the board is not trusted any more until it is loaded anew.
    fn set_aside_after_panic(&mut self) {
        Counters::add(&self.handle.shared.counters.panics, 1);
        tracing::error!(board = %self.handle.name, "the sequencer of a board panicked; the board is set aside");
        let detail = "a defect of the server stopped the writer of this board; restart the server".to_owned();
        let revision = Some(self.handle.published().board.revision());
        let _ = self.handle.quarantine.set(Quarantine { revision, detail });
        self.abandon();
    }
}

fn refuse_closing(pending: Pending) {
    let _ = pending.reply.send(Err(Error::Closing));
}
