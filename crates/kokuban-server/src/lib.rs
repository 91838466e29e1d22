//! The edge: sockets, configuration, who calls, and the translation between HTTP and the engine.
//!
//! Invariant: every answer, also the framework's own, passes `edge` on its way out, so each has a
//! request id and each refusal is a problem document.
//! Not known here: how a board decides (core), what is durable (journal), when (engine).

pub mod accept;
pub mod app;
pub mod auth;
pub mod call;
pub mod config;
pub mod docs;
pub mod edge;
pub mod error;
mod measured;
pub mod metrics;
pub mod pages;
pub mod pattern;
mod problems;
mod rates;
pub mod refusals;
pub mod reload;
mod reply;
pub mod routes;
pub mod serve;
pub mod settings;
pub mod shutdown;
pub mod signals;
pub mod streams;
pub mod telemetry;
