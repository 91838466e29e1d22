//! Patterns of board names: `*` stands for any run of characters, everything else for itself.
//!
//! **Invariant**: matching takes no more than length of pattern times length of name steps.
//! Not known here: what a pattern admits or creates.

use std::fmt;

use kokuban_core::ids::BoardName;

/// A valid pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern(String);

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidPattern(String);

impl fmt::Display for InvalidPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidPattern {}

impl Pattern {
    /// The pattern of all boards.
    #[must_use]
    pub fn any() -> Self {
        Self("*".into())
    }

    /// # Errors
    /// The text can match no board name.
    pub fn new(text: &str) -> Result<Self, InvalidPattern> {
        let literal = text.replace('*', "");
        // A star may stand for what makes `.` a name.
        if (literal.is_empty() || literal.chars().all(|c| c == '.')) && text.contains('*') {
            return Ok(Self(text.into()));
        }
        match BoardName::new(&literal) {
            Ok(_) => Ok(Self(text.into())),
            Err(rule) => Err(InvalidPattern(format!("it can match no board: {rule}"))),
        }
    }

    /// Whether it is the pattern of all boards, however it is written.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'*')
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        if self.0 == "*" {
            return true;
        }
        let Some((start, rest)) = self.0.split_once('*') else { return self.0 == name };
        let Some(mut name) = name.strip_prefix(start) else { return false };
        let mut pieces: Vec<&str> = rest.split('*').collect();
        let end = pieces.pop().unwrap_or_default();
        // The earliest place of each piece leaves the most room for the next ones.
        for piece in pieces {
            match name.find(piece) {
                Some(at) => name = &name[at + piece.len()..],
                None => return false,
            }
        }
        name.ends_with(end)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run() {
        for (pattern, yes, no) in [
            ("*", &["a", "意向"][..], &[][..]),
            ("order-*", &["order-", "order-7"], &["orders", "my-order-7"]),
            ("*-test", &["a-test"], &["a-test-b"]),
            ("a*b*c", &["abc", "aXbYc", "abbcc"], &["acb", "ab"]),
            ("a*a", &["aa", "aba"], &["a"]),
            ("exact", &["exact"], &["exactly", "Exact"]),
        ] {
            let pattern = Pattern::new(pattern).unwrap();
            assert!(yes.iter().all(|name| pattern.matches(name)), "{pattern}");
            assert!(!no.iter().any(|name| pattern.matches(name)), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_can_match_no_board_is_refused() {
        for text in ["", "a b", "a/b*", "?", "[a]", ".."] {
            assert!(Pattern::new(text).is_err(), "{text}");
        }
    }
}
