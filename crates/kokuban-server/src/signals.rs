//! What the signals of the process mean.
//!
//! **Invariants**: SIGTERM: `/readyz` turns, everything is served for `timeouts.drain_ms` more, then the graceful stop.
//! SIGINT is a person who waits: the stop at once. A second one of either ends at once what is still going on.
//! SIGHUP reads the configuration again, unless the terminal that the server was started on is gone.
//! Not known here: how a stop or a configuration works.

use std::io::IsTerminal as _;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use crate::reload::Reload;
use crate::shutdown::Shutdown;

/// The signals that are listened to.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    on_terminal: bool,
}

enum Said {
    Stop(&'static str),
    Drained,
    Again,
}

impl Signals {
    /// From now on none of them ends the process by itself.
    ///
    /// # Errors
    /// They cannot be listened to.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            on_terminal: std::io::stdin().is_terminal(),
        })
    }

    /// Obeys them until the immediate stop, so it is a task of its own.
    pub async fn obey(mut self, shutdown: Shutdown, reload: Reload) {
        let mut drained_at = None;
        loop {
            match self.next(drained_at).await {
                Said::Again => reload.run().await,
                Said::Drained => {
                    drained_at = None;
                    tracing::info!("stopping; a second signal stops at once");
                    shutdown.begin();
                }
                Said::Stop(signal) if shutdown.is_leaving() => {
                    tracing::warn!(signal, "stopping at once");
                    shutdown.kill();
                    return;
                }
                Said::Stop(signal @ "SIGTERM") => {
                    let drain_ms = reload.settings().now().config.timeouts.drain_ms;
                    tracing::info!(signal, drain_ms, "not ready any more; a second signal stops at once");
                    shutdown.leave();
                    drained_at = Some(Instant::now() + Duration::from_millis(drain_ms));
                }
                Said::Stop(signal) => {
                    tracing::info!(signal, "stopping; a second signal stops at once");
                    shutdown.begin();
                }
            }
        }
    }

    async fn next(&mut self, drained_at: Option<Instant>) -> Said {
        let drained = async {
            match drained_at {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.terminate.recv() => Said::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Said::Stop("SIGINT"),
            _ = self.hangup.recv() => {
                let hung_up = self.on_terminal && !std::io::stdin().is_terminal();
                if hung_up { Said::Stop("SIGHUP") } else { Said::Again }
            }
            () = drained => Said::Drained,
        }
    }
}
