//! What may be asked of a board, and the one door to all decisions: `decide`.
//!
//! Invariant: a decision is a function of board, command and context; nothing else. It changes nothing: the events
//! it returns do, once they are durable and applied.
//! Not known here: batches, journals, answers over HTTP. One file per operation stands in `op`.

use std::sync::Arc;

use smol_str::SmolStr;

use crate::blueprint::Blueprint;
use crate::board::Board;
use crate::caller::{Actor, readable_zone};
use crate::event::{BoardCreated, Commit, Event, Keyed};
use crate::ids::{BoardTime, Epoch, Revision, Sha256, Timestamp, Version, ZoneName};
use crate::op;
use crate::rejection::{Failure, Item, Refusal, Rejection};
use crate::reply::{Reply, Warning};

pub use crate::op::claim::Claim;
pub use crate::op::create_board::CreateBoard;
pub use crate::op::delete::Delete;
pub use crate::op::lease::{Acquire, Release, Renew};
pub use crate::op::note::{AddNote, CloseNote};
pub use crate::op::restore::{Addition, Additions, Restore};
pub use crate::op::transact::{Check, Transact, TransactItem};
pub use crate::op::write::{Change, Conditions, EchoedMember, LeaseUse, NamedMarks, TagMatch, Write};
pub use crate::reduce::{Op, Operation};

#[derive(Debug, Clone)]
pub enum Command {
    CreateBoard(CreateBoard),
    DeleteBoard,
    Write(Box<Write>),
    Delete(Delete),
    Transact(Transact),
    Acquire(Acquire),
    Renew(Renew),
    Release(Release),
    Claim(Claim),
    AddNote(AddNote),
    CloseNote(CloseNote),
    Erase {
        sha256: Sha256,
        reason: SmolStr,
    },
    /// Work off what has run out.
    Tick,
    /// The server started: give the holders of live leases a moment to come back.
    Resume,
    /// The board is what a backup held: it goes on under a new epoch.
    Restore(Restore),
}

/// What a decision may know beside the board.
#[derive(Debug, Clone)]
pub struct Context {
    /// Board time, read once for the batch.
    pub now: BoardTime,
    /// Wall time, only recorded.
    pub at: Timestamp,
    /// `None` where the server acts by itself.
    pub actor: Option<Actor>,
    pub request_id: SmolStr,
    pub trace_id: Option<SmolStr>,
    pub repeat: Option<Repeat>,
    /// The epoch of a board that this command creates or restores.
    pub fresh_epoch: Epoch,
    /// The first commit of a board comes after this revision: those up to it may have been given to a board of the
    /// same name that a restore did not bring back.
    pub base: Revision,
    /// The rules of a board that a first write creates, where the configuration says so.
    pub create_with: Option<Arc<Blueprint>>,
}

/// An Idempotency-Key and the hash of everything that the request asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    pub key: SmolStr,
    pub fingerprint: Sha256,
}

/// What a command comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// To be made durable, applied, and then answered with the reply.
    Commit { commit: Commit, reply: Reply },
    /// Nothing to record.
    Answer(Reply),
    /// The same request was committed at this revision: its stored reply is the answer.
    Replay(Revision),
    /// Nothing fits a claim now.
    Nothing,
}

/// The board that one command sees, who asks, and when.
pub(crate) struct Scene<'a> {
    pub(crate) board: &'a Board,
    pub(crate) actor: &'a Actor,
    pub(crate) ctx: &'a Context,
    /// The revision that a commit of this command gets.
    pub(crate) revision: Revision,
}

impl Scene<'_> {
    pub(crate) fn is_arbiter(&self) -> bool {
        self.actor.is_arbiter(self.board.blueprint())
    }
}

/// Decides one command on `board`. Everything overdue at `ctx.now` must have been worked off by `Tick` before.
///
/// # Errors
/// All failures in the order in which they are judged; nothing changes then.
pub fn decide(board: &Board, command: &Command, ctx: &Context) -> Result<Decision, Refusal> {
    let revision = match command {
        Command::Restore(restore) => restore.revision(board),
        _ if board.revision() == Revision::ZERO => ctx.base.next(),
        _ => board.revision().next(),
    };
    let (events, reply) = match command {
        Command::Tick => (op::tick::expire(board, ctx.now), Reply::Ticked),
        Command::Resume => (op::tick::resume(board, ctx.now), Reply::Ticked),
        Command::Restore(restore) => (restore.events(revision), Reply::Ticked),
        _ => {
            let actor = ctx.actor.as_ref().expect("every command that the server does not give itself has a caller");
            require_name(actor, command, ctx)?;
            match decide_for(board, actor, command, ctx, revision)? {
                Judged::Events(events, reply) => (events, reply),
                Judged::Replay(revision) => return Ok(Decision::Replay(revision)),
                Judged::Nothing => return Ok(Decision::Nothing),
            }
        }
    };
    if events.is_empty() && ctx.repeat.is_none() {
        return Ok(Decision::Answer(reply));
    }
    let commit = seal(board, ctx, events, revision, &reply);
    Ok(Decision::Commit { commit, reply })
}

