//! Claims and leases that wait for their turn.

use kokuban_journal::Refusal;
use kokuban_journal::faults::Fault;
use tokio::time::Instant;

use super::*;

const LONG: Duration = Duration::from_secs(30);

fn waiting_claim(bench: &Bench, agent: &str) -> JoinHandle<Result<Answer, Error>> {
    bench.asking(waiting(LONG, ask(agent, claim(60_000))))
}

async fn found(claim: JoinHandle<Result<Answer, Error>>) -> Option<String> {
    claimed(&soon(claim).await.unwrap().expect("a claim that was not refused"))
}

#[tokio::test]
async fn a_claim_that_waits_gets_the_entry_that_appears() {
    let bench = Bench::new().await;
    let claim = waiting_claim(&bench, "ra");
    settle().await;
    assert!(!claim.is_finished());
    bench.put("a", json!(1), 0).await;
    assert_eq!(found(claim).await.as_deref(), Some("a"));
    let lease = bench.board().await.published().board.lease(&id("a")).cloned();
    assert_eq!(lease.expect("a lease").holder.as_str(), "ra");
}

#[tokio::test]
async fn those_who_wait_are_served_in_their_order_and_before_whoever_comes_next() {
    let bench = Bench::new().await;
    let mut claims = Vec::new();
    for agent in ["one", "two", "three"] {
        claims.push(waiting_claim(&bench, agent));
        settle().await;
    }
    // In one batch: an entry, and a fourth claim behind it.
    let (put, late) =
        futures::join!(bench.ask(ask("lin", put("a", json!(1), 0))), bench.ask(ask("late", claim(60_000))),);
    put.expect("accepted");
    assert_eq!(claimed(&late.expect("nothing to claim")), None);
    bench.put("b", json!(1), 0).await;
    bench.put("c", json!(1), 0).await;
    let mut keys = Vec::new();
    for claim in claims {
        keys.push(found(claim).await.expect("an entry"));
    }
    assert_eq!(keys, ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn patience_ends_when_it_was_said_to_with_nothing() {
    let bench = Bench::new().await;
    let start = Instant::now();
    let answer = bench.ask(waiting(Duration::from_secs(2), ask("ra", claim(60_000)))).await.expect("no refusal");
    assert_eq!(claimed(&answer), None);
    assert_eq!(start.elapsed().as_millis() / 10, 200);
    assert!(!bench.board().await.inbox().running);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_lease_in_vain_is_told_who_holds_it() {
    let bench = Bench::new().await;
    bench.put("a", json!(1), 0).await;
    bench.ask(ask("ra", acquire("a", 60_000))).await.expect("a lease");
    let refused = rejection(bench.ask(waiting(Duration::from_secs(2), ask("ta", acquire("a", 60_000)))).await);
    let Rejection::LeaseHeld { held_by, remaining_ms, by_you } = refused else { panic!("{refused:?}") };
    assert_eq!((held_by.as_str(), by_you), ("ra", false));
    assert!((57_000..=58_000).contains(&remaining_ms), "{remaining_ms}");
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_lease_gets_it_at_its_release_or_expiry() {
    let bench = Bench::new().await;
    bench.put("a", json!(1), 0).await;
    let first = token(&bench.ask(ask("ra", acquire("a", 60_000))).await.expect("a lease"));
    let second = bench.asking(waiting(LONG, ask("ta", acquire("a", 1_000))));
    settle().await;
    let third = bench.asking(waiting(LONG, ask("rv", acquire("a", 60_000))));
    settle().await;
    bench.ask(ask("ra", release("a", first))).await.expect("released");
    let second = soon(second).await.unwrap().expect("a lease");
    let granted = Instant::now();
    assert!(token(&second) > first);
    soon(third).await.unwrap().expect("a lease after the expiry");
    assert!((1_000..=1_100).contains(&granted.elapsed().as_millis()), "{:?}", granted.elapsed());
}

#[tokio::test]
async fn a_caller_that_went_away_gets_no_lease() {
    let bench = Bench::new().await;
    let gone = waiting_claim(&bench, "gone");
    settle().await;
    let stays = waiting_claim(&bench, "stays");
    settle().await;
    gone.abort();
    assert!(gone.await.expect_err("aborted").is_cancelled());
    bench.put("a", json!(1), 0).await;
    assert_eq!(found(stays).await.as_deref(), Some("a"));
    let board = bench.board().await.published().board.clone();
    assert_eq!((board.n_leases(), board.revision().0), (1, 3));
}

#[tokio::test]
async fn closing_answers_those_who_wait() {
    let bench = Bench::new().await;
    let claim = waiting_claim(&bench, "ra");
    settle().await;
    soon(bench.engine.close(Duration::from_secs(1))).await;
    let answer = soon(claim).await.unwrap();
    assert!(matches!(answer, Err(Error::Closing)), "{answer:?}");
    let later = bench.ask(ask("ra", claim_now())).await;
    assert!(matches!(later, Err(Error::Closing | Error::Unavailable)), "{later:?}");
}

fn claim_now() -> Command {
    claim(60_000)
}

#[tokio::test(start_paused = true)]
async fn an_entry_whose_claim_could_not_be_recorded_goes_to_whoever_waits() {
    let bench = Bench::new().await;
    bench.put("a", json!(1), 0).await;
    bench.journal.hold();
    bench.journal.next_append(Fault::Refused(Refusal::StorageFull));
    let first = bench.asking(ask("ra", claim(60_000)));
    soon(bench.journal.n_appends(3)).await;
    let second = waiting_claim(&bench, "ta");
    settle().await;
    bench.journal.release();
    let first = soon(first).await.unwrap();
    assert!(matches!(first, Err(Error::StorageFull)), "{first:?}");
    let start = Instant::now();
    assert_eq!(found(second).await.as_deref(), Some("a"));
    assert!(start.elapsed() < Duration::from_secs(1), "at once, not when patience ends");
}

#[tokio::test]
async fn a_turn_survives_a_conflict() {
    let bench = Bench::new().await;
    let one = waiting_claim(&bench, "one");
    settle().await;
    let two = waiting_claim(&bench, "two");
    settle().await;
    bench.journal.next_append(Fault::Conflict);
    bench.put("a", json!(1), 0).await;
    assert_eq!(found(one).await.as_deref(), Some("a"));
    bench.put("b", json!(1), 0).await;
    assert_eq!(found(two).await.as_deref(), Some("b"));
}

#[tokio::test]
async fn at_most_a_thousand_wait_on_a_board() {
    let bench = Bench::with(Options { mailbox_requests_max: 5_000, ..Options::default() }).await;
    let claims: Vec<_> = (0..1_010).map(|n| waiting_claim(&bench, &format!("w{n}"))).collect();
    until(|| claims.iter().filter(|claim| claim.is_finished()).count() == 10).await;
    let start = std::time::Instant::now();
    for n in 0..100 {
        bench.put(&format!("k{n}"), json!(n), 0).await;
    }
    until(|| claims.iter().filter(|claim| claim.is_finished()).count() == 110).await;
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
