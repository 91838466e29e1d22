//! Copying all that the journal holds into a backup, while boards go on.
//!
//! Invariants: each board is copied up to a revision that it had while the copy was made, as one stretch of its log and
//! the state that belongs to it. Writers and readers are not held up; what takes parts of a log away rests on the board
//! that is being copied. Bounds: a few copies at the same time, one page of a log (or one record) in hand for each.
//! What cannot be read is told in the copy, and the rest is copied.
//! Not known here: who asks, what becomes of the bytes. Their form is `kokuban_journal::backup`.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use kokuban_core::ids::{BoardName, Revision};
use kokuban_journal::backup::{Begin, Frame, Note, Totals, Writer};
use kokuban_journal::{BoardInfo, Error, Head, Journal, ReadLimit, Refusal, SnapshotPart};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::engine::Engine;

/// Copies at the same time.
const COPIES_MAX: usize = 2;
const BOARDS_PER_PAGE: usize = 1_000;
const PAGE: ReadLimit = ReadLimit { records: 1_000, body_bytes: 256 * 1_024 };
/// How often a board is begun anew when its log was changed by an erasure or another server.
const TRIES_MAX: u32 = 5;

/// What is being copied now.
#[derive(Debug)]
pub(crate) struct Copies {
    turns: Arc<Semaphore>,
    boards: Mutex<BTreeMap<BoardName, usize>>,
}

impl Default for Copies {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(COPIES_MAX)), boards: Mutex::default() }
    }
}

impl Copies {
    /// Whether nothing may be taken out of the log of this board.
    pub(crate) fn is_copied(&self, board: &BoardName) -> bool {
        self.boards().contains_key(board)
    }

    fn boards(&self) -> MutexGuard<'_, BTreeMap<BoardName, usize>> {
        self.boards.lock().expect("no code panics while it holds the names")
    }
}

/// A board that is being copied, until this is dropped.
struct Mark<'s>(&'s Copies, BoardName);

impl<'s> Mark<'s> {
    fn new(copies: &'s Copies, board: &BoardName) -> Self {
        *copies.boards().entry(board.clone()).or_default() += 1;
        Self(copies, board.clone())
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        let mut boards = self.0.boards();
        if let Some(n) = boards.get_mut(&self.1) {
            *n -= 1;
            if *n == 0 {
                boards.remove(&self.1);
            }
        }
    }
}

/// As many copies as may be are being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// A copy under way. Dropping it ends it.
#[derive(Debug)]
pub struct Copying {
    pages: mpsc::Receiver<io::Result<Bytes>>,
}

impl Copying {
    /// The next bytes; `None` at the end. After an error nothing follows, and what was given is not a backup.
    pub async fn next(&mut self) -> Option<io::Result<Bytes>> {
        self.pages.recv().await
    }
}

impl Engine {
    /// Begins a copy of all boards that there are. `server` is the version that is noted in it.
    ///
    /// # Errors
    /// Too many are being made.
    pub fn copy(self: &Arc<Self>, server: &str) -> Result<Copying, Busy> {
        let turn = Arc::clone(&self.shared().copies.turns).try_acquire_owned().map_err(|_| Busy)?;
        let (sender, pages) = mpsc::channel(1);
        let begin = Begin { server: server.to_owned(), taken: self.clock().wall(), base: self.journal().caps().base };
        tokio::spawn(copy(Arc::clone(self), begin, sender, turn));
        Ok(Copying { pages })
    }
}

async fn copy(engine: Arc<Engine>, begin: Begin, pages: mpsc::Sender<io::Result<Bytes>>, turn: OwnedSemaphorePermit) {
    let mut copier = Copier { engine, writer: Writer::new(), pages, records: 0 };
    let why = match copier.run(begin).await {
        Ok(()) | Err(Hitch::Unwanted) => None,
        Err(Hitch::Failed(why) | Hitch::Unreadable { why, .. }) => Some(why),
        Err(Hitch::Changed) => Some("the boards changed while they were copied".to_owned()),
    };
    if let Some(why) = why {
        tracing::warn!(%why, "a backup broke off");
        let _ = copier.pages.send(Err(io::Error::other(why))).await;
    }
    drop(turn);
}

/// Why a part of a copy is not made.
enum Hitch {
    /// Part of the log went away, or the state was replaced: what was given does not belong together.
    Changed,
    /// The store cannot give it.
    Unreadable {
        revision: Option<Revision>,
        why: String,
    },
    /// Nobody takes the bytes any more.
    Unwanted,
    Failed(String),
}

impl From<Error> for Hitch {
    fn from(error: Error) -> Self {
        match error {
            Error::Damaged { revision, detail, .. } => Self::Unreadable { revision, why: detail },
            Error::Refused(Refusal::Closed) | Error::NoBoard => Self::Failed(error.to_string()),
            other => Self::Unreadable { revision: None, why: other.to_string() },
        }
    }
}

struct Copier {
    engine: Arc<Engine>,
    writer: Writer,
    pages: mpsc::Sender<io::Result<Bytes>>,
    /// Given of the board that is being copied.
    records: u64,
}

