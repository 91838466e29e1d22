//! Colour, or none: only on a terminal, and never against NO_COLOR.
//!
//! Invariant: what is painted was made safe before, so every escape sequence on the terminal is one of these.

use std::io;

use anstream::{AutoStream, ColorChoice};

/// Whether to paint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint(bool);

impl Paint {
    pub(crate) fn of_stdout() -> Self {
        Self(AutoStream::choice(&io::stdout()) != ColorChoice::Never)
    }

    pub(crate) fn of_stderr() -> Self {
        Self(AutoStream::choice(&io::stderr()) != ColorChoice::Never)
    }

    pub(crate) fn none() -> Self {
        Self(false)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.wrapped("1", text)
    }

    /// What matters less.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrapped("2", text)
    }

    /// What went wrong.
    pub(crate) fn alarm(self, text: &str) -> String {
        self.wrapped("1;31", text)
    }

    /// What can be copied and run.
    pub(crate) fn command(self, text: &str) -> String {
        self.wrapped("36", text)
    }

    fn wrapped(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
