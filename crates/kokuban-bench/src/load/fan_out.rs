//! Writers on one board and many streams of it, in one thread: how much is delivered, and how late.
//!
//! Invariant: the run ends when every stream has told of every write, or with an error. A delivery is timed from the
//! sending of the request that caused it to the reading of the block that tells of it.
//! Not known here: the form of a stream.

use std::time::{Duration, Instant};

use anyhow::bail;
use mio::{Events, Interest, Poll, Token};

use super::drive::{Driven, Lane, SILENT_MAX};
use super::keys::{Keys, Plan};
use super::order::Pace;
use super::stream::{Stream, Told};
use crate::proc::Cpu;

const BUFFER_BYTES: usize = 64 * 1024;

/// When which write was sent.
#[derive(Debug)]
struct Sent {
    /// Of each key, before the first write.
    versions: Vec<u64>,
    /// Of each key.
    times: Vec<Vec<Instant>>,
    n: u64,
}

pub(super) fn run(keys: &mut Keys, n: usize, time: Duration, pace: Pace) -> anyhow::Result<Driven> {
    let (addr, pid, n_keys) = (keys.set.addr, keys.set.pid, keys.set.n_keys);
    let mut poll = Poll::new()?;
    let mut streams = Stream::open(&keys.set, n)?;
    for (at, stream) in streams.iter_mut().enumerate() {
        poll.registry().register(&mut stream.socket, Token(n_keys + at), Interest::READABLE)?;
    }
    let lanes = (0..n_keys).map(|lane| Lane::connect(addr, &poll, lane)).collect::<anyhow::Result<Vec<_>>>()?;
    let versions: Vec<_> = (0..n_keys).map(|key| keys.version(key)).collect();
    let sent = Sent { times: vec![Vec::new(); versions.len()], versions, n: 0 };
    let (server, own) = (Cpu::of(pid)?, Cpu::of(std::process::id())?);
    let began = Instant::now();
    let mut fan_out = FanOut { lanes, streams, sent, latencies: Vec::new(), pace, began, end: began + time };
    fan_out.drive(&mut poll, keys)?;
    Ok(Driven {
        seconds: began.elapsed().as_secs_f64(),
        server_cpu_seconds: server.seconds_since()?,
        own_cpu_seconds: own.seconds_since()?,
        latencies: fan_out.latencies,
    })
}

#[derive(Debug)]
struct FanOut {
    /// One for each key.
    lanes: Vec<Lane>,
    streams: Vec<Stream>,
    sent: Sent,
    latencies: Vec<u64>,
    pace: Pace,
    began: Instant,
    end: Instant,
}

impl FanOut {
    fn drive(&mut self, poll: &mut Poll, keys: &mut Keys) -> anyhow::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut work = keys.rounds(Plan::Write, self.lanes.len());
        loop {
            for n in 0..self.lanes.len() {
                if !self.lanes[n].asking && self.is_due() {
                    self.sent.note(n);
                    self.lanes[n].ask(n, &mut work)?;
                }
            }
            if self.is_over() {
                return Ok(());
            }
            let patience = self.next_due().unwrap_or(SILENT_MAX);
            poll.poll(&mut events, Some(patience))?;
            if events.is_empty() && patience == SILENT_MAX {
                bail!("of {} deliveries {} came", self.n_due(), self.latencies.len());
            }
            for event in &events {
                let token = event.token().0;
                if let Some(lane) = self.lanes.get_mut(token) {
                    lane.flush()?;
                    lane.receive(token, &mut work)?;
                } else {
                    let (sent, latencies) = (&self.sent, &mut self.latencies);
                    let mut unknown = None;
                    self.streams[token - self.lanes.len()].read(&mut buffer, |told| match sent.took(told) {
                        Some(took) => latencies.push(took),
                        None => unknown = Some(told),
                    })?;
                    if let Some(told) = unknown {
                        bail!("a stream tells of a write that nobody sent: {told:?}");
                    }
                }
            }
        }
    }

    fn n_due(&self) -> u64 {
        self.sent.n * self.streams.len() as u64
    }

    fn is_due(&self) -> bool {
        let now = Instant::now();
        let paced = match self.pace {
            Pace::Behind(window) => self.n_due() < self.latencies.len() as u64 + window * self.streams.len() as u64,
            Pace::PerSecond(_) => self.due_at().is_some_and(|due| now >= due),
        };
        now < self.end && paced
    }

    /// When the next write is due, at a fixed pace; as long as there is one.
    fn due_at(&self) -> Option<Instant> {
        let Pace::PerSecond(rate) = self.pace else { return None };
        let due = self.began + Duration::from_secs_f64(self.sent.n as f64 / rate);
        (due < self.end).then_some(due)
    }

    /// How long until time makes a write due. `None`: only deliveries and answers matter.
    fn next_due(&self) -> Option<Duration> {
        self.due_at().map(|due| due.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)))
    }

    fn is_over(&self) -> bool {
        let last = match self.pace {
            Pace::Behind(_) => Instant::now() >= self.end,
            Pace::PerSecond(_) => self.due_at().is_none(),
        };
        let answered = self.lanes.iter().all(|lane| !lane.asking);
        last && answered && self.latencies.len() as u64 == self.n_due()
    }
}

impl Sent {
    fn note(&mut self, key: usize) {
        self.times[key].push(Instant::now());
        self.n += 1;
    }

    /// Nanoseconds since the write was sent that a stream tells of.
    fn took(&self, told: Told) -> Option<u64> {
        let key = usize::try_from(told.key).ok()?;
        let nth = told.version.checked_sub(self.versions.get(key)? + 1)?;
        let sent = self.times[key].get(usize::try_from(nth).ok()?)?;
        u64::try_from(sent.elapsed().as_nanos()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_timed_from_the_write_that_it_tells_of() {
        let mut sent = Sent { versions: vec![5, 1], times: vec![Vec::new(); 2], n: 0 };
        sent.note(0);
        assert!(sent.took(Told { key: 0, version: 6 }).is_some());
        for (key, version) in [(0, 5), (0, 7), (1, 2), (2, 1)] {
            assert_eq!(sent.took(Told { key, version }), None, "nobody wrote version {version} of key {key}");
        }
    }
}
