//! One subscription: the bytes of a stream, as the commits that they tell of.
//!
//! Invariant: commits come in order and once; the revision of each is one above the last. Anything else, and an end
//! that was not asked for, is an error.
//! Not known here: who writes.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream as Socket;
use std::time::Duration;

use anyhow::{Context as _, bail};
use memchr::memmem;
use mio::net::TcpStream;

use super::answer::number;
use super::keys::KeySet;

const HELLO_WITHIN: Duration = Duration::from_secs(10);
const BUFFER_BYTES: usize = 16 * 1024;

/// A stream of the first board of some keys.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) socket: TcpStream,
    chunks: Chunks,
    /// Decoded, up to where blocks were read.
    text: Vec<u8>,
    /// Of the last block.
    revision: u64,
}

/// What a commit did, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) key: u64,
    pub(super) version: u64,
}

impl Stream {
    pub(super) fn open(set: &KeySet, n: usize) -> anyhow::Result<Vec<Self>> {
        let request = format!(
            "GET /v1/boards/{}-00000/events HTTP/1.1\r\nhost: {}\r\nkokuban-agent: bench\r\naccept: text/event-stream\r\n\r\n",
            set.board, set.addr
        );
        (0..n).map(|n| Self::subscribe(set, &request).with_context(|| format!("opening stream {n}"))).collect()
    }

    /// Open when the first block has come.
    fn subscribe(set: &KeySet, request: &str) -> anyhow::Result<Self> {
        let mut socket = Socket::connect(set.addr)?;
        socket.set_read_timeout(Some(HELLO_WITHIN))?;
        socket.write_all(request.as_bytes())?;
        let mut seen = Vec::new();
        let mut body_at = None;
        while body_at.is_none() {
            read_into(&mut socket, &mut seen)?;
            body_at = memmem::find(&seen, b"\r\n\r\n").map(|end| end + 4);
        }
        if !seen.starts_with(b"HTTP/1.1 200 ") || memmem::find(&seen, b"transfer-encoding: chunked").is_none() {
            bail!("no stream: {}", String::from_utf8_lossy(&seen));
        }
        let mut body = seen.split_off(body_at.expect("the end of the head was found"));
        let (mut chunks, mut text) = (Chunks::default(), Vec::new());
        let revision = loop {
            chunks.decode(&body, &mut text)?;
            if let Some(end) = memmem::find(&text, b"\n\n") {
                let hello: Vec<u8> = text.drain(..end + 2).collect();
                let is_hello = memmem::find(&hello, b"event: hello").is_some();
                let revision = is_hello.then(|| revision_of(&hello)).flatten();
                break revision.with_context(|| format!("no hello: {}", String::from_utf8_lossy(&hello)))?;
            }
            body.clear();
            read_into(&mut socket, &mut body)?;
        };
        socket.set_nonblocking(true)?;
        Ok(Self { socket: TcpStream::from_std(socket), chunks, text, revision })
    }

    /// Reads what has come.
    pub(super) fn read(&mut self, buffer: &mut [u8], mut told: impl FnMut(Told)) -> anyhow::Result<()> {
        loop {
            match self.socket.read(buffer) {
                Ok(0) => bail!("the server ended a stream"),
                Ok(n) => {
                    self.chunks.decode(&buffer[..n], &mut self.text)?;
                    self.blocks(&mut told)?;
                    if n < buffer.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("reading a stream"),
            }
        }
    }

    fn blocks(&mut self, told: &mut impl FnMut(Told)) -> anyhow::Result<()> {
        let mut from = 0;
        while let Some(length) = memmem::find(&self.text[from..], b"\n\n") {
            let block = &self.text[from..from + length];
            from += length + 2;
            // A comment says that the stream lives.
            if block.starts_with(b":") {
                continue;
            }
            let shown = || String::from_utf8_lossy(block).into_owned();
            let revision = revision_of(block).with_context(shown)?;
            if revision != self.revision + 1 {
                bail!("revision {revision} came after {}: {}", self.revision, shown());
            }
            self.revision = revision;
            told(Told::of(block).with_context(shown)?);
        }
        self.text.drain(..from);
        Ok(())
    }
}

impl Told {
    fn of(block: &[u8]) -> Option<Self> {
        let data = &block[memmem::find(block, b"\"changes\":")?..];
        let after = |name: &[u8]| number(&data[memmem::find(data, name)? + name.len()..]);
        Some(Self { key: after(b"\"key\":\"k")?, version: after(b"\"version\":")? })
    }
}

fn revision_of(block: &[u8]) -> Option<u64> {
    let line = block.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"id: "))?;
    number(&line[line.iter().rposition(|byte| *byte == b'.')? + 1..])
}

