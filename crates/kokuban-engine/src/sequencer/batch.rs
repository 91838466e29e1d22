//! Deciding a batch: every request on the state that the one before it left.
//!
//! Invariant: `now` is read once, after the batch was drained; what is overdue then is ended first. A panic in one
//! decision hurts that request only. The batch of n equals n batches of one.
//! Not known here: when the batch becomes durable.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kokuban_core::board::Board;
use kokuban_core::command::{Command, Context, Decision, Repeat, decide};
use kokuban_core::event::{Commit, Event};
use kokuban_core::ids::{BoardName, BoardTime, ChainHash, Epoch, Position, Revision, Timestamp};
use kokuban_core::record::{self, Encoded};
use kokuban_core::rejection::{Refusal, Rejection};
use kokuban_core::reply::Reply;
use kokuban_journal::{Append, Head, NewRecord};
use smol_str::SmolStr;
use tokio::time::Instant;

use super::Sequencer;
use crate::answer::{Answer, Error, Request};
use crate::handle::{Pending, Task};
use crate::logged::Logged;
use crate::stats::Counters;

/// Records of a batch: the one that exceeds it is the last.
const BATCH_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Pause before deadlines are looked at again that could not be worked off.
const REST: Duration = Duration::from_millis(200);
/// A request with this id panics when it is decided.
#[cfg(test)]
pub(crate) const PANICS: &str = "panics";
/// A request with this id panics outside of the decision.
#[cfg(test)]
pub(crate) const BREAKS: &str = "breaks";

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
        let mut decider = Decider { sequencer, batch, bytes: 0, now, at };
        // What a start tops up must not have been ended before.
        let (resumes, requests): (Vec<_>, Vec<_>) =
            requests.into_iter().partition(|pending| matches!(pending.request, Task::Resume));
        resumes.into_iter().for_each(|pending| decider.judge(pending));
        decider.expire();
        decider.serve_impatient();
        decider.serve_waiting();
        decider.judge_all(requests);
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
    /// Of its records.
    bytes: usize,
    now: BoardTime,
    at: Timestamp,
}

impl Decider<'_> {
    /// Ends what has run out, before anything is judged.
    fn expire(&mut self) {
        while self.batch.board.next_deadline().is_some_and(|deadline| deadline <= self.now) {
            let context = self.context(None);
            match judge(&self.batch.board, &Command::Tick, &context, Purpose::Record { bytes_max: usize::MAX }) {
                Ok(Judged::Recorded(commit, _)) => self.record(*commit),
                _ => {
                    // Cannot be: every deadline belongs to a lease. It must not keep the board busy for ever.
                    self.sequencer.rest_until = Instant::now() + REST;
                    return;
                }
            }
        }
    }

    /// Judges in order. What would make the batch too large stays in the mailbox.
    fn judge_all(&mut self, requests: Vec<Pending>) {
        let mut requests = requests.into_iter();
        while self.bytes < BATCH_BYTES_MAX {
            let Some(pending) = requests.next() else { return };
            self.judge(pending);
            self.serve_waiting();
        }
        self.sequencer.handle.inbox().put_back(requests.collect());
    }

    fn judge(&mut self, pending: Pending) {
        let (command, context, dry_run) = match &pending.request {
            Task::Resume => (&Command::Resume, self.context(None), false),
            Task::Ask(request) => (&request.command, self.context(Some(request)), request.dry_run),
        };
        let bytes_max = self.sequencer.handle.shared.journal.caps().record_bytes_max;
        let purpose = if dry_run { Purpose::Answer { bytes_max } } else { Purpose::Record { bytes_max } };
        let board = &self.batch.board;
        let judged = catch_unwind(AssertUnwindSafe(|| judge(board, command, &context, purpose)));
        let position = self.batch.board.position();
        let now = self.now;
        let done = |reply, position, recorded| Verdict::Done {
            answer: Answer { reply, position, now, replayed: false },
            recorded,
        };
        let verdict = match judged {
            Err(_) => {
                Counters::add(&self.sequencer.handle.shared.counters.panics, 1);
                tracing::error!(request_id = %context.request_id, "a decision panicked; nothing was changed");
                Verdict::Failed(Error::Internal)
            }
            Ok(Ok(Judged::Recorded(commit, reply))) => {
                let position = Some(commit.commit.position());
                self.record(*commit);
                done(Some(reply), position, true)
            }
            Ok(Ok(Judged::Answer(reply))) => {
                // A board that is only tried out has no position of its own; it would begin here.
                let begin = Position { epoch: context.fresh_epoch, revision: board.revision() };
                done(Some(reply), position.or(Some(begin)), false)
            }
            Ok(Ok(Judged::Replay(revision))) => Verdict::Replay(revision),
            Ok(Ok(Judged::Nothing)) if self.may_wait(&pending) => return self.sequencer.waiting.add(pending),
            Ok(Ok(Judged::Nothing)) => done(None, position, false),
            Ok(Err(refusal)) if is_held(&refusal) && self.may_wait(&pending) => {
                return self.sequencer.waiting.add(pending);
            }
            Ok(Err(refusal)) => Verdict::Failed(Error::Refused { refusal: Box::new(refusal), position, now: self.now }),
        };
        self.batch.answers.push((pending, verdict));
    }

    fn may_wait(&mut self, pending: &Pending) -> bool {
        let dry_run = matches!(&pending.request, Task::Ask(request) if request.dry_run);
        !dry_run && pending.is_patient(&self.sequencer.handle.shared) && self.sequencer.waiting.has_room()
    }

    /// Judges those whose patience ended, for the last time.
    fn serve_impatient(&mut self) {
        let hasty = self.sequencer.handle.shared.hasty.load(Ordering::Relaxed);
        let now = if hasty { None } else { Some(Instant::now()) };
        while let Some(pending) = self.sequencer.waiting.take_impatient(now) {
            self.judge_again(pending);
        }
    }

    /// After each request: whoever waited longer goes before whoever comes next.
    fn serve_waiting(&mut self) {
        while self.sequencer.waiting.begin_pass() {
            while let Some(pending) = self.sequencer.waiting.take_next() {
                self.judge_again(pending);
            }
        }
    }

    /// Whoever gave up gets nothing.
    fn judge_again(&mut self, pending: Pending) {
        if !pending.reply.is_closed() {
            self.judge(pending);
        }
    }

    fn record(&mut self, ready: Ready) {
        #[cfg(test)]
        assert_ne!(ready.commit.request_id, BREAKS, "as the test asked");
        let Ready { commit, board, encoded } = ready;
        let chain = encoded.chain_after(self.batch.chain);
        self.bytes += encoded.bytes.len();
        self.batch.records.push(NewRecord {
            revision: commit.revision,
            chain,
            commit_id: self.sequencer.handle.shared.commit_ids.next(),
            at: commit.at,
            board_time: commit.board_time,
            deadline: board.next_deadline(),
            body: encoded.bytes.clone(),
        });
        self.sequencer.waiting.note(&commit);
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
            base: self.sequencer.handle.shared.journal.caps().base,
            fresh_epoch: request.filter(|request| may_create(request)).map_or(Epoch(0), |_| fresh_epoch()),
            create_with: request.and_then(|request| request.create_with.clone()),
        }
    }
}

