//! Who may do what: every route of the server, for every kind of caller.
//!
//! **Invariant**: a route without a row fails, and so does a row without a route.
//! Not known here: what an allowed call does; all writes are dry runs.

mod matrix;
mod places;
