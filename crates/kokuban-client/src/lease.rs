//! A lease that is kept while work goes on, and tells when it is lost.
//!
//! Invariant: writes through the guard carry its token, so they fail rather than land after another took over. A lost
//! lease is told at the latest at the deadline that the last answered renewal promised, also without a network.
//! Dropped, the guard stops renewing and tries once to give the lease back.
//! Not known here: who may lease what. The server judges; this side only hurries.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kokuban_api::answers::{Entry, Lease, Receipt};
use kokuban_api::bodies::{Claim, DeleteItem, LeaseRenewal, LeaseRequest, Patch, Put};
use kokuban_core::ids::{EntryId, LeaseToken};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use crate::board::Board;
use crate::error::Error;
use crate::place::Place;
use crate::retry::RetryPolicy;
use crate::update::Change;

/// Renewals are at least this far apart, so that a lease near its end does not become a flood.
const RENEWAL_GAP_MIN: Duration = Duration::from_millis(50);
/// How long a dropped guard may spend on giving the lease back.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why a lease is gone: `expired`, `superseded`, `revoked`, `deleted`, … as the server says, or `unreachable` where
/// the deadline passed without an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the lease is lost: {reason}")]
pub struct Lost {
    pub reason: String,
}

type LostSender = Arc<watch::Sender<Option<Lost>>>;

/// The exclusive right to write one entry, kept in the background.
#[derive(Debug)]
#[must_use = "dropped, the guard gives the lease back"]
pub struct LeaseGuard {
    board: Board,
    id: EntryId,
    token: LeaseToken,
    lost: LostSender,
    renewal: JoinHandle<()>,
    released: bool,
}

impl Board {
    /// Leases an entry and keeps the lease until the guard is released or dropped. `ttl` is how long the entry stays
    /// blocked should this process die.
    ///
    /// # Errors
    /// As [`Board::acquire`].
    pub async fn lease(&self, place: impl Place, ttl: Duration) -> Result<LeaseGuard, Error> {
        self.lease_with(place, &LeaseRequest { ttl_ms: millis(ttl), ..LeaseRequest::default() }).await
    }

    /// As [`Board::lease`], with waiting and takeover.
    ///
    /// # Errors
    /// As [`Board::acquire`].
    pub async fn lease_with(&self, place: impl Place, request: &LeaseRequest) -> Result<LeaseGuard, Error> {
        let id = place.entry_id()?;
        let grant = self.acquire(&id, request).await?;
        LeaseGuard::keep(self.clone(), id, &grant)
    }

    /// Claims the next free entry that fits and keeps its lease.
    ///
    /// # Errors
    /// As [`Board::claim`].
    pub async fn claim_lease(&self, claim: &Claim) -> Result<Option<(Entry, LeaseGuard)>, Error> {
        let Some(granted) = self.claim(claim).await? else { return Ok(None) };
        let id = EntryId::new(granted.entry.zone.clone(), granted.entry.key.clone());
        let guard = LeaseGuard::keep(self.clone(), id, &granted.lease)?;
        Ok(Some((granted.entry, guard)))
    }
}

impl LeaseGuard {
    fn keep(board: Board, id: EntryId, grant: &Lease) -> Result<Self, Error> {
        let token = grant.lease_token.ok_or_else(|| Error::Protocol("a granted lease without its token".into()))?;
        let (lost, _) = watch::channel(None);
        let lost = Arc::new(lost);
        let keeper = Keeper {
            board: impatient(&board, Duration::from_millis(grant.ttl_ms)),
            id: id.clone(),
            renewal: LeaseRenewal { lease_token: token, ttl_ms: grant.ttl_ms },
            deadline: Instant::now() + Duration::from_millis(grant.remaining_ms),
            lost: Arc::clone(&lost),
        };
        let renewal = tokio::spawn(keeper.run());
        Ok(Self { board, id, token, lost, renewal, released: false })
    }

    #[must_use]
    pub fn id(&self) -> &EntryId {
        &self.id
    }

    /// The fence that the guard's writes carry.
    #[must_use]
    pub fn token(&self) -> LeaseToken {
        self.token
    }

    /// Why the lease is lost, if it is.
    #[must_use]
    pub fn is_lost(&self) -> Option<Lost> {
        self.lost.borrow().clone()
    }

    /// Waits until the lease is lost.
    pub async fn lost(&self) -> Lost {
        let mut changes = self.lost.subscribe();
        let lost = changes.wait_for(Option::is_some).await.ok().and_then(|lost| lost.clone());
        lost.unwrap_or_else(|| Lost { reason: "released".into() })
    }

