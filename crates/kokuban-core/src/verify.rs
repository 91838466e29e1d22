//! Checking what was kept: does the chain of hashes hold, and what do the commits come to?
//!
//! Invariant: a pure fold over the lines of an export, or the records of a board; what it reports it has computed
//! itself. The first damage ends it, with its place. Values that were erased, or are of a scratch table, are known by
//! hash only; commits that the exporter might not read are withheld, and then only the links beside them are checked.
//! Not known here: files, journals. Start at [`Verifier`] for exports, [`Records`] for journals, [`Copy`] for backups.

mod copy;

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::board::Board;
use crate::event::{Commit, Payloads};
use crate::ids::{BoardName, ChainHash, Position, Revision};
use crate::json::Json;
use crate::record::{self, Damage};

pub use copy::{Copy, Kept, Outcome};

/// The first member of an export.
pub const FORMAT: &str = "kokuban.export.1";

/// The first line of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub format: String,
    pub board: BoardName,
    /// What the export shows: every commit up to here.
    pub position: Position,
    /// What the first commit follows.
    pub after: After,
}

/// The place before the first commit. The hash is unknown where older commits are no longer kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    pub revision: Revision,
    pub hash: Option<ChainHash>,
}

/// One commit of an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitLine<'a> {
    pub revision: Revision,
    /// The hash that ends the chain here.
    pub hash: ChainHash,
    /// The hashed text, byte for byte; null if it is withheld.
    #[serde(borrow)]
    pub commit: Option<&'a RawValue>,
    /// The values in the order of the commit; null where one is known by its hash only.
    #[serde(borrow)]
    pub values: Vec<Option<&'a RawValue>>,
}

/// The last line of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndLine {
    pub end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    pub revision: Revision,
    pub hash: ChainHash,
    /// Live entries at the end; null if commits are withheld.
    pub entries: Option<u64>,
}

/// What was found to be in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub board: BoardName,
    /// The first commit that was there.
    pub first: Revision,
    pub revision: Revision,
    pub hash: ChainHash,
    pub commits: u64,
    /// Live entries after the last commit, where all commits were there to be applied.
    pub entries: Option<u64>,
    /// Commits that were there by their hash only.
    pub withheld: u64,
    /// Values that were there by their hash only.
    pub absent_values: u64,
}

/// The first thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Of the export, from 1; 0 for records.
    pub line: u64,
    pub revision: Option<Revision>,
    pub fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No export of a format that is known here.
    Format,
    /// A line that is not what is due at its place.
    Line(String),
    /// The export ends before its last line.
    CutOff,
    AfterEnd,
    Board,
    Revision {
        expected: Revision,
    },
    /// The commit does not continue the chain.
    Chain,
    /// The value at this place does not have the hash that its commit gives it.
    Value(usize),
    /// More or fewer values than the commit has.
    Values {
        expected: usize,
    },
    Record(Damage),
    /// The commit does not apply to what came before.
    Apply(String),
    /// The stored state is not what the commits come to.
    Snapshot,
    /// The last line says something else than the commits.
    End(&'static str),
    /// What the store said when this was to be copied.
    Unreadable(String),
    /// Nothing after this place is there, although it should be.
    Missing,
    /// Older commits are no longer kept, and neither is a state that the others could be applied to.
    NoState,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if let Some(revision) = self.revision {
            write!(f, "revision {revision}: ")?;
        }
        match &self.fault {
            Fault::Format => write!(f, "not an export of the format `{FORMAT}`"),
            Fault::Line(why) => write!(f, "cannot be read: {why}"),
            Fault::CutOff => f.write_str("the export is cut off: its last line is missing"),
            Fault::AfterEnd => f.write_str("something follows the last line of the export"),
            Fault::Board => f.write_str("the commit belongs to another board"),
            Fault::Revision { expected } => write!(f, "revision {expected} is due here"),
            Fault::Chain => {
                f.write_str("the commit does not continue the hash chain: it, or one before it, was changed")
            }
            Fault::Value(index) => write!(f, "value {index} does not have the hash that its commit gives it"),
            Fault::Values { expected } => write!(f, "the commit has {expected} values"),
            Fault::Record(damage) => damage.fmt(f),
            Fault::Apply(why) => write!(f, "the commit does not fit what came before: {why}"),
            Fault::Snapshot => f.write_str("the stored snapshot is not what the commits come to"),
            Fault::End(what) => write!(f, "the last line names another {what} than the commits come to"),
            Fault::Unreadable(why) => write!(f, "could not be read from the store: {why}"),
            Fault::Missing => f.write_str("the commits after this one are missing"),
            Fault::NoState => f.write_str("older commits are gone, and so is the state that the others build on"),
        }
    }
}

impl std::error::Error for Flaw {}

