//! What becomes of the value: the whole new one, the old one patched, or the old one as it is.
//!
//! Invariant: whichever way a value comes, guard, confidence, kind and schema are asked about the same leaves.
//! Not known here: status, lease, size of the board.

use smol_str::SmolStr;

use super::{Change, Write};
use crate::blueprint::Slot;
use crate::command::{Failures, Scene};
use crate::entry::{Entry, HeldBack, HeldWhy, Marks, Payload};
use crate::event::Assignment;
use crate::json::{Bounds, Json, check};
use crate::reduce::{self, Claim, Held, Intent, Operation, RfcPatch, Rules, Why};
use crate::rejection::Rejection;
use crate::reply::{OperationReceipt, Warning};

/// The value after a write, and how it came to be.
#[derive(Debug)]
pub(super) struct NewValue {
    pub(super) payload: Payload,
    pub(super) assignments: Vec<Assignment>,
    pub(super) operations: Vec<OperationReceipt>,
    /// With the index of the operation that each was.
    pub(super) held: Vec<(usize, HeldBack)>,
    /// Each leaf has marks of its own.
    pub(super) per_leaf: bool,
    /// What the write as a whole claims.
    pub(super) claim: Claim,
    /// It brings something from outside.
    pub(super) untrusted: bool,
    pub(super) warnings: Vec<Warning>,
    /// A patch, which leaves what it does not name.
    patches: bool,
}

impl NewValue {
    /// A patch of which nothing was applied makes no entry.
    pub(super) fn is_of_nothing(&self) -> bool {
        self.patches && self.assignments.is_empty()
    }

    /// Equal values have equal hashes, whatever the order of members or the spelling of numbers.
    pub(super) fn differs_from(&self, entry: Option<&Entry>) -> bool {
        entry.is_none_or(|entry| entry.sha256 != self.payload.sha256)
    }

    /// The marks of the entry after the write, but for those of its leaves.
    pub(super) fn marks(&self, scene: &Scene<'_>, write: &Write, entry: Option<&Entry>) -> Marks {
        let changed = self.differs_from(entry);
        let old = entry.map(|entry| Marks { leaves: crate::entry::Leaves::default(), ..entry.marks().clone() });
        let mut marks = match old.clone() {
            Some(old) if !changed => old,
            // What is left of an untrusted value is no more to be trusted for a leaf that changed beside it.
            Some(old) if self.patches => {
                Marks { untrusted: old.untrusted, confidence: old.confidence, ..Marks::default() }
            }
            _ => Marks::default(),
        };
        let named = &write.marks;
        if named.source.is_some() {
            marks.source.clone_from(&named.source);
        }
        if let Some(derived_from) = &named.derived_from {
            marks.derived_from.clone_from(derived_from);
        }
        if named.summary.is_some() {
            marks.summary.clone_from(&named.summary);
        }
        marks.untrusted |= self.untrusted || self.assignments.iter().any(|assignment| assignment.untrusted);
        marks.confidence = self.confidence(scene, entry, changed, marks.confidence);
        marks
    }

    /// The level of the entry: that of its lowest leaf.
    fn confidence(
        &self,
        scene: &Scene<'_>,
        entry: Option<&Entry>,
        changed: bool,
        standing: Option<SmolStr>,
    ) -> Option<SmolStr> {
        let levels = &scene.board.blueprint().confidence;
        let rank = |level: &Option<SmolStr>| level.as_ref().and_then(|level| levels.rank(level)).unwrap_or(0);
        if self.per_leaf {
            return leaves_after(scene, entry, self).lowest(rank);
        }
        if self.patches {
            return self.assignments.iter().map(|a| a.confidence.clone()).min_by_key(rank).unwrap_or(standing);
        }
        if changed || self.claim.rank > rank(&standing) {
            return self.claim.level.clone();
        }
        standing
    }
}

pub(super) fn new_value(
    scene: &Scene<'_>,
    write: &Write,
    entry: Option<&Entry>,
    failures: &mut Failures,
) -> Option<NewValue> {
    let blueprint = scene.board.blueprint();
    let cap = blueprint.confidence.cap_of(scene.actor, &blueprint.roles);
    let claim = match reduce::claim(&blueprint.confidence, cap, write.marks.confidence.as_ref()) {
        Ok(claim) => claim,
        Err(rejection) => {
            failures.add_at("/confidence", rejection);
            return None;
        }
    };
    let source = write.marks.source.as_ref();
    let untrusted = write.marks.untrusted || source.is_some_and(|source| source.kind.is_outside());
    let rules = Rules {
        slot: blueprint.slot_of(&write.id).map(|(_, slot)| slot),
        levels: &blueprint.confidence,
        cap,
        entry,
        caller: &scene.actor.agent,
        arbiter: scene.is_arbiter(),
        versioned: write.conditions.is_about_what_stands(),
        free: scene.board.is_scratch(&write.id.zone),
        claim: &claim,
        source,
        untrusted,
    };
    let mut value = match &write.change {
        Change::Replace { value, wipes } => whole(&rules, value, *wipes, "put", "/value", failures),
        Change::Rfc(patch) => rfc(&rules, patch, failures),
        Change::Patch(operations) => patched(&rules, operations, write.atomic, failures),
        Change::Keep => kept(&rules, failures),
    }?;
    if let (Some(asked), Some(given)) = (&claim.capped, &claim.level) {
        value.warnings.push(Warning::ConfidenceCapped { asked: asked.clone(), given: given.clone() });
    }
    Some(value)
}

