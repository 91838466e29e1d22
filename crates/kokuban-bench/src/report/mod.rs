//! The result: a table for people, JSON for programs.
//!
//! Invariant: both show the same figures; the JSON has every sample too.

mod json;
mod table;

pub(crate) use self::json::json;
pub(crate) use self::table::table;
