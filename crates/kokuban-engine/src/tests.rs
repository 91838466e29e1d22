//! Tests of the engine over a journal in memory that fails on command.
//!
//! Invariant: no test sleeps; what must not happen is given every chance first (`settle`).
//! Not known here: the rules of boards.

mod batches;
mod copies;
mod damage;
mod effects;
mod failures;
mod gating;
mod leases;
mod lifetime;
mod repeats;
mod restored;
mod streams;
mod waiters;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kokuban_core::blueprint::{Blueprint, builtin};
use kokuban_core::board::Board;
use kokuban_core::caller::Actor;
use kokuban_core::command::{
    Acquire, Change, Claim, Command, Conditions, CreateBoard, LeaseUse, NamedMarks, Release, Repeat, Write,
};
use kokuban_core::entry::Payload;
use kokuban_core::event::Event;
use kokuban_core::ids::{AgentName, BoardName, EntryId, Key, LeaseToken, Revision, Sha256, Version, ZoneName};
use kokuban_core::json::Json;
use kokuban_core::rejection::Rejection;
use kokuban_core::reply::{Receipt, Reply};
use kokuban_journal::faults::Faulty;
use kokuban_journal::{Journal, Memory};
use serde_json::{Value, json};
use smol_str::SmolStr;
use tokio::task::JoinHandle;

use crate::clock::Clock;
use crate::{Answer, BoardHandle, Engine, Error, Options, Request};

/// Long enough for any wait that ends well.
const BOUND: Duration = Duration::from_secs(300);

/// Awaits what must come.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, future).await.expect("in time")
}

