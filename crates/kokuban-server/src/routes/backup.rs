//! `GET /v1/backup`: everything that the server keeps, as one stream for `kokuban restore`.
//!
//! Invariant: only for admins whose credential admits every board, and only as long as it does. A backup that breaks
//! off has no end that checks.
//! Not known here: what a backup holds (`kokuban_engine::Engine::copy`) and its form (`kokuban_journal::backup`).

use std::io;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use futures::stream::unfold;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{Method, StatusCode};
use kokuban_api::query::PlainQuery;
use kokuban_api::{ErrorCode, Problem};
use kokuban_engine::Copying;
use kokuban_journal::backup;

use crate::app::AppState;
use crate::auth::Caller;
use crate::call::Call;
use crate::error::ApiResult;
use crate::reply::Reply;

pub(crate) const CONTENT: &str = "application/vnd.kokuban.backup";
/// About how long a copy takes of a server that is not large.
const RETRY_AFTER_MS: u64 = 10_000;

pub(crate) fn router() -> Router<AppState> {
    Router::new().route("/v1/backup", get(backup))
}

async fn backup(call: Call) -> ApiResult<Response> {
    PlainQuery::read(call.query())?;
    call.takes_no_conditions()?;
    call.caller.require_admin_of_all()?;
    let name = backup::file_name(call.app.engine.clock().wall());
    let reply = Reply::empty(StatusCode::OK).header(CONTENT_TYPE, CONTENT).header(CACHE_CONTROL, "no-store");
    let mut response = reply.header(CONTENT_DISPOSITION, &format!("attachment; filename=\"{name}\"")).send();
    if call.method != Method::HEAD {
        let copying = call.app.engine.copy(env!("CARGO_PKG_VERSION")).map_err(|_| {
            Problem::new(ErrorCode::Overloaded, "as many backups are being made as the server makes at a time")
                .with_retry_after_ms(RETRY_AFTER_MS)
        })?;
        call.context.waits();
        *response.body_mut() = Backup { copying, app: call.app, caller: call.caller }.into_body();
    }
    Ok(response)
}

/// A backup under way.
struct Backup {
    copying: Copying,
    app: AppState,
    caller: Caller,
}

impl Backup {
    fn into_body(self) -> Body {
        Body::from_stream(unfold(Some(self), |backup| async move {
            let mut backup = backup?;
            let part = backup.next().await?;
            if let Err(error) = &part {
                tracing::warn!(%error, "a backup broke off");
                return Some((part, None));
            }
            Some((part, Some(backup)))
        }))
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if !self.app.settings.now().authenticator.is_still_admin_of_all(&self.caller) {
            return Some(Err(io::Error::other("the credential of the caller ended or changed")));
        }
        tokio::select! {
            part = self.copying.next() => part,
            () = self.app.shutdown.stopping() => Some(Err(io::Error::other("the server is stopping"))),
        }
    }
}

#[cfg(test)]
mod tests;
