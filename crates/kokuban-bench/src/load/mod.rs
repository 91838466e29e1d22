//! The load: a process of its own, so that its processor time and the server's can be told apart.
//!
//! Invariant: orders are followed one at a time, and each has one reply. The process ends with its standard input.
//! Start at [`serve`] for the process, at [`Load`] for who gives it orders.

mod answer;
mod drive;
mod fan_out;
mod keys;
mod order;
mod request;
mod stream;
mod sync;

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};

use self::answer::Answer;
use self::drive::{Drive, Driven, Work};
use self::keys::{Keys, Plan};
use self::order::Reply;
use self::stream::Stream;
use crate::stats::percentile;

pub(crate) use self::keys::KeySet;
pub(crate) use self::order::{Order, Pace, Slice};

/// The load process, as seen from the run.
#[derive(Debug)]
pub(crate) struct Load {
    child: Child,
    orders: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Load {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("where this program is")?;
        let mut command = Command::new(program);
        let mut child = command.arg("load").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let orders = child.stdin.take().expect("piped");
        let replies = BufReader::new(child.stdout.take().expect("piped"));
        Ok(Self { child, orders, replies })
    }

    pub(crate) fn order(&mut self, order: &Order) -> anyhow::Result<Slice> {
        writeln!(self.orders, "{}", serde_json::to_string(order)?)?;
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        let reply: Reply = serde_json::from_str(&line).with_context(|| format!("the load process ended: {line:?}"))?;
        reply.map_err(|error| anyhow!("{error} (while following {order:?})"))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Follows orders from standard input.
pub(crate) fn serve() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut follower = Follower::default();
    open_files_as_many_as_may();
    for line in std::io::stdin().lock().lines() {
        let reply: Reply = follower.follow(serde_json::from_str(&line?)?).map_err(|error| format!("{error:#}"));
        writeln!(out, "{}", serde_json::to_string(&reply)?)?;
        out.flush()?;
    }
    Ok(())
}

/// A thousand streams are close to the usual limit.
fn open_files_as_many_as_may() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it fails the streams will, and say so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

#[derive(Debug, Default)]
struct Follower {
    keys: HashMap<String, Keys>,
    streams: Vec<Stream>,
}

impl Follower {
    fn follow(&mut self, order: Order) -> anyhow::Result<Slice> {
        self.streams.clear();
        match order {
            Order::Keys { name, set } => {
                self.keys.insert(name, Keys::new(set));
                Ok(Slice::default())
            }
            Order::Boards { name, lanes } => self.boards(&name, lanes, request::create_board, 201),
            Order::Visit { name, lanes } => self.boards(&name, lanes, request::show_board, 200),
            Order::Grow { name, n_keys } => {
                self.known(&name)?.grow(n_keys);
                Ok(Slice::default())
            }
            Order::UpTo { name, lanes, version } => self.rounds(&name, Plan::UpTo(version), lanes, None),
            Order::Write { name, lanes, ms } => self.rounds(&name, Plan::Write, lanes, Some(ms)),
            Order::Read { name, lanes, ms } => self.rounds(&name, Plan::Read, lanes, Some(ms)),
            Order::Verify { name, lanes } => {
                let slice = self.rounds(&name, Plan::Verify, lanes, None)?;
                let n_keys = self.known(&name)?.set.n_keys as u64;
                if slice.n != n_keys {
                    bail!("of {n_keys} keys {} were found", slice.n);
                }
                Ok(slice)
            }
            Order::Subscribe { name, n } => {
                let set = &self.known(&name)?.set;
                self.streams = Stream::open(set, n)?;
                Ok(Slice { n: n as u64, ..Slice::default() })
            }
            Order::FanOut { name, n, ms, pace } => {
                let keys = self.known(&name)?;
                slice(fan_out::run(keys, n, Duration::from_millis(ms), pace)?)
            }
            Order::Sync { file, bytes, ms } => slice(sync::run(&file, bytes, Duration::from_millis(ms))?),
        }
    }

    fn known(&mut self, name: &str) -> anyhow::Result<&mut Keys> {
        self.keys.get_mut(name).with_context(|| format!("no keys are called {name}"))
    }

    fn rounds(&mut self, name: &str, plan: Plan, lanes: usize, ms: Option<u64>) -> anyhow::Result<Slice> {
        let keys = self.known(name)?;
        let drive = Drive { addr: keys.set.addr, pid: keys.set.pid, lanes, time: ms.map(Duration::from_millis) };
        let before = keys.n_writes();
        let driven = drive.run(&mut keys.rounds(plan, lanes))?;
        let n = driven.latencies.len() as u64;
        let written = keys.n_writes() - before;
        if plan.writes() && written != n {
            bail!("{written} writes were sent, and {n} acknowledged");
        }
        slice(driven)
    }

    fn boards(&mut self, name: &str, lanes: usize, ask: AskBoard, status: u16) -> anyhow::Result<Slice> {
        let set = &self.known(name)?.set;
        let drive = Drive { addr: set.addr, pid: set.pid, lanes, time: None };
        let mut boards = Boards { addr: set.addr, board: set.board.clone(), next: 0, n: set.n_boards, ask, status };
        slice(drive.run(&mut boards)?)
    }
}

fn slice(mut driven: Driven) -> anyhow::Result<Slice> {
    let of = |latencies: &mut Vec<u64>, percent| percentile(latencies, percent).context("nothing was answered");
    Ok(Slice {
        n: driven.latencies.len() as u64,
        seconds: driven.seconds,
        server_cpu_seconds: driven.server_cpu_seconds,
        own_cpu_seconds: driven.own_cpu_seconds,
        p50_ns: of(&mut driven.latencies, 50)?,
        p99_ns: of(&mut driven.latencies, 99)?,
    })
}

type AskBoard = fn(&mut Vec<u8>, SocketAddr, &str, usize);

/// Asks the same about boards, one after the other.
#[derive(Debug)]
struct Boards {
    addr: SocketAddr,
    board: String,
    next: usize,
    n: usize,
    ask: AskBoard,
    /// That each answer must have.
    status: u16,
}

impl Work for Boards {
    fn ask(&mut self, _lane: usize, out: &mut Vec<u8>) -> bool {
        let there_is = self.next < self.n;
        if there_is {
            (self.ask)(out, self.addr, &self.board, self.next);
            self.next += 1;
        }
        there_is
    }

    fn told(&mut self, _lane: usize, answer: Answer<'_>) -> Result<(), String> {
        if answer.status == self.status { Ok(()) } else { Err(format!("about a board: {}", answer.shown())) }
    }
}
