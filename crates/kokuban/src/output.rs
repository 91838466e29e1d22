//! What goes to standard output, and how.
//!
//! Invariant: a closed pipe is a quiet end, never a panic; on a terminal no text that came from a board can move the
//! cursor, change colours or turn the direction of reading: such characters are shown escaped. JSON is left as it is.
//! Not known here: what is being shown.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use crate::args::Form;

/// The narrowest terminal that tables are fitted into.
const FITTED_COLUMNS_MIN: u16 = 80;
/// Longest text of a cell of a table, in characters.
const CELL_CHARS_MAX: usize = 100;

/// Standard output in the form that was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    form: Form,
}

impl Output {
    /// In `form`, or where none was asked for, as a table on a terminal and as JSON elsewhere.
    pub(crate) fn new(form: Option<Form>) -> Self {
        let default = if io::stdout().is_terminal() { Form::Table } else { Form::Json };
        Self { form: form.unwrap_or(default) }
    }

    /// For people, wherever it goes.
    pub(crate) fn table() -> Self {
        Self { form: Form::Table }
    }

    pub(crate) fn form(self) -> Form {
        self.form
    }

    /// One thing: its JSON, or the lines that `text` makes of it.
    pub(crate) fn one<T: Serialize>(self, thing: &T, text: impl FnOnce(&T) -> String) -> io::Result<()> {
        match self.form {
            Form::Table => print(&text(thing)),
            Form::Json => print(&pretty(thing)?),
            Form::Jsonl => print(&compact(thing)?),
        }
    }

    /// Many things at once: an array, one a line, or a table with these columns.
    pub(crate) fn many<T: Serialize, const N: usize>(
        self,
        things: &[T],
        columns: [&str; N],
        row: impl Fn(&T) -> [String; N],
    ) -> io::Result<()> {
        match self.form {
            Form::Table => print(&rows(columns, things.iter().map(row))),
            Form::Json => print(&pretty(&things)?),
            Form::Jsonl => things.iter().try_for_each(|thing| print(&compact(thing)?)),
        }
    }

    /// One of an endless row of things: each is a line, in every form.
    pub(crate) fn next<T: Serialize>(self, thing: &T, text: impl FnOnce(&T) -> String) -> io::Result<()> {
        match self.form {
            Form::Table => print(&text(thing)),
            Form::Json | Form::Jsonl => print(&compact(thing)?),
        }
    }
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
    let mut err = io::stderr().lock();
    let _ = writeln!(err, "{text}");
}

fn pretty<T: Serialize>(thing: &T) -> io::Result<String> {
    serde_json::to_string_pretty(thing).map_err(io::Error::other)
}

fn compact<T: Serialize>(thing: &T) -> io::Result<String> {
    serde_json::to_string(thing).map_err(io::Error::other)
}

/// A table as text.
pub(crate) fn rows<const N: usize>(columns: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // In less room, or where nobody knows how much there is, broken lines read worse than long ones.
    if table.width().is_some_and(|columns| columns >= FITTED_COLUMNS_MIN) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.set_header(columns.map(str::to_uppercase));
    for row in rows {
        table.add_row(row.map(|cell| clip(&safe(&cell), CELL_CHARS_MAX)));
    }
    let lines = table.to_string();
    lines.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned() + "\n").collect()
}

/// `text` with every character that a terminal would act on written as an escape.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts_on_terminal) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            c if acts_on_terminal(c) => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Controls, line separators, marks of direction, and characters without width that hide others.
fn acts_on_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// At most `chars_max` characters of `text`.
pub(crate) fn clip(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Whether `error` only says that nobody reads any more.
pub(crate) fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_shown_escaped() {
        assert_eq!(safe("需求 ok"), "需求 ok");
        assert_eq!(safe("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(safe("a\u{202e}b\u{200b}c\u{9b}"), "a\\u{202e}b\\u{200b}c\\u{9b}");
        assert_eq!(safe("one\ntwo\r\t"), "one\\ntwo\\r\\t");
    }

    #[test]
    fn a_long_cell_is_clipped_between_characters() {
        assert_eq!(clip("需求分析", 2), "需求…");
        assert_eq!(clip("需求", 2), "需求");
    }

    #[test]
    fn a_table_has_a_head_and_a_line_for_each_row() {
        let text = rows(["key", "version"], [["a".to_owned(), "1".to_owned()]].into_iter());
        let lines: Vec<_> = text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>()).collect();
        assert_eq!(lines, [["KEY", "VERSION"], ["a", "1"]]);
    }
}
