//! Deciding a batch: every request on the state that the one before it left.
//!
//! Invariant: `now` is read once, after the batch was drained; what is overdue then is ended first. A panic in one
//! decision hurts that request only. The batch of n equals n batches of one.
//! Not known here: when the batch becomes durable.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kokuban_core::board::Board;
use kokuban_core::command::{Command, Context, Decision, Repeat, decide};
use kokuban_core::event::{Commit, Event};
use kokuban_core::ids::{BoardName, BoardTime, ChainHash, Epoch, Revision, Timestamp};
use kokuban_core::record;
use kokuban_core::rejection::{Refusal, Rejection};
use kokuban_journal::{Append, CommitId, Head, NewRecord};
use smol_str::SmolStr;
use tokio::time::Instant;

use super::Sequencer;
use crate::answer::{Answer, Error, Request};
use crate::handle::{Pending, Task};
use crate::logged::Logged;
use crate::stats::Counters;

/// Claims and leases that may wait on one board.
const WAITING_MAX: usize = 1_000;

/// A decided batch.
pub(super) struct Batch {
    /// What the board was before, for the journal's compare-and-swap.
    expected: Option<Head>,
    pub(super) records: Vec<NewRecord>,
    pub(super) commits: Vec<Arc<Logged>>,
    pub(super) board: Board,
    pub(super) chain: ChainHash,
    pub(super) answers: Vec<(Pending, Verdict)>,
}

/// What a request gets once the batch is durable.
#[derive(Debug)]
pub(super) enum Verdict {
    Done {
        answer: Answer,
        /// The answer rests on a commit of this batch, and falls with it.
        recorded: bool,
    },
    Failed(Error),
    /// The stored answer of this revision.
    Replay(Revision),
}

impl Batch {
    pub(super) fn decide(sequencer: &mut Sequencer, requests: Vec<Pending>) -> Self {
        let handle = Arc::clone(&sequencer.handle);
        let revision = sequencer.work.revision();
        let expected = (revision > Revision::ZERO).then_some(Head { revision, chain: sequencer.chain });
        let now = handle.clock.now().max(sequencer.work.time());
        let at = handle.clock.wall();
        let batch = Self {
            expected,
            records: Vec::new(),
            commits: Vec::new(),
            board: sequencer.work.clone(),
            chain: sequencer.chain,
            answers: Vec::new(),
        };
        let mut decider = Decider { sequencer, batch, now, at };
        decider.expire();
        decider.retry_waiting();
        for pending in requests {
            decider.judge(pending);
            decider.serve_waiting();
        }
        let Decider { sequencer, batch, .. } = decider;
        sequencer.work = batch.board.clone();
        sequencer.chain = batch.chain;
        Counters::add(&handle.shared.counters.batches, usize::from(!batch.records.is_empty()));
        batch
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.answers.is_empty()
    }

    pub(super) fn head(&self) -> Head {
        Head { revision: self.board.revision(), chain: self.chain }
    }

    pub(super) fn append(&self, board: &BoardName) -> Option<Append> {
        let commits = self.records.clone();
        (!commits.is_empty()).then(|| Append { board: board.clone(), expected: self.expected, commits })
    }

    pub(super) fn expected(&self) -> Option<Head> {
        self.expected
    }

    pub(super) fn into_requests(self) -> impl Iterator<Item = Pending> {
        self.answers.into_iter().map(|(pending, _)| pending)
    }
}

struct Decider<'s> {
    sequencer: &'s mut Sequencer,
    batch: Batch,
    now: BoardTime,
    at: Timestamp,
}

