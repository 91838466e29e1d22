//! The accept loop over real sockets, with a service of a few lines.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::{get, post};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tower::ServiceExt as _;

use super::*;

/// No step of a test takes longer.
const BOUND: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Tiny(Router, Arc<AtomicUsize>);

impl Serve for Tiny {
    fn serve(
        &self,
        request: Request<Incoming>,
        framing: HeadFraming,
    ) -> impl Future<Output = Response<Body>> + Send + use<> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let router = self.0.clone();
        async move {
            if framing == HeadFraming::Ambiguous {
                return Response::builder().status(400).header("connection", "close").body(Body::empty()).unwrap();
            }
            router.oneshot(request.map(Body::new)).await.unwrap()
        }
    }
}

struct Running {
    addr: SocketAddr,
    shutdown: Shutdown,
    task: JoinHandle<usize>,
    n_requests: Arc<AtomicUsize>,
    connections: Gauge,
}

fn quick() -> Options {
    let timeouts = Timeouts {
        head: Duration::from_millis(300),
        idle: Duration::from_millis(900),
        write: Duration::from_millis(500),
    };
    Options { timeouts, stop_within: Duration::from_millis(1500), ..Options::default() }
}

/// As [`quick`], but only heads are hurried.
fn patient() -> Options {
    let timeouts = Timeouts { head: Duration::from_millis(300), ..Timeouts::default() };
    Options { timeouts, stop_within: Duration::from_secs(60), ..Options::default() }
}

fn start(options: Options) -> Running {
    let stop = Shutdown::new();
    let never_ends = stop.clone();
    let router = Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/len", post(|body: Body| async { body.collect().await.unwrap().to_bytes().len().to_string() }))
        .route("/refuse", post(|| async { (http::StatusCode::PAYLOAD_TOO_LARGE, "too much") }))
        .route(
            "/stream",
            get(move || async move {
                let end = async move { never_ends.stopping().await };
                Body::from_stream(futures::stream::once(async move {
                    end.await;
                    Ok::<_, Infallible>(Bytes::from_static(b"bye"))
                }))
            }),
        )
        .route("/stuck", get(std::future::pending::<&'static str>))
        .route(
            "/flood",
            get(|| async {
                Body::from_stream(futures::stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from(vec![7; 65_536]))))
            }),
        );
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let addr = listener.local_addr();
    let n_requests = Arc::new(AtomicUsize::new(0));
    let connections = options.connections.clone();
    let task = tokio::spawn(serve(listener, Tiny(router, Arc::clone(&n_requests)), options, stop.clone()));
    Running { addr, shutdown: stop, task, n_requests, connections }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.addr).await.unwrap()
    }

    /// Sends `text` and reads until the server closes.
    async fn talk(&self, text: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        read_to_end(&mut stream).await
    }

    async fn stop(self) -> usize {
        self.shutdown.begin();
        timeout(BOUND, self.task).await.expect("the server stops within its bound").unwrap()
    }

    async fn connections_are(&self, n: i64) {
        let all = async {
            while self.connections.get() != n {
                tokio::task::yield_now().await;
            }
        };
        timeout(BOUND, all).await.expect("the number of connections");
    }
}