fn read_into(socket: &mut Socket, seen: &mut Vec<u8>) -> anyhow::Result<()> {
    let mut buffer = [0; BUFFER_BYTES];
    match socket.read(&mut buffer)? {
        0 => bail!("the server closed it: {}", String::from_utf8_lossy(seen)),
        n => seen.extend_from_slice(&buffer[..n]),
    }
    Ok(())
}

/// Takes chunked bytes apart, however they are cut.
#[derive(Debug, Default)]
struct Chunks {
    /// Of the chunk in hand, with the line end behind it.
    left: usize,
    /// The line with a chunk's size, as far as it has come.
    line: Vec<u8>,
}

/// Behind each chunk.
const LINE_END: usize = 2;

impl Chunks {
    fn decode(&mut self, mut bytes: &[u8], text: &mut Vec<u8>) -> anyhow::Result<()> {
        while !bytes.is_empty() {
            if self.left > 0 {
                let n = bytes.len().min(self.left);
                let n_text = n.min(self.left.saturating_sub(LINE_END));
                text.extend_from_slice(&bytes[..n_text]);
                self.left -= n;
                bytes = &bytes[n..];
                continue;
            }
            let Some(end) = memchr::memchr(b'\n', bytes) else {
                self.line.extend_from_slice(bytes);
                return Ok(());
            };
            self.line.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let size = std::str::from_utf8(self.line.trim_ascii_end())?;
            let size = usize::from_str_radix(size, 16).with_context(|| format!("no size of a chunk: {size:?}"))?;
            self.line.clear();
            if size == 0 {
                bail!("the server ended a stream in order");
            }
            self.left = size + LINE_END;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "id: 91f2.12\nevent: commit\ndata: {\"revision\":12,\"changes\":[{\"zone\":\"working\",\
                          \"key\":\"k0000003\",\"version\":7}]}\n\n";

    #[test]
    fn chunks_may_be_cut_anywhere() {
        let sent = b"5\r\nhello\r\n1\r\n \r\n10\r\nblackboard world\r\n";
        for cut in 0..sent.len() {
            let (mut chunks, mut text) = (Chunks::default(), Vec::new());
            chunks.decode(&sent[..cut], &mut text).expect("sound");
            chunks.decode(&sent[cut..], &mut text).expect("sound");
            assert_eq!(text, b"hello blackboard world", "cut at {cut}");
        }
    }

    #[test]
    fn an_end_and_what_is_no_chunk_are_told() {
        assert!(Chunks::default().decode(b"0\r\n\r\n", &mut Vec::new()).is_err());
        assert!(Chunks::default().decode(b"x\r\n", &mut Vec::new()).is_err());
    }

    #[test]
    fn a_block_says_what_it_is_about() {
        let block = COMMIT.trim_end().as_bytes();
        assert_eq!(revision_of(block), Some(12));
        assert_eq!(Told::of(block), Some(Told { key: 3, version: 7 }));
        assert_eq!(revision_of(b"event: bye"), None);
    }

    fn stream(revision: u64) -> Stream {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let socket = Socket::connect(listener.local_addr().expect("bound")).expect("it listens");
        let socket = TcpStream::from_std(socket);
        Stream { socket, chunks: Chunks::default(), text: Vec::new(), revision }
    }

    #[test]
    fn a_revision_that_is_left_out_or_comes_twice_is_an_error() {
        for (before, sound) in [(11, true), (10, false), (12, false)] {
            let mut stream = stream(before);
            stream.text = format!(":\n\n{COMMIT}id: 91").into_bytes();
            let mut n = 0;
            assert_eq!(stream.blocks(&mut |_| n += 1).is_ok(), sound, "after {before}");
            if sound {
                assert_eq!((n, stream.text.as_slice()), (1, &b"id: 91"[..]));
            }
        }
    }
}
