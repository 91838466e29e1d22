//! Where a reader begins, and what it is told when it cannot begin where it wants.
//!
//! Invariant: a place that cannot be served is never passed over in silence: a stream that resumes is reset, a query
//! is refused.
//! Not known here: what is sent.

use http::HeaderMap;
use kokuban_api::headers::LAST_EVENT_ID;
use kokuban_api::query::{After, EventsQuery};
use kokuban_api::stream::ResetReason;
use kokuban_api::{ErrorCode, Problem};
use kokuban_core::ids::{Position, Revision};
use kokuban_engine::{BoardHandle, Published};

use crate::call::{board_not_found, position_problem};
use crate::error::{ApiError, ApiResult};

/// How a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// The first commit is the one after this.
    pub(crate) after: Revision,
    pub(crate) reset: Option<ResetReason>,
    pub(crate) snapshot: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unservable {
    Epoch,
    Future,
    Compacted,
}

/// # Errors
/// The position is of another life of the board, ahead of it, or before what is kept.
fn serve(wanted: Position, oldest: Revision, head: Position) -> Result<Revision, Unservable> {
    if wanted.epoch != head.epoch {
        Err(Unservable::Epoch)
    } else if wanted.revision > head.revision {
        Err(Unservable::Future)
    } else if wanted.revision < oldest {
        Err(Unservable::Compacted)
    } else {
        Ok(wanted.revision)
    }
}

/// Where a stream begins: Last-Event-ID wins, then the query.
///
/// # Errors
/// 409 `unknown_epoch`, `future_position`; 410 `compacted`.
pub(crate) fn of_stream(
    headers: &HeaderMap,
    query: &EventsQuery,
    handle: &BoardHandle,
    published: &Published,
) -> ApiResult<Start> {
    let head = published.board.position().ok_or_else(|| board_not_found(handle.name()))?;
    let start = |after| Start { after, reset: None, snapshot: false };
    let Some(last) = last_event_id(headers) else {
        let after = of_query(query.after, handle, published)?;
        // What a snapshot shows need not be told again.
        let after = if query.snapshot { head.revision } else { after };
        return Ok(Start { snapshot: query.snapshot, ..start(after) });
    };
    let reason = match last.map(|wanted| serve(wanted, handle.oldest(), head)) {
        Some(Ok(after)) => return Ok(start(after)),
        Some(Err(Unservable::Epoch)) => ResetReason::Epoch,
        Some(Err(Unservable::Future)) => ResetReason::Future,
        Some(Err(Unservable::Compacted)) => ResetReason::Compacted,
        None => ResetReason::Malformed,
    };
    Ok(Start { reset: Some(reason), snapshot: query.snapshot, ..start(head.revision) })
}

/// Where a long poll begins. It cannot be reset, so Last-Event-ID is judged like `after`.
///
/// # Errors
/// As [`of_stream`], and 400 `invalid_value` for a Last-Event-ID that is no position.
pub(crate) fn of_poll(
    headers: &HeaderMap,
    after: Option<After>,
    handle: &BoardHandle,
    published: &Published,
) -> ApiResult<Start> {
    let after = match last_event_id(headers) {
        Some(Some(position)) => Some(After::Position(position)),
        Some(None) => {
            let detail = "the header Last-Event-ID must be a position that a stream or a poll gave";
            return Err(Problem::new(ErrorCode::InvalidValue, detail).into());
        }
        None => after,
    };
    let after = of_query(after, handle, published)?;
    Ok(Start { after, reset: None, snapshot: false })
}

fn of_query(after: Option<After>, handle: &BoardHandle, published: &Published) -> Result<Revision, ApiError> {
    let head = published.board.position().ok_or_else(|| board_not_found(handle.name()))?;
    match after.unwrap_or_default() {
        After::Head => Ok(head.revision),
        After::Start => Ok(handle.oldest()),
        After::Position(wanted) => serve(wanted, handle.oldest(), head).map_err(|why| {
            let code = match why {
                Unservable::Epoch => ErrorCode::UnknownEpoch,
                Unservable::Future => ErrorCode::FuturePosition,
                Unservable::Compacted => ErrorCode::Compacted,
            };
            position_problem(code, handle, published)
        }),
    }
}

/// `Some(None)`: there is one, and it is no position of ours.
#[expect(clippy::option_option, reason = "absent and unreadable are answered differently")]
fn last_event_id(headers: &HeaderMap) -> Option<Option<Position>> {
    let mut values = headers.get_all(LAST_EVENT_ID).iter();
    let first = values.next()?;
    let only = values.next().is_none();
    Some(first.to_str().ok().filter(|_| only).and_then(|text| text.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use kokuban_core::ids::Epoch;

    use super::*;

    #[test]
    fn a_position_is_served_from_the_oldest_to_the_head_of_its_life() {
        let at = |epoch, revision| Position { epoch: Epoch(epoch), revision: Revision(revision) };
        let (oldest, head) = (Revision(3), at(7, 9));
        let serve = |wanted| serve(wanted, oldest, head);
        assert_eq!(serve(at(7, 3)), Ok(Revision(3)));
        assert_eq!(serve(at(7, 9)), Ok(Revision(9)));
        assert_eq!(serve(at(7, 2)), Err(Unservable::Compacted));
        assert_eq!(serve(at(7, 10)), Err(Unservable::Future));
        assert_eq!(serve(at(8, 9)), Err(Unservable::Epoch));
    }

    #[test]
    fn an_id_that_is_no_position_is_known_to_be_there() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            values.iter().for_each(|value| {
                headers.append(LAST_EVENT_ID, value.parse().unwrap());
            });
            last_event_id(&headers)
        };
        assert_eq!(read(&[]), None);
        for unreadable in ["", "0", "abc", "6f1c2a04-8e1e-4a7e-9f0a-2f6f4f3a9c11", "0000000000000001.01"] {
            assert_eq!(read(&[unreadable]), Some(None), "{unreadable}");
        }
        assert_eq!(read(&["0000000000000001.1", "0000000000000001.1"]), Some(None));
        assert!(matches!(read(&["0000000000000001.1"]), Some(Some(_))));
    }
}
