//! A server without sockets over a journal in memory, and a reader that takes a stream apart byte by byte.
//!
//! Invariant: the parser of blocks is its own and strict: it knows the line ends, fields and blank lines of the
//! specification of server-sent events and nothing of how the server writes them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use kokuban_engine::{Engine, Options};
use kokuban_journal::Memory;
use serde_json::{Value, json};

use crate::accept::HeadFraming;
use crate::app::{App, AppState};
use crate::config::{BoardRule, Config};
use crate::edge::Edge;
use crate::metrics::Metrics;
use crate::pages::Pages;
use crate::pattern::Pattern;
use crate::refusals::Refusals;
use crate::routes;
use crate::settings::{InForce, Settings};
use crate::shutdown::Shutdown;
use crate::streams::StreamCounts;

/// Nothing in these tests takes so long.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Stage {
    pub(crate) app: AppState,
    edge: Edge,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    #[track_caller]
    pub(crate) fn refuses(self, status: u16, code: &str) -> Value {
        let json = self.is(status);
        assert_eq!(json["code"], code);
        json
    }
}

impl Stage {
    /// Boards are created by their first write, with the blueprint `default`.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let rule = BoardRule { pattern: Pattern::any(), blueprint: "default".parse().unwrap() };
        let mut config = Config { boards: vec![rule], ..Config::default() };
        change(&mut config);
        let engine = Engine::start(Arc::new(Memory::new()), Options::default()).await.unwrap();
        let app = AppState(Arc::new(App {
            engine,
            settings: InForce::new(Settings::of(config).unwrap()),
            metrics: Metrics::new(),
            shutdown: Shutdown::new(),
            refusals: Refusals::default(),
            pages: Pages::default(),
            streams: Arc::new(StreamCounts::default()),
        }));
        let shortcut = Some(routes::Shortcut::new(app.clone()));
        let edge = Edge::new(routes::router(app.clone()), shortcut, app.settings.clone(), app.metrics.clone());
        Self { app, edge }
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> http::Response<Body> {
        let mut request = Request::builder().method(method).uri(target).header("host", "localhost:7411");
        if !headers.iter().any(|(name, _)| *name == "kokuban-agent") {
            request = request.header("kokuban-agent", "ra");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = match body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        self.edge.handle(request.body(body).unwrap(), HeadFraming::Sound).await
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let (parts, body) = self.send(method, target, headers, body).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        self.ask("GET", target, &[], None).await
    }

    pub(crate) async fn get_as(&self, agent: &str, target: &str) -> Answer {
        self.ask("GET", target, &[("kokuban-agent", agent)], None).await
    }

    /// Writes an entry of the board `b`; `at` is `zone/key`.
    pub(crate) async fn put(&self, at: &str, body: Value) -> Value {
        let target = format!("/v1/boards/b/entries/{at}");
        let answer = self.ask("PUT", &target, &[], Some(&body)).await;
        assert!(matches!(answer.status, 200 | 201), "{at}: {}", answer.text);
        answer.json()
    }

    /// Moves an entry of the board `b` to a status.
    pub(crate) async fn shift(&self, at: &str, version: u64, status: &str) {
        let body = json!({"status": status, "version": version});
        self.ask("PATCH", &format!("/v1/boards/b/entries/{at}"), &[], Some(&body)).await.is(200);
    }

    pub(crate) async fn delete(&self, at: &str, version: u64) {
        self.ask("DELETE", &format!("/v1/boards/b/entries/{at}?version={version}"), &[], None).await.is(200);
    }

    /// Opens a stream of the board `b`, as `ra`; `query` with its question mark.
    pub(crate) async fn stream(&self, query: &str) -> Stream {
        self.stream_with(query, &[]).await
    }

    pub(crate) async fn resume(&self, query: &str, last: &str) -> Stream {
        self.stream_with(query, &[("last-event-id", last)]).await
    }

    pub(crate) async fn stream_with(&self, query: &str, headers: &[(&str, &str)]) -> Stream {
        let response = self.send("GET", &format!("/v1/boards/b/events{query}"), headers, None).await;
        let (parts, body) = response.into_parts();
        assert_eq!(parts.status, 200, "{query}");
        Stream { headers: parts.headers, body, parser: Parser::default(), raw: Vec::new(), ended: false }
    }

    pub(crate) async fn position(&self) -> String {
        self.get("/v1/boards/b").await.is(200)["position"].as_str().unwrap().to_owned()
    }
}

/// A stream as its reader sees it.
pub(crate) struct Stream {
    pub(crate) headers: HeaderMap,
    body: Body,
    parser: Parser,
    /// All bytes so far.
    pub(crate) raw: Vec<u8>,
    ended: bool,
}

impl Stream {
    /// The next block, comments among them. `None` at the end.
    pub(crate) async fn block(&mut self) -> Option<Block> {
        loop {
            if let Some(block) = self.parser.next() {
                return Some(block);
            }
            if self.ended {
                return None;
            }
            self.frame().await;
        }
    }