    /// Does `work`, and cancels it when the lease is lost.
    ///
    /// # Errors
    /// Why the lease was lost before the work was done.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Lost> {
        tokio::select! {
            biased;
            lost = self.lost() => Err(lost),
            done = work => Ok(done),
        }
    }

    /// # Errors
    /// As [`Board::put`]; 409 `lease_lost` also ends the guard.
    pub async fn put(&self, put: &Put) -> Result<Receipt, Error> {
        let mut put = put.clone();
        put.terms.lease_token = Some(self.token);
        self.noted(self.board.put(&self.id, &put).await)
    }

    /// # Errors
    /// As [`Board::patch`]; 409 `lease_lost` also ends the guard.
    pub async fn patch(&self, patch: &Patch) -> Result<Receipt, Error> {
        let mut patch = patch.clone();
        patch.terms.lease_token = Some(self.token);
        self.noted(self.board.patch(&self.id, &patch).await)
    }

    /// Deletes the entry, which ends the lease.
    ///
    /// # Errors
    /// As [`Board::delete`]; 409 `lease_lost` also ends the guard.
    pub async fn delete(&self, delete: &DeleteItem) -> Result<Receipt, Error> {
        let delete = DeleteItem { lease_token: Some(self.token), ..delete.clone() };
        self.noted(self.board.delete(&self.id, &delete).await)
    }

    /// As [`Board::update`]. An arbiter may write in spite of a lease, so also its holder can meet a conflict.
    ///
    /// # Errors
    /// As [`Board::update`]; 409 `lease_lost` also ends the guard.
    pub async fn update<F>(&self, attempts_max: u32, change: F) -> Result<Option<Receipt>, Error>
    where
        F: FnMut(Option<&Entry>) -> Change,
    {
        self.noted(self.board.update_with(&self.id, attempts_max, Some(self.token), change).await)
    }

    /// Gives the lease back.
    ///
    /// # Errors
    /// As [`Board::release`]; 409 `lease_lost` if there was nothing left to give back.
    pub async fn release(mut self) -> Result<(), Error> {
        self.released = true;
        self.renewal.abort();
        self.board.release(&self.id, self.token).await
    }

    fn noted<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &outcome
            && error.is_lease_lost()
        {
            self.renewal.abort();
            announce(&self.lost, lost_reason(error));
        }
        outcome
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        self.renewal.abort();
        if self.released || self.lost.borrow().is_some() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (board, id, token) = (impatient(&self.board, FAREWELL), self.id.clone(), self.token);
            runtime.spawn(async move { timeout(FAREWELL, board.release(&id, token)).await });
        }
    }
}

/// The background of a guard.
struct Keeper {
    board: Board,
    id: EntryId,
    renewal: LeaseRenewal,
    /// Until when the last answered call promised the lease.
    deadline: Instant,
    lost: LostSender,
}

impl Keeper {
    async fn run(mut self) {
        let ttl = Duration::from_millis(self.renewal.ttl_ms);
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let next = (left / 3).min(ttl / 3).max(RENEWAL_GAP_MIN).min(left);
            sleep_until(Instant::now() + next).await;
            let asked = Instant::now();
            match timeout_at(self.deadline, self.renew()).await {
                Ok(Ok(grant)) => self.deadline = asked + Duration::from_millis(grant.remaining_ms),
                Ok(Err(error)) => return announce(&self.lost, lost_reason(&error)),
                Err(_) => return announce(&self.lost, "unreachable".into()),
            }
        }
    }

    /// Asks until there is an answer that no repetition changes; the caller bounds it.
    async fn renew(&self) -> Result<Lease, Error> {
        loop {
            match self.board.renew(&self.id, &self.renewal).await {
                Err(error) if error.is_transient() => {
                    tracing::debug!("renewing again: {}", error.kind());
                    sleep(error.retry_after().unwrap_or(RENEWAL_GAP_MIN)).await;
                }
                outcome => return outcome,
            }
        }
    }
}

/// The same board with single attempts that take at most a third of `ttl`.
fn impatient(board: &Board, ttl: Duration) -> Board {
    let mut transport = board.transport().clone();
    transport.retry = RetryPolicy::never();
    transport.attempt_timeout = (ttl / 3).max(Duration::from_millis(100));
    board.with_transport(transport)
}

fn announce(lost: &LostSender, reason: String) {
    lost.send_replace(Some(Lost { reason }));
}

