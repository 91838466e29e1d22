//! How far long work has come, for whoever waits at a terminal.
//!
//! Invariant: it is drawn on standard error, only on a terminal, only after the work has taken a while, and leaves
//! nothing behind.
//! Not known here: what the work is.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work is not talked about.
const QUIET: Duration = Duration::from_millis(500);

/// A count of bytes on its way to a total, or to wherever it ends.
#[derive(Debug)]
pub(crate) struct Progress {
    what: String,
    total: Option<u64>,
    done: u64,
    began: Instant,
    bar: Option<ProgressBar>,
    wanted: bool,
}

impl Progress {
    /// `what` is being done to as many bytes, where that is known.
    pub(crate) fn bytes(what: &str, total: Option<u64>) -> Self {
        let wanted = io::stderr().is_terminal();
        Self { what: what.to_owned(), total, done: 0, began: Instant::now(), bar: None, wanted }
    }

    /// The same for work whose result appears on the terminal while it is done.
    pub(crate) fn unless_shown(mut self, shown: bool) -> Self {
        self.wanted &= !shown;
        self
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.done += bytes;
        if self.wanted && self.bar.is_none() && self.began.elapsed() >= QUIET {
            self.bar = Some(bar(&self.what, self.total));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }

    /// Prints without leaving half a bar beside it.
    pub(crate) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(what: &str, total: Option<u64>) -> ProgressBar {
    let form = match total {
        Some(_) => "{msg} {bar:30} {bytes} of {total_bytes}, {eta} to go",
        None => "{msg} {spinner} {bytes}, {bytes_per_sec}",
    };
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    bar.with_style(ProgressStyle::with_template(form).expect("the template is well formed"))
        .with_message(what.to_owned())
}
