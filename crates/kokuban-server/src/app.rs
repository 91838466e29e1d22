//! What every handler shares.
//!
//! Invariant: immutable but for what guards itself; bounded by the configuration.
//! Not known here: routes.

use std::sync::Arc;

use kokuban_engine::Engine;

use crate::config::Durability;
use crate::metrics::{DataDirectory, Metrics, Readings};
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
    /// Why the server does not want to be sent work, if it does not.
    #[must_use]
    pub fn not_ready(&self) -> Option<&'static str> {
        if self.shutdown.is_leaving() {
            Some("the server is about to stop")
        } else if !self.engine.journal().health().writable {
            Some("the storage takes no writes; reads go on")
        } else {
            None
        }
    }

    /// What is to be known of the server now, for the metrics. Looks at files.
    pub(crate) fn readings(&self) -> Readings {
        let settings = self.settings.now();
        let config = &settings.config;
        let data = (config.durability == Durability::Disk).then(|| DataDirectory::look(&config.data)).flatten();
        Readings {
            engine: self.engine.stats(),
            journal: self.engine.journal().stats(),
            ready: self.not_ready().is_none(),
            writable: self.engine.journal().health().writable,
            limits: config.limits.named(),
            data,
        }
    }
}
