//! Follows the bytes of a connection from request to request, without interpreting them.
//!
//! Owns the answer to two questions that hyper does not answer: is the peer between two requests or
//! inside the head of one (they have different time-outs), and did a head carry more than one statement
//! of its body's length (hyper drops the loser before a service could see it).
//! **Invariant**: bytes are only looked at, never changed or kept beyond the start of one line; what cannot
//! be followed is [`At::Lost`], and then hyper's own rules stand.
//! Not known here: what is valid. hyper refuses that itself.

use memchr::memchr;

/// What is kept of a line that arrives in pieces: enough for any name of interest and a length.
const LINE_BYTES_KEPT: usize = 64;

/// Where in a request the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Between requests, or in the blank lines that may precede one.
    Between,
    RequestLine,
    Headers,
    /// So many bytes of body, then the next request.
    Body(u64),
    ChunkSize,
    /// So many bytes of chunk with its line end, then the next size.
    Chunk(u64),
    Trailers,
    Lost,
}

/// What a head says about the length of its body.
#[derive(Debug, Clone, Copy, Default)]
struct Lengths {
    n_content_length: u32,
    content_length: Option<u64>,
    n_transfer_encoding: u32,
}

#[derive(Debug)]
pub(super) struct Framing {
    at: At,
    line: [u8; LINE_BYTES_KEPT],
    line_bytes: usize,
    lengths: Lengths,
    n_heads: u64,
    ambiguous: Option<u64>,
}

impl Framing {
    pub(super) fn new() -> Self {
        Self {
            at: At::Between,
            line: [0; LINE_BYTES_KEPT],
            line_bytes: 0,
            lengths: Lengths::default(),
            n_heads: 0,
            ambiguous: None,
        }
    }

    /// A head has begun and not ended.
    pub(super) fn in_head(&self) -> bool {
        matches!(self.at, At::RequestLine | At::Headers)
    }

    /// Nothing of a request has arrived that did not arrive in full.
    pub(super) fn between_requests(&self) -> bool {
        self.at == At::Between
    }

    /// The number of the first head, from 0, that states its body's length more than once.
    pub(super) fn ambiguous(&self) -> Option<u64> {
        self.ambiguous
    }

    /// Takes note of what was read.
    pub(super) fn follow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.at {
                At::Between => self.start(bytes),
                At::RequestLine | At::Headers | At::ChunkSize | At::Trailers => self.lines(bytes),
                At::Body(left) => self.skip(bytes, left, At::Body, At::Between),
                At::Chunk(left) => self.skip(bytes, left, At::Chunk, At::ChunkSize),
                At::Lost => return,
            };
        }
    }

    fn start<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let blank = bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        let rest = &bytes[blank..];
        if !rest.is_empty() {
            self.at = At::RequestLine;
            self.lengths = Lengths::default();
        }
        rest
    }

    fn skip<'a>(&mut self, bytes: &'a [u8], left: u64, more: fn(u64) -> At, then: At) -> &'a [u8] {
        match usize::try_from(left) {
            Ok(n) if n <= bytes.len() => {
                self.at = then;
                &bytes[n..]
            }
            _ => {
                self.at = more(left - bytes.len() as u64);
                &[]
            }
        }
    }

    /// One line, or the start of one.
    fn lines<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(end) = memchr(b'\n', bytes) else {
            self.keep(bytes);
            return &[];
        };
        let rest = &bytes[end + 1..];
        if self.line_bytes == 0 {
            self.line_ends(&bytes[..end]);
        } else {
            self.keep(&bytes[..end]);
            let line = self.line;
            let n = self.line_bytes.min(LINE_BYTES_KEPT);
            let complete = self.line_bytes <= LINE_BYTES_KEPT;
            self.line_bytes = 0;
            if complete {
                self.line_ends(&line[..n]);
            } else {
                self.cut_line_ends(&line);
            }
        }
        rest
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(room) = LINE_BYTES_KEPT.checked_sub(self.line_bytes) {
            let n = room.min(bytes.len());
            self.line[self.line_bytes..self.line_bytes + n].copy_from_slice(&bytes[..n]);
        }
        self.line_bytes += bytes.len();
    }

    fn line_ends(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match self.at {
            At::RequestLine => self.at = At::Headers,
            At::Headers if line.is_empty() => self.head_ends(),
            At::Headers => self.header(line),
            At::ChunkSize => self.chunk_begins(line),
            At::Trailers if line.is_empty() => self.at = At::Between,
            At::Between | At::Trailers | At::Body(_) | At::Chunk(_) | At::Lost => {}
        }
    }

    /// The end of a line of which only the start was kept.
    fn cut_line_ends(&mut self, start: &[u8]) {
        match self.at {
            At::ChunkSize => self.at = At::Lost,
            At::Headers if named(start, b"content-length").is_some() => self.at = At::Lost,
            _ => self.line_ends(start),
        }
    }

    fn header(&mut self, line: &[u8]) {
        // Most lines are neither; the first letter tells.
        let first = line[0] | 0x20;
        if first == b'c'
            && let Some(value) = named(line, b"content-length")
        {
            self.lengths.n_content_length += 1;
            self.lengths.content_length = number(value.trim_ascii(), 10);
        } else if first == b't' && named(line, b"transfer-encoding").is_some() {
            self.lengths.n_transfer_encoding += 1;
        }
    }

    fn head_ends(&mut self) {
        let lengths = self.lengths;
        self.at = if lengths.n_content_length + lengths.n_transfer_encoding > 1 {
            self.ambiguous.get_or_insert(self.n_heads);
            At::Lost
        } else if lengths.n_transfer_encoding == 1 {
            At::ChunkSize
        } else {
            match (lengths.n_content_length, lengths.content_length) {
                (0, _) | (_, Some(0)) => At::Between,
                (_, Some(n)) => At::Body(n),
                (_, None) => At::Lost,
            }
        };
        self.n_heads += 1;
    }

    fn chunk_begins(&mut self, line: &[u8]) {
        let size = line.split(|b| *b == b';').next().unwrap_or_default();
        self.at = match number(size.trim_ascii(), 16) {
            Some(0) => At::Trailers,
            Some(n) => n.checked_add(2).map_or(At::Lost, At::Chunk),
            None => At::Lost,
        };
    }
}

