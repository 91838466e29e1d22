//! The long poll: the same commits as a stream, in one answer.
//!
//! Invariant: the position of an answer stands for every revision up to it, seen or not. Bounds of an answer: `limit`
//! messages, about 1 MiB, 5,000 revisions looked at.
//! Not known here: HTTP.

use std::sync::Arc;
use std::time::Duration;

use kokuban_api::from_core::message;
use kokuban_api::stream::{Changes, Message};
use kokuban_core::event::Commit;
use kokuban_core::ids::Revision;
use kokuban_core::json::Json;
use kokuban_engine::{BoardHandle, Gap, Published};
use tokio::time::Instant;

use super::reader::{Next, Reader};
use super::scope::Scope;
use super::start::Start;
use super::window::Window;
use crate::shutdown::Shutdown;

const LOOKED_AT_MAX: usize = 5_000;
const BYTES_MAX: usize = 1024 * 1_024;
/// A change without its value, about.
const CHANGE_BYTES: usize = 256;

/// What is asked.
#[derive(Debug)]
pub(crate) struct Poll {
    pub(crate) scope: Scope,
    pub(crate) start: Start,
    pub(crate) wait: Duration,
    pub(crate) coalesce: Option<Duration>,
    pub(crate) limit: usize,
    pub(crate) shutdown: Shutdown,
}

/// What came of it, or `None` where the board was deleted and nothing is left to tell.
///
/// # Errors
/// The commits asked for cannot be had.
pub(crate) async fn poll(handle: &Arc<BoardHandle>, published: &Published, poll: Poll) -> Result<Option<Changes>, Gap> {
    let Some(life) = published.board.life() else { return Ok(None) };
    let reader = Reader::new(handle, life, poll.start.after);
    let deadline = Instant::now() + poll.wait;
    let gathering =
        Gathering { reader, poll, deadline, commits: Vec::new(), bytes: 0, looked_at: 0, window: None, deleted: false };
    gathering.run().await
}

struct Gathering {
    reader: Reader,
    poll: Poll,
    deadline: Instant,
    commits: Vec<Message>,
    bytes: usize,
    looked_at: usize,
    window: Option<(Window, Instant)>,
    deleted: bool,
}

impl Gathering {
    async fn run(mut self) -> Result<Option<Changes>, Gap> {
        while !self.is_done() {
            match self.reader.next() {
                Next::Commit(logged) => self.take(&logged.commit),
                Next::Deleted => self.deleted = true,
                Next::Nothing if self.reader.fill().await? => {}
                Next::Nothing if self.wait().await? => {}
                Next::Nothing => break,
            }
        }
        Ok(self.answer())
    }

    fn is_done(&self) -> bool {
        let window_ended =
            self.window.as_ref().is_some_and(|(window, closes)| window.is_full() || *closes <= Instant::now());
        self.deleted
            || window_ended
            || self.commits.len() >= self.poll.limit
            || self.bytes >= BYTES_MAX
            || self.looked_at >= LOOKED_AT_MAX
    }

    fn take(&mut self, commit: &Commit) {
        self.looked_at += 1;
        let (rules, _) = self.reader.rules();
        let scope = &self.poll.scope;
        if let Some((window, _)) = &mut self.window {
            return window.absorb(scope, &rules, commit);
        }
        let changes = scope.changes(&rules, commit);
        if changes.is_empty() {
            return;
        }
        if let Some(longest) = self.poll.coalesce {
            // Who does not wait gets what is there, in one message.
            let closes = (Instant::now() + longest).min(self.deadline.max(Instant::now() + PATIENCE_MIN));
            self.window = Some((Window::open(scope, &rules, commit), closes));
            return;
        }
        let values = changes.iter().map(|change| change.value.as_ref().map_or(0, Json::len));
        self.bytes += values.map(|bytes| bytes + CHANGE_BYTES).sum::<usize>();
        self.commits.push(Message::Commit(message(commit, changes)));
    }

    /// Waits for more. False: there is nothing to wait for, or nobody waits any longer.
    async fn wait(&mut self) -> Result<bool, Gap> {
        let until = match &self.window {
            Some((_, closes)) => (*closes).min(self.deadline),
            None if self.commits.is_empty() => self.deadline,
            None => return Ok(false),
        };
        if until <= Instant::now() {
            return Ok(false);
        }
        tokio::select! {
            biased;
            () = self.poll.shutdown.stopping() => Ok(false),
            arrived = self.reader.wait() => arrived.map(|()| true),
            () = tokio::time::sleep_until(until) => Ok(false),
        }
    }

    fn answer(mut self) -> Option<Changes> {
        if let Some((window, _)) = self.window.take() {
            self.commits.extend(window.close(&self.poll.scope).map(Message::Coalesced));
        }
        if self.deleted && self.commits.is_empty() {
            return None;
        }
        // The deletion itself is told by the next poll.
        let at = if self.deleted { Revision(self.reader.at().0.saturating_sub(1)) } else { self.reader.at() };
        let more = at < self.reader.handle().published().board.revision();
        Some(Changes { commits: self.commits, position: self.reader.position(at), more })
    }
}

/// How long a poll that does not wait may gather what is there already.
const PATIENCE_MIN: Duration = Duration::from_millis(50);
