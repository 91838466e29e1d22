//! What is read of the server when its metrics are asked for.
//!
//! **Invariant**: a row for each metric, so that a name, its words and its value stand together.
//! Not known here: where the figures come from.

use std::fmt;
use std::path::Path;

use kokuban_engine::Stats as Engine;
use kokuban_journal::Stats as Journal;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Unit;

/// The server at one moment.
#[derive(Debug)]
pub(crate) struct Readings {
    pub(crate) engine: Engine,
    pub(crate) journal: Journal,
    pub(crate) ready: bool,
    pub(crate) writable: bool,
    /// Bounds of the configuration, by the last part of their keys.
    pub(crate) limits: Vec<(&'static str, u64)>,
    /// The data directory and the room beside it, if there is one.
    pub(crate) data: Option<DataDirectory>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct DataDirectory {
    pub(crate) bytes: u64,
    pub(crate) free_bytes: u64,
}

impl DataDirectory {
    /// None where the system does not say.
    pub(crate) fn look(path: &Path) -> Option<Self> {
        let sizes = std::fs::read_dir(path).ok()?.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
        let disk = rustix::fs::statvfs(path).ok()?;
        Some(Self { bytes: sizes.sum(), free_bytes: disk.f_bavail.saturating_mul(disk.f_frsize) })
    }
}

type Row = (&'static str, &'static str, Option<Unit>, u64);

impl Readings {
    fn gauges(&self) -> Vec<Row> {
        let Self { engine, journal, .. } = self;
        let bytes = || Some(Unit::Bytes);
        let mut rows = vec![
            ("ready", "Whether /readyz answers 200.", None, u64::from(self.ready)),
            ("storage_writable", "Whether the storage takes writes.", None, u64::from(self.writable)),
            ("boards", "Boards of the store.", None, journal.boards),
            ("boards_loaded", "Boards in memory.", None, engine.boards_loaded),
            ("boards_quarantined", "Boards set aside for damage.", None, engine.boards_quarantined),
            ("leases", "Live leases.", None, engine.leases),
            ("mailbox_requests", "Requests that wait for their boards.", None, engine.mailbox_requests),
            ("mailbox_requests_deepest", "Requests for the board with most.", None, engine.mailbox_requests_deepest),
            ("mailbox", "Bytes that waiting requests hold.", bytes(), engine.mailbox_bytes),
        ];
        if let Some(data) = self.data {
            rows.push(("data_directory", "Bytes of the files of the store.", bytes(), data.bytes));
            rows.push(("data_directory_free", "Bytes that the disk has left.", bytes(), data.free_bytes));
        }
        rows
    }

    fn counters(&self) -> Vec<Row> {
        let Self { engine, journal, .. } = self;
        vec![
            ("commits", "Durable commits.", None, engine.commits),
            ("batches", "Batches of requests that a board decided and recorded.", None, engine.batches),
            ("replays", "Requests answered as repeats.", None, engine.replays),
            ("lease_expiries", "Leases that ended at their deadline.", None, engine.expiries),
            ("decision_panics", "Decisions that panicked.", None, engine.panics),
            ("append_retries", "Batches decided again after a conflict of the storage.", None, engine.retries),
            ("snapshots", "Snapshots stored.", None, engine.snapshots),
            ("board_loads", "Boards read into memory.", None, engine.loads),
            ("board_evictions", "Idle boards that left memory.", None, engine.evictions),
            ("journal_body", "Bytes of commits stored.", Some(Unit::Bytes), journal.body_bytes),
            ("journal_failures", "Groups that could not be stored.", None, journal.failures),
            ("journal_checkpoints", "Checkpoints of the log.", None, journal.checkpoints),
        ]
    }

    fn distributions(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Self { journal, .. } = self;
        let commits = buckets(&journal.groups_by_commits, 1.0);
        let words = "Commits of all boards that share a sync.";
        let mut metric = encoder.encode_descriptor("journal_group_commits", words, None, MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(float(journal.commits), journal.groups, &commits, None)?;
        let syncs = buckets(&journal.groups_by_sync, 0.000_1);
        let seconds = Some(&Unit::Seconds);
        let words = "Committing a group, its sync included.";
        let mut metric = encoder.encode_descriptor("journal_sync", words, seconds, MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(float(journal.sync_nanos_total) / 1e9, journal.groups, &syncs, None)
    }
}

impl Collector for Readings {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        let words = "The running program.";
        version.encode(encoder.encode_descriptor("build", words, None, MetricType::Info)?)?;
        for (name, words, unit, value) in self.gauges() {
            let metric = encoder.encode_descriptor(name, words, unit.as_ref(), MetricType::Gauge)?;
            ConstGauge::new(signed(value)).encode(metric)?;
        }
        for (name, words, unit, value) in self.counters() {
            let metric = encoder.encode_descriptor(name, words, unit.as_ref(), MetricType::Counter)?;
            ConstCounter::new(value).encode(metric)?;
        }
        self.distributions(&mut encoder)?;
        let words = "Bounds of the configuration, by name.";
        let mut metric = encoder.encode_descriptor("limit", words, None, MetricType::Gauge)?;
        for (name, value) in &self.limits {
            ConstGauge::new(signed(*value)).encode(metric.encode_family(&[("limit", *name)])?)?;
        }
        Ok(())
    }
}

/// Counts of powers of two, with what each is the most of.
fn buckets(counts: &[u64], first: f64) -> Vec<(f64, u64)> {
    let bounds = std::iter::successors(Some(first), |bound| Some(bound * 2.0));
    let mut buckets: Vec<_> = bounds.zip(counts.iter().copied()).collect();
    if let Some((bound, _)) = buckets.last_mut() {
        *bound = f64::INFINITY;
    }
    buckets
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "sums of a histogram are doubles")]
fn float(value: u64) -> f64 {
    value as f64
}
