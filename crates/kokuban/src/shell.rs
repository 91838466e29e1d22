//! Words as a shell takes them.
//!
//! Invariant: what is quoted is one word of the same text again in bash and zsh, and nothing in it acts on a terminal.

use std::fmt::Write as _;

use crate::output::acts_on_terminal;

/// `word`, quoted where a shell would change it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if word.chars().any(acts_on_terminal) {
        escaped(word)
    } else if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// In the form `$'…'`, which POSIX has only since 2024, but bash and zsh for long.
fn escaped(word: &str) -> String {
    let mut text = String::from("$'");
    for c in word.chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\'' | '\\' => text.extend(['\\', c]),
            c if acts_on_terminal(c) && c.is_ascii() => {
                write!(text, "\\{:03o}", u32::from(c)).expect("writing to a String does not fail");
            }
            c if acts_on_terminal(c) => {
                write!(text, "\\U{:08x}", u32::from(c)).expect("writing to a String does not fail");
            }
            c => text.push(c),
        }
    }
    text + "'"
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn only_what_a_shell_would_change_is_quoted() {
        assert_eq!((quoted("a/b"), quoted("分析/a"), quoted("")), ("a/b".into(), "'分析/a'".into(), "''".into()));
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn a_shell_reads_the_same_word_again() {
        for word in
            ["a b", "it's", "$HOME `x` \\ \"", "", "-", "需求", "a\nb\t\u{1b}[2J'\\", "\u{202e}\u{9b}x1", "!1*?~"]
        {
            let quoted = quoted(word);
            assert!(!quoted.chars().any(acts_on_terminal), "{quoted}");
            let script = format!("printf %s {quoted}");
            let said = Command::new("bash").args(["-c", &script]).env("LC_ALL", "C.UTF-8").output().expect("bash");
            assert_eq!(String::from_utf8(said.stdout).as_deref(), Ok(word), "{quoted}");
        }
    }
}