enum Judged {
    Events(Vec<Event>, Reply),
    Replay(Revision),
    Nothing,
}

fn decide_for(
    board: &Board,
    actor: &Actor,
    command: &Command,
    ctx: &Context,
    revision: Revision,
) -> Result<Judged, Refusal> {
    let scene = |board| Scene { board, actor, ctx, revision };
    // These two change whether the board exists, so their repeats are known before that is asked.
    if matches!(command, Command::CreateBoard(_) | Command::DeleteBoard)
        && let Some(replay) = known_repeat(board, actor, ctx)?
    {
        return Ok(replay);
    }
    if let Command::CreateBoard(create) = command {
        return op::create_board::decide(&scene(board), create).map(|(events, reply)| Judged::Events(events, reply));
    }
    let opened = open(board, actor, command, ctx, revision)?;
    let on = opened.as_ref().map_or(board, |(board, _)| board);
    let hidden = zones_of(command).filter_map(|(item, zone)| Some((item, readable_zone(on, actor, zone).err()?)));
    let hidden: Vec<_> = hidden.map(|(item, rejection)| Failure { rejection, item, pointer: None }).collect();
    if !hidden.is_empty() {
        return Err(Refusal { failures: hidden, current: None });
    }
    if let Some(replay) = known_repeat(board, actor, ctx)? {
        return Ok(replay);
    }
    let Some((mut events, mut reply)) = dispatch(&scene(on), command)? else { return Ok(Judged::Nothing) };
    if let Some((opened, creation)) = opened {
        // A key is remembered by a board: where there is nothing to write, only a key makes one.
        if events.is_empty() && ctx.repeat.is_none() {
            return Ok(Judged::Events(events, reply));
        }
        events.insert(0, creation);
        warn_of_creation(&mut reply, &opened);
    }
    Ok(Judged::Events(events, reply))
}

/// What an operation comes to: what happens, and what is answered.
pub(crate) type Drafted = (Vec<Event>, Reply);

fn dispatch(scene: &Scene<'_>, command: &Command) -> Result<Option<Drafted>, Refusal> {
    match command {
        Command::Write(write) => op::write::decide(scene, write),
        Command::Delete(delete) => op::delete::decide(scene, delete),
        Command::Transact(transact) => op::transact::decide(scene, transact),
        Command::Acquire(acquire) => op::lease::acquire(scene, acquire),
        Command::Renew(renew) => op::lease::renew(scene, renew),
        Command::Release(release) => op::lease::release(scene, release),
        Command::Claim(claim) => return op::claim::decide(scene, claim),
        Command::AddNote(note) => op::note::add(scene, note),
        Command::CloseNote(note) => op::note::close(scene, note),
        Command::DeleteBoard => op::delete_board::decide(scene),
        Command::Erase { sha256, reason } => op::erase::decide(scene, *sha256, reason),
        Command::CreateBoard(_) | Command::Tick | Command::Resume | Command::Restore(_) => {
            unreachable!("decided before the board is opened")
        }
    }
    .map(Some)
}

/// The zones that a command names, for the check that comes before all others on a board.
fn zones_of(command: &Command) -> impl Iterator<Item = (Item, &ZoneName)> {
    let (one, many) = match command {
        Command::Write(write) => (Some(&write.id.zone), None),
        Command::Delete(delete) => (Some(&delete.id.zone), None),
        Command::Acquire(acquire) => (Some(&acquire.id.zone), None),
        Command::Renew(renew) => (Some(&renew.id.zone), None),
        Command::Release(release) => (Some(&release.id.zone), None),
        Command::Claim(claim) => (Some(&claim.zone), None),
        Command::AddNote(note) => (Some(&note.id.zone), None),
        Command::CloseNote(note) => (Some(&note.id.zone), None),
        Command::Transact(transact) => (None, Some(transact)),
        Command::CreateBoard(_)
        | Command::DeleteBoard
        | Command::Erase { .. }
        | Command::Tick
        | Command::Resume
        | Command::Restore(_) => (None, None),
    };
    let items = many.into_iter().flat_map(Transact::ids).map(|(item, id)| (item, &id.zone));
    one.map(|zone| (Item::Whole, zone)).into_iter().chain(items)
}

/// Leases, claims and keys belong to somebody: the nameless caller of an open server cannot have them.
fn require_name(actor: &Actor, command: &Command, ctx: &Context) -> Result<(), Refusal> {
    if actor.named {
        return Ok(());
    }
    let leases = match command {
        Command::Acquire(_) | Command::Renew(_) | Command::Claim(_) => true,
        Command::Write(write) => write.lease != LeaseUse::default(),
        Command::Delete(delete) => delete.lease != LeaseUse::default(),
        Command::Release(release) => release.token.is_some(),
        Command::Transact(transact) => transact.asks_for_leases(),
        _ => false,
    };
    let what = match (leases, &ctx.repeat) {
        (true, _) => "a lease",
        (false, Some(_)) => "an Idempotency-Key",
        (false, None) => return Ok(()),
    };
    Err(Refusal::of(Rejection::AgentRequired { what }))
}

