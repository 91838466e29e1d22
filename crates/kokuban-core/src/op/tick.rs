//! What time does to a board: leases run out, and are kept alive over a restart of the server.
//!
//! Invariant: every expiry is a commit. Nobody's lease is longer for a crash than a short grace, a few times at most.
//! Not known here: when the clock is read.

use crate::board::Board;
use crate::entry::LeaseKind;
use crate::event::{Event, Fallback};
use crate::ids::{BoardTime, EntryId};

/// Expiries in one commit, so that a mass expiry does not hold up the board.
const EXPIRIES_PER_COMMIT_MAX: usize = 1_000;
/// After a start a live lease lasts at least this long, so that its holder can renew it.
const GRACE_MS: u64 = 5_000;
/// Starts in a row that give this grace to a lease nobody renews.
const GRACES_MAX: u32 = 3;

/// Ends what has run out at `now`. Call again while something is overdue.
pub(crate) fn expire(board: &Board, now: BoardTime) -> Vec<Event> {
    board.overdue(now).take(EXPIRIES_PER_COMMIT_MAX).filter_map(|id| expiry(board, id)).collect()
}

fn expiry(board: &Board, id: &EntryId) -> Option<Event> {
    let lease = board.lease(id)?;
    let status = board.entry(id)?.status();
    let status = status.as_ref();
    let back = status.and_then(|status| board.lifecycle(&id.zone)?.on_lease_expired.get(status));
    let fallback = match (lease.kind, status, back) {
        (LeaseKind::Lease, Some(from), Some(to)) if from != to => {
            Some(Fallback { from: from.clone(), to: to.clone(), version: board.next_version(id) })
        }
        _ => None,
    };
    Some(Event::LeaseExpired { id: id.clone(), holder: lease.holder.clone(), kind: lease.kind, fallback })
}

/// Tops up the leases that were live when the server went down and are about to run out.
/// Those that had run out by then are not resumed: `expire` ends them.
pub(crate) fn resume(board: &Board, now: BoardTime) -> Vec<Event> {
    let live = board.leases().filter(|(_, lease)| lease.deadline > board.time());
    live.filter_map(|(id, lease)| {
        let grace = now.plus_ms(lease.ttl_ms.min(GRACE_MS));
        let topped = lease.deadline < grace && lease.resumed < GRACES_MAX;
        topped.then(|| Event::LeaseResumed { id: id.clone(), holder: lease.holder.clone(), deadline: grace })
    })
    .collect()
}

#[cfg(test)]
mod tests;
