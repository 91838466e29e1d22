//! Golden transcripts: requests with the answers they must get, in a form that people read.
//!
//! ```text
//! ### A title
//! PUT /v1/boards/b
//! Kokuban-Agent: lin
//!
//! {"blueprint": "default"}
//!
//! HTTP 201
//! Kokuban-Position: {{epoch}}.1
//!
//! {"board": "b", …}
//! ```
//! Start at `file.rs` for the format, `pattern.rs` for placeholders, `run.rs` for what is checked.

mod body;
mod file;
mod judge;
mod normal;
mod pattern;
mod run;

pub use file::{Exchange, Expected, Transcript};
pub use run::{read_all, run};
