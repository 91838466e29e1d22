//! One connection: drives hyper and judges the deadlines.
//!
//! **Invariants**: the timer is armed no later than the deadline in force and looked at again when it fires,
//! so a busy connection touches the timer wheel about once a minute, not once per request. A peer that is still
//! sending when the server is done gets to read the answer: closing at once would reset the connection under it.
//! Not known here: what a request is.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::Write as _;
use std::net::Shutdown as Half;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::socket::Socket;
use super::vitals::{Busy, Overdue, Vitals};
use super::{HeadFraming, Serve, Timeouts};
use crate::shutdown::Shutdown;

/// How long, and for how many bytes, a peer may go on sending after the last answer.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES_MAX: usize = 8 * 1024 * 1024;

enum End {
    /// hyper has nothing more to do. The answer is written, unless the peer is gone.
    Done,
    Failed,
    Overdue(Overdue),
}

pub(super) async fn run<S: Serve>(
    stream: TcpStream,
    http: &http1::Builder,
    service: S,
    timeouts: Timeouts,
    shutdown: Shutdown,
) {
    let vitals = Arc::new(Vitals::new());
    let io = TokioIo::new(Socket::new(stream, Arc::clone(&vitals)));
    let for_service = Arc::clone(&vitals);
    let serve = service_fn(move |request: Request<Incoming>| {
        let (busy, ambiguous) = for_service.request_begins();
        let framing = if ambiguous { HeadFraming::Ambiguous } else { HeadFraming::Sound };
        let answering = service.serve(request, framing);
        async move { Ok::<_, Infallible>(answering.await.map(|body| Answer { body, _busy: busy })) }
    });
    let mut conn = http.serve_connection(io, serve);
    let end = drive(Pin::new(&mut conn), &vitals, &timeouts, &shutdown).await;
    let stream = conn.into_parts().io.into_inner().into_stream();
    match end {
        End::Done if vitals.between_requests() => {}
        End::Done | End::Failed => linger(stream, &shutdown).await,
        End::Overdue(Overdue::Head) => {
            say_timeout(stream);
            tracing::debug!("connection closed: the head of a request took too long");
        }
        End::Overdue(why) => tracing::debug!(?why, "connection closed"),
    }
}

type Connection<F> = http1::Connection<TokioIo<Socket>, F>;

async fn drive<F>(mut conn: Pin<&mut Connection<F>>, vitals: &Vitals, timeouts: &Timeouts, shutdown: &Shutdown) -> End
where
    F: Service<Request<Incoming>, Response = Response<Answer>, Error = Infallible>,
{
    let mut timer = pin!(tokio::time::sleep(timeouts.idle));
    let mut timer_registered = false;
    let mut stopping = pin!(shutdown.stopping());
    let mut stop_registered = false;
    let mut told = false;
    poll_fn(|cx| {
        loop {
            match conn.as_mut().poll(cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(End::Done),
                Poll::Ready(Err(_)) => return Poll::Ready(End::Failed),
                Poll::Pending => {}
            }
            // Registered once; the waker of this task stays the same.
            if !told && (!stop_registered || shutdown.is_stopping()) {
                stop_registered = true;
                if stopping.as_mut().poll(cx).is_ready() {
                    told = true;
                    conn.as_mut().graceful_shutdown();
                    continue;
                }
            }
            break;
        }
        while let Some((at, why)) = vitals.deadline(timeouts) {
            // Of a request whose head has not ended nothing was begun.
            if told && why == Overdue::Head {
                return Poll::Ready(End::Overdue(Overdue::Idle));
            }
            if at < timer.deadline() || timer.is_elapsed() {
                timer.as_mut().reset(at);
                timer_registered = false;
            }
            if !timer_registered {
                timer_registered = true;
                if timer.as_mut().poll(cx).is_pending() {
                    break;
                }
            }
            if !timer.is_elapsed() {
                break;
            }
            if Instant::now() >= at {
                return Poll::Ready(End::Overdue(why));
            }
        }
        Poll::Pending
    })
    .await
}

/// Ends the sending half, and reads until the peer has closed its own.
async fn linger(stream: TcpStream, shutdown: &Shutdown) {
    let Ok(stream) = stream.into_std() else { return };
    if stream.shutdown(Half::Write).is_err() {
        return;
    }
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let discard = async {
        // Allocated here, so that connections that end well do not carry it.
        let mut scrap = vec![0; 16 * 1024];
        let mut n_read = 0;
        while n_read < LINGER_BYTES_MAX && stream.readable().await.is_ok() {
            match stream.try_read(&mut scrap) {
                Ok(0) => break,
                Ok(n) => n_read += n,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
    };
    tokio::select! {
        () = discard => {}
        () = tokio::time::sleep(LINGER) => {}
        () = shutdown.stopping() => {}
    }
}

/// Best effort: the head never ended, so this is no problem document.
fn say_timeout(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        // The socket does not block; an answer that does not fit is not sent.
        let _ = stream.write_all(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    }
}

/// The body of an answer. While it lives the connection is busy.
struct Answer {
    body: Body,
    _busy: Busy,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
