//! Keys of a server, with the version that each has as far as the server acknowledged.
//!
//! Invariant: one connection at a time works on a key, so each write names the version that the last one got, and must
//! get the next. Any other answer is wrong.
//! Not known here: sockets.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::drive::Work;
use super::request::{Place, Template};

/// Which keys, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeySet {
    pub(crate) addr: SocketAddr,
    pub(crate) pid: u32,
    pub(crate) board: String,
    pub(crate) n_boards: usize,
    /// Over all boards.
    pub(crate) n_keys: usize,
    pub(crate) value_bytes: usize,
    /// That each key has at the beginning; 0 if it does not exist.
    pub(crate) version: u64,
}

#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) set: KeySet,
    versions: Vec<u64>,
    /// Counts writes, so that each has a value of its own.
    n_writes: u64,
    put: Template,
    get: Template,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Write each key until it has this version.
    UpTo(u64),
    /// Write one after the other, again and again.
    Write,
    /// Read one after the other, again and again.
    Read,
    /// Read each once.
    Verify,
}

impl Plan {
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::UpTo(_) | Self::Write)
    }

    fn ends(self) -> bool {
        matches!(self, Self::UpTo(_) | Self::Verify)
    }
}

impl Keys {
    pub(crate) fn new(set: KeySet) -> Self {
        Self {
            versions: vec![set.version; set.n_keys],
            n_writes: 0,
            put: Template::put(set.addr, &set.board, set.value_bytes),
            get: Template::get(set.addr, &set.board),
            set,
        }
    }

    /// Writes that were asked for.
    pub(crate) fn n_writes(&self) -> u64 {
        self.n_writes
    }

    /// As far as the server acknowledged.
    pub(crate) fn version(&self, key: usize) -> u64 {
        self.versions[key]
    }

    /// Rounds over all keys: each lane has those that leave its number as the remainder.
    pub(crate) fn rounds(&mut self, plan: Plan, lanes: usize) -> Rounds<'_> {
        Rounds { cursors: (0..lanes).collect(), keys: self, plan, lanes }
    }

    /// From now on there are so many, of which the new ones do not exist.
    pub(crate) fn grow(&mut self, n_keys: usize) {
        self.versions.resize(n_keys, 0);
        self.set.n_keys = n_keys;
    }

    fn place(&self, key: usize) -> Place {
        Place { board: key % self.set.n_boards, key: key / self.set.n_boards }
    }
}

#[derive(Debug)]
pub(crate) struct Rounds<'k> {
    keys: &'k mut Keys,
    plan: Plan,
    lanes: usize,
    /// The key that each lane asks for next, or waits for.
    cursors: Vec<usize>,
}

