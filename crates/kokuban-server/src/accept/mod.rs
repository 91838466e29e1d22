//! The accept loop: sockets in, requests to the service, and the bounds that keep one peer from hurting the rest.
//!
//! **Invariants**: at most [`Options::connections_max`] connections are open, the next one waits in the
//! kernel's queue (it is not accepted and closed: a full server then looks slow, not broken). Every connection
//! has at most one deadline in force; hyper's own header timer is off, because it also runs while a connection idles.
//! Running out of descriptors pauses accepting and ends nothing. After [`Shutdown::begin`] nothing is accepted,
//! idle connections close at once, and what is left after [`Options::stop_within`] is dropped.
//! Not known here: paths, Host, problems. Start at [`serve`]; one connection is `connection.rs`.

mod connection;
mod framing;
mod socket;
#[cfg(test)]
mod tests;
mod vitals;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use prometheus_client::metrics::gauge::Gauge;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinSet};

use crate::shutdown::Shutdown;

/// Longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Most header lines of a request.
const HEADERS_MAX: usize = 64;
/// What hyper buffers of a connection in each direction. A slow reader of a stream holds no more than this.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// Connections the kernel completes while the loop is busy or at its cap.
const BACKLOG: u32 = 1024;
/// How long accepting pauses when there are no descriptors left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);
/// Descriptors that are not for connections: journal, snapshots, logs, the listener.
const DESCRIPTORS_RESERVED: u64 = 128;

/// Serves requests. Cloned for each connection.
pub trait Serve: Clone + Send + Sync + 'static {
    fn serve(
        &self,
        request: Request<Incoming>,
        framing: HeadFraming,
    ) -> impl Future<Output = Response<Body>> + Send + use<Self>;
}

/// Whether a request says once, or more than once, where its body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadFraming {
    Sound,
    /// Content-Length beside Transfer-Encoding, or one of them twice. The connection closes after the answer.
    Ambiguous,
}

/// How long a peer may take.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// From the first byte of a request to the end of its head.
    pub head: Duration,
    /// Without a request.
    pub idle: Duration,
    /// Without taking a single byte of an answer.
    pub write: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { head: Duration::from_secs(10), idle: Duration::from_secs(60), write: Duration::from_secs(30) }
    }
}

#[derive(Debug, Clone)]
pub struct Options {
    pub timeouts: Timeouts,
    pub connections_max: usize,
    /// How long the graceful stop may take.
    pub stop_within: Duration,
    /// Open connections, for the metrics.
    pub connections: Gauge,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            connections_max: 16_384,
            stop_within: Duration::from_secs(5),
            connections: Gauge::default(),
        }
    }
}

/// A bound socket that nobody serves yet.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    addr: SocketAddr,
}

impl Listener {
    /// Binds with SO_REUSEADDR, so that a killed server gets its port back at once. Port 0 takes a free one.
    ///
    /// # Errors
    /// The address is taken, not ours, or not permitted.
    pub fn bind(addr: SocketAddr) -> io::Result<Self> {
        let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(addr)?;
        let listener = socket.listen(BACKLOG)?;
        let addr = listener.local_addr()?;
        Ok(Self { listener, addr })
    }

