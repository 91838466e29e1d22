//! Two researchers of the same trade: one dies over its task, the other goes on with it.

use std::time::Duration;

use kokuban_api::ChangeKind;
use kokuban_api::answers::Entry;
use kokuban_api::bodies::{Claim, Put, Terms};
use kokuban_client::{Board, Change, Error, LeaseGuard};
use kokuban_core::ids::ZoneName;
use serde_json::json;

use super::Ears;
use crate::demo::remark;
use crate::demo::script::{LEASE, MARKET, is_at, status, think};

/// Claims the task and never comes back: its process is killed while it thinks.
pub(super) async fn play_the_one_that_dies(board: &Board) -> Result<(), Error> {
    let mut ears = Ears::on(board);
    while let Some(change) = ears.next().await? {
        if !is_at(&change, MARKET) || change.kind != ChangeKind::Created {
            continue;
        }
        if let Some((_, guard)) = claim(board, LEASE).await? {
            remark::says("claimed the market research, and renews its lease while it reads");
            guard.lost().await;
        }
    }
    Ok(())
}

/// Woken when the server takes the task back.
pub(super) async fn play_the_one_that_goes_on(board: &Board) -> Result<(), Error> {
    let mut ears = Ears::on(board);
    while let Some(change) = ears.next().await? {
        if !is_at(&change, MARKET) || change.kind != ChangeKind::LeaseExpired {
            continue;
        }
        let Some((entry, guard)) = claim(board, LEASE * 4).await? else { continue };
        remark::says(format!("the market research is free again after {} attempt(s): mine now", entry.attempts));
        match research(&guard).await {
            Ok(()) => guard.release().await?,
            // Lost like the one before: the stream tells when it is free again.
            Err(error) if error.is_lease_lost() => remark::refused(format!("finish {MARKET}"), error)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn claim(board: &Board, ttl: Duration) -> Result<Option<(Entry, LeaseGuard)>, Error> {
    let claim = Claim {
        status: Some(status("raw")),
        prefix: Some("market".into()),
        to_status: Some(status("processing")),
        ttl_ms: u64::try_from(ttl.as_millis()).expect("some seconds"),
        ..Claim::of(ZoneName::new("analysis").expect("a name"))
    };
    board.claim_lease(&claim).await
}

async fn research(guard: &LeaseGuard) -> Result<(), Error> {
    think(200).await;
    let written = guard.update(5, |entry| {
        let Some(entry) = entry else { return Change::Leave };
        let mut value = entry.value.as_ref().map(kokuban_core::json::Json::to_value).unwrap_or_default();
        value["answer"] = json!("most remind of bills; none lets the user say which ones matter");
        let terms = Terms { status: Some(status("pending_review")), ..Terms::default() };
        Change::Put(Put { terms, ..Put::new(value) })
    });
    written.await.map(drop)
}
