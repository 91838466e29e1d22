//! Pages of lists: consistent over several requests.
//!
//! Invariant: all pages of a list show the board at one revision. A page token lives 60 s, and at most 1,000 states are
//! kept for them; each is a persistent map that shares what did not change.
//! Not known here: what is listed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kokuban_core::ids::BoardName;
use kokuban_engine::Published;
use tokio::time::Instant;

const LIVES: Duration = Duration::from_secs(60);
const STATES_MAX: usize = 1_000;

#[derive(Debug, Default)]
pub struct Pages {
    states: Mutex<VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    board: BoardName,
    published: Arc<Published>,
    until: Instant,
}

impl Pages {
    /// Keeps a state for its next pages.
    pub fn keep(&self, published: &Arc<Published>) {
        let mut states = self.states.lock().expect("no code panics while it holds the pages");
        let now = Instant::now();
        while states.front().is_some_and(|kept| kept.until <= now) || states.len() >= STATES_MAX {
            states.pop_front();
        }
        let board = published.board.name().clone();
        states.push_back(Kept { board, published: Arc::clone(published), until: now + LIVES });
    }

    /// The state at `revision` (of the same life), if a page of it was given within the last 60 s.
    pub fn find(
        &self,
        board: &BoardName,
        position: kokuban_core::ids::Position,
    ) -> Option<Arc<Published>> {
        let states = self.states.lock().expect("no code panics while it holds the pages");
        let now = Instant::now();
        let fits = |kept: &&Kept| {
            kept.until > now && kept.board == *board && kept.published.board.position() == Some(position)
        };
        states.iter().rev().find(fits).map(|kept| Arc::clone(&kept.published))
    }
}
