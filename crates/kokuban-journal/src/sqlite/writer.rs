//! The one thread that writes: it takes what waits, writes it as one transaction, and answers.
//!
//! Invariant: groups are judged and answered in the order they were handed over; nothing is answered as appended
//! before its commit returned; after a failed commit nothing is written until the log is renewed (see `log`).
//! Upkeep is done between groups, one step at a time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::checkpoint::Checkpointer;
use super::dir::DataDir;
use super::group::Plan;
use super::heads::Newest;
use super::index::Indexing;
use super::load;
use super::log;
use super::schema::{PAGE_BYTES, connect_writer};
use super::shared::Shared;
use super::transaction::{Failure, describe, is_busy, refusal, transact};
use super::upkeep::{Step, Stop, Task, Work};
use crate::outcome::{Error, Outcome, Refusal};
use crate::record::Append;

/// Bodies and items of one transaction, about.
const TRANSACTION_BYTES: usize = 4 * 1024 * 1024;
const TRANSACTION_ITEMS: usize = 2048;
/// Records that may wait for being indexed: under load, and when there is time.
const UNINDEXED_MAX: usize = 16 * 1024;
const UNINDEXED_IDLE: usize = 1024;
/// Groups between two steps of upkeep while appends keep coming.
const GROUPS_PER_STEP: u32 = 4;
const IDLE: Duration = Duration::from_millis(500);
/// Between two attempts to renew a log in doubt.
const RENEWAL_PAUSE: Duration = Duration::from_millis(100);
/// Frames the writer copies itself to let the log begin anew.
const FRAMES_LEFT_MAX: u32 = 1024;

#[derive(Debug)]
pub(super) enum Job {
    Append(GroupJob),
    Upkeep(Task),
    /// Answered when the fate of all groups before is settled.
    Settle(oneshot::Sender<Result<(), Error>>),
    Close(oneshot::Sender<Result<(), Error>>),
}

#[derive(Debug)]
pub(super) struct GroupJob {
    pub(super) items: Vec<Append>,
    pub(super) reply: oneshot::Sender<Vec<Outcome>>,
    /// Its share of the queue, given back when the group is answered.
    pub(super) permit: OwnedSemaphorePermit,
}

#[derive(Debug)]
pub(super) struct Writer {
    db: Connection,
    dir: DataDir,
    shared: Arc<Shared>,
    jobs: Receiver<Job>,
    checkpointer: Checkpointer,
    upkeep: VecDeque<Task>,
    groups_since_step: u32,
    in_doubt: Option<Doubt>,
    log_bytes: u64,
    #[cfg(test)]
    pub(super) sabotage: Arc<super::sabotage::Sabotage>,
}

/// The log has to be renewed before anything is written.
#[derive(Debug)]
struct Doubt {
    refusal: Refusal,
    again_at: Instant,
}

/// What a writer is made of.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) db: Connection,
    pub(super) dir: DataDir,
    pub(super) shared: Arc<Shared>,
    pub(super) jobs: Receiver<Job>,
    pub(super) checkpointer: Checkpointer,
    pub(super) upkeep: VecDeque<Task>,
    /// Why the log could not be renewed at the start.
    pub(super) in_doubt: Option<Refusal>,
    pub(super) log_bytes: u64,
}

impl Writer {
    pub(super) fn new(parts: Parts) -> rusqlite::Result<Self> {
        let Parts { mut db, dir, shared, jobs, checkpointer, upkeep, in_doubt, log_bytes } = parts;
        watch_log(&mut db, &shared)?;
        let in_doubt = in_doubt.map(|refusal| Doubt { refusal, again_at: Instant::now() });
        Ok(Self {
            db,
            dir,
            shared,
            jobs,
            checkpointer,
            upkeep,
            groups_since_step: 0,
            in_doubt,
            log_bytes,
            #[cfg(test)]
            sabotage: Arc::default(),
        })
    }

