//! Where a reader of a board's stream stands, and what each block means for it. Pure: blocks in, events out.
//!
//! Invariant: the position only ever moves to one that the server gave, and together with what it stands for: a
//! block with data moves it when the event is handed out, a block with an id alone moves it silently. A commit at or
//! before the position of the same epoch is dropped, so that nothing is handed out twice.
//! Not known here: connections and time.

use kokuban_api::answers::Entry;
use kokuban_api::stream::{Bye, Hello, Message, Reset};
use kokuban_core::ids::Position;
use serde::de::DeserializeOwned;
use sse_stream::Sse;

use crate::error::Error;

/// One event of a board's stream.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A connection stands: the first one, or one after an interruption (then what follows is the next commit).
    Hello(Hello),
    /// One commit, or a window of them where the filter coalesces.
    Commit(Box<Commit>),
    /// One entry of the snapshot that the filter asked for. After an interruption the snapshot starts again.
    Snapshot(Box<Entry>),
    /// The snapshot is complete as of this position.
    SnapshotEnd(Position),
    /// The stream could not go on where it was: read again what matters, then follow.
    Reset(Reset),
    /// The server ends this connection, and says why. The stream connects again where that makes sense.
    Bye(Bye),
}

/// A commit and the position after it.
#[derive(Debug, Clone)]
pub struct Commit {
    pub position: Position,
    pub message: Message,
}

/// The state of a reader.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cursor {
    position: Option<Position>,
    retry_ms: Option<u64>,
}

impl Cursor {
    pub(crate) fn at(position: Option<Position>) -> Self {
        Self { position, retry_ms: None }
    }

    /// What to send as Last-Event-ID.
    pub(crate) fn position(&self) -> Option<Position> {
        self.position
    }

    /// The pause the server asks for before a reconnection.
    pub(crate) fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Takes the next block; gives the event in it, if there is one to hand out.
    ///
    /// # Errors
    /// The block is not one that contract §6 describes. The position has not moved.
    pub(crate) fn accept(&mut self, block: &Sse) -> Result<Option<Event>, Error> {
        self.retry_ms = block.retry.or(self.retry_ms);
        let id = block.id.as_deref().map(position).transpose()?;
        let Some(data) = &block.data else {
            self.position = id.or(self.position);
            return Ok(None);
        };
        match block.event.as_deref() {
            Some("hello") => self.moved(id, Event::Hello(decode(data)?)),
            Some("commit") => self.commit(id, data),
            Some("snapshot") => Ok(Some(Event::Snapshot(decode(data)?))),
            Some("snapshot_end") => {
                let end = id.ok_or_else(|| Error::Protocol("a snapshot_end without a position".into()))?;
                self.moved(id, Event::SnapshotEnd(end))
            }
            Some("reset") => {
                // Without an id a snapshot follows, and only its end is a place to go on from.
                let reset = Event::Reset(decode(data)?);
                self.position = id;
                Ok(Some(reset))
            }
            Some("bye") => self.moved(id, Event::Bye(decode(data)?)),
            // An event of a newer server: what it says is unknown, that it happened is not.
            _ => {
                self.position = id.or(self.position);
                Ok(None)
            }
        }
    }

    fn commit(&mut self, id: Option<Position>, data: &str) -> Result<Option<Event>, Error> {
        let position = id.ok_or_else(|| Error::Protocol("a commit without a position".into()))?;
        let message = decode(data)?;
        let seen = self.position.is_some_and(|at| at.epoch == position.epoch && at.revision >= position.revision);
        if seen {
            return Ok(None);
        }
        self.moved(id, Event::Commit(Box::new(Commit { position, message })))
    }

    fn moved(&mut self, id: Option<Position>, event: Event) -> Result<Option<Event>, Error> {
        self.position = id.or(self.position);
        Ok(Some(event))
    }
}

fn position(id: &str) -> Result<Position, Error> {
    id.parse().map_err(|_| Error::Protocol(format!("an event id of {} bytes that is no position", id.len())))
}

fn decode<T: DeserializeOwned>(data: &str) -> Result<T, Error> {
    serde_json::from_str(data).map_err(|e| Error::Protocol(format!("an event of {} bytes: {e}", data.len())))
}