/// A decision with everything that recording it needs.
enum Judged {
    Recorded(Box<Ready>, Reply),
    Answer(Reply),
    Replay(Revision),
    Nothing,
}

/// A commit, the board after it, and its record.
struct Ready {
    commit: Commit,
    board: Board,
    encoded: Encoded,
}

#[derive(Debug, Clone, Copy)]
enum Purpose {
    /// A dry run.
    Answer {
        bytes_max: usize,
    },
    Record {
        bytes_max: usize,
    },
}

/// Decides, applies and encodes: everything in which a defect may panic.
fn judge(board: &Board, command: &Command, context: &Context, purpose: Purpose) -> Result<Judged, Refusal> {
    #[cfg(test)]
    assert_ne!(context.request_id, PANICS, "as the test asked");
    let (mut commit, reply) = match decide(board, command, context)? {
        Decision::Commit { commit, reply } => (commit, reply),
        Decision::Answer(reply) => return Ok(Judged::Answer(reply)),
        Decision::Replay(revision) => return Ok(Judged::Replay(revision)),
        Decision::Nothing => return Ok(Judged::Nothing),
    };
    let board = board.advance(&mut commit).expect("a commit applies to the board it was decided on");
    let encoded = record::encode(&commit);
    let (Purpose::Answer { bytes_max } | Purpose::Record { bytes_max }) = purpose;
    // Refused here, it fails alone: refused by the journal, it would take its batch with it.
    if encoded.bytes.len() > bytes_max {
        return Err(Refusal::of(Rejection::LimitReached { limit: "commit_bytes_max", max: bytes_max as u64 }));
    }
    Ok(match purpose {
        Purpose::Answer { .. } => Judged::Answer(reply),
        Purpose::Record { .. } => Judged::Recorded(Box::new(Ready { commit, board, encoded }), reply),
    })
}

/// A dry run neither replays nor records a key.
fn repeat_of(request: &Request) -> Option<Repeat> {
    request.repeat.clone().filter(|_| !request.dry_run)
}

/// Only these look at the fresh epoch; drawing one costs a call of the system.
fn may_create(request: &Request) -> bool {
    request.create_with.is_some() || matches!(request.command, Command::CreateBoard(_))
}

fn fresh_epoch() -> Epoch {
    Epoch(uuid::Uuid::new_v4().as_u64_pair().0)
}

/// A lease that somebody else holds may become free.
fn is_held(refusal: &Refusal) -> bool {
    matches!(refusal.first(), Rejection::LeaseHeld { by_you: false, .. })
}