fn lost_reason(error: &Error) -> String {
    let reason = error.problem().and_then(|problem| problem.reason.clone());
    reason.map_or_else(|| error.kind().to_owned(), std::borrow::Cow::into_owned)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fake::{Fake, Reply};

    fn granted(ttl_ms: u64) -> Reply {
        Reply::Json(201, json!({"holder": "ra", "lease_token": 7, "ttl_ms": ttl_ms, "remaining_ms": ttl_ms}))
    }

    fn written() -> Value {
        json!({"zone": "z", "key": "k", "version": 2, "position": "00000000000000ab.9", "etag": "\"x\"",
            "status": "raw", "owner": "ra", "outcome": "updated", "warnings": []})
    }

    fn lost(reason: &str) -> Reply {
        Reply::problem(409, "lease_lost", json!({"reason": reason, "retryable": false}))
    }

    async fn guard(ttl_ms: u64, script: impl IntoIterator<Item = Reply>) -> (Fake, LeaseGuard) {
        let fake = Fake::start(std::iter::once(granted(ttl_ms)).chain(script)).await;
        let board = fake.client().board("b").expect("a name");
        let guard = board.lease("z/k", Duration::from_millis(ttl_ms)).await.expect("granted");
        (fake, guard)
    }

    /// Waits until the fake has seen `n` requests.
    async fn seen(fake: &Fake, n: usize) {
        let enough = async {
            while fake.received().len() < n {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(10), enough).await.expect("in time");
    }

    #[tokio::test]
    async fn a_kept_lease_is_renewed_with_its_token_before_it_ends() {
        let (fake, guard) = guard(300, (0..3).map(|_| granted(300))).await;
        seen(&fake, 3).await;
        let renewal = &fake.received()[1];
        assert_eq!((renewal.method.as_str(), renewal.body.clone()), ("PUT", json!({"lease_token": 7, "ttl_ms": 300})));
        assert_eq!(guard.is_lost(), None);
    }

    #[tokio::test]
    async fn writes_through_the_guard_carry_its_token() {
        let (fake, guard) = guard(60_000, [Reply::Json(200, written()), Reply::Json(200, written())]).await;
        guard.put(&Put::new(json!(1))).await.expect("written");
        guard.patch(&Patch::default()).await.expect("written");
        let received = fake.received();
        assert_eq!(received[1].body, json!({"value": 1, "lease_token": 7}));
        assert_eq!(received[2].body, json!({"lease_token": 7}));
    }

    #[tokio::test]
    async fn a_lease_that_the_server_ended_is_told_and_cancels_the_work() {
        let (_fake, guard) = guard(150, [lost("superseded")]).await;
        let outcome = guard.run(std::future::pending::<()>()).await;
        assert_eq!(outcome, Err(Lost { reason: "superseded".into() }));
    }

    #[tokio::test]
    async fn without_a_network_the_lease_is_lost_at_the_deadline() {
        let (_fake, guard) = guard(150, (0..100).map(|_| Reply::Close)).await;
        let lost = timeout(Duration::from_secs(5), guard.lost()).await.expect("told in time");
        assert_eq!(lost.reason, "unreachable");
    }

    #[tokio::test]
    async fn an_interruption_shorter_than_the_lease_does_no_harm() {
        let (fake, guard) = guard(600, [Reply::Close, Reply::Close, granted(600), granted(600)]).await;
        seen(&fake, 5).await;
        assert_eq!(guard.is_lost(), None);
    }

    #[tokio::test]
    async fn a_write_that_finds_the_lease_gone_ends_the_guard() {
        let (_fake, guard) = guard(60_000, [lost("expired")]).await;
        assert!(guard.put(&Put::new(json!(1))).await.expect_err("fenced").is_lease_lost());
        assert_eq!(guard.lost().await.reason, "expired");
    }

    #[tokio::test]
    async fn released_or_dropped_the_lease_is_given_back_once() {
        let (fake, released) = guard(60_000, [Reply::Json(204, json!({}))]).await;
        released.release().await.expect("released");
        assert_eq!(fake.received().len(), 2);
        let (fake, dropped) = guard(60_000, [Reply::Json(204, json!({}))]).await;
        drop(dropped);
        seen(&fake, 2).await;
        let last = fake.received().pop().expect("a release");
        assert_eq!((last.method.as_str(), last.target.as_str()), ("DELETE", "/v1/boards/b/leases/z/k?lease_token=7"));
    }
}