impl Work for Rounds<'_> {
    fn ask(&mut self, lane: usize, out: &mut Vec<u8>) -> bool {
        let versions = &self.keys.versions;
        let cursor = &mut self.cursors[lane];
        if let Plan::UpTo(last) = self.plan {
            while versions.get(*cursor).is_some_and(|version| *version >= last) {
                *cursor += self.lanes;
            }
        }
        if *cursor >= versions.len() {
            if self.plan.ends() || lane >= versions.len() {
                return false;
            }
            *cursor = lane;
        }
        let (place, version) = (self.keys.place(*cursor), versions[*cursor]);
        let template = if self.plan.writes() { &self.keys.put } else { &self.keys.get };
        template.render(out, place, self.keys.n_writes, version);
        self.keys.n_writes += u64::from(self.plan.writes());
        true
    }

    fn told(&mut self, lane: usize, answer: Answer<'_>) -> Result<(), String> {
        let key = self.cursors[lane];
        let version = &mut self.keys.versions[key];
        let expected = *version + u64::from(self.plan.writes());
        let status = if self.plan.writes() && *version == 0 { 201 } else { 200 };
        if answer.status != status || answer.version() != Some(expected) {
            return Err(format!("key {key} should have version {expected}, but: {}", answer.shown()));
        }
        *version = expected;
        if !matches!(self.plan, Plan::UpTo(last) if expected < last) {
            self.cursors[lane] += self.lanes;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(n_keys: usize, n_boards: usize) -> Keys {
        let addr = SocketAddr::from(([127, 0, 0, 1], 1));
        Keys::new(KeySet { addr, pid: 0, board: "b".into(), n_boards, n_keys, value_bytes: 100, version: 0 })
    }

    fn asked(work: &mut Rounds<'_>, lane: usize) -> Option<String> {
        let mut out = Vec::new();
        work.ask(lane, &mut out).then(|| String::from_utf8(out).expect("ASCII"))
    }

    fn told(work: &mut Rounds<'_>, lane: usize, status: u16, body: &str) -> Result<(), String> {
        work.told(lane, Answer { status, body: body.as_bytes(), head_bytes: 0 })
    }

    #[test]
    fn each_write_names_the_version_that_the_last_one_got() {
        let mut keys = keys(1, 1);
        let mut work = keys.rounds(Plan::Write, 1);
        for version in 0..3 {
            let request = asked(&mut work, 0).expect("again and again");
            assert!(request.contains(&format!("\"version\":{version} ")), "{request}");
            let status = if version == 0 { 201 } else { 200 };
            told(&mut work, 0, status, &format!("{{\"version\":{}}}", version + 1)).expect("right");
        }
        assert_eq!(keys.n_writes(), 3);
    }

    #[test]
    fn any_other_answer_is_wrong() {
        for (status, body) in [(201, "{\"version\":2}"), (201, "{}"), (200, "{\"version\":1}"), (503, "")] {
            let mut keys = keys(1, 1);
            let mut work = keys.rounds(Plan::Write, 1);
            asked(&mut work, 0).expect("a write");
            assert!(told(&mut work, 0, status, body).is_err(), "{status} {body}");
        }
    }

    #[test]
    fn lanes_share_the_keys_and_meet_at_none() {
        let mut keys = keys(5, 2);
        let mut work = keys.rounds(Plan::UpTo(1), 3);
        let mut paths = Vec::new();
        for lane in 0..3 {
            while let Some(request) = asked(&mut work, lane) {
                paths.push(request.split(' ').nth(1).expect("a path").to_owned());
                told(&mut work, lane, 201, "{\"version\":1}").expect("right");
            }
        }
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), 5);
        assert_eq!(paths.iter().filter(|path| path.contains("/b-00001/")).count(), 2);
    }

    #[test]
    fn only_new_keys_are_created() {
        let mut keys = keys(1, 1);
        let mut work = keys.rounds(Plan::UpTo(1), 1);
        asked(&mut work, 0).expect("a write");
        told(&mut work, 0, 201, "{\"version\":1}").expect("right");
        keys.grow(2);
        let mut work = keys.rounds(Plan::UpTo(1), 1);
        assert!(asked(&mut work, 0).expect("the new one").contains("/k0000001 "));
        told(&mut work, 0, 201, "{\"version\":1}").expect("right");
        assert_eq!(asked(&mut work, 0), None);
    }

    #[test]
    fn a_key_is_written_until_it_has_its_version() {
        let mut keys = keys(2, 1);
        let mut work = keys.rounds(Plan::UpTo(3), 1);
        let mut n = 0;
        while let Some(request) = asked(&mut work, 0) {
            let version = n % 3;
            assert!(request.contains(&format!("\"version\":{version} ")), "{request}");
            told(&mut work, 0, if version == 0 { 201 } else { 200 }, &format!("{{\"version\":{}}}", version + 1))
                .expect("right");
            n += 1;
        }
        assert_eq!(n, 6);
    }

    #[test]
    fn a_lane_without_keys_has_nothing_to_do() {
        let mut keys = keys(1, 1);
        assert_eq!(asked(&mut keys.rounds(Plan::Read, 2), 1), None);
    }

    #[test]
    fn a_read_shows_the_version_that_was_acknowledged() {
        let mut keys = keys(1, 1);
        let mut work = keys.rounds(Plan::UpTo(1), 1);
        asked(&mut work, 0).expect("a write");
        told(&mut work, 0, 201, "{\"version\":1}").expect("right");
        let mut work = keys.rounds(Plan::Verify, 1);
        asked(&mut work, 0).expect("a read");
        assert!(told(&mut work, 0, 200, "{\"version\":0}").is_err(), "an acknowledged write is lost");
    }
}