/// The value of a header line if it has this lower-case name.
fn named<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = line.split_at_checked(name.len())?;
    if start.eq_ignore_ascii_case(name) { rest.trim_ascii_start().strip_prefix(b":") } else { None }
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    if text.starts_with('+') { None } else { u64::from_str_radix(text, radix).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows `text` in pieces of every size and shows that the result does not depend on them.
    fn follow(text: &str) -> Framing {
        let mut whole = Framing::new();
        whole.follow(text.as_bytes());
        for size in 1..text.len().max(2) {
            let mut pieces = Framing::new();
            for piece in text.as_bytes().chunks(size) {
                pieces.follow(piece);
            }
            assert_eq!(
                (pieces.at, pieces.n_heads, pieces.ambiguous),
                (whole.at, whole.n_heads, whole.ambiguous),
                "in pieces of {size}"
            );
        }
        whole
    }

    #[test]
    fn a_request_without_a_body_ends_with_its_head() {
        let framing = follow("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(framing.between_requests());
        assert_eq!(framing.n_heads, 1);
    }

    #[test]
    fn a_head_is_open_until_its_blank_line() {
        assert!(follow("G").in_head());
        assert!(follow("GET / HTTP/1.1\r\nHost: x\r\n").in_head());
        assert!(follow("\r\n\r\n").between_requests(), "blank lines before a request are none of it");
    }

    #[test]
    fn a_body_is_not_taken_for_the_next_head() {
        let framing =
            follow("POST / HTTP/1.1\r\ncontent-length: 44\r\n\r\nTransfer-Encoding: x\r\nContent-Length: 9\r\n\r\n.");
        assert!(framing.between_requests());
        assert_eq!((framing.n_heads, framing.ambiguous()), (1, None));
    }

    #[test]
    fn chunks_extensions_and_trailers_are_walked_to_the_next_request() {
        let chunked = "POST / HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\n\r\n4;a=b\r\nWiki\r\n0\r\nX: y\r\n\r\n";
        assert!(follow(chunked).between_requests());
        let two = format!("{chunked}GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(follow(&two).n_heads, 2);
    }

    #[test]
    fn two_statements_of_length_are_ambiguous_whatever_their_order() {
        for lines in [
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            "Content-Length: 3\r\nContent-Length: 3\r\n",
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        ] {
            let framing = follow(&format!("GET /a HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\n{lines}\r\nabc"));
            assert_eq!(framing.ambiguous(), Some(1), "{lines}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_left_to_hyper() {
        for text in [
            "POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc",
            "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        ] {
            let framing = follow(text);
            assert_eq!((framing.at, framing.ambiguous()), (At::Lost, None), "{text}");
        }
    }
}