/// The commits of one board, one after the other.
#[derive(Debug, Clone)]
struct Fold {
    name: BoardName,
    first: Revision,
    last: Revision,
    /// `None`: not known yet.
    chain: Option<ChainHash>,
    /// `None`: not all commits were there.
    board: Option<Board>,
    commits: u64,
    withheld: u64,
    absent_values: u64,
}

impl Fold {
    fn new(name: BoardName, after: After) -> Self {
        let whole = after.revision == Revision::ZERO;
        Self {
            board: whole.then(|| Board::absent(name.clone())),
            name,
            first: after.revision.next(),
            last: after.revision,
            chain: if whole { Some(ChainHash::GENESIS) } else { after.hash },
            commits: 0,
            withheld: 0,
            absent_values: 0,
        }
    }

    fn due(&self, commit: &Commit) -> Result<(), Fault> {
        if commit.follows(self.last) { Ok(()) } else { Err(Fault::Revision { expected: self.last.next() }) }
    }

    /// Whether the commit continues the chain. The first one may show that nothing came before it.
    fn continues(&mut self, head: &[u8], hash: ChainHash) -> Result<(), Fault> {
        if self.commits == 0 && self.chain.is_none() && ChainHash::GENESIS.extend(head) == hash {
            self.begin();
        }
        if self.chain.is_some_and(|chain| chain.extend(head) != hash) { Err(Fault::Chain) } else { Ok(()) }
    }

    fn begin(&mut self) {
        self.board = Some(Board::absent(self.name.clone()));
        self.chain = Some(ChainHash::GENESIS);
        self.last = Revision::ZERO;
    }

    /// A commit that leaves a gap is never withheld.
    fn withhold(&mut self, revision: Revision, hash: ChainHash) -> Result<(), Fault> {
        let expected = self.last.next();
        if revision != expected {
            return Err(Fault::Revision { expected });
        }
        (self.last, self.chain, self.board) = (revision, Some(hash), None);
        self.commits += 1;
        self.withheld += 1;
        Ok(())
    }

    fn commit(&mut self, head: &[u8], hash: ChainHash, commit: &Commit) -> Result<(), Fault> {
        self.due(commit)?;
        if commit.board != self.name {
            return Err(Fault::Board);
        }
        self.continues(head, hash)?;
        if let Some(board) = &self.board {
            // On a clone, which costs nothing: what stood before a commit that does not fit can still be had.
            let mut after = board.clone();
            after.apply(commit).map_err(|error| Fault::Apply(error.to_string()))?;
            self.board = Some(after);
        }
        commit.payloads(&mut |payload| self.absent_values += u64::from(payload.json.is_none()));
        (self.last, self.chain) = (commit.revision, Some(hash));
        self.commits += 1;
        Ok(())
    }

    fn entries(&self) -> Option<u64> {
        self.board.as_ref().map(|board| board.n_entries() as u64)
    }

    fn report(self) -> Report {
        Report {
            entries: self.entries(),
            board: self.name,
            first: self.first,
            revision: self.last,
            hash: self.chain.unwrap_or(ChainHash::GENESIS),
            commits: self.commits,
            withheld: self.withheld,
            absent_values: self.absent_values,
        }
    }
}

/// Checks an export, line by line.
#[derive(Debug, Default)]
pub struct Verifier {
    lines: u64,
    export: Option<(Header, Fold)>,
    ended: bool,
}

impl Verifier {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next line, with or without its line feed.
    ///
    /// # Errors
    /// The first damage. Nothing that follows it means anything.
    pub fn line(&mut self, line: &str) -> Result<(), Flaw> {
        self.lines += 1;
        let text = line.strip_suffix('\n').unwrap_or(line);
        let Some((header, fold)) = &mut self.export else {
            let header = read_header(text).map_err(|fault| Flaw { line: self.lines, revision: None, fault })?;
            let fold = Fold::new(header.board.clone(), header.after);
            self.export = Some((header, fold));
            return Ok(());
        };
        let mut flaw = Flaw { line: self.lines, revision: None, fault: Fault::AfterEnd };
        if self.ended {
            return Err(flaw);
        }
        let taken = match serde_json::from_str::<CommitLine<'_>>(text) {
            Ok(line) => {
                flaw.revision = Some(line.revision);
                take_commit(fold, &line)
            }
            Err(error) => match serde_json::from_str::<EndLine>(text) {
                Ok(EndLine { end }) => {
                    self.ended = true;
                    flaw.revision = Some(end.revision);
                    take_end(header, fold, &end)
                }
                Err(_) => Err(Fault::Line(error.to_string())),
            },
        };
        taken.map_err(|fault| Flaw { fault, ..flaw })
    }

    /// # Errors
    /// The export is not whole.
    pub fn finish(self) -> Result<Report, Flaw> {
        let line = self.lines + 1;
        match self.export {
            Some((_, fold)) if self.ended => Ok(fold.report()),
            Some((_, fold)) => Err(Flaw { line, revision: Some(fold.last), fault: Fault::CutOff }),
            None => Err(Flaw { line, revision: None, fault: Fault::Format }),
        }
    }
}

