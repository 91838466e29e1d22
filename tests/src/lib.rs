//! Support of the tests over processes: the real server on a free port, callers by role, raw connections.
//!
//! **Invariant**: nothing waits for a fixed time; every wait looks for a state and has a bound. Whatever a server
//! printed is shown when a test fails, and a panic in it fails the test even where every answer was right.
//! Not known here: how the server works inside. Start at [`TestServer`].

mod binary;
mod caller;
mod command;
pub mod document;
mod fixture;
mod http;
mod proxy;
mod random;
mod server;
mod stream;
pub mod transcript;
mod wait;

pub use binary::server_binary;
pub use caller::{Asking, Caller};
pub use command::{Reader, Said, ShellCommand};
pub use fixture::{BoardAt, fixture_path};
pub use http::{Response, Wire};
pub use proxy::{Cut, Proxy};
pub use random::Random;
pub use server::{Setup, TestServer};
pub use stream::{Block, EventStream};
pub use wait::{until, until_some};
