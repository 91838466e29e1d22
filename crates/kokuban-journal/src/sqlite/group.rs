//! Which items of a group can be appended, and how each ends.
//!
//! Invariant: judging touches nothing and does no I/O; an item that another one of the same transaction made
//! impossible is a conflict only if that one landed.
//! Not known here: threads, the log.

use std::collections::HashMap;

use kokuban_core::ids::BoardName;
use rusqlite::Connection;

use super::heads::Heads;
use super::row;
use crate::outcome::{Outcome, Refusal};
use crate::record::{Append, Head};

/// The items of one transaction, judged.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    verdicts: Vec<Verdict>,
    pub(super) rows: Vec<PlannedRow<'a>>,
    new_boards: Vec<(i64, &'a BoardName)>,
}

#[derive(Debug)]
pub(super) struct PlannedRow<'a> {
    pub(super) seq: i64,
    pub(super) board: i64,
    pub(super) name: &'a BoardName,
    pub(super) record: &'a crate::record::NewRecord,
}

#[derive(Debug)]
enum Verdict {
    Accepted(Head),
    Conflict { found: Option<Head>, with: Rival },
    Refused(Refusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rival {
    Durable,
    InThisTransaction,
}

/// The head of a board as the transaction leaves it.
struct Pending {
    id: i64,
    head: Head,
}

impl<'a> Plan<'a> {
    pub(super) fn judge(heads: &Heads, items: impl Iterator<Item = &'a Append>) -> Self {
        let mut plan = Self { verdicts: Vec::new(), rows: Vec::new(), new_boards: Vec::new() };
        let mut pending = HashMap::new();
        let (mut last_seq, mut last_board) = (heads.last_seq, heads.last_board);
        for item in items {
            let verdict = plan.judge_item(heads, &mut pending, item, &mut last_seq, &mut last_board);
            plan.verdicts.push(verdict);
        }
        plan
    }

    fn judge_item(
        &mut self,
        heads: &Heads,
        pending: &mut HashMap<&'a BoardName, Pending>,
        item: &'a Append,
        last_seq: &mut i64,
        last_board: &mut i64,
    ) -> Verdict {
        if let Err(refusal) = row::check(item) {
            return Verdict::Refused(refusal);
        }
        let stored = heads.get(&item.board);
        if let Some(detail) = stored.and_then(|board| board.damage.as_ref()) {
            return Verdict::Refused(Refusal::Damaged { detail: detail.clone() });
        }
        let (id, found, with) = match (pending.get(&item.board), stored) {
            (Some(pending), _) => (Some(pending.id), Some(pending.head), Rival::InThisTransaction),
            (None, Some(board)) => (Some(board.id), Some(board.newest.head), Rival::Durable),
            (None, None) => (None, None, Rival::Durable),
        };
        if found != item.expected {
            return Verdict::Conflict { found, with };
        }
        let id = id.unwrap_or_else(|| {
            *last_board += 1;
            self.new_boards.push((*last_board, &item.board));
            *last_board
        });
        for record in &item.commits {
            *last_seq += 1;
            self.rows.push(PlannedRow { seq: *last_seq, board: id, name: &item.board, record });
        }
        let head = item.commits.last().expect("checked: at least one commit").head();
        pending.insert(&item.board, Pending { id, head });
        Verdict::Accepted(head)
    }

    /// Writes the accepted items, inside a transaction.
    pub(super) fn write(&self, db: &Connection) -> rusqlite::Result<()> {
        for (id, name) in &self.new_boards {
            db.prepare_cached("INSERT INTO board (id, name) VALUES (?1, ?2)")?.execute((id, name.as_str()))?;
        }
        let mut insert = db.prepare_cached(row::INSERT)?;
        self.rows.iter().try_for_each(|planned| row::insert(&mut insert, planned.seq, planned.board, planned.record))
    }

    /// How the items end when the transaction is durable.
    pub(super) fn landed(self) -> Vec<Outcome> {
        self.settle(Outcome::Appended)
    }

    /// How the items end when nothing landed.
    pub(super) fn refused(self, refusal: &Refusal) -> Vec<Outcome> {
        self.settle_dependent(|| Outcome::Refused(refusal.clone()))
    }

    /// How the items end when nobody can tell.
    pub(super) fn unknown(self) -> Vec<Outcome> {
        self.settle_dependent(|| Outcome::Unknown)
    }

    fn settle(self, accepted: impl Fn(Head) -> Outcome) -> Vec<Outcome> {
        let settled = self.verdicts.into_iter().map(|verdict| match verdict {
            Verdict::Accepted(head) => accepted(head),
            Verdict::Conflict { found, .. } => Outcome::Conflict(found),
            Verdict::Refused(refusal) => Outcome::Refused(refusal),
        });
        settled.collect()
    }

    /// As `settle`, and a conflict with a rival of this transaction shares the rival's fate.
    fn settle_dependent(self, fate: impl Fn() -> Outcome) -> Vec<Outcome> {
        let settled = self.verdicts.into_iter().map(|verdict| match verdict {
            Verdict::Accepted(_) | Verdict::Conflict { with: Rival::InThisTransaction, .. } => fate(),
            Verdict::Conflict { found, with: Rival::Durable } => Outcome::Conflict(found),
            Verdict::Refused(refusal) => Outcome::Refused(refusal),
        });
        settled.collect()
    }
}
