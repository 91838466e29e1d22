//! A proxy that takes a request to the server and loses the answer.
//!
//! **Invariant**: the server has read the whole request and answered before the caller's connection breaks.
//! Not known here: what is asked.

use std::io::Write as _;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::http::Wire;

/// What happens to answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Pass,
    /// The answer is read from the server and thrown away, and the caller's connection closed.
    LoseAnswer,
}

/// A proxy of one server, for one request a connection.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    loses: Arc<AtomicBool>,
}

impl Proxy {
    /// # Panics
    /// When there is no port for it.
    #[must_use]
    pub fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let addr = listener.local_addr().expect("bound");
        let loses = Arc::new(AtomicBool::new(false));
        let cut = Arc::clone(&loses);
        thread::spawn(move || {
            for caller in listener.incoming() {
                let Ok(mut caller) = caller else { return };
                let cut = Arc::clone(&cut);
                thread::spawn(move || {
                    let Ok(mut up) = Wire::connect(server) else { return };
                    let (Ok(mut from), Ok(mut to)) = (caller.try_clone(), up.second_end()) else { return };
                    thread::spawn(move || {
                        let mut buffer = [0; 4096];
                        while let Ok(n @ 1..) = std::io::Read::read(&mut from, &mut buffer) {
                            if to.send(&buffer[..n]).is_err() {
                                return;
                            }
                        }
                        let _ = to.half_close();
                    });
                    while let Ok(bytes) = up.read_some() {
                        if bytes.is_empty() || cut.load(Ordering::SeqCst) || caller.write_all(&bytes).is_err() {
                            break;
                        }
                    }
                    let _ = caller.shutdown(Shutdown::Both);
                });
            }
        });
        Self { addr, loses }
    }

    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub fn set(&self, cut: Cut) {
        self.loses.store(cut == Cut::LoseAnswer, Ordering::SeqCst);
    }
}
