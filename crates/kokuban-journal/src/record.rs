//! What goes into a journal and comes out of it: records, heads, snapshots.
//!
//! Invariant: plain data; a [`Record`] is a [`NewRecord`] that was found again, member by member.
//! Not known here: how any of it is stored.

use bytes::Bytes;
use kokuban_core::ids::{BoardName, BoardTime, ChainHash, Revision, Timestamp};

/// The newest record of a board: what the next append must name, so that a server that lives in a lost past cannot
/// append to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head {
    pub revision: Revision,
    pub chain: ChainHash,
}

/// A random id of one attempt to append, by which its fate is found out after [`Outcome::Unknown`](crate::Outcome).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommitId(pub [u8; 16]);

impl From<u128> for CommitId {
    fn from(id: u128) -> Self {
        Self(id.to_be_bytes())
    }
}

/// One commit of a board, as its sequencer hands it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    pub revision: Revision,
    pub chain: ChainHash,
    pub commit_id: CommitId,
    pub at: Timestamp,
    pub board_time: BoardTime,
    /// The next deadline of the board after this commit: boards that have one are loaded at start.
    pub deadline: Option<BoardTime>,
    pub body: Bytes,
}

/// A record as it was found.
pub type Record = NewRecord;

impl NewRecord {
    #[must_use]
    pub fn head(&self) -> Head {
        Head { revision: self.revision, chain: self.chain }
    }
}

/// Consecutive commits of one board: all of them land or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    pub board: BoardName,
    /// The newest record the commits follow; `None` when the board has no record yet.
    pub expected: Option<Head>,
    /// At least one, revisions ascending.
    pub commits: Vec<NewRecord>,
}

impl Append {
    /// Bytes of all bodies.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.commits.iter().map(|commit| commit.body.len()).sum()
    }

    /// What is wrong with the shape of the item, whatever the journal holds.
    #[must_use]
    pub(crate) fn malformed(&self) -> Option<&'static str> {
        let Some(first) = self.commits.first() else { return Some("an append has at least one commit") };
        let follows = self.expected.map_or(Revision::ZERO, |head| head.revision) < first.revision;
        let ascends = self.commits.windows(2).all(|pair| pair[0].revision < pair[1].revision);
        if !(follows && ascends) {
            return Some("the revisions of an append ascend from the expected head");
        }
        let numbers = self.commits.iter().flat_map(|commit| {
            let deadline = commit.deadline.unwrap_or_default();
            [commit.revision.0, commit.board_time.0, deadline.0]
        });
        let largest = numbers.max().unwrap_or_default();
        i64::try_from(largest).is_err().then_some("a revision or a board time is 2^63 or more")
    }
}

/// The state of a board at a revision, in the chunks it was given in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub head: Head,
    pub chunks: Vec<Bytes>,
}

/// Some chunks of a snapshot, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPart {
    pub head: Head,
    /// Chunks that the whole snapshot has.
    pub n_chunks: usize,
    pub chunks: Vec<Bytes>,
}

/// All that is needed to have a board in memory again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    pub snapshot: Option<Snapshot>,
    /// The records after the snapshot, or all of them, ascending.
    pub tail: Vec<Record>,
    pub head: Head,
    /// The oldest record that is still kept.
    pub oldest: Revision,
}

/// What a list says about a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardInfo {
    pub board: BoardName,
    pub head: Head,
    pub oldest: Revision,
    /// The revision of the newest snapshot.
    pub snapshot: Option<Revision>,
    /// Of the newest record.
    pub deadline: Option<BoardTime>,
    pub board_time: BoardTime,
    pub at: Timestamp,
}

/// A new body for a record that stays what it is: the chain does not cover values that scratch or erasure takes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    pub revision: Revision,
    /// Must equal the chain hash the record is stored under.
    pub chain: ChainHash,
    pub body: Bytes,
}
