//! The form of a backup: what a journal holds, as one stream of bytes that checks itself.
//!
//! Layout: [`MAGIC`], then frames. A frame is its kind (one byte), the length of its content (u32), the content, and
//! the seal: the chain hash over the seal before it, kind, length and content, beginning with that of [`MAGIC`]. All
//! numbers are little endian. The kinds: `N` a note in JSON, `C` a chunk of a stored state, `R` a record.
//! A backup is one `begin`, the boards, one `end`. A board is `board`, perhaps `state` with its chunks, the records
//! oldest first, perhaps `unreadable`, then `close`; where `board` comes again instead, it begins anew.
//! Invariant: any byte that is changed, missing, added or moved is found at the frame it is in.
//! Not known here: where a backup comes from and goes to. What boards hold is checked by `kokuban_core::verify`.

mod check;
mod parse;
#[cfg(test)]
mod tests;
mod write;

use bytes::Bytes;
use kokuban_core::ids::{BoardName, ChainHash, Revision, Timestamp};
use serde::{Deserialize, Serialize};

pub use check::{Check, CheckedBoard, Found, Totals};
pub use parse::{Fault, Flaw, Parser};
pub use write::Writer;

use crate::record::Record;

/// What a backup begins with.
pub const MAGIC: &[u8] = b"kokuban.backup.1\n";
/// A record of the largest body that any journal takes, and what stands before it.
const CONTENT_BYTES_MAX: usize = 17 * 1024 * 1024;
const SEAL_BYTES: usize = 16;
/// Kind and length.
const HEAD_BYTES: usize = 5;

/// How a backup is called where nobody says otherwise.
#[must_use]
pub fn file_name(taken: Timestamp) -> String {
    let digits: String = taken.to_string().chars().take(19).filter(|c| *c != '-' && *c != ':').collect();
    format!("kokuban-{}.backup", digits.replace('T', "-"))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Note(Note),
    /// Of the state announced before, in order.
    Chunk(Bytes),
    Record(Record),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "snake_case", deny_unknown_fields)]
pub enum Note {
    Begin(Begin),
    Board {
        board: BoardName,
        /// The first record that is kept.
        oldest: Revision,
    },
    State {
        revision: Revision,
        chain: ChainHash,
        n_chunks: usize,
    },
    /// The store could not give what comes next.
    Unreadable {
        revision: Option<Revision>,
        why: String,
    },
    /// The board is there up to its newest record.
    Close {
        revision: Revision,
        chain: ChainHash,
    },
    End(Totals),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// Version of the server that gave the backup.
    pub server: String,
    /// When it was begun, by the clock of that server.
    pub taken: Timestamp,
    /// See [`crate::Caps::base`].
    pub base: Revision,
}
