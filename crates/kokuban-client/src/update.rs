//! The update loop: read, compute, write what was computed only onto what was read.
//!
//! Invariant: a write names the version that the computation saw. After a conflict the entry is read again and the
//! computation runs again; nothing computed from an old version is ever written.
//! Not known here: how the new value is found; that is the caller's function.

use std::time::Duration;

use kokuban_api::answers::{Entry, Receipt};
use kokuban_api::bodies::{Patch, Put};
use kokuban_core::ids::Version;
use tokio::time::sleep;

use crate::board::Board;
use crate::error::Error;
use crate::place::Place;
use crate::retry::{chance, fraction};

/// What an update function wants. The loop sets the version, whatever stands in the terms.
#[derive(Debug, Clone)]
pub enum Change {
    /// A new value.
    Put(Put),
    /// Changes of leaves, status or marks.
    Patch(Patch),
    /// The entry is as it should be, or somebody else's business now: nothing is written.
    Leave,
}

/// Rivals that met once should not meet in step again.
const PAUSE_MAX: Duration = Duration::from_millis(50);

impl Board {
    /// Reads the entry (`None` if absent), lets `change` decide, and writes that on exactly the version read; on a
    /// version conflict begins again, at most `attempts_max` times in all. Gives the receipt, or `None` for
    /// [`Change::Leave`].
    ///
    /// # Errors
    /// The last conflict when the attempts are spent, any other refusal at once, or why there is no answer.
    pub async fn update<F>(&self, place: impl Place, attempts_max: u32, change: F) -> Result<Option<Receipt>, Error>
    where
        F: FnMut(Option<&Entry>) -> Change,
    {
        self.update_with(place, attempts_max, None, change).await
    }

    pub(crate) async fn update_with<F>(
        &self,
        place: impl Place,
        attempts_max: u32,
        token: Option<kokuban_core::ids::LeaseToken>,
        mut change: F,
    ) -> Result<Option<Receipt>, Error>
    where
        F: FnMut(Option<&Entry>) -> Change,
    {
        let id = place.entry_id()?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let entry = self.find(&id).await?;
            // An absent entry is created only if it is still absent then.
            let version = entry.as_ref().map_or(Version::ZERO, |entry| entry.version);
            let written = match change(entry.as_ref()) {
                Change::Leave => return Ok(None),
                Change::Put(mut put) => {
                    (put.terms.version, put.terms.lease_token) = (Some(version), token.or(put.terms.lease_token));
                    self.put(&id, &put).await
                }
                Change::Patch(mut patch) => {
                    (patch.terms.version, patch.terms.lease_token) = (Some(version), token.or(patch.terms.lease_token));
                    self.patch(&id, &patch).await
                }
            };
            match written {
                Err(error) if error.is_version_conflict() && attempts < attempts_max => {
                    sleep(fraction(PAUSE_MAX, chance())).await;
                }
                outcome => return outcome.map(Some),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kokuban_api::bodies::Terms;
    use serde_json::{Value, json};

    use super::*;
    use crate::fake::{Fake, Reply};

    fn entry(version: u64, value: Value) -> Reply {
        Reply::Json(
            200,
            json!({"zone": "z", "key": "k", "value": value, "version": version, "status": "raw", "owner": "ra",
                "updated_by": "ra", "updated_at": "2026-11-30T12:00:00.000Z"}),
        )
    }

    fn written(version: u64) -> Reply {
        Reply::Json(
            200,
            json!({"zone": "z", "key": "k", "version": version, "position": "00000000000000ab.9", "etag": "\"x\"",
                "status": "raw", "owner": "ra", "outcome": "updated", "warnings": []}),
        )
    }

    fn conflict() -> Reply {
        Reply::problem(409, "version_conflict", json!({"current": {"version": 3}}))
    }

    fn plus_one(entry: Option<&Entry>) -> Change {
        let n = entry.and_then(|entry| entry.value.as_ref()).and_then(|value| value.to_value().as_u64()).unwrap_or(0);
        Change::Put(Put::new(json!(n + 1)))
    }

    async fn board(script: Vec<Reply>) -> (Fake, Board) {
        let fake = Fake::start(script).await;
        let board = fake.client().board("b").expect("a name");
        (fake, board)
    }

    #[tokio::test]
    async fn a_conflict_is_read_again_and_computed_again_never_repeated() {
        let script = vec![entry(2, json!(10)), conflict(), entry(3, json!(20)), written(4)];
        let (fake, board) = board(script).await;
        let receipt = board.update("z/k", 3, plus_one).await.expect("written").expect("a receipt");
        assert_eq!(receipt.version, Version(4));
        let bodies: Vec<_> = fake.received().into_iter().filter(|r| r.method == "PUT").map(|r| r.body).collect();
        assert_eq!(bodies, [json!({"value": 11, "version": 2}), json!({"value": 21, "version": 3})]);
    }

    #[tokio::test]
    async fn an_absent_entry_is_created_only_if_it_still_is_absent() {
        let script = vec![Reply::problem(404, "not_found", json!({"retryable": false})), written(1)];
        let (fake, board) = board(script).await;
        board.update("z/k", 3, plus_one).await.expect("written");
        assert_eq!(fake.received()[1].body, json!({"value": 1, "version": 0}));
    }

    #[tokio::test]
    async fn when_the_attempts_are_spent_the_last_conflict_is_told() {
        let script = vec![entry(2, json!(1)), conflict(), entry(3, json!(1)), conflict(), entry(4, json!(1))];
        let (fake, board) = board(script).await;
        let error = board.update("z/k", 2, plus_one).await.expect_err("spent");
        assert!(error.is_version_conflict() && fake.received().len() == 4);
    }

    #[tokio::test]
    async fn other_refusals_end_the_loop_at_once() {
        let script = vec![entry(2, json!(1)), Reply::problem(409, "locked", json!({})), entry(2, json!(1))];
        let (fake, board) = board(script).await;
        assert!(board.update("z/k", 5, plus_one).await.expect_err("locked").is_conflict());
        assert_eq!(fake.received().len(), 2);
    }

    #[tokio::test]
    async fn to_leave_it_writes_nothing_and_a_missing_board_is_no_absent_entry() {
        let (fake, there) = board(vec![entry(2, json!(1))]).await;
        assert!(there.update("z/k", 5, |_| Change::Leave).await.expect("left").is_none());
        assert_eq!(fake.received().len(), 1);
        let (_, gone) = board(vec![Reply::problem(404, "board_not_found", json!({"retryable": false}))]).await;
        assert_eq!(gone.update("z/k", 5, plus_one).await.expect_err("no board").status(), Some(404));
    }

    #[tokio::test]
    async fn a_patch_gets_the_version_read_whatever_its_terms_say() {
        let (fake, board) = board(vec![entry(7, json!(1)), written(8)]).await;
        let patch = Patch { terms: Terms::at_version(Version(1)), ..Patch::default() };
        board.update("z/k", 1, |_| Change::Patch(patch.clone())).await.expect("written");
        let sent = &fake.received()[1];
        assert_eq!((sent.method.as_str(), sent.target.as_str()), ("PATCH", "/v1/boards/b/entries/z/k"));
        assert_eq!(sent.body, json!({"version": 7}));
    }
}
