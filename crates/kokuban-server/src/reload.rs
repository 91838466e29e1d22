//! Reading the configuration again while the server runs.
//!
//! **Invariants**: all of it is taken over, or nothing; what is wrong is told with its place, and the server goes on
//! with what it has. A changed setting that only a start takes over is named.
//! Not known here: which settings those are (`config::keys`), who asks for it (`signals`).

use crate::config::{Config, ConfigError, Effective, Sources, Succession};
use crate::metrics::Metrics;
use crate::settings::{InForce, Settings};
use crate::telemetry::Log;

/// See the module.
#[derive(Debug, Clone)]
pub struct Reload {
    settings: InForce,
    sources: Sources,
    log: Log,
    metrics: Metrics,
}

impl Reload {
    pub(crate) fn new(settings: InForce, metrics: Metrics, sources: Sources, log: Log) -> Self {
        Self { settings, sources, log, metrics }
    }

    #[must_use]
    pub fn settings(&self) -> &InForce {
        &self.settings
    }

    /// Reads the sources again. Whatever comes of it is in the log.
    pub async fn run(&self) {
        let this = self.clone();
        // Files are read, maybe many.
        let read = tokio::task::spawn_blocking(move || this.read()).await;
        self.metrics.reloaded(matches!(read, Ok(Ok(_))));
        match read {
            Ok(Ok((settings, succession))) => self.take_over(settings, &succession),
            Ok(Err(error)) => refuse(&error),
            // The panic hook has written where.
            Err(_) => tracing::error!("reading the configuration panicked; what was in force stays so"),
        }
    }

    fn read(&self) -> Result<(Settings, Succession), ConfigError> {
        let next = Effective::load(&self.sources)?;
        let succession = self.settings.now().config.succeeded_by(next)?;
        Ok((Settings::of(succession.config.clone())?, succession))
    }

    fn take_over(&self, settings: Settings, succession: &Succession) {
        let before = self.settings.now();
        let (gone, come) = (missing(&before.config, &settings.config), missing(&settings.config, &before.config));
        let level = settings.config.log_level;
        let new = |warning: &&String| !before.config.warnings.contains(warning);
        let warnings: Vec<_> = settings.config.warnings.iter().filter(new).cloned().collect();
        self.settings.replace(settings);
        self.log.set_level(level);
        let changed = succession.taken.join(", ");
        tracing::info!(changed, tokens_added = come, tokens_removed = gone, "the configuration was read again");
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        if !succession.left.is_empty() {
            let settings = succession.left.join(", ");
            tracing::warn!(
                settings,
                "changed, but only a start takes these over; the running server keeps what it has"
            );
        }
    }
}

/// How many tokens of `of` are not in `from`.
fn missing(of: &Config, from: &Config) -> usize {
    of.tokens.iter().filter(|token| !from.tokens.iter().any(|other| other.sha256 == token.sha256)).count()
}

fn refuse(error: &ConfigError) {
    let file = error.file.as_deref().map(|file| file.display().to_string()).unwrap_or_default();
    for flaw in &error.flaws {
        tracing::error!(file, %flaw, "a flaw of the configuration");
    }
    tracing::error!(file, flaws = error.flaws.len(), "the configuration is refused; what was in force stays so");
}