async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset after the answer counts as the end.
    let _ = timeout(BOUND, stream.read_to_end(&mut bytes)).await.expect("the server closes the connection");
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    while !text.contains(end) {
        let mut piece = [0; 1024];
        let n = timeout(BOUND, stream.read(&mut piece)).await.expect("an answer").unwrap();
        assert_ne!(n, 0, "closed after {text:?}");
        text.push_str(&String::from_utf8_lossy(&piece[..n]));
    }
    text
}

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const GET_AND_CLOSE: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn a_request_is_answered_and_the_connection_kept() {
    let server = start(quick());
    let mut stream = server.connect().await;
    for _ in 0..3 {
        stream.write_all(GET.as_bytes()).await.unwrap();
        assert!(read_until(&mut stream, "hello").await.starts_with("HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = start(quick());
    let chunked = "POST /len HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let answer = server.talk(&format!("{GET}{chunked}{GET}{GET_AND_CLOSE}")).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 4, "{answer}");
}

#[tokio::test]
async fn a_head_that_dawdles_is_closed_after_the_head_time_although_bytes_keep_coming() {
    let server = start(quick());
    let mut stream = server.connect().await;
    let began = Instant::now();
    stream.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    let drip = async {
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if stream.write_all(b"x").await.is_err() {
                break;
            }
            let mut byte = [0; 512];
            match stream.try_read(&mut byte) {
                Ok(n) => return String::from_utf8_lossy(&byte[..n]).into_owned(),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        String::new()
    };
    let answer = timeout(BOUND, drip).await.expect("closed");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(server.n_requests.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_second_head_on_a_kept_connection_has_the_head_time_and_not_the_idle_time() {
    let server = start(patient());
    let mut stream = server.connect().await;
    stream.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut stream, "hello").await;
    let began = Instant::now();
    stream.write_all(b"GET /").await.unwrap();
    assert!(read_to_end(&mut stream).await.starts_with("HTTP/1.1 408"));
    assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_idle_connection_is_kept_for_the_idle_time_and_then_closed_without_a_word() {
    let server = start(quick());
    let mut stream = server.connect().await;
    stream.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut stream, "hello").await;
    let began = Instant::now();
    assert_eq!(read_to_end(&mut stream).await, "");
    assert!(began.elapsed() >= Duration::from_millis(800), "{:?}", began.elapsed());
    server.connections_are(0).await;
}

#[tokio::test]
async fn a_stream_outlives_the_idle_time() {
    let server = start(quick());
    let mut stream = server.connect().await;
    stream.write_all(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    read_until(&mut stream, "\r\n\r\n").await;
    let mut byte = [0; 1];
    let quiet = timeout(Duration::from_millis(1500), stream.read(&mut byte)).await;
    assert!(quiet.is_err(), "neither data nor end");
}

#[tokio::test]
async fn a_head_over_16_kib_or_64_lines_is_refused_and_the_refusal_can_be_read() {
    let server = start(quick());
    let long = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(200 * 1024));
    assert!(server.talk(&long).await.starts_with("HTTP/1.1 431"));
    let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(64));
    assert!(server.talk(&many).await.starts_with("HTTP/1.1 431"));
    let just = format!("GET / HTTP/1.1\r\nHost: x\r\n{}Connection: close\r\n\r\n", "X: y\r\n".repeat(62));
    assert!(server.talk(&just).await.starts_with("HTTP/1.1 200"));
    assert!(server.talk("\u{1}\u{2}\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    assert_eq!(server.n_requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_body_with_two_lengths_reaches_the_service_as_ambiguous() {
    let server = start(quick());
    let both = "POST /len HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert!(server.talk(both).await.starts_with("HTTP/1.1 400"));
    let second = server.talk(&format!("{GET}{both}{GET}")).await;
    assert_eq!(second.matches("HTTP/1.1").count(), 2, "nothing after it is served: {second}");
}

#[tokio::test]
async fn an_early_refusal_is_readable_although_the_body_still_comes() {
    let server = start(quick());
    let mut stream = server.connect().await;
    stream.write_all(b"POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n").await.unwrap();
    stream.write_all(&vec![b'x'; 4_000_000]).await.unwrap();
    let answer = read_to_end(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.ends_with("too much"), "{answer}");
}

#[tokio::test]
async fn an_expected_continue_is_sent_only_when_the_body_is_wanted() {
    let server = start(quick());
    let expect = "Host: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    let refused = server.talk(&format!("POST /refuse HTTP/1.1\r\n{expect}")).await;
    assert!(refused.starts_with("HTTP/1.1 413"), "{refused}");
    let mut stream = server.connect().await;
    stream.write_all(format!("POST /len HTTP/1.1\r\n{expect}").as_bytes()).await.unwrap();
    assert!(read_until(&mut stream, "\r\n\r\n").await.starts_with("HTTP/1.1 100"));
    stream.write_all(b"abc").await.unwrap();
    assert!(read_until(&mut stream, "\r\n\r\n3").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_peer_that_takes_nothing_is_dropped_after_the_write_time() {
    let server = start(quick());
    let mut stream = server.connect().await;
    stream.write_all(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    server.connections_are(1).await;
    let began = Instant::now();
    server.connections_are(0).await;
    assert!(began.elapsed() >= Duration::from_millis(400), "{:?}", began.elapsed());
}

#[tokio::test]
async fn beyond_the_cap_a_connection_waits_until_another_ends() {
    let server = start(Options { connections_max: 1, ..quick() });
    let first = server.connect().await;
    server.connections_are(1).await;
    let mut second = server.connect().await;
    second.write_all(GET_AND_CLOSE.as_bytes()).await.unwrap();
    let mut byte = [0; 1];
    assert!(timeout(Duration::from_millis(200), second.read(&mut byte)).await.is_err(), "it is not served yet");
    drop(first);
    assert!(read_to_end(&mut second).await.contains("TTP/1.1 200"));
}

#[tokio::test]
async fn a_stop_closes_idle_connections_at_once_and_lets_streams_say_bye() {
    let server = start(Options { timeouts: Timeouts::default(), ..patient() });
    let mut idle = Vec::new();
    for _ in 0..20 {
        let mut stream = server.connect().await;
        stream.write_all(GET.as_bytes()).await.unwrap();
        read_until(&mut stream, "hello").await;
        idle.push(stream);
    }
    let untouched = server.connect().await;
    let mut half = server.connect().await;
    half.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut half, "hello").await;
    half.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    let mut streaming = server.connect().await;
    streaming.write_all(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    read_until(&mut streaming, "\r\n\r\n").await;
    server.connections_are(23).await;
    let addr = server.addr;
    let began = Instant::now();
    assert_eq!(server.stop().await, 0, "nothing had to be dropped");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(read_to_end(&mut streaming).await.contains("bye"));
    assert!(TcpStream::connect(addr).await.is_err());
    drop((idle, untouched, half));
}

#[tokio::test]
async fn a_stop_drops_what_does_not_end_within_the_bound() {
    let server = start(quick());
    let mut stuck = server.connect().await;
    stuck.write_all(b"GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut upload = server.connect().await;
    upload.write_all(b"POST /len HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc").await.unwrap();
    server.connections_are(2).await;
    while server.n_requests.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    let began = Instant::now();
    assert_eq!(server.stop().await, 2);
    assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_kill_does_not_wait() {
    let server = start(Options { stop_within: Duration::from_secs(3600), ..quick() });
    let mut stuck = server.connect().await;
    stuck.write_all(b"GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    server.connections_are(1).await;
    server.shutdown.kill();
    assert_eq!(timeout(BOUND, server.task).await.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn a_port_is_free_again_at_once() {
    let server = start(quick());
    let addr = server.addr;
    let mut stream = server.connect().await;
    stream.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut stream, "hello").await;
    server.stop().await;
    Listener::bind(addr).unwrap();
}
