//! Answering a repeated request from the commit that the first one made.
//!
//! Invariant: the answer is the stored one, except that a lease which is no longer live is not handed out again.
//! Not known here: how repeats are recognised.

use std::sync::Arc;

use kokuban_core::board::Board;
use kokuban_core::entry::LeaseEnd;
use kokuban_core::event::{Commit, Event};
use kokuban_core::ids::{BoardTime, Revision};
use kokuban_core::rejection::{Current, Refusal, Rejection};
use kokuban_core::reply::{Outcome, Receipt, Reply};

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
    if let Some(refusal) = lost_lease(&published.board, commit, &reply, now, task) {
        let refusal = Box::new(refusal);
        return Err(Error::Refused { refusal, position: published.board.position(), now });
    }
    restore_values(&mut reply, commit, &published.board);
    Ok(Answer { reply: Some(reply), position: Some(commit.position()), now, replayed: true })
}

/// A lease of the stored answer that has ended since.
fn lost_lease(board: &Board, commit: &Commit, reply: &Reply, now: BoardTime, task: &Task) -> Option<Refusal> {
    let Task::Ask(request) = task else { return None };
    reply.grants().find_map(|(id, grant)| {
        let live = board.live_lease(id, now);
        if live.is_some_and(|lease| lease.token == grant.token) {
            return None;
        }
        // Past its deadline, but the commit that ends it is still to come.
        let overdue = board.lease(id).is_some_and(|lease| lease.token == grant.token);
        let reason = if overdue {
            LeaseEnd::Expired
        } else if board.life().is_none_or(|life| commit.revision < life.since) {
            // The board was deleted, and everything on it.
            LeaseEnd::Deleted
        } else {
            board.lease_end(id, &request.actor.agent, grant.token)
        };
        let held_by = live.map(|lease| lease.holder.clone());
        let refusal = Refusal::of(Rejection::LeaseLost { token: grant.token, reason, held_by });
        let current = Current::of(board, id, &request.actor.agent).map(Box::new);
        Some(Refusal { current, ..refusal })
    })
}

/// Receipts are stored without values. The commit has those that it wrote; one that it left as it was is only known
/// where it still stands.
fn restore_values(reply: &mut Reply, commit: &Commit, board: &Board) {
    let restore = |receipt: &mut Receipt| {
        if receipt.outcome == Outcome::Deleted {
            return;
        }
        let written = commit.events.iter().find_map(|event| match event {
            Event::EntryWritten(written) if written.id == receipt.id => Some(written.value.clone()),
            _ => None,
        });
        let standing = || board.entry(&receipt.id).map(|entry| entry.payload());
        let value = written.or_else(standing).filter(|value| Some(value.sha256) == receipt.sha256);
        receipt.value = value.and_then(|value| value.json);
    };
    match reply {
        Reply::Receipt(receipt) => restore(receipt),
        Reply::Transaction { receipts } => receipts.iter_mut().for_each(restore),
        _ => {}
    }
}
