//! The routes: a table of contents. One file for each resource.
//!
//! Invariant: a handler extracts, asks once, answers. What is not a route is 404, and a method it does not know 405,
//! both as problems.
//! Not known here: rules.

mod backup;
mod boards;
mod changes;
mod claims;
mod entries;
mod erasures;
mod events;
mod export;
mod history;
mod leases;
mod notes;
mod server;
mod shortcut;
mod transactions;
mod typed;

use axum::Router;

pub(crate) use backup::CONTENT as BACKUP;
pub use shortcut::Shortcut;

use crate::app::AppState;

/// All routes of the server.
pub fn router(app: AppState) -> Router {
    Router::new()
        .merge(server::router())
        .merge(backup::router())
        .merge(boards::router())
        .merge(entries::router())
        .merge(transactions::router())
        .merge(leases::router())
        .merge(claims::router())
        .merge(notes::router())
        .merge(typed::router())
        .merge(events::router())
        .merge(changes::router())
        .merge(history::router())
        .merge(export::router())
        .merge(erasures::router())
        .with_state(app)
}
