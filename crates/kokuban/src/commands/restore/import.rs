//! From a backup into an empty journal, board by board.
//!
//! Invariant: each board gets the records that are whole, its stored state, and the commits that say that it was
//! restored. Bounds: one board's stored state, and a group of records, in memory.
//! Not known here: where the journal is.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use kokuban_core::command::Restore;
use kokuban_core::ids::{BoardTime, Epoch, Revision, Timestamp};
use kokuban_core::verify::Kept;
use kokuban_journal::backup::{CheckedBoard, Found, Frame, Note};
use kokuban_journal::{Append, CommitId, Head, Journal as _, NewRecord, Outcome, Snapshot, Sqlite};

use super::lineage::Lineage;
use super::plan::{Part, Plan};
use super::{Restored, now};
use crate::commands::backup::{Reading, Step};
use crate::output::Progress;

const PIECE_BYTES: usize = 256 * 1024;
/// A group of records is one transaction.
const GROUP_BYTES: usize = 4 * 1024 * 1024;
const GROUP_RECORDS: usize = 2_000;

pub(super) async fn all(
    mut file: &File,
    plan: &Plan,
    lineage: &Lineage,
    new: &Sqlite,
) -> anyhow::Result<Vec<Restored>> {
    let mut progress = Progress::bytes("restored", Some(file.seek(SeekFrom::End(0))?));
    file.seek(SeekFrom::Start(0))?;
    let mut import = Import { plan, lineage, new, at: now(), sections: 0, open: None, done: Vec::new() };
    let mut reading = Reading::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let n = file.read(&mut piece)?;
        if n == 0 {
            reading.finish()?;
            return Ok(import.done);
        }
        progress.add(n as u64);
        reading.feed(&piece[..n]);
        while let Some(step) = reading.next()? {
            import.take(step).await?;
        }
    }
}

struct Import<'p> {
    plan: &'p Plan,
    lineage: &'p Lineage,
    new: &'p Sqlite,
    at: Timestamp,
    sections: u64,
    open: Option<Open<'p>>,
    done: Vec<Restored>,
}

/// The board that is being written.
struct Open<'p> {
    part: &'p Part,
    state: Option<Snapshot>,
    head: Option<Head>,
    group: Vec<NewRecord>,
    group_bytes: usize,
}

impl<'p> Import<'p> {
    async fn take(&mut self, Step { frame, found }: Step) -> anyhow::Result<()> {
        match frame {
            Frame::Note(Note::Board { .. }) => {
                let section = self.sections;
                self.sections += 1;
                let part = self.plan.boards.get(self.done.len()).filter(|part| part.section == section);
                self.open = part.map(|part| Open { part, state: None, head: None, group: Vec::new(), group_bytes: 0 });
                return Ok(());
            }
            Frame::Note(Note::State { revision, chain, .. }) => {
                let head = Head { revision, chain };
                if let Some(open) = self.open.as_mut().filter(|open| open.part.state) {
                    open.state = Some(Snapshot { head, chunks: Vec::new() });
                }
            }
            Frame::Chunk(chunk) => self.open.iter_mut().for_each(|open| open.chunk(&chunk)),
            Frame::Record(record) => {
                if let Some(open) = self.open.as_mut().filter(|open| open.takes(record.revision)) {
                    open.group_bytes += record.body.len();
                    open.group.push(record);
                    if open.group_bytes >= GROUP_BYTES || open.group.len() >= GROUP_RECORDS {
                        open.flush(self.new).await?;
                    }
                }
            }
            Frame::Note(_) => {}
        }
        match found {
            Some(Found::Board(checked)) => self.close(*checked).await,
            _ => Ok(()),
        }
    }

    async fn close(&mut self, checked: CheckedBoard) -> anyhow::Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let board = open.part.board.clone();
        let kept = checked.outcome.kept.filter(|kept| kept.chain == open.part.chain);
        let kept = kept.with_context(|| format!("the backup changed while it was read, at the board {board}"))?;
        open.flush(self.new).await?;
        if let Some(state) = open.state.take() {
            self.new.put_snapshot(board.clone(), state).await?;
        }
        let was = kept.board.revision();
        open.group = self.additions(&kept);
        open.flush(self.new).await?;
        let revision = open.head.map_or(was, |head| head.revision);
        self.done.push(Restored { board, was, revision });
        Ok(())
    }

    /// The commits that say that the board was restored.
    fn additions(&self, kept: &Kept) -> Vec<NewRecord> {
        let restore = Restore { taken: self.plan.begin.taken, past: self.lineage.past(kept.board.name()) };
        let now = BoardTime(u64::try_from(self.at.0).unwrap_or(0));
        let epoch = Epoch(uuid::Uuid::new_v4().as_u64_pair().0);
        let added = restore.additions(&kept.board, kept.chain, now, self.at, epoch);
        let records = added.map(|added| NewRecord {
            revision: added.revision,
            chain: added.chain,
            commit_id: CommitId::from(uuid::Uuid::new_v4().as_u128()),
            at: added.at,
            board_time: added.board_time,
            deadline: added.deadline,
            body: added.body,
        });
        records.collect()
    }
}

impl Open<'_> {
    fn takes(&self, revision: Revision) -> bool {
        (self.part.from..=self.part.to).contains(&revision)
    }

    fn chunk(&mut self, chunk: &Bytes) {
        if let Some(state) = &mut self.state {
            state.chunks.push(chunk.clone());
        }
    }

    /// Appends the group; all of it must land.
    async fn flush(&mut self, new: &Sqlite) -> anyhow::Result<()> {
        self.group_bytes = 0;
        let commits = std::mem::take(&mut self.group);
        let Some(last) = commits.last() else { return Ok(()) };
        let head = last.head();
        let item = Append { board: self.part.board.clone(), expected: self.head, commits };
        match new.append(vec![item]).await.as_slice() {
            [Outcome::Appended(landed)] if *landed == head => {
                self.head = Some(head);
                Ok(())
            }
            [Outcome::Refused(refusal)] => bail!("the board {} cannot be written: {refusal}", self.part.board),
            other => bail!("the board {} cannot be written: {other:?}", self.part.board),
        }
    }
}
