//! The name that was meant, where one was not found: looked up among those that there are.
//!
//! Invariant: at most one short call, of what the caller may read; where it fails, nothing is suggested.

use std::time::Duration;

use kokuban_api::{ErrorCode, Problem, spelling};
use kokuban_client::{Error, ListFilter, RetryPolicy};
use tokio::time::timeout;

use super::attempt::Attempt;
use crate::args::ClientArgs;
use crate::caller;

/// Nobody waits long for a suggestion.
const LOOK_MAX: Duration = Duration::from_secs(2);
/// Names that are looked at.
const NAMES_MAX: usize = 1_000;

/// The same error with the nearest name.
pub(super) async fn told(mut error: Error, attempt: Option<&Attempt>, client: &ClientArgs) -> Error {
    if let Error::Problem(problem) = &mut error
        && problem.nearest.is_none()
    {
        let found = timeout(LOOK_MAX, nearest(problem, attempt, client)).await;
        problem.nearest = found.ok().flatten();
    }
    error
}

async fn nearest(problem: &Problem, attempt: Option<&Attempt>, client: &ClientArgs) -> Option<String> {
    let calls = caller::client(client).ok()?.with_retry(RetryPolicy::never());
    let board = client.board.as_deref()?;
    let pick =
        |given: &str, known: &[String]| spelling::nearest(given, known.iter().map(String::as_str)).map(str::to_owned);
    match problem.known_code()? {
        ErrorCode::BoardNotFound => {
            let boards = calls.boards().collect_up_to(NAMES_MAX).await.ok()?;
            pick(board, &boards.iter().map(|found| found.board.to_string()).collect::<Vec<_>>())
        }
        ErrorCode::ZoneNotFound => {
            let blueprint = calls.board(board).ok()?.blueprint().await.ok()?;
            let zones: Vec<_> = blueprint.get("zones")?.as_object()?.keys().cloned().collect();
            pick(attempt?.zone().as_str(), &zones)
        }
        ErrorCode::NotFound => {
            let entry = attempt?.entry()?;
            let page = NAMES_MAX;
            let filter = ListFilter { zone: Some(entry.zone.clone()), page_items: Some(page), ..ListFilter::default() };
            let entries = calls.board(board).ok()?.list(&filter).collect_up_to(page).await.ok()?;
            let keys: Vec<_> = entries.iter().map(|found| found.key.to_string()).collect();
            let near = pick(entry.key.as_str(), &keys).filter(|near| near != entry.key.as_str())?;
            Some(format!("{}/{near}", entry.zone))
        }
        ErrorCode::UnknownStatus => pick(attempt?.status()?.as_str(), problem.allowed.as_deref()?),
        _ => None,
    }
}
