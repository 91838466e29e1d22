//! Requests as bytes that are patched, not built: a writer costs the machine as little as it can.
//!
//! Invariant: key, number of the write and version have a fixed width, so a patched request has the right length. Each
//! write of a key has another value, else the server would rightly leave the entry as it is.
//! Not known here: sockets and answers.

use std::net::SocketAddr;

/// Digits of a board's number, of a key's, of a write's and of a version.
const BOARD_DIGITS: usize = 5;
const KEY_DIGITS: usize = 7;
const WRITE_DIGITS: usize = 10;
const VERSION_DIGITS: usize = 10;

/// A request with places for what changes.
#[derive(Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    board_at: usize,
    key_at: usize,
    /// Of the number of the write and of the version, in a request with a body.
    body_at: Option<(usize, usize)>,
}

/// Which request of all that a template stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) board: usize,
    pub(crate) key: usize,
}

impl Template {
    /// A write with a value of `value_bytes` on the condition of a version.
    pub(crate) fn put(addr: SocketAddr, board: &str, value_bytes: usize) -> Self {
        let (before, after) = ("{\"text\":\"", "\",\"score\":0.87,\"n\":3}");
        let padding = value_bytes.saturating_sub(before.len() + WRITE_DIGITS + after.len());
        let body = format!(
            "{{\"value\":{before}{}{}{after},\"version\":{}}}",
            "0".repeat(WRITE_DIGITS),
            "x".repeat(padding),
            " ".repeat(VERSION_DIGITS)
        );
        let mut template = Self::head("PUT", addr, board, Some(body.len()));
        let write_at = template.bytes.len() + "{\"value\":".len() + before.len();
        template.bytes.extend_from_slice(body.as_bytes());
        let version_at = template.bytes.len() - 1 - VERSION_DIGITS;
        template.body_at = Some((write_at, version_at));
        template
    }

    pub(crate) fn get(addr: SocketAddr, board: &str) -> Self {
        Self::head("GET", addr, board, None)
    }

    fn head(method: &str, addr: SocketAddr, board: &str, body: Option<usize>) -> Self {
        let to_board = format!("{method} /v1/boards/{board}-");
        let to_key = format!("{to_board}{}/entries/working/k", "0".repeat(BOARD_DIGITS));
        let length = body.map(|n| format!("content-type: application/json\r\ncontent-length: {n}\r\n"));
        let head = format!(
            "{to_key}{} HTTP/1.1\r\nhost: {addr}\r\nkokuban-agent: bench\r\n{}\r\n",
            "0".repeat(KEY_DIGITS),
            length.unwrap_or_default()
        );
        Self { bytes: head.into_bytes(), board_at: to_board.len(), key_at: to_key.len(), body_at: None }
    }

    /// The request for a place into `out`; `write` and `version` matter where there is a body.
    pub(crate) fn render(&self, out: &mut Vec<u8>, place: Place, write: u64, version: u64) {
        out.clear();
        out.extend_from_slice(&self.bytes);
        digits(&mut out[self.board_at..self.board_at + BOARD_DIGITS], place.board as u64);
        digits(&mut out[self.key_at..self.key_at + KEY_DIGITS], place.key as u64);
        if let Some((write_at, version_at)) = self.body_at {
            digits(&mut out[write_at..write_at + WRITE_DIGITS], write);
            number(&mut out[version_at..version_at + VERSION_DIGITS], version);
        }
    }
}

/// The creation of a board, with the rules that every server has.
pub(crate) fn create_board(out: &mut Vec<u8>, addr: SocketAddr, board: &str, n: usize) {
    let body = "{\"blueprint\":\"default\"}";
    let form = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    about_board(out, "PUT", addr, (board, n), &form);
    out.extend_from_slice(body.as_bytes());
}

/// A summary of a board, for which it has to be loaded.
pub(crate) fn show_board(out: &mut Vec<u8>, addr: SocketAddr, board: &str, n: usize) {
    about_board(out, "GET", addr, (board, n), "");
}

fn about_board(out: &mut Vec<u8>, method: &str, addr: SocketAddr, (board, n): (&str, usize), form: &str) {
    let path = format!("/v1/boards/{board}-{n:0width$}", width = BOARD_DIGITS);
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {addr}\r\nkokuban-agent: bench\r\n{form}\r\n");
    out.clear();
    out.extend_from_slice(head.as_bytes());
}

/// With leading zeros.
fn digits(place: &mut [u8], mut n: u64) {
    for digit in place.iter_mut().rev() {
        *digit = ascii(n % 10);
        n /= 10;
    }
}

/// Without leading zeros, which JSON forbids; the rest stays blank.
fn number(place: &mut [u8], n: u64) {
    let n_digits = n.checked_ilog10().unwrap_or(0) as usize + 1;
    place.fill(b' ');
    digits(&mut place[..n_digits], n);
}

fn ascii(digit: u64) -> u8 {
    b'0' + u8::try_from(digit).expect("a digit")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(template: &Template, write: u64, version: u64) -> String {
        let mut out = Vec::new();
        template.render(&mut out, Place { board: 3, key: 42 }, write, version);
        String::from_utf8(out).expect("ASCII")
    }

    fn addr() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 7411))
    }

    #[test]
    fn a_write_says_where_what_and_on_which_version() {
        let put = text(&Template::put(addr(), "b", 250), 77, 12);
        let (head, body) = put.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("PUT /v1/boards/b-00003/entries/working/k0000042 HTTP/1.1\r\n"), "{head}");
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(body["version"], 12);
        assert!(body["value"]["text"].as_str().expect("a text").starts_with("0000000077x"));
        assert_eq!(body["value"].to_string().len(), 250, "the value has the size that was asked for");
    }

    #[test]
    fn versions_have_no_leading_zeros() {
        for version in [0, 9, 10, 9_999_999_999] {
            let put = text(&Template::put(addr(), "b", 60), 1, version);
            let body: serde_json::Value =
                serde_json::from_str(put.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON");
            assert_eq!(body["version"], version);
        }
    }

    #[test]
    fn a_read_has_no_body() {
        let get = text(&Template::get(addr(), "b"), 0, 0);
        assert!(get.starts_with("GET /v1/boards/b-00003/entries/working/k0000042 HTTP/1.1\r\n"), "{get}");
        assert!(get.ends_with("\r\n\r\n") && !get.contains("content-"), "{get}");
    }
}
