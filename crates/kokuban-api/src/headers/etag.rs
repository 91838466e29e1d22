//! Entity tags, and the conditions that name them.
//!
//! Invariant: a tag is strong and changes exactly with the version; weak tags, and tags of somebody else,
//! are well-formed but never match.

use std::fmt;
use std::str::FromStr;

use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName};
use kokuban_core::ids::{Epoch, Text, Version};

use super::invalid;
use crate::problem::ErrorItem;

/// `"<version>-<epoch>"`, with the quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntityTag {
    pub version: Version,
    pub epoch: Epoch,
}

impl EntityTag {
    #[must_use]
    pub fn text(self) -> Text<39> {
        let version = Text::default().plain("\"").decimal(self.version.0);
        version.plain("-").hex(&self.epoch.0.to_be_bytes()).plain("\"")
    }
}

impl fmt::Display for EntityTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

/// A text that is no tag of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTag;

impl FromStr for EntityTag {
    type Err = InvalidTag;
    fn from_str(text: &str) -> Result<Self, InvalidTag> {
        let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or(InvalidTag)?;
        let (version, epoch) = inner.split_once('-').ok_or(InvalidTag)?;
        let tag = Self {
            version: Version(version.parse().map_err(|_| InvalidTag)?),
            epoch: epoch.parse().map_err(|_| InvalidTag)?,
        };
        // One spelling only: no sign, no leading zero.
        if tag.text().as_str() == text { Ok(tag) } else { Err(InvalidTag) }
    }
}

/// What a conditional header names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Match {
    /// The header is absent.
    #[default]
    None,
    /// `*`: the entry exists.
    Exists,
    /// The tags of the list that can match; empty if none can.
    AnyOf(Vec<EntityTag>),
}

impl Match {
    #[must_use]
    pub fn is_given(&self) -> bool {
        *self != Self::None
    }

    /// Whether the header, which is given, names the entry as it stands (`None`: there is none).
    #[must_use]
    pub fn names(&self, current: Option<EntityTag>) -> bool {
        match (self, current) {
            (Self::None, _) | (_, None) => false,
            (Self::Exists, Some(_)) => true,
            (Self::AnyOf(tags), Some(current)) => tags.contains(&current),
        }
    }
}

/// Which header refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedCondition {
    IfMatch,
    IfNoneMatch,
}

/// The conditions of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions {
    pub if_match: Match,
    pub if_none_match: Match,
}

impl Preconditions {
    /// # Errors
    /// `invalid_value` when one of the headers is malformed.
    pub fn read(headers: &HeaderMap) -> Result<Self, ErrorItem> {
        Ok(Self { if_match: tags(headers, &IF_MATCH)?, if_none_match: tags(headers, &IF_NONE_MATCH)? })
    }

    #[must_use]
    pub fn is_given(&self) -> bool {
        self.if_match.is_given() || self.if_none_match.is_given()
    }

    /// Judges a write on an entry as it stands.
    ///
    /// # Errors
    /// The header whose condition does not hold.
    pub fn judge(&self, current: Option<EntityTag>) -> Result<(), FailedCondition> {
        if self.if_match.is_given() && !self.if_match.names(current) {
            return Err(FailedCondition::IfMatch);
        }
        if self.if_none_match.names(current) { Err(FailedCondition::IfNoneMatch) } else { Ok(()) }
    }

    /// Whether a read is answered 304.
    #[must_use]
    pub fn is_not_modified(&self, current: EntityTag) -> bool {
        self.if_none_match.names(Some(current))
    }
}

/// Several lines of the header are one list.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Match, ErrorItem> {
    let malformed = || invalid(name, "must be `*` or a list of entity tags in quotes");
    let lines: Vec<&[u8]> = headers.get_all(name).iter().map(|line| line.as_bytes()).collect();
    if lines.is_empty() {
        return Ok(Match::None);
    }
    if lines.iter().any(|line| line.trim_ascii() == b"*") {
        return if lines.len() == 1 { Ok(Match::Exists) } else { Err(malformed()) };
    }
    let (mut n, mut known) = (0_usize, Vec::new());
    for line in lines {
        let mut rest = line.trim_ascii();
        while !rest.is_empty() {
            // A recipient has to bear empty elements of a list (RFC 9110 §5.6.1).
            if let Some(after) = rest.strip_prefix(b",") {
                rest = after.trim_ascii_start();
                continue;
            }
            let (tag, after) = next_tag(rest).ok_or_else(malformed)?;
            n += 1;
            known.extend(std::str::from_utf8(tag).ok().and_then(|tag| tag.parse::<EntityTag>().ok()));
            rest = after.trim_ascii_start();
            if !rest.is_empty() && !rest.starts_with(b",") {
                return Err(malformed());
            }
        }
    }
    if n == 0 { Err(malformed()) } else { Ok(Match::AnyOf(known)) }
}