    async fn frame(&mut self) {
        match tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("the stream went on") {
            Some(frame) => {
                let bytes = frame.unwrap().into_data().unwrap();
                self.raw.extend_from_slice(&bytes);
                self.parser.take(&bytes);
            }
            None => self.ended = true,
        }
    }

    /// The next block with data, and its name.
    #[track_caller]
    pub(crate) fn event<'s>(&'s mut self, name: &'s str) -> impl Future<Output = Block> + 's {
        let caller = std::panic::Location::caller();
        async move {
            loop {
                let block = self.block().await.unwrap_or_else(|| panic!("{caller}: the stream ended before `{name}`"));
                if block.event.is_some() {
                    assert_eq!(block.event.as_deref(), Some(name), "{caller}: {block:?}");
                    return block;
                }
            }
        }
    }

    pub(crate) async fn commit(&mut self) -> Block {
        self.event("commit").await
    }

    /// Nothing is there now that the reader could be sent.
    pub(crate) async fn is_silent(&mut self) -> bool {
        if self.parser.next().is_some() {
            return false;
        }
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        futures::FutureExt::now_or_never(self.body.frame()).is_none()
    }

    /// All blocks until the stream says goodbye.
    pub(crate) async fn rest(&mut self) -> Vec<Block> {
        let mut blocks = Vec::new();
        while let Some(block) = self.block().await {
            blocks.push(block);
        }
        blocks
    }
}

/// One block of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) retry: Option<u64>,
    pub(crate) comments: usize,
    data: Option<String>,
}

impl Block {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.data.as_deref().expect("a block with data")).expect("data is JSON")
    }

    #[track_caller]
    pub(crate) fn revision(&self) -> u64 {
        self.id.as_deref().expect("an id").split_once('.').expect("a position").1.parse().unwrap()
    }

    /// It moves the place and says nothing.
    pub(crate) fn is_id_only(&self) -> bool {
        self.id.is_some() && self.data.is_none() && self.event.is_none()
    }

    /// Kind, key and match of each change.
    #[track_caller]
    pub(crate) fn changes(&self) -> Vec<String> {
        let json = self.json();
        let changes = json["changes"].as_array().unwrap().iter();
        let word =
            |change: &Value, name: &str| change[name].as_str().map(|word| format!(" {word}")).unwrap_or_default();
        changes.map(|c| format!("{}{}{}", c["kind"].as_str().unwrap(), word(c, "key"), word(c, "match"))).collect()
    }
}

/// Lines end with CR, LF or both; a blank line ends a block.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    after_cr: bool,
    block: Block,
    touched: bool,
    ready: std::collections::VecDeque<Block>,
}

impl Parser {
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, *byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => self.end_line(),
                other => self.line.push(*other),
            }
        }
    }

    pub(crate) fn next(&mut self) -> Option<Block> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) {
        let line = String::from_utf8(std::mem::take(&mut self.line)).expect("a stream is UTF-8");
        if line.is_empty() {
            if std::mem::take(&mut self.touched) {
                self.ready.push_back(std::mem::take(&mut self.block));
            }
            return;
        }
        self.touched = true;
        if line.starts_with(':') {
            self.block.comments += 1;
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        let twice = match name {
            "id" => self.block.id.replace(value),
            "event" => self.block.event.replace(value),
            "data" => self.block.data.replace(value),
            "retry" => self.block.retry.replace(value.parse().expect("milliseconds")).map(|n| n.to_string()),
            _ => panic!("a field that no stream has: {name}"),
        };
        assert_eq!(twice, None, "a field of a block came twice: {name}");
    }
}

impl Stream {
    pub(crate) async fn rest_of_snapshot(&mut self) {
        while let Some(block) = self.block().await {
            if block.event.as_deref() == Some("snapshot_end") {
                return;
            }
        }
        panic!("the stream ended before its snapshot");
    }

    /// The text of a stream up to the end of its snapshot.
    pub(crate) async fn rest_until_live(mut self) -> String {
        self.rest_of_snapshot().await;
        String::from_utf8(self.raw).unwrap()
    }
}
