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
    /// The connection broke, or a new one failed; told once until the next `Hello`. The stream goes on by itself.
    Interrupted(Interruption),
}

/// Why a stream has no connection at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interruption {
    /// A few words for people.
    pub why: String,
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

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: &str = "00000000000000ab";

    fn at(revision: u64) -> Position {
        format!("{EPOCH}.{revision}").parse().expect("a position")
    }

    fn commit(revision: u64) -> Sse {
        let data =
            format!(r#"{{"revision":{revision},"at":"2026-11-30T12:00:00.000Z","request_id":"r","changes":[]}}"#);
        Sse::default().event("commit").id(at(revision).to_string()).data(data)
    }

    fn reset() -> Sse {
        let data = format!(r#"{{"reason":"epoch","oldest":"{}","head":"{}"}}"#, at(1), at(9));
        Sse::default().event("reset").data(data)
    }

    #[test]
    fn an_id_alone_moves_the_position_in_silence() {
        let mut cursor = Cursor::at(Some(at(3)));
        assert!(cursor.accept(&Sse::default().id(at(4).to_string())).expect("valid").is_none());
        assert_eq!(cursor.position(), Some(at(4)));
    }

    #[test]
    fn a_commit_moves_the_position_and_is_handed_out_once() {
        let mut cursor = Cursor::at(Some(at(3)));
        assert!(matches!(cursor.accept(&commit(4)).expect("valid"), Some(Event::Commit(c)) if c.position == at(4)));
        assert!(cursor.accept(&commit(4)).expect("valid").is_none());
        assert!(cursor.accept(&commit(3)).expect("valid").is_none());
        assert_eq!(cursor.position(), Some(at(4)));
    }

    #[test]
    fn snapshot_blocks_move_nothing_until_the_snapshot_ends() {
        let entry =
            r#"{"zone":"z","key":"k","value":1,"version":2,"updated_by":"ra","updated_at":"2026-11-30T12:00:00.000Z"}"#;
        let mut cursor = Cursor::default();
        let snapshot = cursor.accept(&Sse::default().event("snapshot").data(entry)).expect("valid");
        assert!(matches!(snapshot, Some(Event::Snapshot(_))) && cursor.position().is_none());
        let data = r#"{"revision":7,"entries":1}"#;
        let end = Sse::default().event("snapshot_end").id(at(7).to_string()).data(data);
        assert!(matches!(cursor.accept(&end).expect("valid"), Some(Event::SnapshotEnd(p)) if p == at(7)));
        assert_eq!(cursor.position(), Some(at(7)));
    }

    #[test]
    fn a_reset_moves_to_the_head_or_where_a_snapshot_follows_forgets_the_place() {
        let mut cursor = Cursor::at(Some(at(3)));
        assert!(matches!(cursor.accept(&reset().id(at(9).to_string())).expect("valid"), Some(Event::Reset(_))));
        assert_eq!(cursor.position(), Some(at(9)));
        cursor.accept(&reset()).expect("valid");
        assert_eq!(cursor.position(), None);
    }

    #[test]
    fn nonsense_is_an_error_and_moves_nothing() {
        let mut cursor = Cursor::at(Some(at(3)));
        let id = at(4).to_string();
        for block in [
            Sse::default().id("4"),
            Sse::default().event("commit").data("{}"),
            Sse::default().event("commit").id(&id).data("{"),
            Sse::default().event("hello").id(&id).data("[]"),
            Sse::default().event("reset").id(&id).data("{}"),
            Sse::default().event("snapshot_end").data("{}"),
        ] {
            assert!(cursor.accept(&block).is_err(), "{block:?}");
            assert_eq!(cursor.position(), Some(at(3)), "{block:?}");
        }
    }

    #[test]
    fn an_event_of_a_newer_server_is_passed_over_with_its_position() {
        let mut cursor = Cursor::at(Some(at(3)));
        let block = Sse::default().event("weather").id(at(4).to_string()).data("sun");
        assert!(cursor.accept(&block).expect("tolerant").is_none());
        assert_eq!(cursor.position(), Some(at(4)));
    }

    #[test]
    fn the_pause_that_the_server_asks_for_is_kept() {
        let mut cursor = Cursor::default();
        cursor.accept(&Sse::default().retry(2_500)).expect("valid");
        cursor.accept(&Sse::default()).expect("valid");
        assert_eq!(cursor.retry_ms(), Some(2_500));
    }
}
