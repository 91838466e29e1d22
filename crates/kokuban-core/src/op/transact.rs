//! Several writes as one: all or nothing, one revision, one message.
//!
//! Invariant: every item is judged on the state before the transaction; a key is written at most once.
//! Not known here: staged transactions.

use std::collections::BTreeSet;

use super::size::Growth;
use super::{delete, lease, refuse, write};
use crate::caller::{Act, authorise};
use crate::command::{Acquire, Delete, Drafted, Failures, LeaseUse, Scene, Write};
use crate::event::Event;
use crate::ids::{EntryId, Sha256, Version};
use crate::rejection::{Condition, Failure, Item, Refusal, Rejection};
use crate::reply::{Outcome, Receipt, Reply};

#[derive(Debug, Clone, PartialEq)]
pub struct Transact {
    pub checks: Vec<Check>,
    pub items: Vec<TransactItem>,
}

/// The entry must be at this version; 0 means that it must not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub id: EntryId,
    pub version: Version,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TransactItem {
    Write(Box<Write>),
    Delete(Delete),
    Lease(Acquire),
}

impl TransactItem {
    #[must_use]
    pub fn id(&self) -> &EntryId {
        match self {
            Self::Write(write) => &write.id,
            Self::Delete(delete) => &delete.id,
            Self::Lease(acquire) => &acquire.id,
        }
    }
}

impl Transact {
    /// Everything that it is about, and where it stands.
    pub(crate) fn ids(&self) -> impl Iterator<Item = (Item, &EntryId)> {
        let checks = self.checks.iter().enumerate().map(|(index, check)| (Item::Check(index), &check.id));
        checks.chain(self.items.iter().enumerate().map(|(index, item)| (Item::Write(index), item.id())))
    }

    pub(crate) fn asks_for_leases(&self) -> bool {
        self.items.iter().any(|item| match item {
            TransactItem::Write(write) => write.lease != LeaseUse::default(),
            TransactItem::Delete(delete) => delete.lease != LeaseUse::default(),
            TransactItem::Lease(_) => true,
        })
    }
}

pub(crate) fn decide(scene: &Scene<'_>, transact: &Transact) -> Result<Drafted, Refusal> {
    let mut failures = Vec::new();
    bounded(scene, transact, &mut failures);
    for (index, check) in transact.checks.iter().enumerate() {
        failures.extend(judge_check(scene, check, Item::Check(index)));
    }
    let mut events = Vec::new();
    let mut receipts = Vec::new();
    let mut growth = Growth::default();
    let mut written = BTreeSet::new();
    for (index, item) in transact.items.iter().enumerate() {
        let at = Item::Write(index);
        if !written.insert(item.id()) {
            failures.push(failure(at, Rejection::DuplicateKey { id: item.id().clone() }));
            continue;
        }
        match judge_item(scene, item, at, &mut growth) {
            Ok((new, receipt)) => {
                events.extend(new);
                receipts.push(receipt);
            }
            Err(failed) => failures.extend(failed),
        }
    }
    if !failures.is_empty() {
        return Err(refuse(scene, failures, |item| about(transact, item)));
    }
    if let Some(collection) = growth.collection(scene) {
        events.insert(0, collection);
    }
    Ok((events, Reply::Transaction { receipts }))
}

fn failure(item: Item, rejection: Rejection) -> Failure {
    Failure { rejection, item, pointer: None }
}

fn bounded(scene: &Scene<'_>, transact: &Transact, failures: &mut Vec<Failure>) {
    let limits = &scene.board.blueprint().limits;
    if transact.items.len() as u64 > limits.writes_per_transaction_max {
        let max = limits.writes_per_transaction_max;
        let rejection = Rejection::LimitReached { limit: "writes_per_transaction_max", max };
        failures.push(Failure { pointer: Some("/writes".into()), ..failure(Item::Whole, rejection) });
    }
    if transact.checks.len() as u64 > limits.checks_per_transaction_max {
        let max = limits.checks_per_transaction_max;
        let rejection = Rejection::LimitReached { limit: "checks_per_transaction_max", max };
        failures.push(Failure { pointer: Some("/checks".into()), ..failure(Item::Whole, rejection) });
    }
}

fn judge_check(scene: &Scene<'_>, check: &Check, item: Item) -> Option<Failure> {
    if let Err(rejection) = authorise(scene.board, scene.actor, &check.id, Act::Read) {
        return Some(failure(item, rejection));
    }
    let actual = scene.board.entry(&check.id).map(|entry| entry.version);
    (actual.unwrap_or(Version::ZERO) != check.version).then(|| {
        let expected = Some(check.version);
        failure(item, Rejection::VersionConflict { condition: Condition::Named, expected, actual })
    })
}

fn judge_item(
    scene: &Scene<'_>,
    item: &TransactItem,
    at: Item,
    growth: &mut Growth,
) -> Result<(Vec<Event>, Receipt), Vec<Failure>> {
    match item {
        TransactItem::Write(write) => {
            write::judge(scene, write, at, growth).map(|accepted| (accepted.events, accepted.receipt))
        }
        TransactItem::Delete(delete) => delete::judge(scene, delete, at).map(|(event, receipt)| (vec![event], receipt)),
        TransactItem::Lease(acquire) => {
            let mut failures = Failures::of(at);
            match lease::judge_acquire(scene, acquire, &mut failures) {
                Some(event) if failures.is_empty() => {
                    let receipt = leased(scene, acquire, &event);
                    Ok((vec![event], receipt))
                }
                _ => Err(failures.into_list()),
            }
        }
    }
}

/// The receipt of an item that only takes a lease: the entry stays as it is.
fn leased(scene: &Scene<'_>, acquire: &Acquire, event: &Event) -> Receipt {
    let entry = scene.board.entry(&acquire.id).expect("a lease is granted only on what exists");
    Receipt {
        id: acquire.id.clone(),
        version: entry.version,
        status: entry.status(),
        owner: Some(scene.actor.agent.clone()),
        sha256: Some(entry.sha256),
        outcome: Outcome::Unchanged,
        operations: Vec::new(),
        warnings: Vec::new(),
        lease: Some(lease::told(scene, event, None)),
        value: None,
    }
}

fn about(transact: &Transact, item: Item) -> Option<(EntryId, Option<Sha256>)> {
    match item {
        Item::Whole => None,
        Item::Check(index) => transact.checks.get(index).map(|check| (check.id.clone(), None)),
        Item::Write(index) => transact.items.get(index).map(|item| match item {
            TransactItem::Write(write) => (write.id.clone(), write.wanted()),
            _ => (item.id().clone(), None),
        }),
    }
}

#[cfg(test)]
mod tests;
