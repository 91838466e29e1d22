//! The wire: bodies, names in paths, queries, headers, answers, stream messages and problems.
//!
//! Owns everything that server and client must agree on, and alone knows HTTP status codes.
//! Invariant: what the client writes the server reads, and the other way round; reading requests is strict,
//! reading answers tolerates members that a newer server adds.
//! Not known here: sockets, runtimes, the state of a board. Start at `bodies` for requests, `answers` for replies.

pub mod answers;
pub mod bodies;
pub mod code;
pub mod fields;
pub mod from_core;
pub mod headers;
pub mod kinds;
pub mod limits;
pub mod names;
pub mod problem;
pub mod query;
pub mod sources;
pub mod spelling;
pub mod sse;
pub mod stream;

pub use code::{Code, ErrorCode, NextAction, SideEffects};
pub use kinds::ChangeKind;
pub use problem::{ErrorItem, Problem};
