//! The result: a table for people, in the terminal and in the document, and JSON for programs.
//!
//! Invariant: all show the same figures; the JSON has every sample too.

mod docs;
mod json;
mod table;

pub(crate) use self::docs::write as write_docs;
pub(crate) use self::json::json;
pub(crate) use self::table::table;