    /// Works until it is told to close or nobody can tell it anything any more.
    pub(super) fn run(mut self) {
        let closing = loop {
            let job = match self.next_job() {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => {
                    self.idle();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break None,
            };
            if let Some(reply) = self.job(job) {
                break Some(reply);
            }
            self.between_groups();
        };
        let shared = self.shared.clone();
        shared.closed.store(true, Relaxed);
        let result = self.finish();
        if let Some(reply) = closing {
            // The caller may have gone; the journal is closed all the same.
            let _ = reply.send(result);
        }
    }

    fn next_job(&mut self) -> Result<Job, RecvTimeoutError> {
        if self.upkeep.is_empty() {
            return self.jobs.recv_timeout(IDLE);
        }
        match self.jobs.try_recv() {
            Ok(job) => Ok(job),
            Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) => Err(RecvTimeoutError::Timeout),
        }
    }

    /// Does a job. Answers whom to tell that the writer closes, if it is to.
    fn job(&mut self, job: Job) -> Option<oneshot::Sender<Result<(), Error>>> {
        match job {
            Job::Append(first) => self.groups(first),
            other => self.other(other),
        }
    }

    fn other(&mut self, job: Job) -> Option<oneshot::Sender<Result<(), Error>>> {
        match job {
            Job::Append(group) => self.groups(group),
            Job::Upkeep(task) => {
                self.upkeep.push_back(task);
                None
            }
            Job::Settle(reply) => {
                let settled = self.settle(Patience::None);
                let _ = reply.send(settled.map_err(Error::Refused));
                None
            }
            Job::Close(reply) => Some(reply),
        }
    }

    /// Writes the group and all that wait behind it as one transaction.
    fn groups(&mut self, first: GroupJob) -> Option<oneshot::Sender<Result<(), Error>>> {
        let mut bytes = body_bytes(&first);
        let mut n_items = first.items.len();
        let mut groups = vec![first];
        let mut next = None;
        while bytes < TRANSACTION_BYTES && n_items < TRANSACTION_ITEMS && next.is_none() {
            match self.jobs.try_recv() {
                Ok(Job::Append(group)) => {
                    bytes += body_bytes(&group);
                    n_items += group.items.len();
                    groups.push(group);
                }
                Ok(other) => next = Some(other),
                Err(_) => break,
            }
        }
        self.transaction(groups);
        next.and_then(|job| self.other(job))
    }

    fn transaction(&mut self, groups: Vec<GroupJob>) {
        let mut outcomes = self.append(&groups).into_iter();
        for GroupJob { items, reply, permit } in groups {
            let answers = outcomes.by_ref().take(items.len()).collect();
            // Whoever no longer waits gave up the answer, not the append.
            let _ = reply.send(answers);
            drop(permit);
        }
    }

