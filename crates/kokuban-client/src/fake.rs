//! A server of a few bytes for tests: it answers requests, in order of arrival, with a script.
//!
//! Invariant: it shows exactly what was sent, and can do what a real server does only when it dies: close without an
//! answer, fall silent, or send its bytes in odd pieces.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{Client, ClientBuilder};
use crate::retry::RetryPolicy;

/// What the fake does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Json(u16, Value),
    /// As `Json`, with one more header.
    WithHeader(u16, Value, &'static str, &'static str),
    /// An event stream that ends after these bytes.
    Stream(Vec<Vec<u8>>),
    /// An event stream that stays open and silent after these bytes.
    Silent(Vec<u8>),
    /// The connection closes without an answer.
    Close,
}

impl Reply {
    pub(crate) fn problem(status: u16, code: &str, more: Value) -> Self {
        let mut body = json!({
            "type": format!("urn:kokuban:problem:{code}"), "title": code, "status": status, "detail": "as scripted",
            "code": code, "retryable": status != 409 && status >= 408, "side_effects": "none",
            "next": {"action": "reread"},
        });
        let members = body.as_object_mut().expect("an object");
        members.extend(more.as_object().cloned().unwrap_or_default());
        Self::Json(status, body)
    }
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// The running fake; it ends with the runtime of the test.
#[derive(Debug)]
pub(crate) struct Fake {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

type Script = Arc<Mutex<VecDeque<Reply>>>;

impl Fake {
    pub(crate) async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let script: Script = Arc::new(Mutex::new(script.into_iter().collect()));
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&script), Arc::clone(&log)));
            }
        });
        Self { url, received }
    }

    /// A client of the fake, named `ra`, that repeats quickly.
    pub(crate) fn builder(&self) -> ClientBuilder {
        let quick = RetryPolicy {
            attempts_max: 4,
            base: std::time::Duration::from_millis(2),
            cap: std::time::Duration::from_millis(5),
            ..RetryPolicy::default()
        };
        Client::builder(&self.url).agent("ra").retry(quick)
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().expect("valid")
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        lock(&self.received).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(mut socket: TcpStream, script: Script, log: Arc<Mutex<Vec<Received>>>) {
    while let Some(request) = read_request(&mut socket).await {
        lock(&log).push(request);
        let reply = lock(&script).pop_front().unwrap_or(Reply::Json(500, json!({"script": "is over"})));
        if !answer(&mut socket, reply).await {
            return;
        }
    }
}

/// Whether the connection stays usable.
async fn answer(socket: &mut TcpStream, reply: Reply) -> bool {
    match reply {
        Reply::Json(status, body) => send_json(socket, status, &body, "").await,
        Reply::WithHeader(status, body, name, value) => {
            send_json(socket, status, &body, &format!("{name}: {value}\r\n")).await
        }
        Reply::Stream(pieces) => {
            send_stream_head(socket).await;
            for piece in pieces {
                let _ = socket.write_all(&piece).await;
                let _ = socket.flush().await;
                tokio::task::yield_now().await;
            }
            false
        }
        Reply::Silent(bytes) => {
            send_stream_head(socket).await;
            let _ = socket.write_all(&bytes).await;
            // Nothing more until the other side gives up.
            let _ = socket.read(&mut [0; 1]).await;
            false
        }
        Reply::Close => false,
    }
}

async fn send_json(socket: &mut TcpStream, status: u16, body: &Value, more_headers: &str) -> bool {
    let (text, kind) = match status {
        204 => (String::new(), "application/json"),
        s if s >= 400 => (body.to_string(), "application/problem+json"),
        _ => (body.to_string(), "application/json"),
    };
    let length = text.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{more_headers}\r\n");
    socket.write_all((head + &text).as_bytes()).await.is_ok()
}

async fn send_stream_head(socket: &mut TcpStream) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _ = socket.write_all(head.as_bytes()).await;
}

async fn read_request(socket: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        read_more(socket, &mut bytes).await?;
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).ok()?;
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |n| n.parse().expect("a number"));
    while bytes.len() < head_end + length {
        read_more(socket, &mut bytes).await?;
    }
    let body = serde_json::from_slice(&bytes[head_end..head_end + length]).unwrap_or(Value::Null);
    Some(Received { method, target, headers, body })
}

async fn read_more(socket: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 4096];
    let n = socket.read(&mut buffer).await.ok().filter(|n| *n > 0)?;
    bytes.extend_from_slice(&buffer[..n]);
    Some(())
}
