//! Scenarios of transactions: all or nothing, judged on the state before.

use serde_json::json;

use crate::ids::Version;
use crate::rejection::{Condition, Item, Rejection};
use crate::reply::{Outcome, Warning};
use crate::scenario::{Stage, acquire, agent, delete, id, mv, patch, put, transact};

const RULES: &str = r#"
[lifecycles.l]
initial = ["raw"]
transitions = [{ from = "raw", to = "done" }]
[zones.work]
lifecycle = "l"
[zones.own]
access = "restricted"
owners = ["ra"]
[limits]
writes_per_transaction_max = 4
checks_per_transaction_max = 2
"#;

/// `work/a` and `work/b` of ra at version 1.
fn stage() -> Stage {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("work/a", json!(1)));
    stage.ok("ra", put("work/b", json!(1)));
    stage
}

fn conflict(expected: u64, actual: Option<u64>) -> Rejection {
    let (expected, actual) = (Some(Version(expected)), actual.map(Version));
    Rejection::VersionConflict { condition: Condition::Named, expected, actual }
}

#[test]
fn everything_lands_in_one_revision() {
    let mut stage = stage();
    let before = stage.board.revision();
    let all = transact()
        .check("own/x", 0)
        .check("work/a", 1)
        .and(put("work/a", json!(2)).version(1))
        .and(put("work/c", json!(3)).ttl(1_000))
        .and(delete("work/b").version(1))
        .and(acquire("work/a", 1_000));
    // A key is written or leased once.
    assert_eq!(stage.refused("ra", all), Rejection::DuplicateKey { id: id("work/a") });
    let all = transact()
        .check("own/x", 0)
        .check("work/a", 1)
        .and(put("work/c", json!(3)).ttl(1_000))
        .and(delete("work/b").version(1))
        .and(acquire("work/a", 1_000));
    let done = stage.ok("ra", all);
    assert_eq!(done.revision, Some(before.next()));
    assert_eq!(done.tags(), ["entry_written", "lease_granted", "entry_deleted", "lease_granted"]);
    let outcomes: Vec<_> = done.receipts().iter().map(|receipt| (receipt.id.to_string(), receipt.outcome)).collect();
    assert_eq!(
        outcomes,
        [
            ("work/c".into(), Outcome::Created),
            ("work/b".into(), Outcome::Deleted),
            ("work/a".into(), Outcome::Unchanged),
        ]
    );
    let tokens: Vec<_> = done.reply.grants().map(|(_, grant)| grant.token.0).collect();
    assert_eq!(tokens, [before.0 + 1; 2], "the token is the revision, also of several grants");
    assert_eq!((stage.holder("work/a"), stage.holder("work/c")), (Some("ra"), Some("ra")));
}

#[test]
fn one_failure_refuses_all_and_each_is_told_with_its_place() {
    let mut stage = stage();
    let refusal = stage.refusal(
        "rb",
        transact()
            .check("work/a", 9)
            .and(put("work/c", json!(1)))
            .and(put("own/x", json!(1)))
            .and(mv("work/b", 7, "gone")),
    );
    let told: Vec<_> =
        refusal.failures.iter().map(|failure| (failure.item, format!("{:?}", failure.rejection))).collect();
    assert_eq!(
        told.iter().map(|(item, _)| *item).collect::<Vec<_>>(),
        [Item::Write(1), Item::Check(0), Item::Write(2), Item::Write(2),]
    );
    assert!(told[0].1.starts_with("ZoneRestricted"), "{told:?}");
    assert_eq!(refusal.failures[1].rejection, conflict(9, Some(1)));
    assert_eq!(refusal.failures[2].rejection, conflict(7, Some(1)));
    assert!(told[3].1.starts_with("UnknownStatus"), "{told:?}");
    assert!(stage.board.entry(&id("work/c")).is_none());
}

#[test]
fn items_see_the_state_before() {
    let mut stage = stage();
    stage.ok("ra", transact().check("work/c", 0).and(put("work/c", json!(1)).version(0)));
    let swap = transact().and(put("work/a", json!("b")).version(1)).and(put("work/b", json!("a")).version(1));
    stage.ok("rb", swap);
    assert_eq!((stage.value("work/a"), stage.value("work/b")), (json!("b"), json!("a")));
}

