//! Many callers at once, over connections and processes: one winner per version, nothing lost.
//!
//! **Invariant**: every race is judged by the history of the board, not only by what the callers were told.
//! Not known here: how the server serialises.

pub(crate) mod callers;
mod cases;
mod claims;
mod counters;
mod creations;
mod leases;
mod processes;
