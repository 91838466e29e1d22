//! HTTP/1.1 by hand over one connection: requests as exact bytes, answers as they came.
//!
//! **Invariant**: nothing is normalised on the way out; on the way in, framing is read strictly and every read has
//! a bound in time.
//! Not known here: routes and callers.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Longer than the longest wait that a request may ask for.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// The first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{} with a body that is no JSON ({error}): {}", self.status, self.text()))
    }

    /// The problem code, or nothing.
    #[must_use]
    pub fn code(&self) -> String {
        let value: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        value["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The codes of all failed checks.
    #[must_use]
    pub fn codes(&self) -> Vec<String> {
        let body = self.json();
        let items = body["errors"].as_array().cloned().unwrap_or_default();
        items.iter().filter_map(|item| item["code"].as_str().map(str::to_owned)).collect()
    }

    /// The answer, if it has this status.
    ///
    /// # Panics
    /// When it has another.
    #[must_use = "use `must` where only the status matters"]
    pub fn expect(self, status: u16) -> Self {
        self.must(status);
        self
    }

    /// # Panics
    /// When it has another status.
    pub fn must(&self, status: u16) {
        assert_eq!(self.status, status, "unexpected answer: {}", self.text());
    }

    /// The problem, if it is this one.
    ///
    /// # Panics
    /// When it is another, or none.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Value {
        assert_eq!((self.status, self.code().as_str()), (status, code), "unexpected answer: {}", self.text());
        self.json()
    }
}

/// One connection.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    /// Read, and not yet asked for.
    ahead: Vec<u8>,
}

impl Wire {
    /// # Errors
    /// When nobody listens.
    pub fn connect(addr: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&addr, CONNECT_WITHIN)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.set_write_timeout(Some(ANSWER_WITHIN))?;
        Ok(Self { stream, ahead: Vec::new() })
    }

    /// How long a read may wait for its next byte.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn read_within(&self, within: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(within))
    }

    /// # Errors
    /// When the peer has gone.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Says that nothing more will be sent.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn half_close(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// The same connection once more.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn second_end(&self) -> io::Result<Self> {
        Ok(Self { stream: self.stream.try_clone()?, ahead: Vec::new() })
    }

    /// Whether the peer has kept the idle connection open.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        if !self.ahead.is_empty() || self.stream.set_nonblocking(true).is_err() {
            return false;
        }
        let looked = self.stream.peek(&mut [0]);
        let quiet = matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        quiet && self.stream.set_nonblocking(false).is_ok()
    }

    /// Reads some bytes; none at the end.
    ///
    /// # Errors
    /// When the connection breaks or the time is over.
    pub fn read_some(&mut self) -> io::Result<Vec<u8>> {
        if !self.ahead.is_empty() {
            return Ok(std::mem::take(&mut self.ahead));
        }
        let mut buffer = vec![0; 16 * 1024];
        let n = self.stream.read(&mut buffer)?;
        buffer.truncate(n);
        Ok(buffer)
    }

    /// Everything until the peer closes.
    ///
    /// # Errors
    /// When the time is over. A reset counts as the end.
    pub fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            match self.read_some() {
                Ok(bytes) if bytes.is_empty() => return Ok(all),
                Ok(bytes) => all.extend(bytes),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(all),
                Err(error) => return Err(error),
            }
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let n = self.stream.read(&mut buffer)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.ahead.extend_from_slice(&buffer[..n]);
        Ok(())
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.ahead.windows(2).position(|pair| pair == b"\r\n") {
                let line = String::from_utf8_lossy(&self.ahead[..end]).into_owned();
                self.ahead.drain(..end + 2);
                return Ok(line);
            }
            self.fill()?;
        }
    }

    fn exactly(&mut self, n: usize) -> io::Result<Vec<u8>> {
        while self.ahead.len() < n {
            self.fill()?;
        }
        Ok(self.ahead.drain(..n).collect())
    }

    /// Reads the head of an answer; `100 Continue` is passed over.
    ///
    /// # Errors
    /// When the connection breaks, or this is no HTTP.
    pub fn read_head(&mut self) -> io::Result<Response> {
        loop {
            let head = self.read_any_head()?;
            if head.status != 100 {
                return Ok(head);
            }
        }
    }

    /// Reads the head of an answer, whatever it is.
    ///
    /// # Errors
    /// When the connection breaks, or this is no HTTP.
    pub fn read_any_head(&mut self) -> io::Result<Response> {
        let start = self.line()?;
        let status = start.strip_prefix("HTTP/1.1 ").or_else(|| start.strip_prefix("HTTP/1.0 "));
        let status = status.and_then(|rest| rest.get(..3)).and_then(|status| status.parse().ok());
        let Some(status) = status else {
            return Err(io::Error::other(format!("no status line: {start:?}")));
        };
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(Response { status, headers, body: Vec::new() });
            }
            let (name, value) = line.split_once(':').ok_or_else(|| io::Error::other(format!("header {line:?}")))?;
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    /// The next piece of a chunked body; none at its end.
    ///
    /// # Errors
    /// When the connection breaks, or the framing is wrong.
    pub fn read_chunk(&mut self) -> io::Result<Vec<u8>> {
        let size = self.line()?;
        let size = size.split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| io::Error::other(format!("chunk {size:?}")))?;
        let piece = self.exactly(size)?;
        let end = self.line()?;
        if end.is_empty() { Ok(piece) } else { Err(io::Error::other("a chunk is longer than it said")) }
    }

    /// Reads an answer to a request of this method.
    ///
    /// # Errors
    /// When the connection breaks, or the framing is wrong.
    pub fn read_answer(&mut self, method: &str) -> io::Result<Response> {
        let mut answer = self.read_head()?;
        if method == "HEAD" || matches!(answer.status, 204 | 304) {
            return Ok(answer);
        }
        if answer.header("content-type") == Some("text/event-stream") {
            return Err(io::Error::other("this is a stream, which has no end to read to"));
        }
        let chunked = answer.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
        if chunked {
            loop {
                let piece = self.read_chunk()?;
                if piece.is_empty() {
                    return Ok(answer);
                }
                answer.body.extend(piece);
            }
        }
        let length = answer.header("content-length").map(str::parse::<usize>);
        answer.body = match length {
            Some(Ok(n)) => self.exactly(n)?,
            Some(Err(_)) => return Err(io::Error::other("a length that is no number")),
            None => self.read_to_end()?,
        };
        Ok(answer)
    }
}