/// Lets every other task of a current-thread runtime run until it waits for something else.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// Waits until something is so.
async fn until(mut holds: impl FnMut() -> bool) {
    soon(async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

struct Bench {
    journal: Faulty,
    engine: Arc<Engine>,
}

impl Bench {
    /// A server with the board `b` of the default blueprint.
    async fn new() -> Self {
        Self::with(Options::default()).await
    }

    async fn with(options: Options) -> Self {
        Self::of(options, builtin("default").expect("built in")).await
    }

    async fn of(options: Options, blueprint: Arc<Blueprint>) -> Self {
        let bench = Self::empty(options).await;
        bench.ask(ask("lin", create(blueprint))).await.expect("a new board");
        bench
    }

    async fn empty(options: Options) -> Self {
        let journal = Faulty::new(Memory::new());
        let engine = Engine::start(Arc::new(journal.clone()), options).await.expect("an empty journal");
        Self { journal, engine }
    }

    /// The same journal under a new server, whose wall clock stands at `start_ms`.
    async fn restarted_at(self, start_ms: u64, options: Options) -> Self {
        let Self { journal, engine } = self;
        drop(engine);
        settle().await;
        let clock = Clock::starting_at(start_ms);
        let engine = Engine::start_at(clock, Arc::new(journal.clone()), options).await.expect("a journal that lists");
        Self { journal, engine }
    }

    async fn restarted(self) -> Self {
        self.restarted_at(now_ms(), Options::default()).await
    }

    async fn ask(&self, request: Request) -> Result<Answer, Error> {
        soon(self.engine.submit(&b(), request)).await
    }

    fn asking(&self, request: Request) -> JoinHandle<Result<Answer, Error>> {
        let engine = Arc::clone(&self.engine);
        tokio::spawn(async move { engine.submit(&b(), request).await })
    }

    /// Writes and gives the receipt.
    async fn put(&self, key: &str, value: Value, version: u64) -> Receipt {
        receipt(self.ask(ask("ra", put(key, value, version))).await.expect("an accepted write"))
    }

    async fn board(&self) -> Arc<BoardHandle> {
        soon(self.engine.board(&b())).await.expect("a board that can be read").expect("a board")
    }

    async fn revision(&self) -> u64 {
        self.board().await.published().board.revision().0
    }

    async fn value(&self, key: &str) -> Option<Value> {
        let board = self.board().await.published().board.clone();
        board.entry(&id(key)).and_then(|entry| entry.value().map(|value| value.to_value()))
    }

    async fn records(&self) -> Vec<kokuban_journal::Record> {
        let all = kokuban_journal::ReadLimit { records: usize::MAX, body_bytes: usize::MAX };
        self.journal.inner().read(b(), Revision::ZERO, all).await.expect("a board with records")
    }
}

fn now_ms() -> u64 {
    Clock::start().process_time().0
}

fn b() -> BoardName {
    BoardName::new("b").expect("a name")
}

fn name(name: &str) -> BoardName {
    BoardName::new(name).expect("a name")
}

fn id_in(zone: &str, key: &str) -> EntryId {
    EntryId::new(ZoneName::new(zone).expect("a zone"), Key::new(key).expect("a key"))
}

fn id(key: &str) -> EntryId {
    id_in("working", key)
}

fn actor(agent: &str) -> Actor {
    Actor { agent: AgentName::new(agent).expect("a name"), named: true, admin: agent == "root", observer: false }
}

fn ask(agent: &str, command: Command) -> Request {
    Request {
        command,
        actor: actor(agent),
        request_id: SmolStr::new_static("test"),
        trace_id: None,
        repeat: None,
        create_with: None,
        dry_run: false,
        wait: Duration::ZERO,
    }
}

fn keyed(key: &str, fingerprint: &str, request: Request) -> Request {
    let repeat = Repeat { key: SmolStr::new(key), fingerprint: Sha256::of(fingerprint.as_bytes()) };
    Request { repeat: Some(repeat), ..request }
}

fn waiting(wait: Duration, request: Request) -> Request {
    Request { wait, ..request }
}

fn create(blueprint: Arc<Blueprint>) -> Command {
    Command::CreateBoard(CreateBoard { blueprint, title: None, labels: BTreeMap::new(), inputs: Vec::new() })
}

fn payload(value: &Value) -> Payload {
    Payload::new(Json::from_value(value))
}

fn write(id: EntryId, value: &Value, version: u64) -> Write {
    Write {
        id,
        change: Change::Replace { value: payload(value), wipes: false },
        conditions: Conditions { version: Some(Version(version)), ..Conditions::default() },
        lease: LeaseUse::default(),
        status: None,
        marks: NamedMarks::default(),
        schema_version: None,
        reason: None,
        echoed: Vec::new(),
        atomic: false,
    }
}

fn put(key: &str, value: Value, version: u64) -> Command {
    Command::Write(Box::new(write(id(key), &value, version)))
}

fn scratch(key: &str, value: Value) -> Command {
    let conditions = Conditions::default();
    Command::Write(Box::new(Write { conditions, ..write(id_in("scratch", key), &value, 0) }))
}

fn acquire(key: &str, ttl_ms: u64) -> Command {
    Command::Acquire(Acquire { id: id(key), ttl_ms, takeover: false })
}

fn release(key: &str, token: LeaseToken) -> Command {
    Command::Release(Release { id: id(key), token: Some(token), reason: None })
}

fn claim(ttl_ms: u64) -> Command {
    let zone = ZoneName::new("working").expect("a zone");
    Command::Claim(Claim { zone, status: None, prefix: None, ttl_ms, to_status: None })
}

fn receipt(answer: Answer) -> Receipt {
    match answer.reply {
        Some(Reply::Receipt(receipt)) => *receipt,
        other => panic!("no receipt: {other:?}"),
    }
}

fn token(answer: &Answer) -> LeaseToken {
    answer.reply.as_ref().and_then(|reply| reply.grants().next().map(|(_, grant)| grant.token)).expect("a grant")
}

/// The key of a claimed entry, where one was found.
fn claimed(answer: &Answer) -> Option<String> {
    match &answer.reply {
        Some(Reply::Claimed { id, .. }) => Some(id.key.as_str().to_owned()),
        None => None,
        other => panic!("no claim: {other:?}"),
    }
}

fn rejection(result: Result<Answer, Error>) -> Rejection {
    match result {
        Err(Error::Refused { refusal, .. }) => refusal.first().clone(),
        other => panic!("not refused: {other:?}"),
    }
}

/// All that a board is, as bytes.
fn state(board: &Board) -> bytes::Bytes {
    board.to_snapshot()
}

fn expiries(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::LeaseExpired { .. })).count()
}

fn small_snapshots() -> Options {
    Options { snapshot_bytes_min: 8 * 1_024, snapshot_percent_min: 0, ..Options::default() }
}

fn text(bytes: usize) -> Value {
    json!("x".repeat(bytes))
}
