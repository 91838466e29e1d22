//! A reader of server-sent events that takes nothing on trust.
//!
//! **Invariant**: blocks are parsed by the rules of the format alone; a block that is cut off is never delivered.
//! Not known here: what the events mean.

use std::io;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::caller::Caller;
use crate::http::{Response, Wire};

/// One block of a stream: what stands between two empty lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    pub id: Option<String>,
    pub event: Option<String>,
    pub data: Option<String>,
    pub retry: Option<String>,
    pub comments: Vec<String>,
}

impl Block {
    /// Reads the lines of one block.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut block = Self::default();
        // The three ends of a line that the format knows.
        for line in text.replace("\r\n", "\n").replace('\r', "\n").lines() {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match name {
                "" => block.comments.push(value),
                "id" => block.id = Some(value),
                "event" => block.event = Some(value),
                "data" => {
                    block.data = Some(block.data.map_or_else(|| value.clone(), |data| format!("{data}\n{value}")));
                }
                "retry" => block.retry = Some(value),
                other => panic!("a stream has the field {other:?}"),
            }
        }
        block
    }

    #[must_use]
    pub fn is(&self, event: &str) -> bool {
        self.event.as_deref() == Some(event)
    }

    /// # Panics
    /// When the data is no JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let data = self.data.as_deref().expect("a block with data");
        serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"))
    }

    /// The revision in the id.
    ///
    /// # Panics
    /// When the id is none of a position.
    #[must_use]
    pub fn revision(&self) -> Option<u64> {
        let (_, revision) = self.id.as_ref()?.rsplit_once('.').expect("an id is a position");
        Some(revision.parse().expect("a revision is a number"))
    }
}

/// An open stream.
#[derive(Debug)]
pub struct EventStream {
    wire: Wire,
    pub head: Response,
    text: Vec<u8>,
    /// Every byte of the body so far.
    pub raw: Vec<u8>,
}

impl EventStream {
    /// Opens a stream.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn try_open(caller: &Caller, path: &str, headers: &[(&str, &str)]) -> io::Result<Self> {
        let mut asking = caller.ask("GET", path).header("Accept", "text/event-stream");
        for (name, value) in headers {
            asking = asking.header(name, value);
        }
        let mut wire = Wire::connect(caller.addr())?;
        wire.send(&asking.bytes())?;
        let head = wire.read_head()?;
        Ok(Self { wire, head, text: Vec::new(), raw: Vec::new() })
    }

    /// Opens a stream that must be given.
    ///
    /// # Panics
    /// When it is not.
    #[must_use]
    pub fn open(caller: &Caller, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut stream = Self::try_open(caller, path, headers).expect("the server answers");
        if stream.head.status != 200 {
            let body = stream.wire.read_some().unwrap_or_default();
            panic!("{path}: {} {}", stream.head.status, String::from_utf8_lossy(&body));
        }
        assert_eq!(stream.head.header("content-type"), Some("text/event-stream"));
        stream
    }

    /// The next whole block; none when the stream has ended.
    ///
    /// # Errors
    /// When the connection breaks, or nothing comes in time.
    pub fn try_next(&mut self, within: Duration) -> io::Result<Option<Block>> {
        let end = Instant::now() + within;
        loop {
            if let Some(at) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..at + 2).collect();
                let block = String::from_utf8(block).expect("a stream is UTF-8");
                return Ok(Some(Block::parse(block.trim_end_matches('\n'))));
            }
            let left = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.wire.read_within(left)?;
            let piece = self.wire.read_chunk()?;
            if piece.is_empty() {
                return Ok(None);
            }
            self.raw.extend_from_slice(&piece);
            self.text.extend(piece);
        }
    }

    /// The next block.
    ///
    /// # Panics
    /// When there is none in time.
    pub fn next_block(&mut self, within: Duration) -> Block {
        self.try_next(within).expect("a block in time").expect("the stream goes on")
    }

    /// The next block with this event; others are passed over.
    ///
    /// # Panics
    /// When there is none in time.
    pub fn next_event(&mut self, event: &str, within: Duration) -> Block {
        let end = Instant::now() + within;
        loop {
            let block = self.next_block(end.saturating_duration_since(Instant::now()));
            if block.is(event) {
                return block;
            }
        }
    }
}
