//! The end of standard input as a sign that the parent process is gone.
//!
//! Invariant: nothing is kept of what is read. The thread is nobody's to wait for, so it holds up no exit.

use std::io;
use std::thread;

/// Calls `then` once standard input has ended.
pub(crate) fn when_it_ends(then: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        // An input that cannot be read has ended too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        then();
    });
}