fn read_header(text: &str) -> Result<Header, Fault> {
    let header: Header = serde_json::from_str(text).map_err(|_| Fault::Format)?;
    if header.format == FORMAT { Ok(header) } else { Err(Fault::Format) }
}

fn take_commit(fold: &mut Fold, line: &CommitLine<'_>) -> Result<(), Fault> {
    let Some(head) = line.commit else { return fold.withhold(line.revision, line.hash) };
    let mut commit: Commit = serde_json::from_str(head.get()).map_err(|error| Fault::Line(error.to_string()))?;
    if commit.revision != line.revision {
        return Err(Fault::Revision { expected: line.revision });
    }
    // The chain first: what hashes a value should have is true only if the commit is.
    fold.due(&commit)?;
    fold.continues(head.get().as_bytes(), line.hash)?;
    put_values(&mut commit, &line.values)?;
    fold.commit(head.get().as_bytes(), line.hash, &commit)
}

fn put_values(commit: &mut Commit, values: &[Option<&RawValue>]) -> Result<(), Fault> {
    let mut expected = 0;
    commit.payloads(&mut |_| expected += 1);
    if values.len() != expected {
        return Err(Fault::Values { expected });
    }
    let mut outcome = Ok(());
    let mut index = 0;
    commit.payloads_mut(&mut |payload| {
        // A value that is null reads like one that is not there; its hash tells them apart.
        let text = values[index].map_or("null", RawValue::get);
        let json = serde_json::from_str::<Json>(text).ok();
        let fits = json.filter(|json| json.sha256() == payload.sha256 && json.len() as u64 == payload.bytes);
        if fits.is_none() && values[index].is_some() && outcome.is_ok() {
            outcome = Err(Fault::Value(index));
        }
        payload.json = fits;
        index += 1;
    });
    outcome
}

fn take_end(header: &Header, fold: &Fold, end: &End) -> Result<(), Fault> {
    if end.revision != fold.last || header.position.revision != fold.last {
        return Err(Fault::End("revision"));
    }
    if fold.chain.is_some_and(|chain| chain != end.hash) {
        return Err(Fault::End("hash"));
    }
    match (end.entries, fold.entries()) {
        (Some(named), Some(found)) if named != found => Err(Fault::End("number of entries")),
        _ => Ok(()),
    }
}

/// Checks the records of one board as a journal keeps them.
#[derive(Debug)]
pub struct Records {
    fold: Fold,
}

impl Records {
    /// The records of `board` from `oldest` on.
    #[must_use]
    pub fn new(board: BoardName, oldest: Revision) -> Self {
        let after = After { revision: Revision(oldest.0.saturating_sub(1)), hash: None };
        Self { fold: Fold::new(board, after) }
    }

    /// The last record taken.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.fold.last
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// The first damage.
    pub fn record(&mut self, revision: Revision, chain: ChainHash, body: &Bytes) -> Result<(), Flaw> {
        let flaw = |fault| Flaw { line: 0, revision: Some(revision), fault };
        let decoded = record::decode::<Commit>(body).map_err(|damage| flaw(Fault::Record(damage)))?;
        if decoded.content.revision != revision {
            return Err(flaw(Fault::Revision { expected: revision }));
        }
        self.fold.commit(&decoded.head, chain, &decoded.content).map_err(flaw)
    }

    /// The stored state at the revision reached: it must be what the commits come to. Where older commits are gone,
    /// it is what the later ones are applied to.
    ///
    /// # Errors
    /// It is another state, or none.
    pub fn snapshot(&mut self, chain: ChainHash, bytes: &Bytes) -> Result<(), Flaw> {
        let revision = self.fold.last;
        let flaw = |fault| Flaw { line: 0, revision: Some(revision), fault };
        if self.fold.chain.is_some_and(|known| known != chain) {
            return Err(flaw(Fault::Snapshot));
        }
        let stored = Board::from_snapshot(bytes).map_err(|damage| flaw(Fault::Record(damage)))?;
        let is_due = match &self.fold.board {
            // It is the same, but for values that have left the log.
            Some(folded) => stored.keeps(folded),
            None => *stored.name() == self.fold.name && stored.revision() == revision,
        };
        if !is_due {
            return Err(flaw(Fault::Snapshot));
        }
        self.fold.board = Some(stored);
        Ok(())
    }

    /// The records from this state on, whose own one comes next.
    fn beginning_with(state: Board, chain: ChainHash) -> Self {
        let fold = Fold::new(state.name().clone(), After { revision: state.revision(), hash: Some(chain) });
        Self { fold: Fold { first: state.revision(), board: Some(state), commits: 1, ..fold } }
    }

    #[must_use]
    pub fn report(self) -> Report {
        self.fold.report()
    }
}

#[cfg(test)]
mod tests;
