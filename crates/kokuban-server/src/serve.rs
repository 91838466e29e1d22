//! Putting a server together, running it, and stopping it.
//!
//! Invariant: the order of a stop: no new connections, streams say goodbye, requests in work end, boards come to rest,
//! the journal closes. All of it within the bound of the configuration.
//! Not known here: signals and flags; those are the binary's.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kokuban_engine::{Engine, Options as EngineOptions};
use kokuban_journal::{Journal, Memory, Sqlite, sqlite};

use crate::accept::{self, Listener};
use crate::app::{App, AppState};
use crate::config::{self, Config, Sources};
use crate::edge::Edge;
use crate::measured::Measured;
use crate::metrics::Metrics;
use crate::pages::Pages;
use crate::refusals::Refusals;
use crate::reload::Reload;
use crate::routes;
use crate::settings::{InForce, Settings};
use crate::shutdown::Shutdown;
use crate::streams::StreamCounts;
use crate::telemetry::Log;

/// A server that is bound and ready, and not yet serving.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    app: AppState,
    shutdown: Shutdown,
    connections_max: usize,
}

impl Server {
    /// Opens the journal, loads what has to be in memory, binds the address.
    ///
    /// # Errors
    /// With a text that says what to do.
    pub async fn open(config: Config, salvage: sqlite::Salvage, shutdown: Shutdown) -> anyhow::Result<Self> {
        let settings = Settings::of(config)?;
        let config = &settings.config;
        let metrics = Metrics::new();
        let journal = open_journal(config, salvage).await?;
        let journal = Arc::new(Measured { journal, metrics: metrics.clone() });
        let options = EngineOptions {
            mailbox_requests_max: config.limits.mailbox_commands_max,
            idle: Duration::from_millis(config.limits.loaded_boards_idle_ms),
            boards_max: config.limits.boards_max as u64,
            snapshot_bytes_min: usize::try_from(config.snapshot.tail_bytes_min).unwrap_or(usize::MAX),
            snapshot_percent_min: config.snapshot.tail_percent_min,
            ..EngineOptions::default()
        };
        let engine = Engine::start(journal, options).await.context("the boards cannot be listed")?;
        let listener = Listener::bind(config.listen)
            .with_context(|| format!("cannot listen on {}; is another server running there?", config.listen))?;
        let connections_max = accept::connections_allowed(config.limits.connections_max);
        tell(config, listener.local_addr(), connections_max, engine.journal().stats().boards);
        let app = AppState(Arc::new(App {
            engine,
            settings: InForce::new(settings),
            metrics,
            shutdown: shutdown.clone(),
            refusals: Refusals::default(),
            pages: Pages::default(),
            streams: Arc::new(StreamCounts::default()),
        }));
        Ok(Self { listener, app, shutdown, connections_max })
    }

    /// The address in use.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// What reads the configuration again, which came from these sources.
    #[must_use]
    pub fn reload(&self, sources: Sources, log: Log) -> Reload {
        Reload::new(self.app.settings.clone(), self.app.metrics.clone(), sources, log)
    }

    /// Serves until the shutdown begins, and stops in order.
    pub async fn run(self) {
        let config = self.app.settings.now().config.clone();
        let within = Duration::from_millis(config.timeouts.shutdown_ms);
        let edge = Edge::new(
            routes::router(self.app.clone()),
            Some(routes::Shortcut::new(self.app.clone())),
            self.app.settings.clone(),
            self.app.metrics.clone(),
        );
        let options = accept::Options {
            timeouts: config.accept_timeouts(),
            connections_max: self.connections_max,
            // The rest of the time is the boards'.
            stop_within: within / 2,
            connections: self.app.metrics.connections.clone(),
        };
        let (engine, shutdown) = (Arc::clone(&self.app.engine), self.shutdown.clone());
        let waits = tokio::spawn(async move {
            shutdown.stopping().await;
            engine.end_waits();
        });
        let connections_dropped = accept::serve(self.listener, edge, options, self.shutdown).await;
        waits.abort();
        self.app.engine.close(within / 2).await;
        tracing::info!(connections_dropped, "stopped");
    }
}

/// One line for each start, with what one wants to know of it first.
fn tell(config: &Config, listen: SocketAddr, connections_max: usize, boards: u64) {
    let (durability, data) = match config.durability {
        config::Durability::Disk => ("disk", config.data.display().to_string()),
        config::Durability::Memory => ("memory", "-".to_owned()),
    };
    let auth = match config.auth {
        config::AuthMode::Open => "open",
        config::AuthMode::Token => "token",
    };
    let (version, tokens) = (env!("CARGO_PKG_VERSION"), config.tokens.len());
    tracing::info!(version, %listen, data, durability, auth, tokens, boards, connections_max, "started");
    let wanted = config.limits.connections_max;
    if connections_max < wanted {
        tracing::warn!(
            setting = "limits.connections_max",
            wanted,
            allowed = connections_max,
            "a limit is lowered: the system allows no more open files (`ulimit -n`)"
        );
    }
}

async fn open_journal(config: &Config, salvage: sqlite::Salvage) -> anyhow::Result<Arc<dyn Journal>> {
    match config.durability {
        config::Durability::Memory => Ok(Arc::new(Memory::new())),
        config::Durability::Disk => {
            let options = sqlite::Options { salvage, ..sqlite::Options::new(&config.data) };
            let opened = tokio::task::spawn_blocking(move || Sqlite::open(&options)).await;
            Ok(Arc::new(opened.context("opening the journal panicked")??))
        }
    }
}
