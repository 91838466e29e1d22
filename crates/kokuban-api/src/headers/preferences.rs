//! What a caller would like, repeats, and traces: Prefer, Idempotency-Key, traceparent.

use http::HeaderMap;

use super::{IDEMPOTENCY_KEY, PREFER, TRACEPARENT, invalid, single};
use crate::limits::IDEMPOTENCY_KEY_BYTES_MAX;
use crate::problem::ErrorItem;

/// Whether the answer of a write includes the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnPreference {
    Minimal,
    Representation,
}

impl ReturnPreference {
    /// For the header Preference-Applied.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "return=minimal",
            Self::Representation => "return=representation",
        }
    }
}

/// The first `return=` of the header Prefer. Anything else in it, or an unknown value, is ignored as RFC 7240 asks.
#[must_use]
pub fn return_preference(headers: &HeaderMap) -> Option<ReturnPreference> {
    let lines = headers.get_all(&PREFER).iter().filter_map(|line| line.to_str().ok());
    let preferences = lines.flat_map(|line| line.split(','));
    let mut returns = preferences.filter_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        name.trim_ascii().eq_ignore_ascii_case("return").then(|| value.trim_ascii().trim_matches('"'))
    });
    match returns.next()? {
        "minimal" => Some(ReturnPreference::Minimal),
        "representation" => Some(ReturnPreference::Representation),
        _ => None,
    }
}

/// The key that makes a repeat of the request harmless.
///
/// # Errors
/// `invalid_value` unless it is 1 to 255 visible ASCII characters, once.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, ErrorItem> {
    let Some(bytes) = single(headers, &IDEMPOTENCY_KEY)? else { return Ok(None) };
    let valid = (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    let text = std::str::from_utf8(bytes).ok().filter(|_| valid);
    text.map(Some).ok_or_else(|| invalid(&IDEMPOTENCY_KEY, "must be 1 to 255 visible ASCII characters"))
}

/// A W3C trace context, as far as it is used here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub parent_id: String,
    pub sampled: bool,
}

/// The trace that the request belongs to; one that cannot be read is as good as none.
#[must_use]
pub fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    let bytes = single(headers, &TRACEPARENT).ok()??;
    let text = std::str::from_utf8(bytes).ok()?;
    let mut parts = text.split('-');
    let version = hex(parts.next()?, 2)?;
    let trace_id = hex(parts.next()?, 32)?;
    let parent_id = hex(parts.next()?, 16)?;
    let flags = hex(parts.next()?, 2)?;
    // Version 0 ends here; a later one may go on.
    let ends = parts.next().is_none();
    let zero = |text: &str| text.bytes().all(|byte| byte == b'0');
    if version == "ff" || (version == "00" && !ends) || zero(trace_id) || zero(parent_id) {
        return None;
    }
    let sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
    Some(TraceParent { trace_id: trace_id.to_owned(), parent_id: parent_id.to_owned(), sampled })
}

fn hex(text: &str, length: usize) -> Option<&str> {
    let valid = text.len() == length && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    valid.then_some(text)
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn with(name: HeaderName, lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name.clone(), HeaderValue::from_bytes(line.as_bytes()).expect("a header value"));
        }
        headers
    }

    #[test]
    fn the_first_known_preference_counts_and_the_rest_is_ignored() {
        let preference = |lines: &[&str]| return_preference(&with(PREFER, lines));
        assert_eq!(preference(&["respond-async, Return=minimal; x=1"]), Some(ReturnPreference::Minimal));
        assert_eq!(preference(&["wait=10", "return=\"representation\""]), Some(ReturnPreference::Representation));
        assert_eq!(preference(&["return=much"]), None);
        assert_eq!(preference(&[]), None);
    }

    #[test]
    fn an_idempotency_key_is_up_to_255_visible_ascii_characters() {
        let longest = "k".repeat(255);
        assert_eq!(idempotency_key(&with(IDEMPOTENCY_KEY, &[&longest])), Ok(Some(longest.as_str())));
        assert_eq!(idempotency_key(&with(IDEMPOTENCY_KEY, &["task:1"])), Ok(Some("task:1")));
        assert_eq!(idempotency_key(&HeaderMap::new()), Ok(None));
        for lines in [&["k".repeat(256)][..], &["".into()], &["a b".into()], &["é".into()], &["a".into(), "a".into()]]
        {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert!(idempotency_key(&with(IDEMPOTENCY_KEY, &lines)).is_err(), "{lines:?}");
        }
    }

    #[test]
    fn a_trace_is_taken_over_if_valid_and_ignored_if_not() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = trace_parent(&with(TRACEPARENT, &[good])).expect("valid");
        assert_eq!((trace.trace_id.as_str(), trace.sampled), ("4bf92f3577b34da6a3ce929d0e0e4736", true));
        assert!(trace_parent(&with(TRACEPARENT, &[&format!("01{}-more", &good[2..])])).is_some());
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert_eq!(trace_parent(&with(TRACEPARENT, &[bad])), None, "{bad}");
        }
        assert_eq!(trace_parent(&with(TRACEPARENT, &[good, good])), None);
    }
}
