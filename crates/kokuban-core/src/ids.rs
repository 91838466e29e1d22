//! Names, counters and times of the domain, each its own type.
//!
//! Invariant: a value of a name type was validated when it was made; nothing inside the
//! workspace has to look at its characters again.
//! Not known here: where a name stands in a URL, and how it is escaped there.

mod text;
mod time;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;
use unicode_normalization::{UnicodeNormalization, is_nfc};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::compact::DIGIT_VALUES;

pub use text::Text;
pub use time::Timestamp;

/// Longest name and key segment, in characters.
pub const NAME_CHARS_MAX: usize = 128;
/// Longest key, in bytes of UTF-8.
pub const KEY_BYTES_MAX: usize = 512;
/// Most segments of a key.
pub const KEY_SEGMENTS_MAX: usize = 8;
/// Longest agent, role, blueprint and trigger name, in bytes.
pub const AGENT_BYTES_MAX: usize = 64;

/// Why a text is not a name, and the right form where there is an obvious one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidName {
    pub what: &'static str,
    pub rule: NameRule,
    pub suggestion: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    Empty,
    TooLong { max: usize, unit: &'static str },
    TooManySegments { max: usize },
    EmptySegment,
    DotSegment,
    Character(char),
    NotNfc,
    AsciiOnly(char),
    FirstCharacter(char),
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.what;
        let a = if what.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        match self.rule {
            NameRule::Empty => write!(f, "{a} {what} may not be empty"),
            NameRule::TooLong { max, unit } => write!(f, "{a} {what} is at most {max} {unit} long"),
            NameRule::TooManySegments { max } => write!(f, "{a} {what} has at most {max} segments"),
            NameRule::EmptySegment => {
                write!(f, "{a} {what} has no empty segment: no slash at the start, the end or twice in a row")
            }
            NameRule::DotSegment => write!(f, "`.` and `..` are not allowed as {a} {what} or a segment of it"),
            NameRule::Character(c) => write!(
                f,
                "{a} {what} is made of letters, marks and digits of any script and `. _ : @ = + , ~ -`; {} is none of them",
                Shown(c)
            ),
            NameRule::NotNfc => write!(f, "{a} {what} must be in Unicode normalization form NFC"),
            NameRule::AsciiOnly(c) => {
                write!(f, "{a} {what} is made of ASCII letters, digits and `. _ -`; {} is none of them", Shown(c))
            }
            NameRule::FirstCharacter(c) => {
                write!(f, "{a} {what} begins with an ASCII letter or digit, not with {}", Shown(c))
            }
        }?;
        match &self.suggestion {
            Some(form) => write!(f, "; the right form is `{form}`"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InvalidName {}

/// A character as it may stand in a message: escaped unless it is printable ASCII.
struct Shown(char);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_ascii_graphic() { write!(f, "`{}`", self.0) } else { write!(f, "U+{:04X}", u32::from(self.0)) }
    }
}

fn is_name_char(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '_' | '@' | '=' | '+' | ',' | '~' | '-');
    }
    matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark)
        || c.general_category() == unicode_properties::GeneralCategory::DecimalNumber
}

/// One name, or one segment of a key.
fn check_segment(what: &'static str, text: &str) -> Result<(), InvalidName> {
    let fail = |rule| Err(InvalidName { what, rule, suggestion: None });
    if text.is_empty() {
        return fail(NameRule::Empty);
    }
    if text == "." || text == ".." {
        return fail(NameRule::DotSegment);
    }
    if text.is_ascii() && text.len() <= NAME_CHARS_MAX {
        return match text.chars().find(|c| !is_name_char(*c)) {
            Some(c) => fail(NameRule::Character(c)),
            None => Ok(()),
        };
    }
    if text.chars().count() > NAME_CHARS_MAX {
        return fail(NameRule::TooLong { max: NAME_CHARS_MAX, unit: "characters" });
    }
    if let Some(c) = text.chars().find(|c| !is_name_char(*c)) {
        return fail(NameRule::Character(c));
    }
    if !is_nfc(text) {
        return Err(InvalidName { what, rule: NameRule::NotNfc, suggestion: Some(text.nfc().collect()) });
    }
    Ok(())
}

fn check_key(what: &'static str, text: &str) -> Result<(), InvalidName> {
    let fail = |rule| Err(InvalidName { what, rule, suggestion: None });
    if text.is_empty() {
        return fail(NameRule::Empty);
    }
    if text.len() > KEY_BYTES_MAX {
        return fail(NameRule::TooLong { max: KEY_BYTES_MAX, unit: "bytes" });
    }
    let n_slashes = text.bytes().filter(|byte| *byte == b'/').count();
    if n_slashes == 0 {
        return check_segment(what, text);
    }
    if n_slashes >= KEY_SEGMENTS_MAX {
        return fail(NameRule::TooManySegments { max: KEY_SEGMENTS_MAX });
    }
    let mut not_nfc = false;
    for segment in text.split('/') {
        match check_segment(what, segment) {
            Ok(()) => {}
            Err(InvalidName { rule: NameRule::Empty, .. }) => return fail(NameRule::EmptySegment),
            Err(InvalidName { rule: NameRule::NotNfc, .. }) => not_nfc = true,
            Err(other) => return Err(other),
        }
    }
    if not_nfc {
        return Err(InvalidName { what, rule: NameRule::NotNfc, suggestion: Some(text.nfc().collect()) });
    }
    Ok(())
}

