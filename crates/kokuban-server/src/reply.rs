//! Answers in JSON with the headers that belong to them.
//!
//! Invariant: serialised once; every answer about a board names its position.
//! Not known here: what is answered.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, LOCATION};
use http::{HeaderName, HeaderValue, StatusCode};
use kokuban_api::headers::{EntityTag, IDEMPOTENCY_REPLAYED, POSITION, PREFERENCE_APPLIED, ReturnPreference};
use kokuban_core::ids::Position;
use serde::Serialize;

/// Headers that most answers have, with those that `edge` adds.
const HEADERS: usize = 6;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An answer being put together.
#[derive(Debug)]
pub(crate) struct Reply {
    response: Response,
}

impl Reply {
    pub(crate) fn json<T: Serialize>(status: StatusCode, body: &T, pretty: bool) -> Self {
        let written = if pretty { pretty_bytes(body) } else { serde_json::to_vec(body) };
        Self::bytes(status, written.expect("the types of the wire serialise").into())
    }

    pub(crate) fn bytes(status: StatusCode, body: Bytes) -> Self {
        let mut reply = Self::of(status, body.into());
        reply.response.headers_mut().insert(CONTENT_TYPE, JSON);
        reply
    }

    pub(crate) fn empty(status: StatusCode) -> Self {
        Self::of(status, Body::empty())
    }

    fn of(status: StatusCode, body: Body) -> Self {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().reserve(HEADERS);
        Self { response }
    }

    pub(crate) fn at(self, position: Option<Position>) -> Self {
        match position {
            Some(position) => self.header(POSITION, position.text().as_str()),
            None => self,
        }
    }

    pub(crate) fn tagged(self, tag: EntityTag) -> Self {
        self.header(ETAG, tag.text().as_str())
    }

    pub(crate) fn located(self, href: &str) -> Self {
        self.header(LOCATION, href)
    }

    pub(crate) fn replayed(self, replayed: bool) -> Self {
        if replayed { self.header(IDEMPOTENCY_REPLAYED, "true") } else { self }
    }

    pub(crate) fn preferring(self, preference: Option<ReturnPreference>) -> Self {
        match preference {
            Some(preference) => self.header(PREFERENCE_APPLIED, preference.as_str()),
            None => self,
        }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        let value = HeaderValue::from_str(value).expect("header values of ours are printable ASCII");
        self.response.headers_mut().insert(name, value);
        self
    }

    pub(crate) fn send(self) -> Response {
        self.response
    }
}

fn pretty_bytes<T: Serialize>(body: &T) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(body).map(|compact| pretty(&compact))
}

/// The same text with lines and indentation. Members keep their order, and values their digits.
pub(crate) fn pretty(compact: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * compact.len());
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, byte) in compact.iter().copied().enumerate() {
        if in_text {
            out.push(byte);
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        let is_empty = |close| compact.get(at + 1) == Some(&close);
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                if !is_empty(byte + 2) {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                if at.checked_sub(1).and_then(|before| compact.get(before)) != Some(&(byte - 2)) {
                    depth -= 1;
                    new_line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                new_line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                in_text = byte == b'"';
                out.push(byte);
            }
        }
    }
    out.push(b'\n');
    out
}

fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_keeps_order_and_digits_and_touches_no_text() {
        let text = r#"{"z":[],"a":{"k":"x: {,}\"[","e":{}},"n":[1.50,1e+20]}"#;
        let raw: Box<serde_json::value::RawValue> = serde_json::from_str(text).expect("JSON");
        let pretty = String::from_utf8(pretty_bytes(&raw).expect("serialises")).expect("UTF-8");
        let expected = "{\n  \"z\": [],\n  \"a\": {\n    \"k\": \"x: {,}\\\"[\",\n    \"e\": {}\n  },\n  \"n\": [\n    1.50,\n    1e+20\n  ]\n}\n";
        assert_eq!(pretty, expected);
    }
}
