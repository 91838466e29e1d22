//! Transactions: several writes, one revision.

use axum::Router;
use axum::response::Response;
use axum::routing::post;
use http::StatusCode;
use kokuban_api::Problem;
use kokuban_api::bodies::{Transaction, TransactionWrite, WriteItem};
use kokuban_api::from_core::{self, ReceiptValue, transaction_receipt};
use kokuban_api::headers::ReturnPreference;
use kokuban_api::query::PlainQuery;
use kokuban_core::command::{Command, Transact, TransactItem};
use kokuban_core::ids::{EntryId, Version};
use kokuban_core::reply;

use crate::app::AppState;
use crate::call::{Asked, Call};
use crate::edge::BodyNeed;
use crate::error::{ApiError, ApiResult};
use crate::reply::Reply;

pub(crate) fn router() -> Router<AppState> {
    Router::new().route("/v1/boards/{board}/transactions", post(transact))
}

async fn transact(mut call: Call) -> ApiResult<Response> {
    let board = call.board_name()?;
    let query = PlainQuery::read(call.query())?;
    call.takes_no_conditions()?;
    let body = call.json(BodyNeed::Required).await?.unwrap_or_default();
    let repeat = call.repeat(Some(&body))?;
    let body = Transaction::read(body).map_err(Problem::from)?;
    let pointers: Vec<Vec<String>> = body.writes.iter().map(operation_pointers).collect();
    let transact = from_core::transaction(&board, body)?;
    let named = named_versions(&transact);
    let command = Command::Transact(transact);
    let asked = Asked { repeat, dry_run: query.dry_run, may_create: true, ..Asked::new(command) };
    let answer = match call.ask(&board, asked).await {
        Ok(answer) => answer,
        Err(mut error) => {
            let problem = error.problem_mut();
            let first = problem.errors.first().and_then(|item| item.pointer.as_deref());
            if let Some((_, id, version)) = named.iter().find(|(pointer, ..)| Some(pointer.as_str()) == first) {
                call.tell_changes(&board, id, *version, problem).await;
            }
            for (index, pointers) in pointers.iter().enumerate() {
                from_core::point_at_operations(problem, &format!("/writes/{index}"), pointers);
            }
            return Err(error);
        }
    };
    let (Some(reply::Reply::Transaction { receipts }), Some(position)) = (&answer.reply, answer.position) else {
        return Err(ApiError::unexpected());
    };
    let preference = call.return_preference();
    let shows = match preference {
        Some(ReturnPreference::Representation) => ReceiptValue::Always,
        _ => ReceiptValue::Never,
    };
    let body = transaction_receipt(receipts, position, answer.now, shows, query.dry_run);
    let head = call.head(&board, &answer, query.dry_run).await;
    let reply = Reply::json(StatusCode::OK, &body, query.pretty).at(head).replayed(answer.replayed);
    Ok(reply.preferring(preference).send())
}

/// The versions that the caller had read, and where it names them.
fn named_versions(transact: &Transact) -> Vec<(String, EntryId, Version)> {
    let checks = transact.checks.iter().enumerate();
    let checks = checks.map(|(index, check)| (format!("/checks/{index}"), check.id.clone(), check.version));
    let items = transact.items.iter().enumerate().filter_map(|(index, item)| {
        let version = match item {
            TransactItem::Write(write) => write.conditions.version,
            TransactItem::Delete(delete) => delete.conditions.version,
            TransactItem::Lease(_) => None,
        };
        Some((format!("/writes/{index}"), item.id().clone(), version?))
    });
    checks.chain(items).collect()
}

/// Where the operations of one item stand in it.
fn operation_pointers(item: &TransactionWrite) -> Vec<String> {
    match &item.write {
        WriteItem::Patch(patch) => patch.operations.iter().map(|operation| operation.pointer.clone()).collect(),
        WriteItem::Put(_) | WriteItem::Delete(_) | WriteItem::Lease(_) => Vec::new(),
    }
}
