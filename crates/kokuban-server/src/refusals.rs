//! The last refusals of each board: who tried what, and what it was told.
//!
//! Invariant: in memory only, and no values. Bounds: 1,000 refusals of a board, 64 boards; of more boards the one
//! that had no refusal for the longest time is forgotten.
//! Not known here: why something was refused.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use kokuban_api::Problem;
use kokuban_api::answers::Refusal;
use kokuban_core::ids::{AgentName, BoardName, EntryId, Version};

use crate::call::Call;

const PER_BOARD_MAX: usize = 1_000;
const BOARDS_MAX: usize = 64;

#[derive(Debug, Default)]
pub struct Refusals {
    boards: Mutex<Boards>,
}

#[derive(Debug, Default)]
struct Boards {
    count: u64,
    by_name: HashMap<BoardName, Refused>,
}

#[derive(Debug, Default)]
struct Refused {
    last: u64,
    refusals: VecDeque<Refusal>,
}

impl Refusals {
    /// Remembers that `call` was refused with `problem`.
    pub fn note(
        &self,
        board: &BoardName,
        call: &Call,
        id: Option<&EntryId>,
        version: Option<Version>,
        problem: &Problem,
    ) {
        let refusal = Refusal {
            at: call.app.engine.clock().wall(),
            by: call.caller.agent.clone(),
            call: format!("{} {}", call.method, call.resource()).into(),
            zone: id.map(|id| id.zone.clone()),
            key: id.map(|id| id.key.clone()),
            status: problem.status,
            code: problem.code.clone(),
            version,
            request_id: call.context.id.to_string(),
        };
        let mut boards = self.boards.lock().expect("no code panics while it holds the refusals");
        boards.count += 1;
        let count = boards.count;
        if !boards.by_name.contains_key(board) && boards.by_name.len() >= BOARDS_MAX {
            let oldest = boards.by_name.iter().min_by_key(|(_, refused)| refused.last).map(|(name, _)| name.clone());
            oldest.map(|name| boards.by_name.remove(&name));
        }
        let refused = boards.by_name.entry(board.clone()).or_default();
        refused.last = count;
        if refused.refusals.len() >= PER_BOARD_MAX {
            refused.refusals.pop_front();
        }
        refused.refusals.push_back(refusal);
    }

    /// The refusals of a board, newest first.
    pub fn of(&self, board: &BoardName, by: Option<&AgentName>, limit: usize) -> Vec<Refusal> {
        let boards = self.boards.lock().expect("no code panics while it holds the refusals");
        let refusals = boards.by_name.get(board).map(|refused| &refused.refusals);
        let fits = |refusal: &&Refusal| by.is_none_or(|by| refusal.by == *by);
        refusals.into_iter().flatten().rev().filter(fits).take(limit).cloned().collect()
    }
}