    /// The address in use, with the port that was taken for port 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Raises the limit of open files as far as `connections_max` needs and may, and says how many connections it allows.
#[must_use]
pub fn connections_allowed(connections_max: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let wanted = (connections_max as u64).saturating_add(DESCRIPTORS_RESERVED);
    let limit = getrlimit(Resource::Nofile);
    // `None` is no limit.
    let Some(mut current) = limit.current else { return connections_max };
    if current < wanted {
        let raised = limit.maximum.map_or(wanted, |most| most.min(wanted));
        if raised > current && setrlimit(Resource::Nofile, Rlimit { current: Some(raised), ..limit }).is_ok() {
            current = raised;
        }
    }
    let reserved = DESCRIPTORS_RESERVED.min(current / 2);
    usize::try_from(current - reserved).unwrap_or(usize::MAX).min(connections_max)
}

/// Accepts and serves until the stop, then until the last connection has ended or the bound is over.
/// Returns how many connections had to be dropped.
pub async fn serve<S: Serve>(listener: Listener, service: S, options: Options, shutdown: Shutdown) -> usize {
    let http = builder();
    let room = Arc::new(Semaphore::new(options.connections_max.clamp(1, Semaphore::MAX_PERMITS)));
    let mut open = JoinSet::new();
    let mut gate = Gate { listener: listener.listener, room, at_cap: false, exhausted: false };
    loop {
        tokio::select! {
            biased;
            () = shutdown.stopping() => break,
            Some(ended) = open.join_next(), if !open.is_empty() => note_panic(ended),
            (stream, permit) = gate.next() => {
                let open_one = Open::new(options.connections.clone(), permit);
                let (http, service) = (http.clone(), service.clone());
                let (timeouts, shutdown) = (options.timeouts, shutdown.clone());
                open.spawn(async move {
                    connection::run(stream, &http, service, timeouts, shutdown).await;
                    drop(open_one);
                });
            }
        }
    }
    drop(gate);
    drain(open, options.stop_within, &shutdown).await
}

async fn drain(mut open: JoinSet<()>, within: Duration, shutdown: &Shutdown) -> usize {
    let all_ended = async {
        while let Some(ended) = open.join_next().await {
            note_panic(ended);
        }
    };
    tokio::select! {
        () = all_ended => {}
        () = tokio::time::sleep(within) => {}
        () = shutdown.killed() => {}
    }
    let n_dropped = open.len();
    if n_dropped > 0 {
        tracing::warn!(connections = n_dropped, "connections dropped at the end of the stop");
    }
    open.shutdown().await;
    n_dropped
}

fn builder() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.header_read_timeout(None)
        .max_headers(HEADERS_MAX)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(BUFFER_BYTES_MAX)
        .half_close(false);
    http
}

fn note_panic(ended: Result<(), JoinError>) {
    if ended.is_err_and(|e| e.is_panic()) {
        tracing::error!("a connection ended in a panic");
    }
}

/// Counts a connection as open, and holds its place under the cap.
#[derive(Debug)]
struct Open {
    connections: Gauge,
    _permit: OwnedSemaphorePermit,
}

impl Open {
    fn new(connections: Gauge, permit: OwnedSemaphorePermit) -> Self {
        connections.inc();
        Self { connections, _permit: permit }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.connections.dec();
    }
}

#[derive(Debug)]
struct Gate {
    listener: TcpListener,
    room: Arc<Semaphore>,
    /// Each condition is logged when it begins, not for every connection it delays.
    at_cap: bool,
    exhausted: bool,
}

impl Gate {
    /// The next connection. Cancel-safe: a connection is taken and returned in one step.
    async fn next(&mut self) -> (TcpStream, OwnedSemaphorePermit) {
        let permit = self.permit().await;
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    self.exhausted = false;
                    prepare(&stream);
                    return (stream, permit);
                }
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) => {
                    // EMFILE, ENFILE, ENOBUFS, ENOMEM: they pass when something closes.
                    if !self.exhausted {
                        tracing::error!(%error, "cannot accept connections, trying again");
                        self.exhausted = true;
                    }
                    tokio::time::sleep(EXHAUSTED_PAUSE).await;
                }
            }
        }
    }

    async fn permit(&mut self) -> OwnedSemaphorePermit {
        if let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() {
            self.at_cap = false;
            return permit;
        }
        if !self.at_cap {
            tracing::warn!("all connections in use, the next ones wait");
            self.at_cap = true;
        }
        Arc::clone(&self.room).acquire_owned().await.expect("the semaphore is never closed")
    }
}

/// The peer went away between connecting and being accepted.
fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// A peer whose machine is gone never says so: what is sent and not confirmed for as long as a write may block,
/// and silence that a probe does not break, end the connection. All of this is advisory, so failures are not errors.
fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let socket = socket2::SockRef::from(stream);
    let probes = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(30))
        .with_interval(Duration::from_secs(10))
        .with_retries(3);
    let _ = socket.set_tcp_keepalive(&probes);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(Duration::from_secs(30)));
}