fn check_agent(what: &'static str, text: &str) -> Result<(), InvalidName> {
    let fail = |rule| Err(InvalidName { what, rule, suggestion: None });
    let Some(first) = text.chars().next() else { return fail(NameRule::Empty) };
    if text.len() > AGENT_BYTES_MAX {
        return fail(NameRule::TooLong { max: AGENT_BYTES_MAX, unit: "bytes" });
    }
    if let Some(c) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))) {
        return fail(NameRule::AsciiOnly(c));
    }
    if !first.is_ascii_alphanumeric() {
        return fail(NameRule::FirstCharacter(first));
    }
    Ok(())
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(SmolStr);

        impl $type {
            /// Validates `text`.
            ///
            /// # Errors
            /// The rule that `text` breaks, with the right form where there is one.
            pub fn new(text: &str) -> Result<Self, InvalidName> {
                $check($what, text)?;
                Ok(Self(SmolStr::new(text)))
            }

            /// Takes back the text of a name.
            #[allow(dead_code, reason = "not every kind of name is packed")]
            pub(crate) fn known(text: &str) -> Self {
                Self(SmolStr::new(text))
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = InvalidName;
            fn from_str(text: &str) -> Result<Self, InvalidName> {
                Self::new(text)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.0.as_str(), f)
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = SmolStr::deserialize(deserializer)?;
                $check($what, &text).map_err(serde::de::Error::custom)?;
                Ok(Self(text))
            }
        }
    };
}

name!(/// A board: one thread, session or task.
    BoardName, "board name", check_segment);
name!(/// A zone of a board.
    ZoneName, "zone name", check_segment);
name!(/// A status of a lifecycle.
    Status, "status", check_segment);
name!(/// The name of an entry in its zone: 1 to 8 segments joined by `/`.
    Key, "key", check_key);
name!(/// A caller, as its credential names it.
    AgentName, "agent name", check_agent);
name!(/// A role, of a board or of the server.
    RoleName, "role name", check_agent);
name!(/// A blueprint.
    BlueprintName, "blueprint name", check_agent);
name!(/// A lifecycle of a blueprint.
    LifecycleName, "lifecycle name", check_agent);

impl Key {
    /// The segments, at least one.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

/// A place for an entry: zone and key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntryId {
    pub zone: ZoneName,
    pub key: Key,
}

impl EntryId {
    #[must_use]
    pub fn new(zone: ZoneName, key: Key) -> Self {
        Self { zone, key }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.zone, self.key)
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

macro_rules! counter {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $type(pub u64);

        impl $type {
            pub const ZERO: Self = Self(0);

            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

counter!(/// Counts the accepted changes of one entry; never repeats for a key.
    Version);
counter!(/// Counts the commits of one board: +1 each, no gaps.
    Revision);
counter!(/// The fencing token of a lease: the revision of its grant.
    LeaseToken);

/// One life of a board's history: changes when the board is recreated or restored. Sixteen hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl Epoch {
    #[must_use]
    pub fn text(self) -> Text<16> {
        Text::default().hex(&self.0.to_be_bytes())
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Epoch {
    type Err = InvalidPosition;
    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        hex_u64(text).map(Self).ok_or(InvalidPosition)
    }
}

fn hex_u64(text: &str) -> Option<u64> {
    let canonical = text.len() == 16 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if canonical { u64::from_str_radix(text, 16).ok() } else { None }
}

/// A place in a board's history, written `<epoch>.<revision>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    pub epoch: Epoch,
    pub revision: Revision,
}

/// A text that is not `<epoch>.<revision>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidPosition;

impl fmt::Display for InvalidPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a position is `<epoch>.<revision>`, as the header Kokuban-Position and the id of an event give it")
    }
}

impl std::error::Error for InvalidPosition {}

impl Position {
    #[must_use]
    pub fn text(self) -> Text<37> {
        Text::default().hex(&self.epoch.0.to_be_bytes()).plain(".").decimal(self.revision.0)
    }
}

impl FromStr for Position {
    type Err = InvalidPosition;
    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        let (epoch, revision) = text.split_once('.').ok_or(InvalidPosition)?;
        let digits = !revision.is_empty()
            && revision.bytes().all(|b| b.is_ascii_digit())
            && (revision == "0" || !revision.starts_with('0'));
        if !digits {
            return Err(InvalidPosition);
        }
        Ok(Self { epoch: epoch.parse()?, revision: Revision(revision.parse().map_err(|_| InvalidPosition)?) })
    }
}

macro_rules! as_text {
    ($type:ident) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text().as_str())
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.text().as_str())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = SmolStr::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

as_text!(Epoch);
as_text!(Position);
as_text!(Sha256);
as_text!(ChainHash);