impl Decider<'_> {
    /// Ends what has run out, before anything is judged.
    fn expire(&mut self) {
        while self.batch.board.next_deadline().is_some_and(|deadline| deadline <= self.now) {
            let context = self.context(None);
            match decide(&self.batch.board, &Command::Tick, &context) {
                Ok(Decision::Commit { commit, .. }) => self.record(commit),
                _ => return,
            }
        }
    }

    fn judge(&mut self, pending: Pending) {
        let (command, context, dry_run) = match &pending.request {
            Task::Resume => (&Command::Resume, self.context(None), false),
            Task::Ask(request) => (&request.command, self.context(Some(request)), request.dry_run),
        };
        let board = &self.batch.board;
        let decided = catch_unwind(AssertUnwindSafe(|| decide(board, command, &context)));
        let position = self.batch.board.position();
        let now = self.now;
        let done = |reply, position, recorded| {
            Verdict::Done { answer: Answer { reply, position, now, replayed: false }, recorded }
        };
        let verdict = match decided {
            Err(_) => {
                Counters::add(&self.sequencer.handle.shared.counters.panics, 1);
                tracing::error!(request_id = %context.request_id, "a decision panicked; nothing was changed");
                Verdict::Failed(Error::Internal)
            }
            Ok(Ok(Decision::Commit { commit, reply })) if dry_run => {
                drop(commit);
                done(Some(reply), position, false)
            }
            Ok(Ok(Decision::Commit { commit, reply })) => {
                self.record(commit);
                let position = self.batch.commits.last().map(|logged| logged.commit.position());
                done(Some(reply), position, true)
            }
            Ok(Ok(Decision::Answer(reply))) => done(Some(reply), position, false),
            Ok(Ok(Decision::Replay(revision))) => Verdict::Replay(revision),
            Ok(Ok(Decision::Nothing)) if self.may_wait(&pending) => return self.wait(pending),
            Ok(Ok(Decision::Nothing)) => done(None, position, false),
            Ok(Err(refusal)) if is_held(&refusal) && self.may_wait(&pending) => return self.wait(pending),
            Ok(Err(refusal)) => {
                Verdict::Failed(Error::Refused { refusal: Box::new(refusal), position, now: self.now })
            }
        };
        self.batch.answers.push((pending, verdict));
    }

    fn may_wait(&self, pending: &Pending) -> bool {
        let dry_run = matches!(&pending.request, Task::Ask(request) if request.dry_run);
        !dry_run && pending.patience > Instant::now() && self.sequencer.waiting.len() < WAITING_MAX
    }

    fn wait(&mut self, pending: Pending) {
        self.sequencer.waiting.push_back(pending);
    }

    /// Judges those who wait again, where something changed or their patience ended.
    fn retry_waiting(&mut self) {
        self.sequencer.waiting.retain(|pending| !pending.reply.is_closed());
        let due = self.sequencer.waiting.iter().any(|pending| pending.patience <= Instant::now());
        if due || self.sequencer.retry_waiting || !self.batch.commits.is_empty() {
            self.sequencer.retry_waiting = false;
            for pending in std::mem::take(&mut self.sequencer.waiting) {
                self.judge(pending);
            }
        }
    }

    /// After each request: whoever waited longer goes before whoever comes next.
    fn serve_waiting(&mut self) {
        if std::mem::take(&mut self.sequencer.retry_waiting) && !self.sequencer.waiting.is_empty() {
            for pending in std::mem::take(&mut self.sequencer.waiting) {
                self.judge(pending);
            }
            self.sequencer.retry_waiting = false;
        }
    }

    fn record(&mut self, mut commit: Commit) {
        let board = self.batch.board.advance(&mut commit).expect("a commit applies to the board it was decided on");
        let encoded = record::encode(&commit);
        let chain = encoded.chain_after(self.batch.chain);
        self.batch.records.push(NewRecord {
            revision: commit.revision,
            chain,
            commit_id: CommitId(uuid::Uuid::new_v4().into_bytes()),
            at: commit.at,
            board_time: commit.board_time,
            deadline: board.next_deadline(),
            body: encoded.bytes.clone(),
        });
        self.sequencer.retry_waiting |= !self.sequencer.waiting.is_empty() && !commit.events.is_empty();
        let expired = commit.events.iter().filter(|event| matches!(event, Event::LeaseExpired { .. })).count();
        Counters::add(&self.sequencer.handle.shared.counters.expiries, expired);
        self.batch.board = board;
        self.batch.chain = chain;
        self.batch.commits.push(Logged::new(commit, chain, encoded.bytes.len()));
    }

    fn context(&self, request: Option<&Request>) -> Context {
        Context {
            now: self.now,
            at: self.at,
            actor: request.map(|request| request.actor.clone()),
            request_id: request.map_or(SmolStr::new_static("kokuban"), |request| request.request_id.clone()),
            trace_id: request.and_then(|request| request.trace_id.clone()),
            repeat: request.and_then(repeat_of),
            fresh_epoch: fresh_epoch(),
            create_with: request.and_then(|request| request.create_with.clone()),
        }
    }
}

/// A dry run neither replays nor records a key.
fn repeat_of(request: &Request) -> Option<Repeat> {
    request.repeat.clone().filter(|_| !request.dry_run)
}

fn fresh_epoch() -> Epoch {
    Epoch(uuid::Uuid::new_v4().as_u64_pair().0)
}

/// A lease that somebody else holds may become free.
fn is_held(refusal: &Refusal) -> bool {
    matches!(refusal.first(), Rejection::LeaseHeld { by_you: false, .. })
}

/// Requests that go back to the front of the queue, in their old order.
pub(super) fn requeue(queue: &mut VecDeque<Pending>, requests: Vec<Pending>) {
    for pending in requests.into_iter().rev() {
        queue.push_front(pending);
    }
}
