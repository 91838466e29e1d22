//! Tests of the running program: transcripts, races, kills, damage, hostile peers, rights.
//!
//! **Invariant**: each test has a server of its own and can run beside the others.
//! Not known here: anything inside the server.

mod backup;
mod check_config;
mod cli;
mod coverage;
mod damage;
mod demo;
mod documents;
mod full;
mod hostile;
mod idle;
mod init;
mod kills;
mod logs;
mod metrics;
mod names;
mod python;
mod races;
mod ready;
mod reload;
mod rights;
mod secrets;
mod starts;
mod streams;
mod transcripts;
