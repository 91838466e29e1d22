//! What every handler shares.
//!
//! Invariant: immutable but for what guards itself; bounded by the configuration.
//! Not known here: routes.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::FromRef;
use kokuban_core::blueprint::Blueprint;
use kokuban_core::ids::{BlueprintName, BoardName};
use kokuban_engine::Engine;

use crate::auth::Authenticator;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::pages::Pages;
use crate::refusals::Refusals;
use crate::shutdown::Shutdown;
use crate::streams::StreamCounts;

#[derive(Debug)]
pub struct App {
    pub engine: Arc<Engine>,
    pub config: Arc<Config>,
    pub blueprints: BTreeMap<BlueprintName, Arc<Blueprint>>,
    pub authenticator: Arc<Authenticator>,
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

impl FromRef<AppState> for Arc<Authenticator> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.authenticator)
    }
}

impl App {
    /// The rules of a board that a first write to this name creates.
    #[must_use]
    pub fn create_with(&self, board: &BoardName) -> Option<Arc<Blueprint>> {
        let rule = self.config.rule_for(board.as_str())?;
        self.blueprints.get(&rule.blueprint).cloned()
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
