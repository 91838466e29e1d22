//! Frames to bytes.
//!
//! Invariant: each frame is sealed over all before it.

use kokuban_core::ids::ChainHash;

use super::{Frame, HEAD_BYTES, MAGIC};
use crate::record::Record;

/// Writes the frames of one backup, one after the other.
#[derive(Debug)]
pub struct Writer {
    /// `None` before the first frame.
    seal: Option<ChainHash>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    #[must_use]
    pub fn new() -> Self {
        Self { seal: None }
    }

    /// Adds the next frame to `out`.
    pub fn write(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        let before = *self.seal.get_or_insert_with(|| {
            out.extend_from_slice(MAGIC);
            ChainHash::GENESIS.extend(MAGIC)
        });
        let start = out.len();
        out.push(match frame {
            Frame::Note(_) => b'N',
            Frame::Chunk(_) => b'C',
            Frame::Record(_) => b'R',
        });
        out.extend_from_slice(&[0; HEAD_BYTES - 1]);
        match frame {
            Frame::Note(note) => {
                let text = serde_json::to_vec(note).expect("notes hold only texts and numbers");
                out.extend_from_slice(&text);
            }
            Frame::Chunk(chunk) => out.extend_from_slice(chunk),
            Frame::Record(record) => write_record(record, out),
        }
        let length = out.len() - start - HEAD_BYTES;
        let length = u32::try_from(length).expect("records and chunks are bounded far below 4 GiB").to_le_bytes();
        out[start + 1..start + HEAD_BYTES].copy_from_slice(&length);
        let seal = before.extend(&out[start..]);
        out.extend_from_slice(&seal.0);
        self.seal = Some(seal);
    }
}

fn write_record(record: &Record, out: &mut Vec<u8>) {
    let Record { revision, chain, commit_id, at, board_time, deadline, body } = record;
    out.extend_from_slice(&revision.0.to_le_bytes());
    out.extend_from_slice(&chain.0);
    out.extend_from_slice(&commit_id.0);
    out.extend_from_slice(&at.0.to_le_bytes());
    out.extend_from_slice(&board_time.0.to_le_bytes());
    // No board time of a journal reaches 2^63.
    out.extend_from_slice(&deadline.map_or(u64::MAX, |deadline| deadline.0).to_le_bytes());
    out.extend_from_slice(body);
}
