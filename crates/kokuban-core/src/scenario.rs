//! A stage for tests of the rules: a board, agents who act on it, and a clock that the test turns.
//!
//! Invariant: after every step the log of encoded records, replayed, gives the same board byte for byte; the indexes
//! agree with the entries; no version of a key comes twice; a refusal left the board as it was.
//! Not known here: what is tested. Scenarios stand beside the operations, properties in `scenario/properties.rs`.

mod model;
mod properties;
mod script;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

pub(crate) use script::*;

use crate::blueprint::Blueprint;
use crate::board::Board;
use crate::caller::Actor;
use crate::command::{Command, Context, Decision, Repeat, Restore, decide};
use crate::entry::EntryParts;
use crate::event::{Commit, Event};
use crate::ids::{AgentName, BoardName, BoardTime, ChainHash, EntryId, Epoch, Revision, Sha256, Timestamp, Version};
use crate::record::{decode_commit, encode};
use crate::rejection::{Refusal, Rejection};
use crate::reply::{Grant, Receipt, Reply};

/// Board time at which every stage begins.
pub(crate) const START_MS: u64 = 1_000_000;

pub(crate) struct Stage {
    pub(crate) board: Board,
    pub(crate) create_with: Option<Arc<Blueprint>>,
    pub(crate) base: Revision,
    now: u64,
    log: Vec<(Bytes, ChainHash)>,
    chain: ChainHash,
    /// The highest version that each key ever had.
    versions: BTreeMap<EntryId, Version>,
    /// The highest revision that was ever given.
    highest: Revision,
    key: Option<Repeat>,
    n_lives: u64,
    n_requests: u64,
    /// Replaying everything after each step is quadratic; long scenarios do it once, at their end.
    thorough: bool,
}

/// What an accepted command came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) reply: Reply,
    /// Empty where nothing was recorded, or only a key.
    pub(crate) events: Vec<Event>,
    pub(crate) revision: Option<Revision>,
}

impl Done {
    pub(crate) fn receipt(&self) -> &Receipt {
        match &self.reply {
            Reply::Receipt(receipt) => receipt,
            other => panic!("no receipt: {other:?}"),
        }
    }

    pub(crate) fn receipts(&self) -> &[Receipt] {
        match &self.reply {
            Reply::Transaction { receipts } => receipts,
            other => panic!("no transaction: {other:?}"),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.receipt().version.0
    }

    pub(crate) fn grant(&self) -> &Grant {
        self.reply.grants().next().expect("a grant").1
    }

    pub(crate) fn token(&self) -> u64 {
        self.grant().token.0
    }

    /// The tags of the events, in order.
    pub(crate) fn tags(&self) -> Vec<String> {
        self.events.iter().map(tag).collect()
    }
}

pub(crate) fn tag(event: &Event) -> String {
    let members = serde_json::to_value(event).expect("an event is JSON");
    members["event"].as_str().expect("every event has a tag").to_owned()
}

impl Stage {
    /// A stage without a board.
    pub(crate) fn empty() -> Self {
        Self {
            board: Board::absent(BoardName::new("b").expect("a name")),
            create_with: None,
            base: Revision::ZERO,
            now: START_MS,
            log: Vec::new(),
            chain: ChainHash::GENESIS,
            versions: BTreeMap::new(),
            highest: Revision::ZERO,
            key: None,
            n_lives: 0,
            n_requests: 0,
            thorough: true,
        }
    }

    /// A board with these rules, which are written without `name`.
    pub(crate) fn with(rules: &str) -> Self {
        let mut stage = Self::empty();
        stage.ok("creator", create(rules));
        stage
    }

    /// Checks the whole log at the end only.
    pub(crate) fn quick(mut self) -> Self {
        self.thorough = false;
        self
    }

    /// Turns the clock to `ms` after the start of the stage.
    pub(crate) fn at(&mut self, ms: u64) -> &mut Self {
        assert!(START_MS + ms >= self.now, "board time never goes back");
        self.now = START_MS + ms;
        self
    }

    pub(crate) fn now(&self) -> BoardTime {
        BoardTime(self.now)
    }

