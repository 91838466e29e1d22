//! What goes to standard output, and how.
//!
//! Invariant: a closed pipe is a quiet end, never a panic; nothing that came from a board acts on a terminal (`safe`),
//! also not within JSON; in a pipe JSON is left as it is. Lists are written as they arrive.
//! Not known here: what is being shown.

mod paint;
mod progress;
mod safe;
mod table;
mod wrap;

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use futures::{Stream, TryStreamExt as _};
use serde::Serialize;

pub(crate) use self::paint::Paint;
pub(crate) use self::progress::Progress;
pub(crate) use self::safe::{JsonFilter, acts_on_terminal, clip, in_json, safe};
pub(crate) use self::table::{Columns, Last};
use crate::args::Form;
use crate::failure::Failure;

/// Standard output in the form that was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    form: Form,
    terminal: Option<Terminal>,
}

/// What is known of the terminal that reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    pub(crate) columns: u16,
}

impl Output {
    /// In `form`, or where none was asked for, as a table on a terminal and as JSON elsewhere.
    pub(crate) fn new(form: Option<Form>) -> Self {
        let terminal = terminal(io::stdout());
        let default = if terminal.is_some() { Form::Table } else { Form::Json };
        Self { form: form.unwrap_or(default), terminal }
    }

    /// In `form`, or where none was asked for, as lines also in a pipe: what is a text for other programs.
    pub(crate) fn for_lines(form: Option<Form>) -> Self {
        Self::new(Some(form.unwrap_or(Form::Table)))
    }

    /// For people, wherever it goes.
    pub(crate) fn table() -> Self {
        Self { form: Form::Table, terminal: terminal(io::stdout()) }
    }

    pub(crate) fn form(self) -> Form {
        self.form
    }

    /// Whether somebody looks at it.
    pub(crate) fn is_terminal(self) -> bool {
        self.terminal.is_some()
    }

    /// One thing: its JSON, or the lines that `text` makes of it.
    pub(crate) fn one<T: Serialize>(self, thing: &T, text: impl FnOnce(&T) -> String) -> io::Result<()> {
        match self.form {
            Form::Table => self.print_lines(&text(thing)),
            Form::Json => self.print_json(&pretty(thing)?),
            Form::Jsonl => self.print_json(&compact(thing)?),
        }
    }

    /// One of an endless row of things: each is a line, in every form of JSON.
    pub(crate) fn next<T: Serialize>(self, thing: &T, text: impl FnOnce(&T) -> String) -> io::Result<()> {
        match self.form {
            Form::Table => print(&text(thing)),
            Form::Json | Form::Jsonl => self.print_json(&compact(thing)?),
        }
    }

    /// At most `limit` of many things: an array, one a line, or a table. Says where there are none, or more.
    pub(crate) async fn many<T: Serialize, const N: usize>(
        self,
        things: impl Stream<Item = Result<T, kokuban_client::Error>> + Send,
        limit: usize,
        columns: &Columns<T, N>,
    ) -> Result<(), Failure> {
        let mut things = std::pin::pin!(things);
        let mut writer = Many { out: self, n: 0, rows: Vec::new() };
        while let Some(thing) = things.try_next().await? {
            if writer.n == limit {
                writer.end(columns)?;
                if self.form == Form::Table {
                    complain(&format!("… and more; --limit N shows more than {limit}"));
                }
                return Ok(());
            }
            writer.take(&thing, columns)?;
        }
        Ok(writer.end(columns)?)
    }

    /// JSON lines from elsewhere, as they are; on a terminal without what would act on it.
    pub(crate) fn passing_json(self) -> JsonFilter {
        JsonFilter::new(self.is_terminal())
    }

    /// Lines for people.
    fn print_lines(self, text: &str) -> io::Result<()> {
        let columns = self.terminal.map_or(usize::MAX, |terminal| usize::from(terminal.columns));
        print(&wrap::wrapped(text, columns))
    }

    /// JSON that is text already.
    pub(crate) fn print_json(self, text: &str) -> io::Result<()> {
        if self.is_terminal() { print(&in_json(text)) } else { print(text) }
    }
}

/// A list on its way out.
struct Many<const N: usize> {
    out: Output,
    n: usize,
    rows: Vec<[String; N]>,
}

impl<const N: usize> Many<N> {
    fn take<T: Serialize>(&mut self, thing: &T, columns: &Columns<T, N>) -> io::Result<()> {
        match self.out.form {
            Form::Table => self.rows.push((columns.row)(thing)),
            Form::Json => {
                let before = if self.n == 0 { "[\n" } else { ",\n" };
                let lines = pretty(thing)?.replace('\n', "\n  ");
                self.out.print_part(&format!("{before}  {lines}"))?;
            }
            Form::Jsonl => self.out.print_json(&compact(thing)?)?,
        }
        self.n += 1;
        Ok(())
    }

    fn end<T>(&mut self, columns: &Columns<T, N>) -> io::Result<()> {
        match self.out.form {
            Form::Json => print(if self.n == 0 { "[]" } else { "\n]" }),
            Form::Jsonl => Ok(()),
            Form::Table if self.n == 0 => {
                complain(columns.none);
                Ok(())
            }
            Form::Table => {
                let width = self.out.terminal.map(|terminal| terminal.columns);
                print(&table::render(columns.head, columns.last, &self.rows, width, Paint::of_stdout()))
            }
        }
    }
}

impl Output {
    /// Without a line end.
    fn print_part(self, text: &str) -> io::Result<()> {
        let text = if self.is_terminal() { in_json(text) } else { text.into() };
        io::stdout().lock().write_all(text.as_bytes())
    }
}

/// The terminal behind `stream`, if it is one.
fn terminal(stream: impl IsTerminal + AsFd) -> Option<Terminal> {
    /// Where nobody knows better, also behind a serial line that says 0.
    const COLUMNS: u16 = 80;
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stream).ok();
    let columns = size.map(|size| size.ws_col).filter(|columns| *columns > 0).unwrap_or(COLUMNS);
    Some(Terminal { columns })
}

/// A table as text, within other texts.
pub(crate) fn rows<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let width = terminal(io::stdout()).map(|terminal| terminal.columns);
    table::render(head, Last::Wrapped, &rows.collect::<Vec<_>>(), width, Paint::of_stdout())
}

/// Writes `text` and a line end, at once.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Writes to standard error; a failure there has nowhere to go.
pub(crate) fn complain(text: &str) {
    let columns = terminal(io::stderr()).map_or(usize::MAX, |terminal| usize::from(terminal.columns));
    let mut err = io::stderr().lock();
    let _ = writeln!(err, "{}", wrap::wrapped(text, columns));
}

fn pretty<T: Serialize>(thing: &T) -> io::Result<String> {
    serde_json::to_string_pretty(thing).map_err(io::Error::other)
}

fn compact<T: Serialize>(thing: &T) -> io::Result<String> {
    serde_json::to_string(thing).map_err(io::Error::other)
}

/// Nothing, where `error` only says that nobody reads any more.
pub(crate) fn unless_closed(error: io::Error) -> io::Result<()> {
    if is_closed_pipe(&error) { Ok(()) } else { Err(error) }
}

/// Whether `error` only says that nobody reads any more.
pub(crate) fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}
