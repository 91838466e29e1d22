//! Names in paths: decoded exactly once, and encoded for the addresses that answers give.
//!
//! Invariant: decoding what `encode_…` made gives the same name; `%2F` is a slash in the key and nowhere else.
//! Not known here: which routes there are, beyond the addresses that answers name.

use std::fmt::Write;
use std::str::FromStr;

use kokuban_core::ids::{BoardName, EntryId, InvalidName, Key, ZoneName};

use crate::code::ErrorCode;
use crate::fields::invalid_name;
use crate::problem::ErrorItem;

/// Why a text is not percent-encoded UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodingMistake {
    /// `%` without two hexadecimal digits after it.
    Escape,
    Utf8,
}

impl EncodingMistake {
    #[must_use]
    pub fn detail(self) -> &'static str {
        match self {
            Self::Escape => "a `%` must be followed by two hexadecimal digits",
            Self::Utf8 => "the decoded text must be UTF-8",
        }
    }
}

/// Decodes percent escapes once.
///
/// # Errors
/// The mistake in the escapes or in the UTF-8 they make.
pub fn percent_decode(text: &str) -> Result<String, EncodingMistake> {
    decode(text, false)
}

/// Decodes `application/x-www-form-urlencoded` text: as [`percent_decode`], and `+` is a space.
///
/// # Errors
/// As [`percent_decode`].
pub fn form_decode(text: &str) -> Result<String, EncodingMistake> {
    decode(text, true)
}

fn decode(text: &str, plus_is_space: bool) -> Result<String, EncodingMistake> {
    if is_as_it_is(text) && !(plus_is_space && text.contains('+')) {
        return Ok(text.to_owned());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let high = bytes.next().and_then(hex_digit).ok_or(EncodingMistake::Escape)?;
                let low = bytes.next().and_then(hex_digit).ok_or(EncodingMistake::Escape)?;
                out.push(high << 4 | low);
            }
            b'+' if plus_is_space => out.push(b' '),
            other => out.push(other),
        }
    }
    String::from_utf8(out).map_err(|_| EncodingMistake::Utf8)
}

/// Most texts have no escape in them.
fn is_as_it_is(text: &str) -> bool {
    !text.bytes().any(|byte| byte == b'%')
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Reads a name of the domain from one raw segment of a path.
///
/// # Errors
/// `invalid_name` with the rule it breaks.
pub fn read_segment<T: FromStr<Err = InvalidName>>(raw: &str) -> Result<T, ErrorItem> {
    let name = if is_as_it_is(raw) {
        raw.parse()
    } else {
        let mistaken = |mistake: EncodingMistake| ErrorItem::new(ErrorCode::InvalidName, mistake.detail());
        percent_decode(raw).map_err(mistaken)?.parse()
    };
    name.map_err(|broken| invalid_name(&broken))
}

/// Reads the key from all that is left of a raw path.
///
/// # Errors
/// `invalid_name` with the rule it breaks.
pub fn read_key(raw: &str) -> Result<Key, ErrorItem> {
    read_segment(raw)
}

/// Encodes a text as one segment of a path: nothing in it is a separator or an escape afterwards.
#[must_use]
pub fn encode_segment(text: &str) -> String {
    encode(text, false)
}

/// Encodes a key: its slashes stay.
#[must_use]
pub fn encode_key(key: &Key) -> String {
    encode(key.as_str(), true)
}

/// Encodes a text for the query: everything but the unreserved characters.
#[must_use]
pub fn encode_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            escape(&mut out, byte);
        }
    }
    out
}

fn encode(text: &str, slash_stays: bool) -> String {
    if text == "." || text == ".." {
        // A client would take these away; as escapes they at least arrive, and are refused by name.
        return text.replace('.', "%2E");
    }
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        // The ASCII characters of names are all `pchar` of RFC 3986, so a name stays readable.
        if byte.is_ascii_alphanumeric() || b"-._~:@=+,".contains(&byte) || (slash_stays && byte == b'/') {
            out.push(char::from(byte));
        } else {
            escape(&mut out, byte);
        }
    }
    out
}

