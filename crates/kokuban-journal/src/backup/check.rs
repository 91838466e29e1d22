//! Which frame may follow which, and what the boards come to.
//!
//! Invariant: of each board the last beginning counts. A board that is damaged is no fault of the backup: it is told
//! with what can be brought back of it.
//! Cost: one board in memory at a time.

use bytes::Bytes;
use kokuban_core::ids::{BoardName, Revision};
use kokuban_core::verify::{self, Copy};
use serde::{Deserialize, Serialize};

use super::{Begin, Frame, Note};
use crate::record::Head;

/// Counts of a whole backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    pub boards: u64,
    /// Of the boards that were closed.
    pub records: u64,
}

/// What a frame completed.
#[derive(Debug)]
pub enum Found {
    Begin(Begin),
    Board(Box<CheckedBoard>),
    End(Totals),
}

/// A board that is closed.
#[derive(Debug)]
pub struct CheckedBoard {
    pub board: BoardName,
    /// Counts the beginnings of boards from 0: those that were given up have numbers too.
    pub section: u64,
    pub outcome: verify::Outcome,
}

/// The announced state, until the first record comes.
#[derive(Debug)]
struct State {
    head: Head,
    n_chunks: usize,
    chunks: Vec<Bytes>,
}

#[derive(Debug, Default)]
pub struct Check {
    begun: bool,
    ended: bool,
    sections: u64,
    totals: Totals,
    section: Option<Section>,
    last: Option<BoardName>,
}

#[derive(Debug)]
struct Section {
    board: BoardName,
    copy: Copy,
    state: Option<State>,
    records: u64,
}

impl Check {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes the next frame.
    ///
    /// # Errors
    /// It is not due here.
    pub fn take(&mut self, frame: &Frame) -> Result<Option<Found>, String> {
        match frame {
            Frame::Note(Note::Begin(begin)) if !self.begun => {
                self.begun = true;
                Ok(Some(Found::Begin(begin.clone())))
            }
            _ if !self.begun || self.ended => Err("it stands outside of the backup".to_owned()),
            Frame::Note(Note::Board { board, oldest }) => self.open(board, *oldest).map(|()| None),
            Frame::Note(Note::End(totals)) => self.end(*totals).map(Some),
            Frame::Note(Note::Close { revision, chain }) => {
                self.close(Head { revision: *revision, chain: *chain }).map(|closed| Some(Found::Board(closed)))
            }
            inside => match &mut self.section {
                Some(section) => section.take(inside).map(|()| None),
                None => Err("it belongs to no board".to_owned()),
            },
        }
    }

    fn open(&mut self, board: &BoardName, oldest: Revision) -> Result<(), String> {
        if self.section.as_ref().is_some_and(|open| open.board != *board) {
            return Err("the board before it is not closed".to_owned());
        }
        if self.last.as_ref().is_some_and(|last| last >= board) {
            return Err(format!("the board {board} is out of order"));
        }
        let copy = Copy::new(board.clone(), oldest);
        self.section = Some(Section { board: board.clone(), copy, state: None, records: 0 });
        self.sections += 1;
        Ok(())
    }

    fn close(&mut self, head: Head) -> Result<Box<CheckedBoard>, String> {
        let Some(mut section) = self.section.take() else { return Err("no board is open".to_owned()) };
        section.put_state()?;
        self.totals.boards += 1;
        self.totals.records += section.records;
        self.last = Some(section.board.clone());
        let outcome = section.copy.finish(head.revision, head.chain);
        Ok(Box::new(CheckedBoard { board: section.board, section: self.sections - 1, outcome }))
    }

    fn end(&mut self, totals: Totals) -> Result<Found, String> {
        if self.section.is_some() {
            return Err("the last board is not closed".to_owned());
        }
        if totals != self.totals {
            return Err(format!("it counts {totals:?}, but there were {:?}", self.totals));
        }
        self.ended = true;
        Ok(Found::End(totals))
    }
}

impl Section {
    fn take(&mut self, frame: &Frame) -> Result<(), String> {
        match frame {
            Frame::Note(Note::State { revision, chain, n_chunks }) if self.records == 0 && self.state.is_none() => {
                let head = Head { revision: *revision, chain: *chain };
                self.state = Some(State { head, n_chunks: *n_chunks, chunks: Vec::new() });
                Ok(())
            }
            Frame::Chunk(chunk) => match &mut self.state {
                Some(state) if state.chunks.len() < state.n_chunks => {
                    state.chunks.push(chunk.clone());
                    Ok(())
                }
                _ => Err("a chunk too many".to_owned()),
            },
            Frame::Record(record) => {
                self.put_state()?;
                self.copy.record(record.revision, record.chain, &record.body);
                self.records += 1;
                Ok(())
            }
            Frame::Note(Note::Unreadable { revision, why }) => {
                self.copy.unreadable(*revision, why.clone());
                Ok(())
            }
            Frame::Note(_) => Err("it is not due within a board".to_owned()),
        }
    }

    /// Hands over the state before the first record.
    fn put_state(&mut self) -> Result<(), String> {
        let Some(State { head, n_chunks, chunks }) = self.state.take() else { return Ok(()) };
        if chunks.len() != n_chunks {
            return Err("chunks are missing before it".to_owned());
        }
        self.copy.state(head.revision, head.chain, chunks);
        Ok(())
    }
}