    /// The next command bears this Idempotency-Key and asks this.
    pub(crate) fn key(&mut self, key: &str, asks: &str) -> &mut Self {
        self.key = Some(Repeat { key: SmolStr::new(key), fingerprint: Sha256::of(asks.as_bytes()) });
        self
    }

    /// What `agent` may be by the configuration of the server follows from its name.
    pub(crate) fn actor(agent: &str) -> Actor {
        Actor {
            agent: AgentName::new(agent).expect("a name"),
            named: agent != "anonymous",
            admin: agent.starts_with("admin"),
            observer: agent.ends_with("observer"),
        }
    }

    fn context(&mut self, agent: Option<&str>) -> Context {
        self.n_requests += 1;
        Context {
            now: self.now(),
            at: Timestamp(1_700_000_000_000 + i64::try_from(self.now).expect("small")),
            actor: agent.map(Self::actor),
            request_id: format_smolstr!("q{}", self.n_requests),
            trace_id: None,
            repeat: self.key.take(),
            fresh_epoch: Epoch(0xe0 + self.n_lives),
            base: self.base,
            create_with: self.create_with.clone(),
        }
    }

    /// Works off what has run out, as the engine does before every command.
    pub(crate) fn tick(&mut self) -> Vec<Event> {
        let mut all = Vec::new();
        while self.board.overdue(self.now()).next().is_some() {
            let context = self.context(None);
            let done = self.step(&Command::Tick, &context).expect("no rule refuses a tick");
            assert!(!done.events.is_empty(), "a tick works something off");
            all.extend(done.events);
        }
        all
    }

    /// The server starts: it loads the board, resumes, then works off the rest.
    pub(crate) fn restart(&mut self) -> Vec<Event> {
        self.check();
        self.board = self.replayed();
        let context = self.context(None);
        let mut events = self.step(&Command::Resume, &context).expect("no rule refuses a start").events;
        events.extend(self.tick());
        events
    }

    /// All that came after the first `n_records` is lost, and the board brought back from them. What was given since
    /// is remembered: nothing of it may be given again.
    pub(crate) fn restore(&mut self, n_records: usize) -> Vec<Event> {
        let past = self.board.revision();
        self.log.truncate(n_records);
        self.chain = self.log.last().map_or(ChainHash::GENESIS, |(_, chain)| *chain);
        self.board = self.replayed();
        let context = self.context(None);
        let restore = Command::Restore(Restore { taken: Timestamp(0), past });
        let mut events = self.step(&restore, &context).expect("no rule refuses a restore").events;
        events.extend(self.tick());
        events
    }

    /// Decides and applies; `Err` for a refusal, after which everything is as before.
    pub(crate) fn run(&mut self, agent: &str, command: impl Into<Command>) -> Result<Done, Refusal> {
        match self.decide(agent, command)? {
            Outcome::Done(done) => Ok(done),
            other => panic!("neither done nor refused: {other:?}"),
        }
    }

    pub(crate) fn ok(&mut self, agent: &str, command: impl Into<Command>) -> Done {
        self.run(agent, command).unwrap_or_else(|refusal| panic!("refused: {refusal:?}"))
    }

    pub(crate) fn refusal(&mut self, agent: &str, command: impl Into<Command>) -> Refusal {
        match self.run(agent, command) {
            Ok(done) => panic!("accepted: {done:?}"),
            Err(refusal) => refusal,
        }
    }

    /// The failure that decides.
    pub(crate) fn refused(&mut self, agent: &str, command: impl Into<Command>) -> Rejection {
        self.refusal(agent, command).first().clone()
    }

    /// All failures, in order.
    pub(crate) fn failures(&mut self, agent: &str, command: impl Into<Command>) -> Vec<Rejection> {
        self.refusal(agent, command).failures.into_iter().map(|failure| failure.rejection).collect()
    }

    /// Like `run`, where a replay or an empty claim may come out.
    pub(crate) fn decide(&mut self, agent: &str, command: impl Into<Command>) -> Result<Outcome, Refusal> {
        let key = self.key.take();
        self.tick();
        self.key = key;
        let context = self.context(Some(agent));
        let command = command.into();
        match decide(&self.board, &command, &context) {
            Ok(Decision::Replay(revision)) => Ok(Outcome::Replay(revision)),
            Ok(Decision::Nothing) => Ok(Outcome::Nothing),
            _ => self.step(&command, &context).map(Outcome::Done),
        }
    }

