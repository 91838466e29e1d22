//! Backups of running servers, and what comes back of them.
//!
//! Not known here: the form of a backup, and how the engine copies a board; their own tests know.

mod cut;
mod given;
mod kept;
mod program;
mod refused;
mod trouble;
mod whole;