fn escape(out: &mut String, byte: u8) {
    write!(out, "%{byte:02X}").expect("writing to a String does not fail");
}

/// The address of a board.
#[must_use]
pub fn board_href(board: &BoardName) -> String {
    format!("/v1/boards/{}", encode_segment(board.as_str()))
}

/// The address of the list of a zone.
#[must_use]
pub fn zone_href(board: &BoardName, zone: &ZoneName) -> String {
    format!("{}/entries/{}", board_href(board), encode_segment(zone.as_str()))
}

/// The address of one view of an entry.
#[must_use]
pub fn href(board: &BoardName, resource: Resource, id: &EntryId) -> String {
    let resource = resource.as_str();
    format!("{}/{resource}/{}/{}", board_href(board), encode_segment(id.zone.as_str()), encode_key(&id.key))
}

/// The address of an entry.
#[must_use]
pub fn entry_href(board: &BoardName, id: &EntryId) -> String {
    href(board, Resource::Entries, id)
}

/// What has an address ending in zone and key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Entries,
    Leases,
    History,
    Notes,
    Blame,
}

impl Resource {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Leases => "leases",
            Self::History => "history",
            Self::Notes => "notes",
            Self::Blame => "blame",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        Key::new(text).expect("a key")
    }

    #[test]
    fn a_key_comes_back_from_its_address() {
        for text in ["意向国家", "x:y@1=2", "a/b/c", "ra/draft", "v1.2+b,c~d-e_f"] {
            let encoded = encode_key(&key(text));
            assert_eq!(read_key(&encoded), Ok(key(text)), "{encoded}");
            assert!(encoded.is_ascii());
        }
        assert_eq!(encode_key(&key("x:y@1=2")), "x:y@1=2");
        assert_eq!(encode_key(&key("国")), "%E5%9B%BD");
    }

    #[test]
    fn an_escaped_slash_is_a_slash_in_the_key_and_refused_elsewhere() {
        assert_eq!(read_key("a%2Fb"), Ok(key("a/b")));
        assert_eq!(read_key("a%2fb/c"), Ok(key("a/b/c")));
        let refused = read_segment::<ZoneName>("a%2Fb").expect_err("a zone has no slash");
        assert_eq!(refused.code, ErrorCode::InvalidName);
    }

    #[test]
    fn escapes_are_decoded_exactly_once() {
        assert_eq!(percent_decode("a%252Fb").as_deref(), Ok("a%2Fb"));
        assert!(read_key("a%252Fb").is_err(), "a key has no percent sign");
        assert_eq!(percent_decode(&encode_segment("a%2Fb")).as_deref(), Ok("a%2Fb"));
        assert_eq!(percent_decode("a+b").as_deref(), Ok("a+b"));
        assert_eq!(form_decode("a+b%2B").as_deref(), Ok("a b+"));
    }

    #[test]
    fn broken_escapes_are_invalid_names() {
        for raw in ["%", "%2", "%zz", "a%+1", "a%e5%9b", "%ff", "%c0%af", "%ed%a0%80"] {
            assert_eq!(read_key(raw).expect_err(raw).code, ErrorCode::InvalidName, "{raw}");
        }
    }

    #[test]
    fn a_name_in_another_normal_form_learns_the_right_one() {
        let refused = read_segment::<BoardName>("cafe%CC%81").expect_err("decomposed");
        assert_eq!(refused.nearest.as_deref(), Some("café"));
    }

    #[test]
    fn an_address_names_board_zone_and_key() {
        let board = BoardName::new("b@1").expect("a name");
        let id = EntryId::new(ZoneName::new("分析").expect("a name"), key("a/b"));
        assert_eq!(entry_href(&board, &id), "/v1/boards/b@1/entries/%E5%88%86%E6%9E%90/a/b");
        assert_eq!(href(&board, Resource::Leases, &id), "/v1/boards/b@1/leases/%E5%88%86%E6%9E%90/a/b");
    }
}
