//! Streams that stay open.
//!
//! Invariant: a stream counts as open when its first block has come whole.
//! Not known here: what goes through them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::keys::KeySet;

const FIRST_BLOCK_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Subscribers {
    _streams: Vec<TcpStream>,
}

impl Subscribers {
    /// Opens streams on the first board of the set.
    pub(crate) fn open(set: &KeySet, n: usize) -> anyhow::Result<Self> {
        let request = format!(
            "GET /v1/boards/{}-00000/events HTTP/1.1\r\nhost: {}\r\nkokuban-agent: bench\r\naccept: text/event-stream\r\n\r\n",
            set.board, set.addr
        );
        let streams = (0..n).map(|n| subscribe(set, &request).with_context(|| format!("opening stream {n}")));
        Ok(Self { _streams: streams.collect::<anyhow::Result<_>>()? })
    }
}

fn subscribe(set: &KeySet, request: &str) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(set.addr)?;
    stream.set_read_timeout(Some(FIRST_BLOCK_WITHIN))?;
    stream.write_all(request.as_bytes())?;
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while !is_open(&seen) {
        match stream.read(&mut buffer)? {
            0 => bail!("the server closed it: {}", String::from_utf8_lossy(&seen)),
            n => seen.extend_from_slice(&buffer[..n]),
        }
    }
    Ok(stream)
}

fn is_open(seen: &[u8]) -> bool {
    let hello = memchr::memmem::find(seen, b"event: hello\n");
    hello.is_some_and(|at| memchr::memmem::find(&seen[at..], b"\n\n").is_some())
}
