//! Ending an append: publish and answer, or find out what became of it and decide again.
//!
//! Invariant: an outcome is never guessed. Answers of a failed batch that rest on no commit of their own are judged
//! again, so that nobody is told of a state that never came to be.
//! Not known here: how batches are decided.

use std::time::Duration;

use kokuban_core::record;
use kokuban_journal::{Outcome, ReadLimit, Refusal, Resolved};
use tokio::time::Instant;

use super::batch::{Batch, Verdict};
use super::{Sequencer, replay};
use crate::answer::Error;
use crate::effects;
use crate::handle::{Pending, Quarantine};
use crate::logged::Logged;
use crate::stats::Counters;

/// How often a request is decided again because another server wrote first.
const TRIES_MAX: u32 = 8;
/// How often the journal is asked what became of an append.
const RESOLVE_TRIES_MAX: u32 = 20;
const RESOLVE_PAUSE: Duration = Duration::from_millis(100);
/// Pause before deadlines are worked off again after the storage failed. Requests are tried at once.
const REST: Duration = Duration::from_millis(200);

impl Sequencer {
    /// The oldest batch in flight ended so.
    pub(super) async fn settle(&mut self, outcome: Outcome) {
        let Some(front) = self.in_flight.pop_front() else { return };
        let batch = front.batch;
        match outcome {
            Outcome::Appended(_) => self.succeed(batch),
            Outcome::Unknown => self.resolve(batch).await,
            Outcome::Conflict(_) => self.catch_up(batch).await,
            Outcome::Refused(refusal) => self.fail(batch, &refusal).await,
        }
    }

    fn succeed(&mut self, batch: Batch) {
        let handle = &self.handle;
        Counters::add(&handle.shared.counters.commits, batch.commits.len());
        if !batch.commits.is_empty() {
            handle.publish(batch.board, batch.chain, &batch.commits);
            effects::after_commits(handle, &batch.commits);
        }
        for (pending, verdict) in batch.answers {
            match verdict {
                Verdict::Done { answer, .. } => {
                    let _ = pending.reply.send(Ok(answer));
                }
                Verdict::Failed(error) => {
                    Counters::add(&handle.shared.counters.refusals, 1);
                    let _ = pending.reply.send(Err(error));
                }
                Verdict::Replay(revision) => replay::answer(handle, pending, revision),
            }
        }
    }

    /// Asks the journal until it knows. Nothing of this board is decided meanwhile; reads go on.
    async fn resolve(&mut self, mut batch: Batch) {
        let Some(first) = batch.records.first() else { return self.succeed(batch) };
        let commit_id = first.commit_id;
        let mut tries = 0;
        loop {
            let journal = &self.handle.shared.journal;
            match journal.resolve(self.handle.name.clone(), batch.expected(), commit_id).await {
                Ok(Resolved::Appended(_)) => return self.succeed(batch),
                Ok(Resolved::Absent) => return self.decide_again(batch).await,
                Ok(Resolved::Conflict(_)) => return self.catch_up(batch).await,
                Err(error) if tries == RESOLVE_TRIES_MAX => {
                    tracing::error!(board = %self.handle.name, %error, "the outcome of an append stays unknown for now");
                }
                Err(_) => {}
            }
            if tries >= RESOLVE_TRIES_MAX {
                self.answer_in_doubt(&mut batch);
                if self.handle.inbox().closing {
                    // The next start reads what is stored; until then nobody may decide on what may be outdated.
                    return self.set_aside_in_doubt(&batch);
                }
            }
            tries = tries.saturating_add(1);
            tokio::time::sleep(RESOLVE_PAUSE).await;
        }
    }

    /// The storage takes its time to say what became of an append: nobody is kept waiting for that.
    fn answer_in_doubt(&mut self, batch: &mut Batch) {
        let in_flight = self.in_flight.iter_mut().flat_map(|in_flight| in_flight.batch.answers.drain(..));
        for (pending, verdict) in batch.answers.drain(..).chain(in_flight) {
            let recorded = matches!(verdict, Verdict::Done { recorded: true, .. });
            let error = if recorded { Error::OutcomeUnknown } else { Error::Unavailable };
            let _ = pending.reply.send(Err(error));
        }
        // These were not decided at all: nothing happened to them.
        let waiting = self.waiting.drain().chain(self.handle.inbox().take(usize::MAX));
        waiting.for_each(|pending| {
            let _ = pending.reply.send(Err(Error::Unavailable));
        });
    }

    fn set_aside_in_doubt(&self, batch: &Batch) {
        let _ = self.handle.quarantine.set(Quarantine {
            revision: batch.records.first().map(|first| first.revision),
            detail: "the storage could not say whether this revision was recorded before the server stopped".to_owned(),
        });
    }