    fn append(&mut self, groups: &[GroupJob]) -> Vec<Outcome> {
        let items = || groups.iter().flat_map(|group| &group.items);
        if let Err(refusal) = self.settle(Patience::Paced) {
            return items().map(|_| Outcome::Refused(refusal.clone())).collect();
        }
        let shared = self.shared.clone();
        let plan = Plan::judge(&shared.heads(), items());
        if plan.rows.is_empty() {
            return plan.landed();
        }
        #[cfg(test)]
        self.sabotage.before_group(&self.db);
        let mut sync = Duration::ZERO;
        let stored = transact(
            &self.db,
            |db| plan.write(db),
            |db| {
                let started = Instant::now();
                let committed = self.commit(db);
                sync = started.elapsed();
                committed
            },
        );
        match stored {
            Ok(()) => {
                let bytes = plan.rows.iter().map(|row| row.record.body.len()).sum();
                shared.stored(plan.rows.len(), bytes, sync);
                publish(&shared, &plan);
                plan.landed()
            }
            Err(failure) => self.failed(plan, failure),
        }
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self, reason = "the tests' version breaks commits")]
    fn commit(&self, db: &Connection) -> rusqlite::Result<()> {
        super::transaction::commit(db)
    }

    #[cfg(test)]
    fn commit(&self, db: &Connection) -> rusqlite::Result<()> {
        self.sabotage.commit(db)
    }

    /// How a group ends that could not be stored. Where the log is in doubt, renewing it at once often settles what
    /// became of the group, and nobody has to ask.
    fn failed(&mut self, plan: Plan<'_>, failure: Failure) -> Vec<Outcome> {
        let Failure { refusal, log_in_doubt } = failure;
        tracing::debug!(%refusal, log_in_doubt, "a group of commits could not be stored");
        self.shared.group_failed(&refusal.to_string());
        if !log_in_doubt {
            return plan.refused(&refusal);
        }
        let first = plan.rows.first().map_or(i64::MAX, |row| row.seq);
        self.in_doubt = Some(Doubt { refusal: refusal.clone(), again_at: Instant::now() });
        match self.settle(Patience::None) {
            Ok(()) if self.shared.heads().last_seq >= first => plan.landed(),
            Ok(()) => plan.refused(&refusal),
            // A full disk has not taken the last frame, which alone makes the others count.
            Err(_) if refusal == Refusal::StorageFull => plan.refused(&refusal),
            Err(_) => plan.unknown(),
        }
    }

    /// Renews the log if it is in doubt.
    fn settle(&mut self, patience: Patience) -> Result<(), Refusal> {
        let Some(doubt) = self.in_doubt.take() else { return Ok(()) };
        if patience == Patience::Paced && Instant::now() < doubt.again_at {
            let refusal = doubt.refusal.clone();
            self.in_doubt = Some(doubt);
            return Err(refusal);
        }
        match self.renew() {
            Ok(()) => {
                tracing::debug!("the log of the journal was renewed after a failure");
                self.shared.recovered();
                Ok(())
            }
            Err(error) => {
                // A reader or a checkpoint in the way says nothing about the disk: the first reason stands.
                let refusal = if is_busy(&error) { doubt.refusal.clone() } else { refusal(&error) };
                self.shared.group_failed(&refusal.to_string());
                self.in_doubt = Some(Doubt { refusal: refusal.clone(), again_at: Instant::now() + RENEWAL_PAUSE });
                Err(refusal)
            }
        }
    }

    fn renew(&mut self) -> rusqlite::Result<()> {
        #[cfg(test)]
        self.sabotage.renewal()?;
        self.db = connect_writer(&self.dir.database())?;
        watch_log(&mut self.db, &self.shared)?;
        log::renew(&self.db)?;
        self.grow_log();
        load::what_landed(&self.db, &self.shared)
    }

    fn grow_log(&self) {
        if let Err(error) = log::grow(&self.dir.log(), self.log_bytes.saturating_add(self.log_bytes / 2)) {
            // Only speed depends on it, and a full disk is told of already.
            tracing::debug!(%error, "the log of the journal could not be grown in advance");
        }
    }

    fn between_groups(&mut self) {
        self.checkpoint();
        if self.shared.heads().n_unindexed() >= UNINDEXED_MAX {
            self.begin_indexing();
        }
        self.groups_since_step += 1;
        if self.groups_since_step >= GROUPS_PER_STEP {
            self.step();
        }
    }

    fn idle(&mut self) {
        self.checkpoint();
        if self.upkeep.is_empty() {
            // What keeps the log in doubt may be over before the next append.
            let _ = self.settle(Patience::Paced);
            if self.shared.heads().n_unindexed() >= UNINDEXED_IDLE {
                self.begin_indexing();
            }
        }
        self.step();
    }

    fn begin_indexing(&mut self) {
        if !self.upkeep.iter().any(|task| matches!(task.work, Work::Index(_))) {
            let work = Work::Index(Indexing::begin(&self.shared));
            self.upkeep.push_front(Task { work, reply: None, permit: None });
        }
    }

    fn step(&mut self) {
        self.groups_since_step = 0;
        let Some(mut task) = self.upkeep.pop_front() else { return };
        if let Err(refusal) = self.settle(Patience::Paced) {
            return answer(task, Err(Error::Refused(refusal)));
        }
        match task.work.step(&self.db, &self.shared) {
            Ok(Step::More) => self.upkeep.push_front(task),
            Ok(Step::Done(n)) => {
                if let Some(work) = task.work.then() {
                    self.upkeep.push_back(Task { work, reply: None, permit: None });
                }
                answer(task, Ok(n));
            }
            Err(Stop::Refused(error)) => answer(task, Err(error)),
            Err(Stop::Failed(Failure { refusal, log_in_doubt })) => {
                tracing::warn!(%refusal, "upkeep of the journal failed");
                self.shared.remember(&format!("upkeep failed: {refusal}"));
                if log_in_doubt {
                    self.in_doubt = Some(Doubt { refusal: refusal.clone(), again_at: Instant::now() });
                }
                answer(task, Err(Error::Refused(refusal)));
            }
        }
    }

    /// Keeps the log bounded without making anybody wait for more than a few frames.
    fn checkpoint(&mut self) {
        let bound = u32::try_from(self.log_bytes / u64::try_from(PAGE_BYTES).unwrap_or(1)).unwrap_or(u32::MAX);
        let frames = self.shared.log_frames.load(Relaxed);
        let Some(report) = self.checkpointer.report() else {
            // It would be in the way of renewing the log, which copies everything too.
            if frames >= bound && self.in_doubt.is_none() {
                self.checkpointer.order();
            }
            return;
        };
        if self.in_doubt.is_some() {
            return;
        }
        if frames.saturating_sub(report.copied) > FRAMES_LEFT_MAX {
            return self.checkpointer.order();
        }
        match log::checkpoint(&self.db) {
            // Else a reader still needs the rest; the next order tries again when the log has grown by as much.
            Ok(done) => self.shared.log_frames.store(done.frames - done.copied.min(done.frames), Relaxed),
            Err(error) => tracing::warn!(detail = describe(&error), "the log of the journal could not begin anew"),
        }
    }

    /// Leaves everything in the database file and nothing to do for the next start.
    fn finish(mut self) -> Result<(), Error> {
        while !self.upkeep.is_empty() {
            self.step();
        }
        self.begin_indexing();
        while !self.upkeep.is_empty() {
            self.step();
        }
        self.checkpointer.stop();
        let settled = self.settle(Patience::None);
        while let Ok(job) = self.jobs.try_recv() {
            refuse(job);
        }
        settled.map_err(Error::Refused)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// Tries to renew the log now.
    None,
    /// Tries only when the last attempt is some time ago.
    Paced,
}