/// The first tag of a list, with its `W/` if it is weak, and what follows.
fn next_tag(list: &[u8]) -> Option<(&[u8], &[u8])> {
    let quote = if list.starts_with(b"W/") { 2 } else { 0 };
    let opaque = list.get(quote..)?.strip_prefix(b"\"")?;
    let length = opaque.iter().position(|byte| *byte == b'"')?;
    let valid = opaque[..length].iter().all(|byte| *byte >= 0x21 && *byte != 0x7f);
    valid.then(|| list.split_at(quote + length + 2))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const TAG: EntityTag = EntityTag { version: Version(7), epoch: Epoch(0x1f) };
    const TEXT: &str = "\"7-000000000000001f\"";

    fn read(name: HeaderName, lines: &[&str]) -> Result<Preconditions, ErrorItem> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name.clone(), HeaderValue::from_bytes(line.as_bytes()).expect("a header value"));
        }
        Preconditions::read(&headers)
    }

    fn if_match(lines: &[&str]) -> Match {
        read(IF_MATCH, lines).expect("well-formed").if_match
    }

    #[test]
    fn a_tag_reads_back_as_written_and_has_one_spelling() {
        assert_eq!(TAG.to_string(), TEXT);
        assert_eq!(TEXT.parse(), Ok(TAG));
        for text in ["7-000000000000001f", "\"07-000000000000001f\"", "\"+7-000000000000001f\"", "\"7\"", "\"", ""] {
            assert_eq!(text.parse::<EntityTag>(), Err(InvalidTag), "{text}");
        }
    }

    #[test]
    fn lists_and_stars_are_read_over_several_lines() {
        assert_eq!(if_match(&[]), Match::None);
        assert_eq!(if_match(&[" * "]), Match::Exists);
        assert_eq!(if_match(&[TEXT]), Match::AnyOf(vec![TAG]));
        assert_eq!(if_match(&[&format!("\"a,b\" ,, {TEXT},"), "\"x\""]), Match::AnyOf(vec![TAG]));
    }

    #[test]
    fn weak_and_foreign_tags_never_match() {
        assert_eq!(if_match(&[&format!("W/{TEXT}"), "\"v7\""]), Match::AnyOf(Vec::new()));
        let weak = read(IF_NONE_MATCH, &[&format!("W/{TEXT}")]).expect("well-formed");
        assert!(!weak.is_not_modified(TAG));
    }

    #[test]
    fn a_malformed_condition_is_refused_and_never_ignored() {
        for line in ["", ",", "7", "\"7", "\"a\" \"b\"", "*, \"a\"", "w/\"a\"", "\"a b\"", "\"a\"*"] {
            let item = read(IF_MATCH, &[line]).expect_err(line);
            assert_eq!(item.code, crate::ErrorCode::InvalidValue, "{line}");
        }
        assert!(read(IF_MATCH, &["*", TEXT]).is_err());
    }

    #[test]
    fn a_condition_on_a_missing_entry_holds_only_if_it_must_be_missing() {
        for line in ["*", TEXT] {
            assert_eq!(read(IF_MATCH, &[line]).expect("read").judge(None), Err(FailedCondition::IfMatch));
            assert_eq!(read(IF_NONE_MATCH, &[line]).expect("read").judge(None), Ok(()));
            assert_eq!(read(IF_MATCH, &[line]).expect("read").judge(Some(TAG)), Ok(()));
            assert_eq!(read(IF_NONE_MATCH, &[line]).expect("read").judge(Some(TAG)), Err(FailedCondition::IfNoneMatch));
        }
        let other = EntityTag { epoch: Epoch(0x20), ..TAG };
        assert_eq!(read(IF_MATCH, &[TEXT]).expect("read").judge(Some(other)), Err(FailedCondition::IfMatch));
    }
}
