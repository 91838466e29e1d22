//! A caller by role: who it says it is, and its requests.
//!
//! **Invariant**: a request is sent once, never again by itself; a connection that the server closed meanwhile is
//! replaced before anything is sent on it.
//! Not known here: boards.

use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;

use serde_json::Value;

use crate::http::{Response, Wire};

/// Somebody who calls the server.
#[derive(Debug)]
pub struct Caller {
    addr: SocketAddr,
    headers: Vec<(String, String)>,
    idle: Mutex<Option<Wire>>,
}

impl Clone for Caller {
    fn clone(&self) -> Self {
        Self { addr: self.addr, headers: self.headers.clone(), idle: Mutex::new(None) }
    }
}

impl Caller {
    #[must_use]
    pub fn new(addr: SocketAddr) -> Self {
        Self { addr, headers: Vec::new(), idle: Mutex::new(None) }
    }

    /// The same with one more header on every request.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, over another address: a proxy.
    #[must_use]
    pub fn over(mut self, addr: SocketAddr) -> Self {
        self.addr = addr;
        self
    }

    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub fn ask(&self, method: &str, path: &str) -> Asking<'_> {
        Asking {
            caller: self,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: self.headers.clone(),
            body: None,
        }
    }

    #[must_use]
    pub fn get(&self, path: &str) -> Response {
        self.ask("GET", path).send()
    }

    #[must_use]
    pub fn put(&self, path: &str, body: &Value) -> Response {
        self.ask("PUT", path).json(body).send()
    }

    #[must_use]
    pub fn patch(&self, path: &str, body: &Value) -> Response {
        self.ask("PATCH", path).json(body).send()
    }

    #[must_use]
    pub fn post(&self, path: &str, body: &Value) -> Response {
        self.ask("POST", path).json(body).send()
    }

    #[must_use]
    pub fn delete(&self, path: &str) -> Response {
        self.ask("DELETE", path).send()
    }
}

/// A request that is being put together.
#[derive(Debug)]
#[must_use]
pub struct Asking<'a> {
    caller: &'a Caller,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Asking<'_> {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn key(self, idempotency_key: &str) -> Self {
        self.header("Idempotency-Key", idempotency_key)
    }

    pub fn json(self, body: &Value) -> Self {
        let bytes = body.to_string().into_bytes();
        self.header("Content-Type", "application/json").body(bytes)
    }

    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = Some(bytes.into());
        self
    }

    /// The request as it goes over the wire.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.caller.addr));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// Sends it and reads the answer.
    ///
    /// # Panics
    /// When the connection breaks.
    #[must_use]
    pub fn send(self) -> Response {
        let what = format!("{} {}", self.method, self.path);
        self.try_send().unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// Sends it and reads the answer.
    ///
    /// # Errors
    /// When the connection breaks, before or after the request had its effect.
    pub fn try_send(self) -> io::Result<Response> {
        let idle = self.caller.idle.lock().expect("nobody panics while holding it").take();
        let mut wire = match idle.filter(Wire::is_alive) {
            Some(wire) => wire,
            None => Wire::connect(self.caller.addr)?,
        };
        // A server that refuses early may close before it has read everything; its answer counts.
        let sent = wire.send(&self.bytes());
        let answer = wire.read_answer(&self.method);
        let answer = match (answer, sent) {
            (Ok(answer), _) => answer,
            (Err(_), Err(error)) | (Err(error), Ok(())) => return Err(error),
        };
        let closes = answer.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if !closes {
            *self.caller.idle.lock().expect("nobody panics while holding it") = Some(wire);
        }
        Ok(answer)
    }
}
