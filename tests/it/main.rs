//! Tests of the running program: transcripts, races, kills, damage, hostile peers, rights.
//!
//! **Invariant**: each test has a server of its own and can run beside the others.
//! Not known here: anything inside the server.

mod coverage;
mod readme;
mod damage;
mod kills;
mod races;
mod starts;
mod transcripts;
