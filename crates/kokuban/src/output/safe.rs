//! Texts that came from a board, made harmless for a terminal; and how wide texts are on one.
//!
//! Invariant: what comes out holds no character that a terminal acts on; JSON stays JSON of the same meaning.
//! Not known here: where texts go.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

/// `text` with every character that a terminal would act on written as an escape.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    replaced(text, |shown, c| match c {
        '\n' => shown.push_str("\\n"),
        '\t' => shown.push_str("\\t"),
        '\r' => shown.push_str("\\r"),
        c => push_formatted(shown, format_args!("\\u{{{:x}}}", u32::from(c))),
    })
}

/// The same within JSON: there such characters stand only in texts, and have an escape there. Line ends stay.
pub(crate) fn in_json(text: &str) -> Cow<'_, str> {
    replaced(text, |shown, c| match c {
        '\n' => shown.push('\n'),
        c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| push_formatted(shown, format_args!("\\u{unit:04x}"))),
    })
}

fn replaced(text: &str, replace: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.chars().any(acts_on_terminal) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts_on_terminal(c) {
            replace(&mut shown, c);
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn push_formatted(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a String does not fail");
}

/// Controls, line separators, marks of direction, and characters without width that hide others.
pub(crate) fn acts_on_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// JSON in pieces, cut anywhere.
#[derive(Debug)]
pub(crate) struct JsonFilter {
    to_terminal: bool,
    /// The beginning of a character whose rest has not come yet.
    open: Vec<u8>,
}

impl JsonFilter {
    pub(super) fn new(to_terminal: bool) -> Self {
        Self { to_terminal, open: Vec::new() }
    }

    /// What may be written now.
    pub(crate) fn take<'p>(&mut self, piece: &'p [u8]) -> Cow<'p, [u8]> {
        if !self.to_terminal {
            return Cow::Borrowed(piece);
        }
        self.open.extend_from_slice(piece);
        let whole = match str::from_utf8(&self.open) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // No JSON; the replacement characters say so.
            Err(_) => self.open.len(),
        };
        let rest = self.open.split_off(whole);
        let text = String::from_utf8_lossy(&self.open);
        let shown = in_json(&text).into_owned().into_bytes();
        self.open = rest;
        Cow::Owned(shown)
    }
}

/// At most `columns_max` columns of `text`, the last of them `…` where something was cut off.
pub(crate) fn clip(text: &str, columns_max: usize) -> Cow<'_, str> {
    // Marks without a width of their own are bounded too.
    let chars_max = columns_max.saturating_mul(4);
    let mut columns = 0;
    let mut end = 0;
    for (n, (at, c)) in text.char_indices().enumerate() {
        if columns < columns_max {
            end = at;
        }
        columns += c.width().unwrap_or(0);
        if columns > columns_max || n >= chars_max {
            return Cow::Owned(format!("{}…", &text[..end]));
        }
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "\u{1b}[31mred\u{7}a\u{202e}b\u{200b}c\u{9b}\u{e0041}\u{7f}";

    #[test]
    fn what_a_terminal_would_act_on_is_shown_escaped() {
        assert_eq!(safe("需求 ok"), "需求 ok");
        assert_eq!(safe("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(safe("a\u{202e}b\u{200b}c\u{9b}"), "a\\u{202e}b\\u{200b}c\\u{9b}");
        assert_eq!(safe("one\ntwo\r\t"), "one\\ntwo\\r\\t");
    }

    #[test]
    fn json_for_a_terminal_is_harmless_and_means_the_same() {
        let value = serde_json::json!({"a": HOSTILE, HOSTILE: [1]});
        let text = serde_json::to_string_pretty(&value).expect("serialises");
        let shown = in_json(&text);
        assert!(!shown.chars().any(|c| c != '\n' && acts_on_terminal(c)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("is JSON"), value);
    }

    #[test]
    fn json_in_pieces_comes_out_as_in_one_piece_wherever_it_is_cut() {
        let text = serde_json::json!({"需求": HOSTILE}).to_string() + "\n";
        let whole = in_json(&text).into_owned();
        for cut in 0..=text.len() {
            let (first, second) = text.as_bytes().split_at(cut);
            let mut filter = JsonFilter::new(true);
            let shown = [filter.take(first).into_owned(), filter.take(second).into_owned()].concat();
            assert_eq!(String::from_utf8(shown).expect("text"), whole, "cut at {cut}");
            assert_eq!(JsonFilter::new(false).take(first), first);
        }
    }

    #[test]
    fn a_text_is_clipped_between_characters_by_the_columns_it_takes() {
        assert_eq!(clip("需求分析", 5), "需求…");
        assert_eq!(clip("需求分析", 4), "需…");
        assert_eq!((clip("需求", 4), clip("abc", 3), clip("abcd", 3)), ("需求".into(), "abc".into(), "ab…".into()));
        assert!(clip(&"\u{300}".repeat(5000), 10).len() < 100);
    }
}
