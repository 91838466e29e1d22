//! Reading a backup, checked, with the place of whatever is wrong in it.
//!
//! Not known here: where the bytes come from and what is done with them.

use std::io::Read;

use anyhow::anyhow;
use kokuban_core::ids::{BoardName, Revision, Timestamp};
use kokuban_journal::backup::{Check, CheckedBoard, Fault, Flaw, Found, Frame, Note, Parser};
use serde::Serialize;

use crate::output::Progress;

const PIECE_BYTES: usize = 256 * 1024;

/// A frame, and what it completed.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) frame: Frame,
    pub(crate) found: Option<Found>,
}

#[derive(Debug, Default)]
pub(crate) struct Reading {
    parser: Parser,
    check: Check,
    /// The board that is being read.
    board: Option<BoardName>,
}

impl Reading {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.parser.feed(bytes);
    }

    /// The next frame; `None`: more bytes are needed.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<Step>> {
        let begins = self.parser.offset();
        let Some(frame) = self.parser.next_frame().map_err(|flaw| self.placed(flaw))? else { return Ok(None) };
        let due = self.check.take(&frame);
        let found = due.map_err(|why| self.placed(Flaw { offset: begins, fault: Fault::Order(why) }))?;
        match &frame {
            Frame::Note(Note::Board { board, .. }) => self.board = Some(board.clone()),
            Frame::Note(Note::Close { .. }) => self.board = None,
            _ => {}
        }
        Ok(Some(Step { frame, found }))
    }

    /// The end: how many bytes there were.
    pub(crate) fn finish(&self) -> anyhow::Result<u64> {
        if !self.check.has_ended() {
            return Err(self.placed(self.parser.cut_off()));
        }
        if self.parser.has_rest() {
            return Err(self.placed(self.parser.flaw(Fault::AfterEnd)));
        }
        Ok(self.parser.offset())
    }

    fn placed(&self, flaw: Flaw) -> anyhow::Error {
        match &self.board {
            Some(board) => anyhow!("{flaw} (within the board {board})"),
            None => anyhow!(flaw),
        }
    }
}

/// Reads to the end, showing each frame once it is checked. Answers how many bytes there were.
pub(crate) fn each(
    mut from: impl Read,
    total: Option<u64>,
    what: &str,
    mut visit: impl FnMut(Step, &Progress) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let mut progress = Progress::bytes(what, total.filter(|bytes| *bytes > 0));
    let mut reading = Reading::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let n = from.read(&mut piece)?;
        if n == 0 {
            return reading.finish();
        }
        progress.add(n as u64);
        reading.feed(&piece[..n]);
        while let Some(step) = reading.next()? {
            visit(step, &progress)?;
        }
    }
}

/// What a backup comes to.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    /// When it was taken, by the clock of its server.
    pub(crate) taken: Option<Timestamp>,
    /// Version of that server.
    pub(crate) server: String,
    pub(crate) bytes: u64,
    pub(crate) boards: u64,
    pub(crate) commits: u64,
    pub(crate) damaged: Vec<Damaged>,
}

/// A board that is not whole.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Damaged {
    pub(crate) board: BoardName,
    pub(crate) error: String,
    /// Up to where it can be brought back.
    pub(crate) whole_until: Option<Revision>,
}

impl Summary {
    pub(crate) fn take(&mut self, step: &Step) {
        match &step.found {
            Some(Found::Begin(begin)) => (self.taken, self.server) = (Some(begin.taken), begin.server.clone()),
            Some(Found::Board(board)) => self.damaged.extend(Damaged::of(board)),
            Some(Found::End(totals)) => (self.boards, self.commits) = (totals.boards, totals.records),
            None => {}
        }
    }

    pub(crate) fn line(&self) -> String {
        let Self { server, bytes, boards, commits, damaged, .. } = self;
        let taken = self.taken.map(|taken| taken.to_string()).unwrap_or_default();
        let whole = if damaged.is_empty() { "whole" } else { "NOT ALL OF IT WHOLE" };
        format!("backup of {taken} by Kokuban {server}: {whole}: {boards} boards, {commits} commits, {bytes} bytes")
    }
}

impl Damaged {
    pub(crate) fn of(checked: &CheckedBoard) -> Option<Self> {
        let flaw = checked.outcome.report.as_ref().err()?;
        let whole_until = checked.outcome.kept.as_ref().map(|kept| kept.board.revision());
        Some(Self { board: checked.board.clone(), error: flaw.to_string(), whole_until })
    }

    pub(crate) fn line(&self) -> String {
        let Self { board, error, whole_until } = self;
        match whole_until {
            Some(revision) => format!("{board}: DAMAGED: {error}; can be brought back as of revision {revision}"),
            None => format!("{board}: DAMAGED: {error}; nothing of it can be brought back"),
        }
    }
}
