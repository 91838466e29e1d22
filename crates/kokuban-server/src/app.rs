//! What every handler shares.
//!
//! Invariant: immutable but for what guards itself; bounded by the configuration.
//! Not known here: routes.

use std::sync::Arc;

use kokuban_engine::Engine;

use crate::metrics::Metrics;
use crate::pages::Pages;
use crate::refusals::Refusals;
use crate::settings::InForce;
use crate::shutdown::Shutdown;
use crate::streams::StreamCounts;

#[derive(Debug)]
pub struct App {
    pub engine: Arc<Engine>,
    pub settings: InForce,
    pub metrics: Metrics,
    pub shutdown: Shutdown,
    pub refusals: Refusals,
    pub pages: Pages,
    pub streams: Arc<StreamCounts>,
}

/// The state of the router.
#[derive(Debug, Clone)]
pub struct AppState(pub Arc<App>);

impl std::ops::Deref for AppState {
    type Target = App;
    fn deref(&self) -> &App {
        &self.0
    }
}

impl App {
    /// Brings the metrics that are read rather than counted up to date.
    pub fn refresh_metrics(&self) {
        let engine = self.engine.stats();
        let journal = self.engine.journal().stats();
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.metrics.boards_loaded.set(signed(engine.boards_loaded));
        self.metrics.boards_quarantined.set(signed(engine.boards_quarantined));
        self.metrics.leases.set(signed(self.engine.n_leases()));
        let commits = journal.commits.saturating_sub(self.metrics.commits.get());
        self.metrics.commits.inc_by(commits);
        let failures = journal.failures.saturating_sub(self.metrics.append_failures.get());
        self.metrics.append_failures.inc_by(failures);
    }
}
