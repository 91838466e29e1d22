//! Server-sent events: one block at a time.
//!
//! Invariant: no text of a caller stands outside `data`, and `data` is one line; so nothing that is written to a
//! board can end a block or begin another.
//! Not known here: when a block is sent. Reading streams is the client's.

use std::fmt::Write;

use bytes::Bytes;
use kokuban_core::ids::Position;
use serde::Serialize;

pub const CONTENT_TYPE: &str = "text/event-stream";

/// The names of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventName {
    Hello,
    Commit,
    Snapshot,
    SnapshotEnd,
    Reset,
    Bye,
}

impl EventName {
    const ALL: [Self; 6] = [Self::Hello, Self::Commit, Self::Snapshot, Self::SnapshotEnd, Self::Reset, Self::Bye];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Commit => "commit",
            Self::Snapshot => "snapshot",
            Self::SnapshotEnd => "snapshot_end",
            Self::Reset => "reset",
            Self::Bye => "bye",
        }
    }

    /// `None` for an event of a newer server.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == text)
    }
}

/// A block with data.
///
/// # Panics
/// Never for the types of this crate: they serialise to memory without error.
#[must_use]
pub fn event<T: Serialize>(id: Option<Position>, name: EventName, data: &T) -> Bytes {
    let json = serde_json::to_vec(data).expect("the types of the wire serialise");
    encoded(None, id, name, json)
}

/// A block whose data was serialised before.
#[must_use]
pub fn event_of_json(id: Option<Position>, name: EventName, json: impl Into<Vec<u8>>) -> Bytes {
    encoded(None, id, name, json.into())
}

/// A first block: as [`event`], with the time after which a reader comes back.
///
/// # Panics
/// As [`event`].
#[must_use]
pub fn first_event<T: Serialize>(retry_ms: u32, id: Option<Position>, name: EventName, data: &T) -> Bytes {
    let json = serde_json::to_vec(data).expect("the types of the wire serialise");
    encoded(Some(retry_ms), id, name, json)
}

fn encoded(retry_ms: Option<u32>, id: Option<Position>, name: EventName, mut json: Vec<u8>) -> Bytes {
    // In JSON a raw line break can only be white space between tokens.
    json.iter_mut().filter(|byte| matches!(byte, b'\r' | b'\n')).for_each(|byte| *byte = b' ');
    let mut head = String::with_capacity(96);
    if let Some(retry_ms) = retry_ms {
        line(&mut head, format_args!("retry: {retry_ms}"));
    }
    if let Some(id) = id {
        line(&mut head, format_args!("id: {id}"));
    }
    line(&mut head, format_args!("event: {}", name.as_str()));
    let mut block = head.into_bytes();
    block.reserve_exact(json.len() + 8);
    block.extend_from_slice(b"data: ");
    block.append(&mut json);
    block.extend_from_slice(b"\n\n");
    block.into()
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a String does not fail");
}

/// A block that only moves the place to resume from.
#[must_use]
pub fn id_only(id: Position) -> Bytes {
    format!("id: {id}\n\n").into()
}

/// A block that says nothing, against silence.
#[must_use]
pub fn heartbeat() -> Bytes {
    Bytes::from_static(b": .\n\n")
}

#[cfg(test)]
mod tests {
    use kokuban_core::ids::{Epoch, Revision};
    use serde_json::json;

    use super::*;

    const AT: Position = Position { epoch: Epoch(1), revision: Revision(7) };

    #[test]
    fn a_block_has_id_event_and_one_line_of_data() {
        let block = event(Some(AT), EventName::Commit, &json!({"text": "a\r\nid: 9\n\nb\u{2028}"}));
        let text = std::str::from_utf8(&block).expect("UTF-8");
        assert_eq!(text, "id: 0000000000000001.7\nevent: commit\ndata: {\"text\":\"a\\r\\nid: 9\\n\\nb\u{2028}\"}\n\n");
    }

    #[test]
    fn line_breaks_between_tokens_become_spaces() {
        let block = event_of_json(None, EventName::Snapshot, "{\"a\":\r\n1}");
        assert_eq!(&block[..], b"event: snapshot\ndata: {\"a\":  1}\n\n");
    }

    #[test]
    fn the_first_block_says_when_to_come_back() {
        let block = first_event(2500, None, EventName::Hello, &json!({}));
        assert_eq!(&block[..], b"retry: 2500\nevent: hello\ndata: {}\n\n");
    }

    #[test]
    fn silence_is_filled_and_places_move_without_data() {
        assert_eq!(&heartbeat()[..], b": .\n\n");
        assert_eq!(&id_only(AT)[..], b"id: 0000000000000001.7\n\n");
    }

    #[test]
    fn an_event_of_a_newer_server_has_no_name_here() {
        assert_eq!(EventName::parse("snapshot_end"), Some(EventName::SnapshotEnd));
        assert_eq!(EventName::parse("weather"), None);
    }
}
