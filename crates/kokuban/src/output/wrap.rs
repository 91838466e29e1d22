//! Sentences broken between words, for a terminal.
//!
//! Invariant: only blanks become line ends; a line that is indented by four or more (a command, a value) stays one
//! line, so that it can be copied, and so does one with columns of its own.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar as _;

/// What is indented this far is to be copied.
const LITERAL: &str = "    ";

/// `text` in lines of at most `columns`; what goes on stands two columns further in.
pub(super) fn wrapped(text: &str, columns: usize) -> Cow<'_, str> {
    let is_sentence = |line: &str| !line.starts_with(LITERAL) && !line.trim_start().contains("  ");
    let is_long = |line: &str| is_sentence(line) && width(line) > columns;
    if !text.lines().any(is_long) {
        return Cow::Borrowed(text);
    }
    let lines = text.lines().map(|line| if is_long(line) { broken(line, columns) } else { line.to_owned() });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

fn broken(line: &str, columns: usize) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut text = " ".repeat(indent);
    let mut used = indent;
    for (n, word) in line.split_whitespace().enumerate() {
        if n > 0 && used + 1 + width(word) > columns {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent + 2));
            used = indent + 2;
        } else if n > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += width(word);
    }
    text
}

/// Columns that `text` takes, without its colours.
fn width(text: &str) -> usize {
    let mut columns = 0;
    let mut in_colour = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => in_colour = true,
            'm' if in_colour => in_colour = false,
            _ if in_colour => {}
            c => columns += c.width().unwrap_or(0),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_broken_between_words_and_commands_are_not() {
        let text = "short\n  next: one two three four\n    kokuban put a very long command line";
        assert_eq!(
            wrapped(text, 16),
            "short\n  next: one two\n    three four\n    kokuban put a very long command line"
        );
        assert_eq!(wrapped(text, 80), text);
    }

    #[test]
    fn colours_take_no_room_and_wide_characters_two_columns() {
        assert_eq!(wrapped("\u{1b}[1;31merror:\u{1b}[0m a b", 10), "\u{1b}[1;31merror:\u{1b}[0m a b");
        assert_eq!(wrapped("需求 分析", 8), "需求\n  分析");
    }
}