/// Lets the connection say how long the log is.
fn watch_log(db: &mut Connection, shared: &Arc<Shared>) -> rusqlite::Result<()> {
    let shared = shared.clone();
    db.wal_hook(Some(move |_: &mut Wal, frames| {
        shared.log_frames.store(u32::try_from(frames).unwrap_or(0), Relaxed);
        Ok(())
    }))
}

fn publish(shared: &Shared, plan: &Plan<'_>) {
    let mut heads = shared.heads_mut();
    for row in &plan.rows {
        heads.appended(row.name, row.board, Newest::from(row.record), row.seq);
    }
}

fn body_bytes(group: &GroupJob) -> usize {
    group.items.iter().map(Append::body_bytes).sum()
}

fn answer(task: Task, result: Result<u64, Error>) {
    if let Some(reply) = task.reply {
        // Nobody has to wait for upkeep.
        let _ = reply.send(result);
    }
    drop(task.permit);
}

/// A job that came too late.
fn refuse(job: Job) {
    let closed = || Error::Refused(Refusal::Closed);
    match job {
        Job::Append(GroupJob { items, reply, .. }) => {
            let _ = reply.send(items.iter().map(|_| Outcome::Refused(Refusal::Closed)).collect());
        }
        Job::Upkeep(task) => answer(task, Err(closed())),
        Job::Settle(reply) => drop(reply.send(Err(closed()))),
        // Somebody else closed it.
        Job::Close(reply) => drop(reply.send(Ok(()))),
    }
}
