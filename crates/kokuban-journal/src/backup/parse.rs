//! Bytes to frames, as they come.
//!
//! Invariant: a frame is given out only if its seal is right; what is held is one frame and what was fed behind it.
//! Not known here: which frame may follow which.

use std::fmt;

use bytes::{Buf as _, Bytes, BytesMut};
use kokuban_core::ids::{BoardTime, ChainHash, Revision, Timestamp};

use super::{CONTENT_BYTES_MAX, Frame, HEAD_BYTES, MAGIC, SEAL_BYTES};
use crate::record::{CommitId, Record};

/// What is wrong with a backup, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Where the frame begins, in bytes from the beginning.
    pub offset: u64,
    pub fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No backup of a format that is known here.
    Format,
    /// The frame is not what was written.
    Seal,
    CutOff,
    AfterEnd,
    /// A frame that is whole, but not what is due.
    Order(String),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        match &self.fault {
            Fault::Format => write!(f, "this is no backup of the format `{}`", text(MAGIC)),
            Fault::Seal => write!(f, "the part that begins at byte {offset} is not what was written"),
            Fault::CutOff => write!(f, "the backup is cut off: it ends within the part that begins at byte {offset}"),
            Fault::AfterEnd => write!(f, "something follows the end of the backup at byte {offset}"),
            Fault::Order(why) => write!(f, "the part that begins at byte {offset} cannot be used: {why}"),
        }
    }
}

impl std::error::Error for Flaw {}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default().trim_end()
}

/// Takes bytes and gives frames.
#[derive(Debug, Default)]
pub struct Parser {
    buffer: BytesMut,
    /// Where `buffer` begins.
    offset: u64,
    seal: Option<ChainHash>,
}

impl Parser {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether what begins so, or with no more than the beginning of it, may be a backup.
    #[must_use]
    pub fn knows(beginning: &[u8]) -> bool {
        let there = beginning.len().min(MAGIC.len());
        there > 0 && beginning[..there] == MAGIC[..there]
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Where the next frame begins.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next frame; `None`: more bytes are needed.
    ///
    /// # Errors
    /// What comes next was not written so.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Flaw> {
        let Some(before) = self.begun()? else { return Ok(None) };
        let Some(head) = self.buffer.get(..HEAD_BYTES) else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes([head[1], head[2], head[3], head[4]])).unwrap_or(usize::MAX);
        let kind = head[0];
        if length > CONTENT_BYTES_MAX {
            return Err(self.flaw(Fault::Seal));
        }
        let end = HEAD_BYTES + length;
        let Some(seal) = self.buffer.get(end..end + SEAL_BYTES) else {
            self.buffer.reserve(end + SEAL_BYTES - self.buffer.len());
            return Ok(None);
        };
        let found = before.extend(&self.buffer[..end]);
        if found.0 != seal {
            return Err(self.flaw(Fault::Seal));
        }
        let mut content = self.buffer.split_to(end + SEAL_BYTES).freeze();
        content.advance(HEAD_BYTES);
        content.truncate(length);
        let frame = frame(kind, content).map_err(|why| self.flaw(Fault::Order(why)))?;
        self.offset += (end + SEAL_BYTES) as u64;
        self.seal = Some(found);
        Ok(Some(frame))
    }

    /// Takes in the magic bytes. The seal before the next frame, once they are there.
    fn begun(&mut self) -> Result<Option<ChainHash>, Flaw> {
        if self.seal.is_none() {
            let there = self.buffer.len().min(MAGIC.len());
            if self.buffer[..there] != MAGIC[..there] {
                return Err(self.flaw(Fault::Format));
            }
            if there < MAGIC.len() {
                return Ok(None);
            }
            self.buffer.advance(MAGIC.len());
            self.offset = MAGIC.len() as u64;
            self.seal = Some(ChainHash::GENESIS.extend(MAGIC));
        }
        Ok(self.seal)
    }

    /// What is wrong where no more bytes come, but the backup has not ended.
    #[must_use]
    pub fn cut_off(&self) -> Flaw {
        self.flaw(if self.seal.is_none() { Fault::Format } else { Fault::CutOff })
    }

    /// Whether bytes are there that no frame has taken.
    #[must_use]
    pub fn has_rest(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// A fault of what begins at the place of the parser.
    #[must_use]
    pub fn flaw(&self, fault: Fault) -> Flaw {
        Flaw { offset: self.offset, fault }
    }
}

fn frame(kind: u8, content: Bytes) -> Result<Frame, String> {
    match kind {
        b'N' => serde_json::from_slice(&content).map(Frame::Note).map_err(|error| error.to_string()),
        b'C' => Ok(Frame::Chunk(content)),
        b'R' => record(content).map(Frame::Record).ok_or_else(|| "the record is too short".to_owned()),
        kind => Err(format!("a frame of the kind {kind} is not known here")),
    }
}

fn record(mut content: Bytes) -> Option<Record> {
    let revision = Revision(content.try_get_u64_le().ok()?);
    let chain = ChainHash(content.get(..16)?.try_into().ok()?);
    content.advance(16);
    let commit_id = CommitId(content.get(..16)?.try_into().ok()?);
    content.advance(16);
    let at = Timestamp(content.try_get_i64_le().ok()?);
    let board_time = BoardTime(content.try_get_u64_le().ok()?);
    let deadline = content.try_get_u64_le().ok()?;
    let deadline = (deadline != u64::MAX).then_some(BoardTime(deadline));
    Some(Record { revision, chain, commit_id, at, board_time, deadline, body: content })
}
