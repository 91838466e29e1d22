//! `kill -9`, SIGTERM and starts on the same data, under load.
//!
//! **Invariant**: what was acknowledged is compared with what the history says afterwards.
//! Not known here: damaged files; see `damage`.

mod graceful;
mod leases;
mod ledger;
mod load;
mod loop_under_load;
mod subscriber;