/// A point of board time in milliseconds. It never goes backwards on a board, whatever the wall clock does,
/// and alone decides what expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BoardTime(pub u64);

impl BoardTime {
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `self` until `later`, 0 when that is past.
    #[must_use]
    pub fn ms_until(self, later: Self) -> u64 {
        later.0.saturating_sub(self.0)
    }
}

fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let mut out = [0; N];
    for (byte, digits) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let (high, low) = (DIGIT_VALUES[usize::from(digits[0])], DIGIT_VALUES[usize::from(digits[1])]);
        *byte = (high << 4) | low;
        if high | low > 15 {
            return None;
        }
    }
    Some(out)
}

/// A text that is not a hash in lower-case hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidHash;

impl fmt::Display for InvalidHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hash is lower-case hexadecimal")
    }
}

impl std::error::Error for InvalidHash {}

macro_rules! hash {
    ($(#[$doc:meta])* $type:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub [u8; $bytes]);

        impl $type {
            #[must_use]
            pub fn text(&self) -> Text<{ 2 * $bytes }> {
                Text::default().hex(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $type {
            type Err = InvalidHash;
            fn from_str(text: &str) -> Result<Self, InvalidHash> {
                parse_hex(text).map(Self).ok_or(InvalidHash)
            }
        }
    };
}

hash!(/// SHA-256 of the RFC 8785 form of a value.
    Sha256, 32);
hash!(/// The hash of a commit and, through it, of all before it: SHA-256 cut to 16 bytes.
    ChainHash, 16);

impl ChainHash {
    /// What the first commit of a board follows.
    pub const GENESIS: Self = Self([0; 16]);

    /// The hash of the commit whose encoded head is `head`, following `self`.
    #[must_use]
    pub fn extend(self, head: &[u8]) -> Self {
        use sha2::Digest;
        let digest = sha2::Sha256::new().chain_update(self.0).chain_update(head).finalize();
        let mut out = [0; 16];
        out.copy_from_slice(&digest[..16]);
        Self(out)
    }
}

impl Sha256 {
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest;
        Self(sha2::Sha256::digest(bytes).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_script_are_accepted() {
        for name in ["a", "意向国家", "x:y@1=2", "ñandú", "v1.2+b,c~d-e_f", "हिन्दी", "٣"] {
            assert!(ZoneName::new(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_refused_name_says_which_rule_it_breaks() {
        let rule = |text: &str| ZoneName::new(text).expect_err(text).rule;
        assert_eq!(rule(""), NameRule::Empty);
        assert_eq!(rule(".."), NameRule::DotSegment);
        assert_eq!(rule("a b"), NameRule::Character(' '));
        assert_eq!(rule("100%"), NameRule::Character('%'));
        assert_eq!(rule("a/b"), NameRule::Character('/'));
        assert_eq!(rule("a\u{0}"), NameRule::Character('\u{0}'));
        assert_eq!(rule("½"), NameRule::Character('½'));
        assert_eq!(rule(&"x".repeat(129)), NameRule::TooLong { max: 128, unit: "characters" });
        assert!(ZoneName::new(&"国".repeat(128)).is_ok());
    }

    #[test]
    fn a_decomposed_name_is_refused_with_its_composed_form() {
        let refused = ZoneName::new("cafe\u{301}").expect_err("not NFC");
        assert_eq!((refused.rule, refused.suggestion.as_deref()), (NameRule::NotNfc, Some("café")));
        let refused = Key::new("a/e\u{301}").expect_err("not NFC");
        assert_eq!(refused.suggestion.as_deref(), Some("a/é"));
    }

    #[test]
    fn a_key_has_one_to_eight_segments() {
        assert!(Key::new("a/b/c/d/e/f/g/h").is_ok());
        assert_eq!(Key::new("a/b/c/d/e/f/g/h/i").expect_err("nine").rule, NameRule::TooManySegments { max: 8 });
        for text in ["/a", "a/", "a//b"] {
            assert_eq!(Key::new(text).expect_err(text).rule, NameRule::EmptySegment);
        }
        assert_eq!(Key::new("a/../b").expect_err("dots").rule, NameRule::DotSegment);
    }

    #[test]
    fn an_agent_name_is_ascii_and_begins_with_a_letter_or_digit() {
        assert!(AgentName::new("ra-1.x_y").is_ok());
        assert_eq!(AgentName::new("-ra").expect_err("dash").rule, NameRule::FirstCharacter('-'));
        assert_eq!(AgentName::new("rä").expect_err("umlaut").rule, NameRule::AsciiOnly('ä'));
    }

    #[test]
    fn a_position_reads_back_as_written_and_has_one_spelling() {
        let position = Position { epoch: Epoch(0x1f), revision: Revision(12) };
        assert_eq!(position.to_string(), "000000000000001f.12");
        assert_eq!(position.to_string().parse(), Ok(position));
        for text in
            ["", "0", "1f.12", "000000000000001f.", "000000000000001f.012", "000000000000001F.1", "000000000000001f.+1"]
        {
            assert_eq!(text.parse::<Position>(), Err(InvalidPosition), "{text}");
        }
    }
}
