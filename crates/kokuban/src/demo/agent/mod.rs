//! The agents of the play. Each is a process that is woken by the board's stream and by nothing else.
//!
//! Invariant: an agent acts on what its stream told it, from the beginning of the board on, so it misses nothing while
//! a connection or the server is gone; it ends when the plan stands.
//! Not known here: the other agents.

mod ra;
mod rv;
mod ta;
mod workers;

use std::collections::VecDeque;

use futures::StreamExt;
use kokuban_api::ChangeKind;
use kokuban_api::stream::Change;
use kokuban_client::{Board, Error, Event, EventFilter, EventStream, Start};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::remark;
use super::script::{PLAN, PLAY_MAX, is_at};
use crate::args::Role;
use crate::failure::{Failure, Outcome};
use crate::stdin;

/// Plays one role on `board` until the play is over.
pub(super) async fn play(role: Role, board: &Board) -> Outcome {
    let part = async {
        match role {
            Role::Ra => ra::play(board).await,
            Role::Ta => ta::play(board).await,
            Role::Rv => rv::play(board).await,
            Role::W1 => workers::play_the_one_that_dies(board).await,
            Role::W2 => workers::play_the_one_that_goes_on(board).await,
        }
    };
    let (gone, parent_gone) = oneshot::channel::<()>();
    stdin::when_it_ends(|| drop(gone));
    let bounded = tokio::select! {
        bounded = timeout(PLAY_MAX, part) => bounded,
        _ = parent_gone => return Ok(()),
    };
    bounded.map_err(|_| Failure::Other(anyhow::anyhow!("the play took longer than {} s", PLAY_MAX.as_secs())))??;
    Ok(())
}

/// The changes of a board in order, from its beginning to the plan.
struct Ears {
    events: EventStream,
    heard: VecDeque<Change>,
    greeted: bool,
}

impl Ears {
    fn on(board: &Board) -> Self {
        let filter = EventFilter::new().start(Start::Oldest).values();
        Self { events: board.events(&filter), heard: VecDeque::new(), greeted: false }
    }

    /// The next change; `None` when the play is over.
    async fn next(&mut self) -> Result<Option<Change>, Error> {
        loop {
            if let Some(change) = self.heard.pop_front() {
                let over = is_at(&change, PLAN) && change.kind == ChangeKind::Created;
                return Ok((!over).then_some(change));
            }
            match self.events.next().await.transpose()? {
                Some(Event::Commit(commit)) => self.heard.extend(commit.message.changes().iter().cloned()),
                Some(Event::Hello(_)) if !self.greeted => {
                    self.greeted = true;
                    remark::ready();
                }
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }
}
