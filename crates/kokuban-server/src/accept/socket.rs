//! The byte stream of a connection as hyper sees it: passes everything on and keeps the vitals.
//!
//! **Invariant**: bytes and errors pass unchanged.
//! Not known here: time-outs. The driver judges them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::framing::Framing;
use super::vitals::Vitals;

#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    framing: Framing,
    vitals: Arc<Vitals>,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, vitals: Arc<Vitals>) -> Self {
        Self { stream, framing: Framing::new(), vitals }
    }

    pub(super) fn into_stream(self) -> TcpStream {
        self.stream
    }

    fn note_write<T>(&self, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.vitals.write_blocked(poll.is_pending());
        poll
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let poll = Pin::new(&mut this.stream).poll_read(cx, buf);
        let fresh = &buf.filled()[before..];
        if !fresh.is_empty() {
            this.framing.follow(fresh);
            this.vitals.head_open(this.framing.in_head());
            this.vitals.set_between_requests(this.framing.between_requests());
            if let Some(head) = this.framing.ambiguous() {
                this.vitals.set_ambiguous(head);
            }
        }
        poll
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.stream).poll_write(cx, buf);
        this.note_write(poll)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.stream).poll_write_vectored(cx, bufs);
        this.note_write(poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