impl NewValue {
    fn of(payload: Payload, rules: &Rules<'_>) -> Self {
        Self {
            payload,
            assignments: Vec::new(),
            operations: Vec::new(),
            held: Vec::new(),
            per_leaf: rules.per_leaf(),
            claim: rules.claim.clone(),
            untrusted: rules.untrusted,
            warnings: Vec::new(),
            patches: false,
        }
    }
}

/// A value that comes as a whole; `below` is where it stands in the body, if it does.
fn whole(
    rules: &Rules<'_>,
    payload: &Payload,
    wipes: bool,
    op: &'static str,
    below: &str,
    failures: &mut Failures,
) -> Option<NewValue> {
    let unchanged = rules.entry.is_some_and(|entry| entry.sha256 == payload.sha256);
    let Some(slot) = rules.slot.filter(|_| !unchanged) else {
        if !unchanged
            && let Some(leaf) = rules.leaf(&crate::path::Path::ROOT).filter(|leaf| leaf.rank > rules.claim.rank)
        {
            let stands = leaf.level.unwrap_or_default();
            let lower = Rejection::LowerConfidence { path: String::new(), stands, given: rules.claim.level.clone() };
            if !rules.free {
                failures.add_at(below.to_owned(), lower);
                return None;
            }
        }
        return Some(NewValue::of(payload.clone(), rules));
    };
    let given = payload.json.as_ref().map(Json::to_value)?;
    let old = rules.entry.and_then(Entry::value).map(|value| value.to_value());
    let conformed = reduce::conform(given.clone(), slot);
    let value = conformed.as_ref().unwrap_or(&given);
    let replaced = reduce::replace(old.as_ref(), value, wipes, op, rules);
    let misfits = conformed.as_ref().err().cloned().unwrap_or_default();
    let refused = replaced.as_ref().err().cloned().unwrap_or_default();
    for (path, rejection) in refused.into_iter().chain(misfits) {
        failures.add_at(format!("{below}{path}"), rejection);
    }
    let (Ok(value), Ok(replaced)) = (conformed, replaced) else { return None };
    let stored = if value == given { payload.clone() } else { Payload::new(Json::from_value(&value)) };
    let warnings = reduce::depth_warning(&value, slot).map(|depth| Warning::Nested { depth, max: slot.max_depth });
    Some(NewValue {
        assignments: replaced.assignments,
        warnings: warnings.into_iter().collect(),
        ..NewValue::of(stored, rules)
    })
}

fn rfc(rules: &Rules<'_>, patch: &RfcPatch, failures: &mut Failures) -> Option<NewValue> {
    let old = rules.entry.and_then(Entry::value).map(|value| value.to_value());
    match patch.apply(old) {
        Ok(value) if bounded(&value, failures) => {
            let payload = Payload::new(Json::from_value(&value));
            whole(rules, &payload, false, patch.name(), "", failures)
        }
        Ok(_) => None,
        Err((index, rejection)) => {
            failures.add_at(format!("/{index}"), rejection);
            None
        }
    }
}

