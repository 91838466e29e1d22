//! Text in pictures: how wide it is, where it may be broken, how it is written without ending what it stands in.
//!
//! **Invariant**: every text in an SVG goes through `xml`. Widths are counted in columns of a font where all letters are
//! equally wide and those of Chinese, Japanese and Korean twice that.
//! Not known here: sizes of fonts.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Behind these a name may go on in the next line.
const BREAKS: &[char] = &['_', '-', '.', ':', '@', '=', '+', ',', '~', ' '];

/// In columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// `text` in lines of at most `columns_max`, broken behind a sign where there is one, else anywhere between letters.
pub(crate) fn wrap(text: &str, columns_max: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    while width(rest) > columns_max {
        let (mut columns, mut fits, mut good) = (0, 0, None);
        for (at, c) in rest.char_indices() {
            columns += c.width().unwrap_or(0);
            if columns > columns_max {
                break;
            }
            let end = at + c.len_utf8();
            // A mark that stands over the letter before it stays there.
            if rest[end..].chars().next().is_some_and(|next| next.width() == Some(0)) {
                continue;
            }
            fits = end;
            if BREAKS.contains(&c) {
                good = Some(end);
            }
        }
        let end = good.unwrap_or(fits);
        if end == 0 {
            break;
        }
        lines.push(rest[..end].trim_end().to_owned());
        rest = &rest[end..];
    }
    lines.push(rest.to_owned());
    lines
}

/// Words with commas between, in lines of at most about `columns_max`, and at most `lines_max` lines: the last one then
/// says how many words are missing.
pub(crate) fn list(words: &[String], columns_max: usize, lines_max: usize) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for (n, word) in words.iter().enumerate() {
        let word = if n + 1 < words.len() { format!("{word},") } else { word.clone() };
        match lines.last_mut() {
            Some((line, count)) if width(line) + 1 + width(&word) <= columns_max => {
                line.push(' ');
                line.push_str(&word);
                *count += 1;
            }
            _ => lines.push((word, 1)),
        }
    }
    if lines.len() > lines_max {
        let missing: usize = lines.drain(lines_max - 1..).map(|(_, count)| count).sum();
        lines.push((format!("and {missing} more"), missing));
    }
    lines.into_iter().flat_map(|(line, _)| wrap(&line, columns_max)).collect()
}

/// In an element or attribute of XML. What XML cannot hold becomes the mark of a lost character.
pub(crate) fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') || turns(c) => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Turns the direction of what stands around it.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_broken_behind_a_sign_or_between_letters() {
        assert_eq!(wrap("pending_review", 20), ["pending_review"]);
        assert_eq!(wrap("waiting_for_the_second_review", 16), ["waiting_for_the_", "second_review"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("等待第二次审核", 8), ["等待第二", "次审核"]);
        assert_eq!(wrap("e\u{301}e\u{301}e\u{301}", 2), ["e\u{301}e\u{301}", "e\u{301}"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn a_long_list_says_how_many_are_missing() {
        let words: Vec<_> = (0..64).map(|n| format!("agent:worker-{n:02}")).collect();
        let lines = list(&words, 40, 3);
        assert_eq!(lines, ["agent:worker-00, agent:worker-01,", "agent:worker-02, agent:worker-03,", "and 60 more"]);
        assert_eq!(list(&words[..1], 40, 3), ["agent:worker-00"]);
    }

    #[test]
    fn no_text_ends_what_it_stands_in() {
        assert_eq!(
            xml("</title><script>&\"'\u{1}\u{202e}"),
            "&lt;/title&gt;&lt;script&gt;&amp;&quot;&#39;\u{fffd}\u{fffd}"
        );
    }
}