    /// Another server wrote: read what it wrote, then decide the same requests on top of it.
    async fn catch_up(&mut self, batch: Batch) {
        let published = self.handle.published();
        let (mut board, mut chain) = (published.board.clone(), published.chain);
        let mut commits = Vec::new();
        loop {
            let read =
                self.handle.shared.journal.read(self.handle.name.clone(), board.revision(), ReadLimit::records(1_000));
            let records = match read.await {
                Ok(records) => records,
                Err(error) => {
                    tracing::warn!(board = %self.handle.name, %error, "cannot read what another server wrote");
                    return self.give_up(batch, &Error::Unavailable).await;
                }
            };
            if records.is_empty() {
                break;
            }
            for stored in records {
                let applied = record::decode_commit(&stored.body, chain, stored.chain)
                    .map_err(|damage| damage.to_string())
                    .and_then(|commit| board.apply(&commit).map(|()| commit).map_err(|error| error.to_string()));
                match applied {
                    Ok(commit) => {
                        chain = stored.chain;
                        commits.push(Logged::new(commit, chain, stored.body.len()));
                    }
                    Err(detail) => {
                        let _ = self.handle.quarantine.set(Quarantine { revision: Some(stored.revision), detail });
                        return self.give_up(batch, &Error::OutcomeUnknown).await;
                    }
                }
            }
        }
        if !commits.is_empty() {
            self.handle.publish(board, chain, &commits);
        }
        let tries = batch.answers.iter().map(|(pending, _)| pending.tries).max().unwrap_or(0);
        if tries > 0 {
            tokio::time::sleep(pause_after(tries)).await;
        }
        self.decide_again(batch).await;
    }

    /// Puts the requests of this batch, and of all decided on top of it, back in front.
    async fn decide_again(&mut self, batch: Batch) {
        Counters::add(&self.handle.shared.counters.retries, 1);
        let mut requests: Vec<_> = batch.into_requests().collect();
        requests.extend(self.withdraw().await);
        self.start_over(requests, &Error::Overloaded);
    }

    /// The storage refused: what rests on a commit fails, the rest is judged again on the published board.
    async fn fail(&mut self, batch: Batch, refusal: &Refusal) {
        match refusal {
            // The journal says once for all boards what is wrong with the storage.
            Refusal::StorageFull | Refusal::Io { .. } | Refusal::Closed => {
                tracing::debug!(board = %self.handle.name, %refusal, "an append was refused");
            }
            Refusal::TooLarge { .. } | Refusal::Malformed { .. } | Refusal::Damaged { .. } => {
                tracing::error!(board = %self.handle.name, %refusal, "an append was refused");
            }
        }
        let error = match refusal {
            Refusal::StorageFull => Error::StorageFull,
            Refusal::Closed => Error::Closing,
            Refusal::Io { .. } | Refusal::TooLarge { .. } | Refusal::Malformed { .. } => Error::Unavailable,
            Refusal::Damaged { detail } => {
                let _ = self.handle.quarantine.set(Quarantine { revision: None, detail: detail.clone() });
                Error::Quarantined { revision: None, detail: detail.clone() }
            }
        };
        self.give_up(batch, &error).await;
    }

    async fn give_up(&mut self, batch: Batch, error: &Error) {
        let mut again = Vec::new();
        for (pending, verdict) in batch.answers {
            if matches!(verdict, Verdict::Done { recorded: true, .. }) {
                let _ = pending.reply.send(Err(error.clone()));
            } else {
                again.push(pending);
            }
        }
        again.extend(self.withdraw().await);
        // What is overdue would be tried, and fail, without a pause.
        self.rest_until = Instant::now() + REST;
        self.start_over(again, error);
    }

    /// Takes back what was decided on top of a batch that failed. Its appends fail with it: each expects the head
    /// of the one before.
    async fn withdraw(&mut self) -> Vec<Pending> {
        let mut requests = Vec::new();
        while let Some(next) = self.in_flight.pop_front() {
            let outcome = next.outcome.await;
            debug_assert!(
                next.batch.records.is_empty() || !matches!(outcome, Outcome::Appended(_)),
                "an append landed on top of one that failed"
            );
            requests.extend(next.batch.into_requests());
        }
        requests
    }

    /// Goes on from the published board. Whoever was tried too often gets `error`; whoever waited keeps the turn.
    fn start_over(&mut self, requests: Vec<Pending>, error: &Error) {
        let published = self.handle.published();
        self.work = published.board.clone();
        self.chain = published.chain;
        let (again, spent): (Vec<_>, Vec<_>) = requests
            .into_iter()
            .map(|pending| Pending { tries: pending.tries + 1, ..pending })
            .partition(|pending| pending.tries <= TRIES_MAX);
        for pending in spent {
            let _ = pending.reply.send(Err(error.clone()));
        }
        let (waited, again): (Vec<_>, Vec<_>) = again.into_iter().partition(|pending| pending.turn.is_some());
        waited.into_iter().for_each(|pending| self.waiting.add(pending));
        // They were judged on a state that never came to be.
        self.waiting.judge_all_again();
        self.handle.inbox().put_back(again);
    }
}

/// Servers that meet again and again at one board should not do so in step.
fn pause_after(tries: u32) -> Duration {
    let random = uuid::Uuid::new_v4().as_u64_pair().0;
    Duration::from_micros(random % (500 << tries.min(TRIES_MAX)))
}
