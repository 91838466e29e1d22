//! What all parts of the play agree on: places, statuses, the length of things.
//!
//! Invariant: agents meet only on the board; nothing here is state.

use std::time::Duration;

use kokuban_api::stream::Change;
use kokuban_client::RetryPolicy;
use kokuban_core::ids::{EntryId, Key, Status, ZoneName};

pub(super) const REQUEST: &str = "input/request";
pub(super) const REQUIREMENTS: &str = "analysis/requirements";
/// A task for whoever claims it.
pub(super) const MARKET: &str = "analysis/market";
pub(super) const DESIGN: &str = "decision/design";
/// Written once, by the arbiter, when everything else is as it should be.
pub(super) const PLAN: &str = "result/plan";

pub(super) const REQUEST_TEXT: &str = "build a bookkeeping app with reminders";
pub(super) const REVIEW_NOTE: &str = "features lack reminder priorities";

/// How long a lease outlives its holder in the play.
pub(super) const LEASE: Duration = Duration::from_millis(1_500);
/// The whole play, at most.
pub(super) const PLAY_MAX: Duration = Duration::from_secs(60);

/// A server that is killed and started again must not end the play.
pub(super) fn patient() -> RetryPolicy {
    RetryPolicy { attempts_max: 200, total: PLAY_MAX, base: Duration::from_millis(20), cap: Duration::from_millis(500) }
}

/// For the first call: a server that is just starting is waited for.
pub(super) fn hasty() -> RetryPolicy {
    RetryPolicy { total: Duration::from_secs(8), ..patient() }
}

/// An entry of the play.
pub(super) fn place(text: &str) -> EntryId {
    let (zone, key) = text.split_once('/').expect("the places above have a slash");
    let zone = ZoneName::new(zone).expect("the zones above are names");
    EntryId::new(zone, Key::new(key).expect("the keys above are names"))
}

pub(super) fn status(text: &str) -> Status {
    Status::new(text).expect("the statuses of the play are names")
}

/// Whether `change` is about the entry at `place`.
pub(super) fn is_at(change: &Change, place: &str) -> bool {
    let Some((zone, key)) = place.split_once('/') else { return false };
    change.zone.as_ref().is_some_and(|z| z.as_str() == zone) && change.key.as_ref().is_some_and(|k| k.as_str() == key)
}

/// The status the entry has after `change`, where that says it.
pub(super) fn status_after(change: &Change) -> Option<&str> {
    change.status.as_ref().and_then(|moved| moved.to.as_ref()).map(Status::as_str)
}

/// The time an agent takes to think: short enough to watch, long enough to be overtaken.
pub(super) async fn think(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
