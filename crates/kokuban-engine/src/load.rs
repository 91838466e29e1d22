//! Bringing a board back from its journal.
//!
//! Invariant: every record is checked against the hash chain, every value against its hash, and every snapshot against
//! the hash of the whole, before it counts.
//! Not known here: when a board is loaded.

use bytes::Bytes;
use kokuban_core::board::Board;
use kokuban_core::ids::{BoardName, ChainHash, Revision, Sha256};
use kokuban_core::record;
use kokuban_journal::{Loaded, Record};

use crate::effects;
use crate::handle::Quarantine;

/// A board as it was found: whole, or its last good state and where the damage begins.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) board: Board,
    pub(crate) chain: ChainHash,
    pub(crate) oldest: Revision,
    pub(crate) snapshot: Revision,
    /// Bytes of records since the snapshot.
    pub(crate) tail_bytes: usize,
    /// Values that commits since the snapshot say are erased.
    pub(crate) erasures: Vec<Sha256>,
    pub(crate) damage: Option<Quarantine>,
}

impl Found {
    /// Nothing yet: a board of which there is no record, or one that is still to be folded.
    pub(crate) fn nothing(name: &BoardName, oldest: Revision) -> Self {
        Self {
            board: Board::absent(name.clone()),
            chain: ChainHash::GENESIS,
            oldest,
            snapshot: Revision::ZERO,
            tail_bytes: 0,
            erasures: Vec::new(),
            damage: None,
        }
    }
}

pub(crate) fn fold(name: &BoardName, loaded: Loaded) -> Found {
    let mut found = Found::nothing(name, loaded.oldest);
    if let Some(snapshot) = loaded.snapshot {
        let revision = snapshot.head.revision;
        match board_of(snapshot.chunks) {
            Ok(board) if board.name() == name && board.revision() == revision => {
                found.board = board;
                found.chain = snapshot.head.chain;
                found.snapshot = revision;
            }
            Ok(_) => return damaged(found, Some(revision), "the snapshot belongs to another board or revision"),
            Err(detail) => return damaged(found, Some(revision), &detail),
        }
    }
    for stored in loaded.tail {
        found.tail_bytes += stored.body.len();
        if let Err(detail) = extend(&mut found, &stored) {
            return damaged(found, Some(stored.revision), &detail);
        }
    }
    if found.board.revision() != loaded.head.revision || found.chain != loaded.head.chain {
        let at = found.board.revision().next();
        return damaged(found, Some(at), "records are missing before the head");
    }
    found
}

fn board_of(chunks: Vec<Bytes>) -> Result<Board, String> {
    let bytes = record::from_chunks(chunks).map_err(|damage| damage.to_string())?;
    Board::from_snapshot(&bytes).map_err(|damage| format!("snapshot: {damage}"))
}

/// Adds the record that comes next. The board stays as it is when that fails.
pub(crate) fn extend(found: &mut Found, stored: &Record) -> Result<(), String> {
    let commit = record::decode_commit(&stored.body, found.chain, stored.chain).map_err(|damage| damage.to_string())?;
    let mut board = found.board.clone();
    board.apply(&commit).map_err(|error| error.to_string())?;
    found.board = board;
    found.chain = stored.chain;
    found.erasures.extend(effects::erased_by(&commit));
    Ok(())
}

fn damaged(mut found: Found, revision: Option<Revision>, detail: &str) -> Found {
    found.damage = Some(Quarantine { revision, detail: detail.to_owned() });
    found
}
