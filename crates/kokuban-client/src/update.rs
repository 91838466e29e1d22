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
