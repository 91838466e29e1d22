//! What the run tells its load process, and what that answers: one line of JSON each.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::keys::KeySet;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(crate) enum Order {
    /// From now on `name` stands for these keys.
    Keys { name: String, set: KeySet },
    /// From now on there are so many keys; those that are new do not exist yet.
    Grow { name: String, n_keys: usize },
    /// Creates the boards of some keys.
    Boards { name: String, lanes: usize },
    /// Asks for the boards of some keys, so that they are loaded.
    Visit { name: String, lanes: usize },
    /// Writes each key until it has this version.
    UpTo { name: String, lanes: usize, version: u64 },
    /// Writes for a while.
    Write { name: String, lanes: usize, ms: u64 },
    /// Reads for a while.
    Read { name: String, lanes: usize, ms: u64 },
    /// Reads each key once: it must be as it was acknowledged.
    Verify { name: String, lanes: usize },
    /// Writes to the end of a file and syncs it, for a while.
    Sync { file: PathBuf, bytes: usize, ms: u64 },
    /// Opens streams on the first board of some keys, and keeps them until the next order.
    Subscribe { name: String, n: usize },
    /// Writes keys of one board for a while, while so many streams of it are read; counts what they deliver.
    FanOut { name: String, n: usize, ms: u64, pace: Pace },
}

/// When the next write is due.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Pace {
    /// As soon as all streams are at most so many commits behind.
    Behind(u64),
    PerSecond(f64),
}

/// What a slice came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Slice {
    pub(crate) n: u64,
    pub(crate) seconds: f64,
    pub(crate) server_cpu_seconds: f64,
    pub(crate) own_cpu_seconds: f64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
}

impl Slice {
    pub(crate) fn per_second(&self) -> f64 {
        self.n as f64 / self.seconds
    }

    /// Microseconds of the server's processor time for each request.
    pub(crate) fn server_cpu_us(&self) -> f64 {
        self.server_cpu_seconds * 1e6 / self.n as f64
    }

    pub(crate) fn own_cpu_us(&self) -> f64 {
        self.own_cpu_seconds * 1e6 / self.n as f64
    }
}

pub(crate) type Reply = Result<Slice, String>;