fn known_repeat(board: &Board, actor: &Actor, ctx: &Context) -> Result<Option<Judged>, Refusal> {
    let Some(repeat) = &ctx.repeat else { return Ok(None) };
    match board.key_record(&actor.agent, &repeat.key) {
        None => Ok(None),
        Some(record) if record.fingerprint == repeat.fingerprint => Ok(Some(Judged::Replay(record.revision))),
        Some(_) => Err(Refusal::of(Rejection::IdempotencyMismatch)),
    }
}

/// Where the board is absent and a rule says so: the board as it is once created, and the event that creates it.
fn open(
    board: &Board,
    actor: &Actor,
    command: &Command,
    ctx: &Context,
    revision: Revision,
) -> Result<Option<(Board, Event)>, Refusal> {
    if board.exists() {
        return Ok(None);
    }
    let writes = !matches!(command, Command::DeleteBoard | Command::Erase { .. });
    let may_write = writes && (actor.admin || !actor.observer);
    let Some(blueprint) = ctx.create_with.clone().filter(|_| may_write) else {
        return Err(Refusal::of(Rejection::BoardNotFound));
    };
    let event = Event::BoardCreated(Box::new(BoardCreated {
        blueprint,
        title: None,
        labels: std::collections::BTreeMap::new(),
        floor: floor_of(revision),
    }));
    let opened = preview(board, ctx, vec![event.clone()], revision);
    Ok(Some((opened, event)))
}

/// The floor of a board that begins with the commit of this revision: no version below was given by it.
pub(crate) fn floor_of(revision: Revision) -> Version {
    Version(revision.0.saturating_sub(1))
}

fn warn_of_creation(reply: &mut Reply, opened: &Board) {
    let blueprint = SmolStr::new(opened.blueprint().name.as_str());
    let warning = Warning::BoardCreated { blueprint };
    match reply {
        Reply::Receipt(receipt) => receipt.warnings.insert(0, warning),
        Reply::Transaction { receipts } => {
            if let Some(first) = receipts.first_mut() {
                first.warnings.insert(0, warning);
            }
        }
        _ => {}
    }
}

/// The board as it is after `events`, without recording them.
pub(crate) fn preview(board: &Board, ctx: &Context, events: Vec<Event>, revision: Revision) -> Board {
    let mut after = board.clone();
    let commit = unkeyed(board, ctx, events, revision);
    if board.revision() < revision {
        after.apply(&commit).expect("events that were just decided apply to the board they were decided on");
    }
    after
}

fn seal(board: &Board, ctx: &Context, events: Vec<Event>, revision: Revision, reply: &Reply) -> Commit {
    let keyed = ctx.repeat.as_ref().map(|repeat| {
        Box::new(Keyed { key: repeat.key.clone(), fingerprint: repeat.fingerprint, reply: reply.clone() })
    });
    Commit { keyed, ..unkeyed(board, ctx, events, revision) }
}

fn unkeyed(board: &Board, ctx: &Context, events: Vec<Event>, revision: Revision) -> Commit {
    let begins = events.iter().any(|event| matches!(event, Event::BoardCreated(_) | Event::BoardRestored(_)));
    let epoch = match board.life() {
        Some(life) if !begins => life.epoch,
        _ => ctx.fresh_epoch,
    };
    Commit {
        board: board.name().clone(),
        epoch,
        revision,
        board_time: ctx.now.max(board.time()),
        at: ctx.at,
        by: ctx.actor.as_ref().map(|actor| actor.agent.clone()),
        request_id: ctx.request_id.clone(),
        trace_id: ctx.trace_id.clone(),
        events,
        touched: Vec::new(),
        keyed: None,
    }
}

/// Collects the failures of one write, in the order in which they are judged.
#[derive(Debug)]
pub(crate) struct Failures {
    item: Item,
    list: Vec<crate::rejection::Failure>,
}

impl Failures {
    pub(crate) fn of(item: Item) -> Self {
        Self { item, list: Vec::new() }
    }

    pub(crate) fn add(&mut self, rejection: Rejection) {
        self.list.push(crate::rejection::Failure { rejection, item: self.item, pointer: None });
    }

    pub(crate) fn add_at(&mut self, pointer: impl Into<String>, rejection: Rejection) {
        self.list.push(crate::rejection::Failure { rejection, item: self.item, pointer: Some(pointer.into()) });
    }

    /// Keeps the value, or notes why there is none.
    pub(crate) fn keep<T>(&mut self, result: Result<T, Rejection>) -> Option<T> {
        result.map_err(|rejection| self.add(rejection)).ok()
    }

    /// Keeps the value, or notes which member there is none for.
    pub(crate) fn keep_at<T>(&mut self, pointer: &'static str, result: Result<T, Rejection>) -> Option<T> {
        result.map_err(|rejection| self.add_at(pointer, rejection)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn into_list(self) -> Vec<crate::rejection::Failure> {
        self.list
    }
}

#[cfg(test)]
mod tests;
