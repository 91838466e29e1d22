//! The lines that the demonstration prints.
//!
//! Invariant: one line for each thing that happened, in the order in which it was seen, with the time since the
//! beginning; whatever comes from the board is shown escaped.
//! Not known here: what should happen.

use std::io;

use tokio::time::Instant;

use crate::output::{print, safe};

/// Who a line is about is padded to this.
const WHO_CHARS: usize = 7;

/// The clock and the printer.
#[derive(Debug)]
pub(super) struct Timeline {
    begun: Instant,
}

impl Timeline {
    pub(super) fn begin() -> Self {
        Self { begun: Instant::now() }
    }

    pub(super) fn act(text: &str) -> io::Result<()> {
        print(&format!("\n── {text}"))
    }

    /// What the stage itself does: the server, processes.
    pub(super) fn stage(&self, text: &str) -> io::Result<()> {
        self.line("", '·', text)
    }

    /// A commit, as the stream told it.
    pub(super) fn commit(&self, who: &str, text: &str) -> io::Result<()> {
        self.line(who, '✓', text)
    }

    /// What an agent says about what it does.
    pub(super) fn says(&self, who: &str, text: &str) -> io::Result<()> {
        self.line(who, '“', text)
    }

    /// A refused write, and the advice that came with it.
    pub(super) fn refused(&self, who: &str, text: &str, advice: &str) -> io::Result<()> {
        self.line(who, '✗', text)?;
        self.line("", ' ', &format!("   advice: {advice}"))
    }

    fn line(&self, who: &str, mark: char, text: &str) -> io::Result<()> {
        let ms = self.begun.elapsed().as_millis();
        print(&format!("{:>3}.{:03}  {who:<WHO_CHARS$} {mark} {}", ms / 1000, ms % 1000, safe(text)))
    }
}
