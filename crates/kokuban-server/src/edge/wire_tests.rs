//! Accept loop and edge together, over sockets: what a hostile or clumsy peer may send.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::routing::{get, put};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;
use crate::accept::{self, Listener};
use crate::config::Config;
use crate::error::ApiResult;
use crate::shutdown::Shutdown;

const BOUND: Duration = Duration::from_secs(10);

async fn length(headers: http::HeaderMap, body: Body) -> ApiResult<String> {
    Ok(read_body(&headers, body, BodyNeed::Required, BodyLimits::default()).await?.len().to_string())
}

fn start() -> (SocketAddr, Shutdown) {
    let router = Router::new().route("/v1", get(|| async { "v1" })).route("/v1/len", put(length));
    let edge = Edge::new(router, None, InForce::new(Settings::of(Config::default()).unwrap()), Metrics::new());
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let (addr, shutdown) = (listener.local_addr(), Shutdown::new());
    tokio::spawn(accept::serve(listener, edge, accept::Options::default(), shutdown.clone()));
    (addr, shutdown)
}

/// Sends and reads until the server closes, or for a moment longer than it needs to answer.
async fn talk(addr: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(BOUND, stream.read_to_end(&mut answer)).await.expect("an answer and the end");
    String::from_utf8_lossy(&answer).into_owned()
}

const CLOSE: &str = "Connection: close\r\n\r\n";

#[tokio::test]
async fn ambiguous_framing_is_a_problem_and_hides_no_second_request() {
    let (addr, _stop) = start();
    for lengths in [
        "Content-Length: 44\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 44\r\n",
        "Content-Length: 44\r\nContent-Length: 44\r\n",
    ] {
        let request = format!(
            "PUT /v1/len HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{lengths}\r\n0\r\n\r\nGET /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        );
        let answer = talk(addr, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("\"malformed\""), "{lengths}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{lengths}: {answer}");
    }
    for lengths in
        ["Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: +3\r\n", "Transfer-Encoding: gzip\r\n"]
    {
        let answer =
            talk(addr, format!("PUT /v1/len HTTP/1.1\r\nHost: localhost\r\n{lengths}\r\nabc").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{lengths}: {answer}");
    }
}

#[tokio::test]
async fn host_must_be_there_once_on_the_wire_too() {
    let (addr, _stop) = start();
    for head in ["", "Host: localhost\r\nHost: localhost\r\n", "Host: \r\n"] {
        let answer = talk(addr, format!("GET /v1 HTTP/1.1\r\n{head}{CLOSE}").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("problem+json"), "{head}: {answer}");
    }
}

#[tokio::test]
async fn a_body_over_the_bound_is_refused_readably_before_and_while_it_comes() {
    let (addr, _stop) = start();
    let head = "PUT /v1/len HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let stated = talk(addr, format!("{head}Content-Length: 2000000\r\nExpect: 100-continue\r\n\r\n").as_bytes()).await;
    assert!(stated.starts_with("HTTP/1.1 413") && stated.contains("body_too_large"), "{stated}");
    let mut chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    for _ in 0..40 {
        chunked.push_str(&format!("{:x}\r\n{}\r\n", 50_000, "x".repeat(50_000)));
    }
    let counted = talk(addr, chunked.as_bytes()).await;
    assert!(counted.starts_with("HTTP/1.1 413") && counted.contains("body_too_large"), "{counted}");
}

#[tokio::test]
async fn strange_but_valid_requests_have_designed_answers() {
    let (addr, _stop) = start();
    for (line, status) in [
        ("GET http://localhost/v1 HTTP/1.1", 200),
        ("HEAD /v1 HTTP/1.1", 200),
        ("OPTIONS * HTTP/1.1", 204),
        ("OPTIONS /v1 HTTP/1.1", 204),
        ("GET * HTTP/1.1", 404),
        ("CONNECT localhost:80 HTTP/1.1", 404),
        ("TRACE /v1 HTTP/1.1", 405),
        ("FROBNICATE /v1 HTTP/1.1", 405),
        ("GET /v1? HTTP/1.1", 200),
        ("GET /v1#fragment HTTP/1.1", 200),
        ("GET //v1 HTTP/1.1", 404),
        ("GET /v1/ HTTP/1.1", 404),
        ("GET /%zz HTTP/1.1", 404),
        ("GET / HTTP/1.0", 404),
    ] {
        let answer = talk(addr, format!("{line}\r\nHost: localhost\r\n{CLOSE}").as_bytes()).await;
        let found: u16 = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        assert_eq!(found, status, "{line}: {answer}");
        assert!(answer.to_ascii_lowercase().contains("kokuban-request-id: "), "{line}");
    }
}

#[tokio::test]
async fn line_ends_and_nulls_never_get_into_a_header() {
    let (addr, _stop) = start();
    for value in ["x\rSet-Cookie: a=b", "x\0y", "x\r\r\ny", "\u{b}"] {
        let answer =
            talk(addr, format!("GET /v1 HTTP/1.1\r\nHost: localhost\r\nKokuban-Agent: {value}\r\n{CLOSE}").as_bytes())
                .await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{value:?}: {answer}");
    }
}

/// Mutations of valid requests, by a fixed sequence, so that a failure can be repeated.
#[tokio::test]
async fn no_bytes_make_the_server_fail_or_hang() {
    let (addr, _stop) = start();
    let seed = b"PUT /v1/len HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut state: u32 = 2_463_534_242;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        usize::try_from(state).unwrap() % below
    };
    for round in 0..300 {
        let mut bytes = seed.to_vec();
        for _ in 0..=next(4) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = u8::try_from(next(256)).unwrap(),
                1 => drop(bytes.drain(at..(at + next(8)).min(bytes.len()))),
                _ => bytes.insert(at, b"\r\n :;0"[next(6)]),
            }
        }
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let _ = timeout(BOUND, stream.read_to_end(&mut answer))
            .await
            .unwrap_or_else(|_| panic!("round {round} hangs: {bytes:?}"));
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.contains("HTTP/1.1 5"), "round {round}: {answer}");
    }
}
