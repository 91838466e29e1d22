//! A closed loop over many connections in one thread: each has one request out, and sends the next when it is answered.
//!
//! Invariant: every answer is read whole and handed to the work, which says whether it is right; the first wrong one,
//! a connection that ends and a server that falls silent end the run with an error. Connections are made before the
//! clock starts; the clock stops with the last answer, and every request that was sent is among those counted.
//! Not known here: what is asked.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::answer::Answer;
use crate::proc::Cpu;

/// No server that works takes so long for one answer.
pub(super) const SILENT_MAX: Duration = Duration::from_secs(30);
const BUFFER_BYTES: usize = 16 * 1024;

/// What the connections ask.
pub(crate) trait Work {
    /// The next request of this connection into `out`; false if it has none.
    fn ask(&mut self, lane: usize, out: &mut Vec<u8>) -> bool;

    /// The answer to what this connection asked last.
    fn told(&mut self, lane: usize, answer: Answer<'_>) -> Result<(), String>;
}

/// Who is asked, by how many connections, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drive {
    pub(crate) addr: SocketAddr,
    /// The process of the server, whose processor time is counted.
    pub(crate) pid: u32,
    pub(crate) lanes: usize,
    /// Until the work ends, where there is none.
    pub(crate) time: Option<Duration>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Driven {
    pub(crate) seconds: f64,
    pub(crate) server_cpu_seconds: f64,
    pub(crate) own_cpu_seconds: f64,
    /// From request to answer, in nanoseconds, one for each.
    pub(crate) latencies: Vec<u64>,
}

/// A connection with at most one request out.
#[derive(Debug)]
pub(super) struct Lane {
    stream: TcpStream,
    out: Vec<u8>,
    sent: usize,
    buffer: Vec<u8>,
    filled: usize,
    since: Instant,
    pub(super) asking: bool,
}

impl Drive {
    pub(crate) fn run(self, work: &mut impl Work) -> anyhow::Result<Driven> {
        let mut poll = Poll::new()?;
        let mut lanes =
            (0..self.lanes).map(|n| Lane::connect(self.addr, &poll, n)).collect::<anyhow::Result<Vec<_>>>()?;
        let mut events = Events::with_capacity(self.lanes.max(1));
        let mut latencies = Vec::with_capacity(64 * 1024);
        let (server, own) = (Cpu::of(self.pid)?, Cpu::of(std::process::id())?);
        let began = Instant::now();
        let end = self.time.map(|time| began + time);
        let mut n_asking = 0;
        for (n, lane) in lanes.iter_mut().enumerate() {
            n_asking += usize::from(lane.ask(n, work)?);
        }
        while n_asking > 0 {
            poll.poll(&mut events, Some(SILENT_MAX))?;
            if events.is_empty() {
                bail!("{} answered nothing for {SILENT_MAX:?}", self.addr);
            }
            for event in &events {
                let n = event.token().0;
                let lane = &mut lanes[n];
                lane.flush()?;
                if let Some(took) = lane.receive(n, work)? {
                    latencies.push(took);
                    let over = end.is_some_and(|end| Instant::now() >= end);
                    if over || !lane.ask(n, work)? {
                        n_asking -= 1;
                    }
                }
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        Ok(Driven {
            seconds,
            server_cpu_seconds: server.seconds_since()?,
            own_cpu_seconds: own.seconds_since()?,
            latencies,
        })
    }
}

impl Lane {
    pub(super) fn connect(addr: SocketAddr, poll: &Poll, n: usize) -> anyhow::Result<Self> {
        let stream = std::net::TcpStream::connect(addr).with_context(|| format!("connecting to {addr}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(n), Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self {
            stream,
            out: Vec::new(),
            sent: 0,
            buffer: vec![0; BUFFER_BYTES],
            filled: 0,
            since: Instant::now(),
            asking: false,
        })
    }

    /// Sends the next request; false if there is none.
    pub(super) fn ask(&mut self, n: usize, work: &mut impl Work) -> anyhow::Result<bool> {
        self.asking = work.ask(n, &mut self.out);
        if self.asking {
            self.sent = 0;
            self.since = Instant::now();
            self.flush()?;
        }
        Ok(self.asking)
    }

    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        while self.asking && self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("sending a request"),
            }
        }
        Ok(())
    }

    /// Nanoseconds from the request to its answer, once that has come.
    pub(super) fn receive(&mut self, n: usize, work: &mut impl Work) -> anyhow::Result<Option<u64>> {
        loop {
            let room = self.buffer.len() - self.filled;
            if room == 0 {
                bail!("an answer is longer than {} bytes", self.buffer.len());
            }
            match self.stream.read(&mut self.buffer[self.filled..]) {
                Ok(0) => bail!("the server closed a connection"),
                Ok(got) => {
                    self.filled += got;
                    if let Some(took) = self.judge(n, work)? {
                        return Ok(Some(took));
                    }
                    // Fewer bytes than there was room: nothing more is there, and what comes will be told.
                    if got < room {
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("reading an answer"),
            }
        }
    }

    fn judge(&mut self, n: usize, work: &mut impl Work) -> anyhow::Result<Option<u64>> {
        let read = Answer::read(&self.buffer[..self.filled]).map_err(anyhow::Error::msg)?;
        let Some(answer) = read else { return Ok(None) };
        if !self.asking || answer.bytes() != self.filled {
            bail!("more came than was asked for: {}", answer.shown());
        }
        let took = self.since.elapsed();
        work.told(n, answer).map_err(anyhow::Error::msg)?;
        self.filled = 0;
        self.asking = false;
        Ok(Some(u64::try_from(took.as_nanos()).context("an answer took centuries")?))
    }
}