#[test]
fn a_key_may_be_checked_and_written_but_not_written_twice() {
    let mut stage = stage();
    stage.ok("ra", transact().check("work/a", 1).and(put("work/a", json!(2)).version(1)));
    let twice = transact().and(put("work/a", json!(3)).version(2)).and(delete("work/a").version(2));
    let refusal = stage.refusal("ra", twice);
    assert_eq!(refusal.failures[0].item, Item::Write(1));
    assert_eq!(refusal.first(), &Rejection::DuplicateKey { id: id("work/a") });
    let twice = transact().and(acquire("work/a", 1_000)).and(put("work/a", json!(3)).version(2));
    assert_eq!(stage.refused("ra", twice), Rejection::DuplicateKey { id: id("work/a") });
}

#[test]
fn checks_alone_are_a_read_of_several_versions() {
    let mut stage = stage();
    let done = stage.ok("rb", transact().check("work/a", 1).check("work/z", 0));
    assert_eq!((done.receipts().len(), done.revision), (0, None));
    assert_eq!(stage.refused("rb", transact().check("work/a", 0)), conflict(0, Some(1)));
    assert_eq!(stage.refused("rb", transact().check("work/z", 1)), conflict(1, None));
}

#[test]
fn a_transaction_that_changes_nothing_makes_no_revision() {
    let mut stage = stage();
    let same = transact().and(put("work/a", json!(1)).version(1)).and(patch("work/b").set("", json!(1)));
    let done = stage.ok("rb", same);
    assert_eq!(done.revision, None);
    assert!(done.receipts().iter().all(|receipt| receipt.outcome == Outcome::Unchanged));
}

#[test]
fn a_transaction_is_bounded() {
    let mut stage = stage();
    let five = (0..5).fold(transact(), |all, n| all.and(put(&format!("work/n{n}"), json!(n))));
    let limit = |limit, max| Rejection::LimitReached { limit, max };
    assert_eq!(stage.refused("ra", five), limit("writes_per_transaction_max", 4));
    let three = (0..3).fold(transact(), |all, n| all.check(&format!("work/n{n}"), 0));
    assert_eq!(stage.refused("ra", three), limit("checks_per_transaction_max", 2));
}

#[test]
fn a_lease_item_meets_what_a_lease_meets() {
    let mut stage = stage();
    assert_eq!(stage.refused("ra", transact().and(acquire("work/z", 1_000))), Rejection::NotFound { id: id("work/z") });
    stage.ok("rb", acquire("work/a", 1_000));
    let held = Rejection::LeaseHeld { held_by: agent("rb"), remaining_ms: 1_000, by_you: false };
    let both = transact().and(put("work/b", json!(2)).version(1)).and(acquire("work/a", 1_000));
    assert_eq!(stage.refused("ra", both), held);
    assert_eq!(stage.value("work/b"), json!(1));
}

#[test]
fn opposite_orders_have_one_winner() {
    let mut stage = stage();
    let one = || transact().and(put("work/a", json!("x")).version(1)).and(put("work/b", json!("x")).version(1));
    let other = || transact().and(put("work/b", json!("y")).version(1)).and(put("work/a", json!("y")).version(1));
    stage.ok("ra", one());
    assert_eq!(stage.refused("rb", other()), conflict(1, Some(2)));
    assert_eq!((stage.value("work/a"), stage.value("work/b")), (json!("x"), json!("x")));
}

#[test]
fn a_second_producer_is_warned_in_its_own_receipt() {
    let mut stage = stage();
    let done = stage.ok("rb", transact().and(put("work/c", json!(1))).and(put("work/a", json!(2)).version(1)));
    assert_eq!(done.receipts()[0].warnings, []);
    assert_eq!(done.receipts()[1].warnings, [Warning::SecondProducer { first: agent("ra") }]);
}

#[test]
fn every_item_about_a_zone_that_is_not_there_is_pointed_at() {
    let mut stage = stage();
    let all = transact().check("work/a", 1).check("none/x", 0).and(put("work/c", json!(1))).and(put("no/y", json!(1)));
    let refusal = stage.refusal("ra", all);
    let items: Vec<_> = refusal.failures.iter().map(|failure| failure.item).collect();
    assert_eq!(items, [Item::Check(1), Item::Write(1)]);
}
