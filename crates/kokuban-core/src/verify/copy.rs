//! Checking the copy of one board in a backup, and finding out what can be brought back of it.
//!
//! Invariant: the first damage is reported with its place, and what is whole in spite of it is kept: the state before
//! it, or where the damage lies before a stored state that is whole, what that state and the commits after it come to.
//! Not known here: the form of a backup, and whether anybody wants a board that is not whole.

use bytes::Bytes;

use super::{Fault, Flaw, Records, Report};
use crate::board::Board;
use crate::ids::{BoardName, ChainHash, Revision};
use crate::record;

/// Takes the stored state first, then the records, oldest first.
#[derive(Debug)]
pub struct Copy {
    board: BoardName,
    /// Not reached yet.
    state: Option<State>,
    /// The first record that counts.
    from: Revision,
    /// `None` behind a damage.
    records: Option<Records>,
    last: ChainHash,
    flaw: Option<Flaw>,
    kept: Option<Kept>,
    sound_state: bool,
}

#[derive(Debug)]
struct State {
    revision: Revision,
    chain: ChainHash,
    bytes: Bytes,
}

/// What can be brought back.
#[derive(Debug, Clone)]
pub struct Kept {
    pub board: Board,
    /// The hash that ends its chain.
    pub chain: ChainHash,
    /// The first record of its log.
    pub from: Revision,
    /// Whether the stored state belongs to it.
    pub state: bool,
}

#[derive(Debug)]
pub struct Outcome {
    /// Whether the copy is whole, and what it comes to.
    pub report: Result<Report, Flaw>,
    /// `None`: nothing can be brought back.
    pub kept: Option<Kept>,
}

impl Copy {
    /// The copy of a board whose records begin at `oldest`.
    #[must_use]
    pub fn new(board: BoardName, oldest: Revision) -> Self {
        let records = Some(Records::new(board.clone(), oldest));
        let last = ChainHash::GENESIS;
        Self { board, state: None, from: oldest, records, last, flaw: None, kept: None, sound_state: false }
    }

    /// The stored state.
    pub fn state(&mut self, revision: Revision, chain: ChainHash, chunks: Vec<Bytes>) {
        match record::from_chunks(chunks) {
            Ok(bytes) => self.state = Some(State { revision, chain, bytes }),
            Err(damage) => self.note(Some(revision), Fault::Record(damage)),
        }
    }

    /// The next record.
    pub fn record(&mut self, revision: Revision, chain: ChainHash, body: &Bytes) {
        match self.records.as_mut().map(|records| records.record(revision, chain, body)) {
            Some(Ok(())) => {
                self.last = chain;
                self.reach_state(chain);
            }
            Some(Err(flaw)) => {
                self.flaw.get_or_insert(flaw);
                self.stop();
                self.begin_anew(revision, chain);
            }
            None => self.begin_anew(revision, chain),
        }
    }

    /// The store could not give what comes next.
    pub fn unreadable(&mut self, revision: Option<Revision>, why: String) {
        self.note(revision, Fault::Unreadable(why));
        self.stop();
    }

    fn note(&mut self, revision: Option<Revision>, fault: Fault) {
        self.flaw.get_or_insert(Flaw { line: 0, revision, fault });
    }

    fn reach_state(&mut self, chain: ChainHash) {
        let Some(records) = &mut self.records else { return };
        let Some(state) = self.state.take_if(|state| state.revision == records.revision()) else { return };
        match records.snapshot(chain, &state.bytes) {
            Ok(()) if state.chain == chain => self.sound_state = true,
            Ok(()) => self.note(Some(state.revision), Fault::Snapshot),
            Err(flaw) => drop(self.flaw.get_or_insert(flaw)),
        }
    }

    /// Keeps what stands, unless a later state was built upon already.
    fn stop(&mut self) {
        let Some(records) = self.records.take() else { return };
        if let Some(board) = records.fold.board.filter(can_be_shown) {
            self.kept = Some(Kept { board, chain: self.last, from: self.from, state: self.sound_state });
        }
    }

    /// Behind a damage: at the stored state, from which it goes on.
    fn begin_anew(&mut self, revision: Revision, chain: ChainHash) {
        let Some(state) = self.state.take_if(|state| state.revision == revision && state.chain == chain) else {
            return;
        };
        match Board::from_snapshot(&state.bytes) {
            Ok(board) if *board.name() == self.board && board.revision() == revision => {
                self.records = Some(Records::beginning_with(board, chain));
                (self.from, self.last, self.sound_state) = (revision, chain, true);
            }
            Ok(_) => self.note(Some(revision), Fault::Snapshot),
            Err(damage) => self.note(Some(revision), Fault::Record(damage)),
        }
    }

    /// The end of a copy that should reach up to this record.
    #[must_use]
    pub fn finish(mut self, head: Revision, chain: ChainHash) -> Outcome {
        let shown = |records: &Records| records.fold.board.as_ref().is_some_and(can_be_shown);
        let report = self.records.as_ref().map(|records| (records.revision(), shown(records)));
        match report {
            Some((reached, _)) if (reached, self.last) != (head, chain) => self.note(Some(reached), Fault::Missing),
            Some((_, false)) => self.note(Some(self.from), Fault::NoState),
            _ => {}
        }
        let whole = self.records.as_ref().filter(|_| self.flaw.is_none()).map(|records| records.fold.clone().report());
        self.stop();
        let report = whole.ok_or_else(|| self.flaw.unwrap_or(Flaw { line: 0, revision: None, fault: Fault::Missing }));
        Outcome { report, kept: self.kept }
    }
}

/// A value that left the log and is in no stored state is lost.
fn can_be_shown(board: &Board) -> bool {
    board.revision() > Revision::ZERO && board.entries().all(|(_, entry)| entry.has_value())
}

#[cfg(test)]
mod tests;
