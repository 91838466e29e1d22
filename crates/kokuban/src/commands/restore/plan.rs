//! What of a backup comes back, found out by reading all of it.
//!
//! Invariant: made only of a backup that is whole; of each board the last section counts.
//! Not known here: where it goes.

use std::fs::File;

use kokuban_core::ids::{BoardName, ChainHash, Revision};
use kokuban_journal::backup::{Begin, CheckedBoard, Found, Frame, Note};

use crate::commands::backup::{Damaged, each};

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) begin: Begin,
    /// By name.
    pub(super) boards: Vec<Part>,
    pub(super) damaged: Vec<Damaged>,
    /// Boards of which nothing comes back, and how far they went.
    pub(super) lost: Vec<(BoardName, Revision)>,
}

/// The part of a board that is whole.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) board: BoardName,
    pub(super) section: u64,
    pub(super) from: Revision,
    pub(super) to: Revision,
    /// The hash of the chain there.
    pub(super) chain: ChainHash,
    /// Whether the stored state comes back too.
    pub(super) state: bool,
}

impl Plan {
    pub(super) fn of(file: File) -> anyhow::Result<Self> {
        let bytes = file.metadata().ok().map(|meta| meta.len());
        let (mut begin, mut boards, mut damaged, mut lost) = (None, Vec::new(), Vec::new(), Vec::new());
        each(file, bytes, "checked", |step, _| {
            match (step.found, &step.frame) {
                (Some(Found::Begin(found)), _) => begin = Some(found),
                (Some(Found::Board(checked)), Frame::Note(Note::Close { revision, .. })) => {
                    damaged.extend(Damaged::of(&checked));
                    match part(&checked) {
                        Some(part) => boards.push(part),
                        None => lost.push((checked.board, *revision)),
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        let begin = begin.ok_or_else(|| anyhow::anyhow!("the backup has no beginning"))?;
        Ok(Self { begin, boards, damaged, lost })
    }
}

fn part(checked: &CheckedBoard) -> Option<Part> {
    let kept = checked.outcome.kept.as_ref()?;
    Some(Part {
        board: checked.board.clone(),
        section: checked.section,
        from: kept.from,
        to: kept.board.revision(),
        chain: kept.chain,
        state: kept.state,
    })
}
