//! The log: lines of text or JSON on standard error.
//!
//! **Invariants**: nothing goes to standard output. Libraries speak only from `warn` on, because what they say at
//! lower levels is not ours to vouch for. A panic is reported by its place: its message may hold a value.
//! Not known here: what is worth a line.

use std::io::{self, IsTerminal as _};
use std::panic::PanicHookInfo;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, reload};

use crate::config::{Config, LogFormat, LogLevel};

/// All our crates, and the targets named after them, begin so.
const OURS: &str = "kokuban";

/// The log of the process, whose level can be changed.
#[derive(Debug, Clone)]
pub struct Log(Option<reload::Handle<Targets, Registry>>);

/// Starts logging for the process, and reports panics there. The first call counts, later ones change nothing.
pub fn start(config: &Config) -> Log {
    let (filter, handle) = reload::Layer::new(filter(config.log_level));
    let layer = match config.log_format {
        LogFormat::Text => tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(colours()).boxed(),
        LogFormat::Json => tracing_subscriber::fmt::layer().with_writer(io::stderr).json().flatten_event(true).boxed(),
    };
    if tracing_subscriber::registry().with(layer.with_filter(filter)).try_init().is_err() {
        return Log(None);
    }
    std::panic::set_hook(Box::new(report_panic));
    Log(Some(handle))
}

/// Colours on a terminal, unless NO_COLOR says that nobody wants them.
fn colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|variable| variable.is_empty())
}

impl Log {
    pub fn set_level(&self, level: LogLevel) {
        if let Some(handle) = &self.0 {
            // It fails only where the log is gone, and then there is nowhere to say so.
            let _ = handle.reload(filter(level));
        }
    }
}

fn filter(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_target(OURS, level)
}

fn report_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let thread = std::thread::current();
    tracing::error!(target: "kokuban::panic", place, thread = thread.name().unwrap_or("unnamed"), "panic");
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn a_level_is_ours_alone_and_libraries_stay_at_warn() {
        let debug = filter(LogLevel::Debug);
        assert!(debug.would_enable("kokuban_server::edge", &Level::DEBUG));
        assert!(debug.would_enable("kokuban::request", &Level::INFO));
        assert!(!debug.would_enable("hyper::proto", &Level::INFO));
        assert!(debug.would_enable("hyper::proto", &Level::WARN));
        assert!(!filter(LogLevel::Error).would_enable("hyper", &Level::WARN));
        assert!(!filter(LogLevel::Off).would_enable("kokuban_server", &Level::ERROR));
    }
}