    fn step(&mut self, command: &Command, context: &Context) -> Result<Done, Refusal> {
        let before = self.board.clone();
        let decision = decide(&self.board, command, context);
        assert!(!self.thorough || before == self.board, "deciding changed the board");
        let (commit, reply) = match decision? {
            Decision::Commit { commit, reply } => (commit, reply),
            Decision::Answer(reply) => return Ok(Done { reply, events: Vec::new(), revision: None }),
            other => panic!("nothing to apply: {other:?}"),
        };
        self.record(&commit);
        Ok(Done { reply, revision: Some(commit.revision), events: commit.events })
    }

    pub(crate) fn record(&mut self, commit: &Commit) {
        let mut commit = commit.clone();
        let after = self.board.advance(&mut commit).expect("what was decided applies");
        let encoded = encode(&commit);
        self.chain = encoded.chain_after(self.chain);
        self.log.push((encoded.bytes, self.chain));
        self.board = after;
        assert!(commit.revision > self.highest, "revision {} was given before", commit.revision);
        self.highest = commit.revision;
        let begins = |event: &Event| matches!(event, Event::BoardCreated(_) | Event::BoardRestored(_));
        self.n_lives += u64::from(commit.events.iter().any(begins));
        for event in &commit.events {
            let (Some(id), Some(version)) = (event.entry(), event.version()) else { continue };
            assert!(version.0 <= commit.revision.0, "{id}: version {version} at revision {}", commit.revision);
            let before = self.versions.insert(id.clone(), version);
            assert!(before.is_none_or(|before| before < version), "{id}: {version} after {before:?}");
        }
        if self.thorough {
            self.check();
        }
    }

    /// Replays the whole log, and goes through a snapshot, and compares.
    pub(crate) fn check(&self) {
        self.board.check();
        let live = bytes_of(&self.board);
        let replayed = self.replayed();
        assert_eq!(live, bytes_of(&replayed), "replay = live");
        assert!(self.board == replayed, "replay = live");
        let restored = Board::from_snapshot(&live).expect("a snapshot reads back");
        restored.check();
        assert_eq!(live, bytes_of(&restored), "snapshot = live");
        assert!(self.board == restored, "snapshot = live");
    }

    pub(crate) fn replayed(&self) -> Board {
        self.replay_from(Board::absent(self.board.name().clone()), 0)
    }

    /// Applies the log from the record at `from` on to `board`, which is as it was then.
    pub(crate) fn replay_from(&self, mut board: Board, from: usize) -> Board {
        let mut chain = from.checked_sub(1).map_or(ChainHash::GENESIS, |last| self.log[last].1);
        for (bytes, after) in &self.log[from..] {
            let commit = decode_commit(bytes, chain, *after).expect("a record reads back");
            board.apply(&commit).expect("a record applies");
            chain = *after;
        }
        board
    }

    /// The records so far, each with the hash of the chain after it.
    pub(crate) fn log(&self) -> &[(Bytes, ChainHash)] {
        &self.log
    }

    pub(crate) fn n_records(&self) -> usize {
        self.log.len()
    }

    pub(crate) fn entry(&self, place: &str) -> EntryParts {
        self.board.entry(&id(place)).unwrap_or_else(|| panic!("{place} is not there")).parts()
    }

    pub(crate) fn value(&self, place: &str) -> Value {
        self.entry(place).value.json.as_ref().expect("a value").to_value()
    }

    pub(crate) fn status(&self, place: &str) -> Option<String> {
        self.entry(place).status.map(|status| status.to_string())
    }

    pub(crate) fn owner(&self, place: &str) -> Option<String> {
        let entry = self.board.entry(&id(place)).unwrap_or_else(|| panic!("{place} is not there"));
        self.board.owner(&id(place), entry).map(|owner| owner.to_string())
    }

    pub(crate) fn holder(&self, place: &str) -> Option<&str> {
        self.board.lease(&id(place)).map(|lease| lease.holder.as_str())
    }
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Done(Done),
    Replay(Revision),
    Nothing,
}

pub(crate) fn bytes_of(board: &Board) -> Bytes {
    board.to_snapshot()
}
