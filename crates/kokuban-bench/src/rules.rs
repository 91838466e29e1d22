//! One compare-and-set write, by the rules of a board and by bare maps, for counting what it costs.
//!
//! Invariant: all have the same entries and take the same writes; all writes are prepared before the first is made, so
//! that runs of different length differ in the writes alone. A write names zone, version, lease token and the next
//! status of its lifecycle; every one is accepted.
//! Not known here: how instructions are counted.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use imbl::OrdMap;
use kokuban_core::blueprint::Blueprint;
use kokuban_core::board::Board;
use kokuban_core::caller::Actor;
use kokuban_core::command::{
    Acquire, Change, Command, Conditions, Context, CreateBoard, Decision, LeaseUse, NamedMarks, Write,
};
use kokuban_core::decide;
use kokuban_core::entry::Payload;
use kokuban_core::ids::{AgentName, BoardName, BoardTime, EntryId, Epoch, Key, Revision, Status, Timestamp, ZoneName};
use kokuban_core::json::Json;
use kokuban_core::reply::Reply;
use smol_str::SmolStr;

/// A zone that all write and one owns, with a lifecycle in which work goes on.
const RULES: &str = "\
name = \"bench\"
schema_version = 1
[roles]
analyst = [\"analyst\"]
[lifecycles.review]
initial = [\"raw\"]
transitions = [{ from = \"raw\", to = \"processing\" }, { from = \"processing\", to = \"pending_review\" }]
on_lease_expired = { processing = \"raw\" }
[zones.analysis]
access = \"shared\"
owners = [\"role:analyst\"]
lifecycle = \"review\"
";
const HOUR_MS: u64 = 3_600_000;

/// How many writes are prepared, and how many of them made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length {
    pub(crate) entries: usize,
    pub(crate) prepared: usize,
    pub(crate) made: usize,
}

fn key(n: usize) -> String {
    format!("k{n:07}")
}

fn value(n: usize, bytes: usize) -> String {
    let around = "{\"text\":\"\"}".len();
    format!("{{\"text\":\"{n:0width$}\"}}", width = bytes.saturating_sub(around))
}

/// Entries in an order in which neighbours are no neighbours on the board.
fn scattered(length: Length) -> impl Iterator<Item = usize> {
    const STRIDE: usize = 7_919;
    (0..length.prepared.min(length.entries)).map(move |n| n * STRIDE % length.entries)
}

/// By `decide` and `advance`, as the sequencer of a board does. How long the writes took.
pub(crate) fn by_rules(length: Length, value_bytes: usize) -> anyhow::Result<Duration> {
    let (mut board, tokens) = furnished(length, value_bytes)?;
    let mut writes = Vec::with_capacity(length.prepared);
    for n in scattered(length) {
        let id = entry_id(n)?;
        let entry = board.entry(&id).context("it was written")?;
        let conditions = Conditions { version: Some(entry.version), ..Conditions::default() };
        let mut write = write(id, &value(length.entries + n, value_bytes), conditions)?;
        write.lease.token = Some(*tokens.get(&n).context("it was leased")?);
        write.status = Some(Status::new("processing")?);
        writes.push(Command::Write(Box::new(write)));
    }
    let context = context()?;
    let began = Instant::now();
    for write in &writes[..length.made.min(writes.len())] {
        step(&mut board, write, &context)?;
    }
    Ok(began.elapsed())
}

type Tokens = HashMap<usize, kokuban_core::ids::LeaseToken>;

/// A board with its entries, and a lease on each that will be written.
fn furnished(length: Length, value_bytes: usize) -> anyhow::Result<(Board, Tokens)> {
    let blueprint = Blueprint::from_toml(RULES).map_err(|flaws| anyhow::anyhow!("{flaws:?}"))?;
    let create =
        CreateBoard { blueprint: Arc::new(blueprint), title: None, labels: BTreeMap::new(), inputs: Vec::new() };
    let mut board = Board::absent(BoardName::new("bench")?);
    let context = context()?;
    step(&mut board, &Command::CreateBoard(create), &context)?;
    for n in 0..length.entries {
        let write = write(entry_id(n)?, &value(n, value_bytes), Conditions::default())?;
        step(&mut board, &Command::Write(Box::new(write)), &context)?;
    }
    let mut tokens = HashMap::new();
    for n in scattered(length) {
        let acquire = Command::Acquire(Acquire { id: entry_id(n)?, ttl_ms: HOUR_MS, takeover: false });
        let reply = step(&mut board, &acquire, &context)?;
        let grant = reply.grants().next().context("a lease was granted")?.1;
        tokens.insert(n, grant.token);
    }
    Ok((board, tokens))
}

fn entry_id(n: usize) -> anyhow::Result<EntryId> {
    Ok(EntryId::new(ZoneName::new("analysis")?, Key::new(&key(n))?))
}

fn write(id: EntryId, value: &str, conditions: Conditions) -> anyhow::Result<Write> {
    let json = Json::from_canonical_bytes(value.as_bytes()).context("the value is in its stored form")?;
    Ok(Write {
        id,
        change: Change::Replace { value: Payload::new(json), wipes: false },
        conditions,
        lease: LeaseUse::default(),
        status: None,
        marks: NamedMarks::default(),
        schema_version: None,
        reason: None,
        echoed: Vec::new(),
        atomic: false,
    })
}

fn context() -> anyhow::Result<Context> {
    let agent = AgentName::new("worker")?;
    Ok(Context {
        now: BoardTime(1_000),
        at: Timestamp(1_700_000_000_000),
        actor: Some(Actor { agent, named: true, admin: false, observer: false }),
        request_id: SmolStr::new("01a22de2-e0bb-7b64-8a3c-45a400000000"),
        trace_id: None,
        repeat: None,
        fresh_epoch: Epoch(1),
        create_with: None,
        base: Revision::ZERO,
    })
}

fn step(board: &mut Board, command: &Command, context: &Context) -> anyhow::Result<Reply> {
    match decide(board, command, context) {
        Ok(Decision::Commit { mut commit, reply }) => {
            *board = board.advance(&mut commit)?;
            Ok(reply)
        }
        other => bail!("not accepted: {other:?}"),
    }
}

/// What a bare map keeps of an entry.
#[derive(Debug, Clone)]
struct Slot {
    version: u64,
    owner: SmolStr,
    status: SmolStr,
    value: Bytes,
}

impl Slot {
    fn new(n: usize, value_bytes: usize) -> Self {
        let (owner, status) = (SmolStr::new("worker"), SmolStr::new("raw"));
        Self { version: 1, owner, status, value: value(n, value_bytes).into() }
    }

    fn write(&mut self, next: &Self) -> anyhow::Result<()> {
        if self.version != next.version {
            bail!("not accepted: version {} instead of {}", self.version, next.version);
        }
        self.clone_from(next);
        self.version += 1;
        Ok(())
    }

    fn is_written(&self, next: &Self) -> bool {
        self.version == next.version + 1
            && self.value == next.value
            && (&self.owner, &self.status) == (&next.owner, &next.status)
    }
}

/// By a comparison of versions in a map like the board's, whose readers keep what they have. How long the writes took.
pub(crate) fn by_board_map(length: Length, value_bytes: usize) -> anyhow::Result<Duration> {
    let slot = |n| Ok((entry_id(n)?, Arc::new(Slot::new(n, value_bytes))));
    let mut map = (0..length.entries).map(slot).collect::<anyhow::Result<OrdMap<EntryId, Arc<Slot>>>>()?;
    let next = |n| Ok((entry_id(n)?, Slot::new(length.entries + n, value_bytes)));
    let writes = scattered(length).map(next).collect::<anyhow::Result<Vec<_>>>()?;
    let began = Instant::now();
    for (id, next) in &writes[..length.made.min(writes.len())] {
        let mut slot = Slot::clone(map.get(id).context("it was written")?);
        slot.write(next)?;
        let mut after = map.clone();
        after.insert(id.clone(), Arc::new(slot));
        map = after;
    }
    let took = began.elapsed();
    let last = writes[..length.made.min(writes.len())].last();
    if last.is_some_and(|(id, next)| !map.get(id).is_some_and(|slot| slot.is_written(next))) {
        bail!("what was written is not there");
    }
    Ok(took)
}

/// By a comparison of versions in a map of one owner, in place. How long the writes took.
pub(crate) fn by_hash_map(length: Length, value_bytes: usize) -> anyhow::Result<Duration> {
    let place = |n| format!("analysis/{}", key(n));
    let mut map: HashMap<String, Slot> = (0..length.entries).map(|n| (place(n), Slot::new(n, value_bytes))).collect();
    let writes: Vec<_> = scattered(length).map(|n| (place(n), Slot::new(length.entries + n, value_bytes))).collect();
    let began = Instant::now();
    for (place, next) in &writes[..length.made.min(writes.len())] {
        map.get_mut(place).context("it was written")?.write(next)?;
    }
    let took = began.elapsed();
    let last = writes[..length.made.min(writes.len())].last();
    if last.is_some_and(|(place, next)| !map.get(place).is_some_and(|slot| slot.is_written(next))) {
        bail!("what was written is not there");
    }
    Ok(took)
}

#[cfg(test)]
mod tests {
    use kokuban_core::ids::Version;

    use super::*;

    const LENGTH: Length = Length { entries: 50, prepared: 20, made: 20 };

    #[test]
    fn every_write_is_accepted_by_all() {
        by_rules(LENGTH, 100).expect("accepted");
        by_board_map(LENGTH, 100).expect("accepted");
        by_hash_map(LENGTH, 100).expect("accepted");
    }

    #[test]
    fn no_entry_is_written_twice() {
        let mut entries: Vec<_> = scattered(Length { entries: 10_000, prepared: 2_000, made: 0 }).collect();
        entries.sort_unstable();
        entries.dedup();
        assert_eq!(entries.len(), 2_000);
    }

    #[test]
    fn a_write_on_a_version_that_is_over_is_not_accepted() {
        let (mut board, tokens) = furnished(LENGTH, 100).expect("accepted");
        let conditions = Conditions { version: Some(Version(2)), ..Conditions::default() };
        let mut write = write(entry_id(0).expect("a name"), &value(1, 100), conditions).expect("sound");
        write.lease.token = tokens.get(&0).copied();
        assert!(step(&mut board, &Command::Write(Box::new(write)), &context().expect("sound")).is_err());
    }
}
