//! Answering a repeated request from the commit that the first one made.
//!
//! Invariant: the answer is the stored one, except that a lease which is no longer live is not handed out again.
//! Not known here: how repeats are recognised.

use std::sync::Arc;

use kokuban_core::board::Board;
use kokuban_core::event::{Commit, Event};
use kokuban_core::ids::{BoardTime, EntryId, Revision};
use kokuban_core::rejection::{Refusal, Rejection};
use kokuban_core::reply::Reply;

use crate::answer::{Answer, Error};
use crate::handle::{BoardHandle, Pending, Task};
use crate::past;
use crate::stats::Counters;

/// Answers from the tail at once, or from the journal without holding up the board.
pub(super) fn answer(handle: &Arc<BoardHandle>, pending: Pending, revision: Revision) {
    Counters::add(&handle.shared.counters.replays, 1);
    if let Some(logged) = handle.published().commit(revision) {
        let _ = pending.reply.send(replay(handle, &logged.commit, &pending.request));
        return;
    }
    let handle = Arc::clone(handle);
    tokio::spawn(async move {
        let result = match past::commit_at(&handle, revision).await {
            Ok(logged) => replay(&handle, &logged.commit, &pending.request),
            Err(_) => Err(Error::Unavailable),
        };
        let _ = pending.reply.send(result);
    });
}

fn replay(handle: &BoardHandle, commit: &Commit, task: &Task) -> Result<Answer, Error> {
    let Some(keyed) = &commit.keyed else { return Err(Error::Internal) };
    let published = handle.published();
    let now = handle.now();
    let mut reply = keyed.reply.clone();
    if let Some(rejection) = lost_lease(&published.board, &reply, now, task) {
        let refusal = Box::new(Refusal::of(rejection));
        return Err(Error::Refused { refusal, position: published.board.position(), now });
    }
    restore_values(&mut reply, commit);
    Ok(Answer { reply: Some(reply), position: Some(commit.position()), now, replayed: true })
}

/// A lease of the stored answer that has ended since.
fn lost_lease(board: &Board, reply: &Reply, now: BoardTime, task: &Task) -> Option<Rejection> {
    let Task::Ask(request) = task else { return None };
    reply.grants().find_map(|(id, grant)| {
        let live = board.live_lease(id, now);
        if live.is_some_and(|lease| lease.token == grant.token) {
            return None;
        }
        let reason = board.lease_end(id, &request.actor.agent, grant.token);
        let held_by = live.map(|lease| lease.holder.clone());
        Some(Rejection::LeaseLost { token: grant.token, reason, held_by })
    })
}

/// Receipts are stored without values; the commit has them.
fn restore_values(reply: &mut Reply, commit: &Commit) {
    let value_of = |id: &EntryId| {
        commit.events.iter().find_map(|event| match event {
            Event::EntryWritten(written) if written.id == *id => written.value.json.clone(),
            _ => None,
        })
    };
    match reply {
        Reply::Receipt(receipt) => receipt.value = value_of(&receipt.id),
        Reply::Transaction { receipts } => receipts.iter_mut().for_each(|r| r.value = value_of(&r.id)),
        _ => {}
    }
}
