//! Streams over a real connection: flushed at once, never compressed, no obstacle to a stop.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use kokuban_journal::sqlite::Salvage;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::config::{BoardRule, Config, Durability};
use crate::pattern::Pattern;
use crate::serve::Server;
use crate::shutdown::Shutdown;

async fn serve() -> (SocketAddr, Shutdown, tokio::task::JoinHandle<()>) {
    let rule = BoardRule { pattern: Pattern::any(), blueprint: "default".parse().unwrap() };
    let config = Config {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        durability: Durability::Memory,
        boards: vec![rule],
        ..Config::default()
    };
    let shutdown = Shutdown::new();
    let server = Server::open(config, Salvage::Refuse, shutdown.clone()).await.unwrap();
    let addr = server.local_addr();
    (addr, shutdown, tokio::spawn(server.run()))
}

async fn request(addr: SocketAddr, method: &str, target: &str, headers: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(addr).await.unwrap();
    let length = body.len();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: {addr}\r\nkokuban-agent: ra\r\n{headers}content-length: {length}\r\n\r\n"
    );
    socket.write_all((head + body).as_bytes()).await.unwrap();
    socket
}

async fn put(addr: SocketAddr, key: &str) {
    let body = json!({"value": 1}).to_string();
    let target = format!("/v1/boards/b/entries/working/{key}");
    let headers = "content-type: application/json\r\nconnection: close\r\n";
    let mut socket = request(addr, "PUT", &target, headers, &body).await;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

/// Reads until the text is there.
async fn read_until(socket: &mut TcpStream, seen: &mut String, wanted: &str) {
    let mut buffer = [0; 4_096];
    while !seen.contains(wanted) {
        let read = tokio::time::timeout(Duration::from_secs(10), socket.read(&mut buffer)).await;
        let n = read.unwrap_or_else(|_| panic!("no `{wanted}` in time: {seen}")).unwrap();
        assert!(n > 0, "the connection ended before `{wanted}`: {seen}");
        seen.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
    }
}

#[tokio::test]
async fn a_small_event_is_on_the_wire_at_once_whatever_the_reader_could_unpack() {
    let (addr, shutdown, running) = serve().await;
    put(addr, "first").await;
    let headers = "accept-encoding: gzip, br, zstd, deflate\r\n";
    let mut stream = request(addr, "GET", "/v1/boards/b/events", headers, "").await;
    let mut seen = String::new();
    read_until(&mut stream, &mut seen, "event: hello").await;
    assert!(!seen.to_ascii_lowercase().contains("content-encoding"), "{seen}");
    for n in 0..5 {
        let begun = Instant::now();
        put(addr, &format!("k{n}")).await;
        read_until(&mut stream, &mut seen, &format!("\"key\":\"k{n}\"")).await;
        // The same machine compiles and tests beside this: what would be buffered would not come at all.
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
    shutdown.begin();
    running.await.unwrap();
}

#[tokio::test]
async fn open_streams_and_polls_do_not_hold_up_a_stop() {
    let (addr, shutdown, running) = serve().await;
    put(addr, "first").await;
    let mut streams = Vec::new();
    for _ in 0..50 {
        let mut stream = request(addr, "GET", "/v1/boards/b/events", "", "").await;
        let mut seen = String::new();
        read_until(&mut stream, &mut seen, "event: hello").await;
        streams.push((stream, seen));
    }
    let mut poll = request(addr, "GET", "/v1/boards/b/changes?wait_ms=30000", "", "").await;
    let mut upload = TcpStream::connect(addr).await.unwrap();
    let head = format!(
        "PUT /v1/boards/b/entries/working/slow HTTP/1.1\r\nhost: {addr}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    upload.write_all(head.as_bytes()).await.unwrap();
    let begun = Instant::now();
    shutdown.begin();
    for (stream, seen) in &mut streams {
        read_until(stream, seen, "event: bye\ndata: {\"reason\":\"shutdown\"}\n\n").await;
    }
    let mut answer = String::new();
    read_until(&mut poll, &mut answer, "\"commits\":[]").await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    tokio::time::timeout(Duration::from_secs(5), running).await.expect("the server stopped").unwrap();
}