impl Copier {
    async fn run(&mut self, begin: Begin) -> Result<(), Hitch> {
        self.note(Note::Begin(begin)).await?;
        let mut totals = Totals::default();
        let mut after = None;
        loop {
            let page = self.engine.list(after.clone(), BOARDS_PER_PAGE).await;
            let page = page.map_err(|error| Hitch::Failed(error.to_string()))?;
            let Some(last) = page.last() else { break };
            after = Some(last.board.clone());
            for info in page {
                self.board(&info.board).await?;
                totals.records += self.records;
                totals.boards += 1;
            }
        }
        self.note(Note::End(totals)).await
    }

    async fn board(&mut self, board: &BoardName) -> Result<(), Hitch> {
        let engine = Arc::clone(&self.engine);
        let _mark = Mark::new(&engine.shared().copies, board);
        if let Some(handle) = engine.registry.get(board) {
            // Whoever began to take something out of the log before it was marked has ended then.
            drop(handle.upkeep.lock().await);
        }
        for _ in 0..TRIES_MAX {
            match self.section(board).await {
                Err(Hitch::Changed) => {}
                ended => return ended,
            }
        }
        Err(Hitch::Failed(format!("the log of the board {board} was changed again and again while it was copied")))
    }

    async fn section(&mut self, board: &BoardName) -> Result<(), Hitch> {
        let info = self.journal().info(board.clone()).await?.ok_or(Error::NoBoard)?;
        self.begin(&info).await?;
        let mut trouble = None;
        if let Some(found) = unreadable(self.state(board).await)? {
            // Without the chunks that are missing the others are of no use.
            self.begin(&info).await?;
            trouble = Some(found);
        }
        let found = unreadable(self.log(&info).await)?;
        if let Some((revision, why)) = trouble.or(found) {
            tracing::error!(%board, ?revision, %why, "a board could not be copied whole into a backup");
            self.note(Note::Unreadable { revision, why }).await?;
        }
        self.note(Note::Close { revision: info.head.revision, chain: info.head.chain }).await
    }

    async fn begin(&mut self, info: &BoardInfo) -> Result<(), Hitch> {
        self.records = 0;
        self.note(Note::Board { board: info.board.clone(), oldest: info.oldest }).await
    }

    /// The stored state.
    async fn state(&mut self, board: &BoardName) -> Result<(), Hitch> {
        let (mut announced, mut given): (Option<Head>, usize) = (None, 0);
        loop {
            let part = self.journal().read_snapshot(board.clone(), given, PAGE.body_bytes).await?;
            let Some(SnapshotPart { head, n_chunks, chunks }) = part else {
                return if announced.is_none() { Ok(()) } else { Err(Hitch::Changed) };
            };
            if announced.is_some_and(|announced| announced != head) {
                return Err(Hitch::Changed);
            }
            given += chunks.len();
            let note = Note::State { revision: head.revision, chain: head.chain, n_chunks };
            let begin = announced.is_none().then_some(Frame::Note(note));
            self.give(begin.into_iter().chain(chunks.into_iter().map(Frame::Chunk))).await?;
            if given >= n_chunks {
                return Ok(());
            }
            announced = Some(head);
        }
    }

    /// The records from the oldest up to the head.
    async fn log(&mut self, info: &BoardInfo) -> Result<(), Hitch> {
        let mut at = Revision(info.oldest.0.saturating_sub(1));
        while at < info.head.revision {
            let mut page = self.journal().read(info.board.clone(), at, PAGE).await?;
            page.retain(|record| record.revision <= info.head.revision);
            let kept = self.journal().info(info.board.clone()).await?;
            if kept.is_none_or(|kept| kept.oldest > info.oldest) {
                return Err(Hitch::Changed);
            }
            let missing = || Hitch::Unreadable { revision: Some(at.next()), why: "records are missing".to_owned() };
            at = page.last().ok_or_else(missing)?.revision;
            self.records += page.len() as u64;
            self.give(page.into_iter().map(Frame::Record)).await?;
        }
        Ok(())
    }

    async fn note(&mut self, note: Note) -> Result<(), Hitch> {
        self.give([Frame::Note(note)]).await
    }

    async fn give(&mut self, frames: impl IntoIterator<Item = Frame>) -> Result<(), Hitch> {
        let mut bytes = Vec::new();
        frames.into_iter().for_each(|frame| self.writer.write(&frame, &mut bytes));
        self.pages.send(Ok(bytes.into())).await.map_err(|_| Hitch::Unwanted)
    }

    fn journal(&self) -> &Arc<dyn Journal> {
        self.engine.journal()
    }
}

/// What the store could not give, apart from all other hitches.
fn unreadable(result: Result<(), Hitch>) -> Result<Option<(Option<Revision>, String)>, Hitch> {
    match result {
        Ok(()) => Ok(None),
        Err(Hitch::Unreadable { revision, why }) => Ok(Some((revision, why))),
        Err(other) => Err(other),
    }
}