fn patched(rules: &Rules<'_>, operations: &[Operation], atomic: bool, failures: &mut Failures) -> Option<NewValue> {
    let old = rules.entry.and_then(Entry::value).map(|value| value.to_value());
    let reduced = match reduce::reduce(old, operations, rules) {
        Ok(reduced) => reduced,
        Err(refused) => {
            for (index, rejection) in refused {
                failures.add_at(format!("/operations/{index}"), rejection);
            }
            return None;
        }
    };
    if atomic && !whole_or_nothing(rules, &reduced, operations, failures) {
        return None;
    }
    let held = reduced.held.iter().map(|held| (held.index, held_back(rules, held, &operations[held.index]))).collect();
    let capped = reduced.capped.into_iter().map(|(asked, given)| Warning::ConfidenceCapped { asked, given }).collect();
    let base = NewValue {
        operations: reduced.receipts,
        held,
        patches: true,
        warnings: capped,
        ..NewValue::of(nothing(rules), rules)
    };
    let (Some(value), false) = (reduced.value, reduced.assignments.is_empty()) else { return Some(base) };
    if !bounded(&value, failures) {
        return None;
    }
    let value = match rules.slot.map(|slot| (slot, reduce::conform(value.clone(), slot))) {
        None => value,
        Some((_, Ok(value))) => value,
        Some((_, Err(misfits))) => {
            for (path, rejection) in misfits {
                let index = operations.iter().rposition(|operation| touches(operation, &path));
                failures.add_at(index.map_or_else(String::new, |index| format!("/operations/{index}")), rejection);
            }
            return None;
        }
    };
    let depth = rules.slot.and_then(|slot: &Slot| Some((reduce::depth_warning(&value, slot)?, slot.max_depth)));
    let mut warnings = base.warnings.clone();
    warnings.extend(depth.map(|(depth, max)| Warning::Nested { depth, max }));
    let payload = Payload::new(Json::from_value(&value));
    Some(NewValue { payload, assignments: reduced.assignments, warnings, ..base })
}

/// What stands, or what a patch of nothing would make of nothing.
fn nothing(rules: &Rules<'_>) -> Payload {
    let empty = || Payload::new(Json::from_value(&serde_json::Value::Object(serde_json::Map::new())));
    rules.entry.map_or_else(empty, Entry::payload)
}

fn touches(operation: &Operation, path: &crate::path::Path) -> bool {
    path.starts_with(&operation.path) || operation.path.starts_with(path)
}

/// With `atomic`, what would be left out refuses the whole patch, with the code that a PUT would get.
fn whole_or_nothing(
    rules: &Rules<'_>,
    reduced: &reduce::Reduced,
    operations: &[Operation],
    failures: &mut Failures,
) -> bool {
    for index in &reduced.guarded {
        let path = operations[*index].path.to_string();
        failures.add_at(format!("/operations/{index}"), Rejection::NullGuarded { path });
    }
    let mut whole = reduced.guarded.is_empty();
    for held in &reduced.held {
        let Why::Confidence { path, stands } = &held.why else { continue };
        let given = held.claim.level.clone().or_else(|| rules.claim.level.clone());
        let lower = Rejection::LowerConfidence { path: path.to_string(), stands: stands.clone(), given };
        failures.add_at(format!("/operations/{}", held.index), lower);
        whole = false;
    }
    whole
}

fn held_back(rules: &Rules<'_>, held: &Held, operation: &Operation) -> HeldBack {
    HeldBack {
        op: SmolStr::new_static(operation.op.name()),
        path: operation.path.clone(),
        value: operation.op.operand().map(|value| Payload::new(Json::from_value(&value))),
        confidence: held.claim.level.clone(),
        source: operation.source.clone().or_else(|| rules.source.cloned()),
        reason: operation.reason.clone(),
        why: match &held.why {
            Why::Confidence { stands, .. } => HeldWhy::LowerConfidence { stands: stands.clone() },
            Why::Intent(Intent::Ignore) => HeldWhy::Ignore,
            Why::Intent(_) => HeldWhy::Append,
        },
    }
}

/// Status or marks alone. A level that is named rises or is refused.
fn kept(rules: &Rules<'_>, failures: &mut Failures) -> Option<NewValue> {
    let entry = rules.entry?;
    let mut value = NewValue::of(entry.payload(), rules);
    if rules.claim.level.is_none() || rules.free {
        return Some(value);
    }
    let old = entry.value()?.to_value();
    match reduce::vouch(&old, rules) {
        Ok(assignments) => {
            value.assignments = assignments;
            Some(value)
        }
        Err(rejection) => {
            failures.add_at("/confidence", rejection);
            None
        }
    }
}

fn bounded(value: &serde_json::Value, failures: &mut Failures) -> bool {
    let bounds = Bounds::default();
    let fits = check(value, &bounds, "").is_ok();
    if !fits {
        failures.add(Rejection::TooComplex { what: "the value after the patch", max: bounds.depth_max as u64 });
    }
    fits
}

/// The marks of the leaves as the write leaves them; who wrote when does not matter here.
fn leaves_after(scene: &Scene<'_>, entry: Option<&Entry>, value: &NewValue) -> crate::entry::Leaves {
    let author = crate::entry::LeafAuthor {
        version: crate::ids::Version(scene.revision.0),
        revision: scene.revision,
        by: scene.actor.agent.clone(),
        at: scene.ctx.at,
    };
    crate::entry::Leaves::after(entry, &value.assignments, &[], &author)
}
