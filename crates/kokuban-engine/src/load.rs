//! Bringing a board back from its journal.
//!
//! Invariant: every record is checked against the hash chain and every value against its hash before it counts.
//! Not known here: when a board is loaded.

use bytes::Bytes;
use kokuban_core::board::{Board, Snapshot};
use kokuban_core::ids::{BoardName, ChainHash, Revision};
use kokuban_core::record;
use kokuban_journal::{Loaded, Record};

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
    pub(crate) damage: Option<Quarantine>,
}

pub(crate) fn fold(name: &BoardName, loaded: Loaded) -> Found {
    let mut found = Found {
        board: Board::absent(name.clone()),
        chain: ChainHash::GENESIS,
        oldest: loaded.oldest,
        snapshot: Revision::ZERO,
        tail_bytes: 0,
        damage: None,
    };
    if let Some(snapshot) = loaded.snapshot {
        found.snapshot = snapshot.head.revision;
        let revision = snapshot.head.revision;
        let bytes: Bytes = match <[Bytes; 1]>::try_from(snapshot.chunks) {
            Ok([only]) => only,
            Err(chunks) => chunks.concat().into(),
        };
        match record::decode::<Snapshot>(&bytes) {
            Ok(decoded) if decoded.content.name == *name && decoded.content.revision == revision => {
                found.board = decoded.content.into();
                found.chain = snapshot.head.chain;
            }
            Ok(_) => return damaged(found, Some(revision), "the snapshot belongs to another board or revision"),
            Err(damage) => return damaged(found, Some(revision), &format!("snapshot: {damage}")),
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

fn extend(found: &mut Found, stored: &Record) -> Result<(), String> {
    let commit = record::decode_commit(&stored.body, found.chain, stored.chain).map_err(|damage| damage.to_string())?;
    let mut board = found.board.clone();
    board.apply(&commit).map_err(|error| error.to_string())?;
    found.board = board;
    found.chain = stored.chain;
    Ok(())
}

fn damaged(mut found: Found, revision: Option<Revision>, detail: &str) -> Found {
    found.damage = Some(Quarantine { revision, detail: detail.to_owned() });
    found
}
