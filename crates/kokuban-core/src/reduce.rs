//! Operation patches: what a list of operations makes of a value.
//!
//! Invariant: reducing is a function of the value, the operations and the rules of the slot. Every operation comes down
//! to assignments of leaves, and each is judged alone: it is applied, ignored, or held back with a note. Operations
//! touch the leaves they name and never their siblings; what is refused leaves everything as it was.
//! Not known here: who may write, statuses, the version of the entry. Start at `reduce`; `effect` says what one
//! operation does, `gate` what may replace what, `whole` judges a value that comes as a whole by the same rules.

mod conform;
mod effect;
mod gate;
mod items;
mod leaves;
mod rfc;
mod whole;

use serde_json::{Map, Number, Value};
use smol_str::SmolStr;

use crate::entry::Source;
use crate::event::Assignment;
use crate::ids::Version;
use crate::path::{Path, assign};
use crate::rejection::Rejection;
use crate::reply::{OperationOutcome, OperationReceipt};

pub(crate) use conform::{conform, depth_warning};
pub(crate) use effect::is_blank;
pub(crate) use gate::{Claim, Rules, claim};
pub(crate) use leaves::of as leaves_of;
pub use rfc::{RfcOp, RfcPatch};
pub(crate) use whole::{replace, vouch};

use effect::{Effect, Kept, Step, effect};
use gate::Verdict;

/// One operation of a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub op: Op,
    pub path: Path,
    /// The leaf must not have changed after this version.
    pub unchanged_since: Option<Version>,
    pub intent: Intent,
    /// As for the whole write where not given.
    pub confidence: Option<SmolStr>,
    pub source: Option<Source>,
    pub reason: Option<SmolStr>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    Set(Value),
    Unset,
    Add(Vec<Value>),
    Remove(Vec<Value>),
    Reset(Vec<Value>),
    Append(Vec<Value>),
    Increment(Number),
    Merge(Map<String, Value>),
}

/// What its author wants to happen to what stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intent {
    #[default]
    Overwrite,
    /// What stands stays; the new value becomes a note beside it.
    Append,
    /// Nothing but a record.
    Ignore,
}

impl Op {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Set(_) => "set",
            Self::Unset => "unset",
            Self::Add(_) => "add",
            Self::Remove(_) => "remove",
            Self::Reset(_) => "reset",
            Self::Append(_) => "append",
            Self::Increment(_) => "increment",
            Self::Merge(_) => "merge",
        }
    }

    /// What it works with, as one value.
    pub(crate) fn operand(&self) -> Option<Value> {
        match self {
            Self::Set(value) => Some(value.clone()),
            Self::Unset => None,
            Self::Add(items) | Self::Remove(items) | Self::Reset(items) | Self::Append(items) => {
                Some(Value::Array(items.clone()))
            }
            Self::Increment(number) => Some(Value::Number(number.clone())),
            Self::Merge(members) => Some(Value::Object(members.clone())),
        }
    }
}

/// A patch applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reduced {
    /// `None` where nothing stood and nothing came.
    pub(crate) value: Option<Value>,
    /// The leaves that were given a value or taken away, in order, each with what is now known of it.
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) receipts: Vec<OperationReceipt>,
    pub(crate) held: Vec<Held>,
    /// Operations that would have put nothing in the place of something, wholly or in one of their leaves.
    pub(crate) guarded: Vec<usize>,
    /// Levels that were too high for the caller, with those that were taken instead.
    pub(crate) capped: Vec<(SmolStr, SmolStr)>,
}

/// An operation that was held back, wholly or in some of its leaves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Held {
    pub(crate) index: usize,
    pub(crate) why: Why,
    /// The level at which it was tried.
    pub(crate) claim: Claim,
}

/// Why an operation was held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// The leaf stands at a higher level.
    Confidence { path: Path, stands: SmolStr },
    /// Its author wanted no more.
    Intent(Intent),
}

/// Applies the operations in order.
///
/// # Errors
/// Every operation that may not be applied, with its index.
pub(crate) fn reduce(
    old: Option<Value>,
    operations: &[Operation],
    rules: &Rules<'_>,
) -> Result<Reduced, Vec<(usize, Rejection)>> {
    // Conditions and levels are judged on the value as it stood, not as earlier operations of the same patch left it.
    let before = old.clone();
    let mut reduced = Reduced {
        value: old,
        assignments: Vec::new(),
        receipts: Vec::new(),
        held: Vec::new(),
        guarded: Vec::new(),
        capped: Vec::new(),
    };
    let mut refused = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        if let Err(rejection) = one(&mut reduced, before.as_ref(), index, operation, rules) {
            refused.push((index, rejection));
        }
    }
    if refused.is_empty() { Ok(reduced) } else { Err(refused) }
}

fn one(
    reduced: &mut Reduced,
    before: Option<&Value>,
    index: usize,
    operation: &Operation,
    rules: &Rules<'_>,
) -> Result<(), Rejection> {
    let claim = rules.claim_of(operation.confidence.as_ref())?;
    if let (Some(asked), Some(given), true) = (&claim.capped, &claim.level, operation.confidence.is_some()) {
        reduced.capped.push((asked.clone(), given.clone()));
    }
    // What cannot be done at all is refused, whatever was meant by it.
    let Effect { steps, nothing, guarded } = effect(reduced.value.as_ref(), operation, rules)?;
    if guarded {
        reduced.guarded.push(index);
    }
    let mut applied = false;
    let mut held: Option<Why> = None;
    for step in steps {
        let stands = before.and_then(|before| step.path.get(before)).is_some_and(|old| !is_blank(old));
        if operation.intent == Intent::Ignore || (operation.intent == Intent::Append && stands) {
            held.get_or_insert(Why::Intent(operation.intent));
            continue;
        }
        match rules.judge(before, operation, &step, &claim)? {
            Verdict::Apply => {
                place(&mut reduced.value, &step)?;
                reduced.assignments.push(assignment(operation, &step, &claim, rules));
                applied = true;
            }
            Verdict::Hold { stands } => {
                held.get_or_insert(Why::Confidence { path: step.path.clone(), stands });
            }
            Verdict::Nothing => {}
        }
    }
    let (outcome, reason) = match (&held, applied) {
        (Some(Why::Intent(Intent::Ignore)), _) => (OperationOutcome::Ignored, Some("recorded only, as intended")),
        (Some(Why::Intent(_)), _) => (OperationOutcome::Noted, Some("what stands stays, as intended")),
        (Some(_), true) => (OperationOutcome::Applied, Some("but for what stands with a higher confidence")),
        (Some(_), false) => (OperationOutcome::Noted, Some("what stands has a higher confidence")),
        (None, true) => (OperationOutcome::Applied, None),
        (None, false) => (OperationOutcome::Ignored, Some(nothing)),
    };
    if let Some(why) = held {
        reduced.held.push(Held { index, why, claim });
    }
    reduced.receipts.push(OperationReceipt {
        op: SmolStr::new_static(operation.op.name()),
        path: operation.path.clone(),
        outcome,
        reason: reason.map(SmolStr::new_static),
        note: None,
    });
    Ok(())
}

fn place(value: &mut Option<Value>, step: &Step) -> Result<(), Rejection> {
    if step.kept == Kept::Value {
        return Ok(());
    }
    if step.path.is_root() {
        value.clone_from(&step.new);
        return Ok(());
    }
    let value = value.get_or_insert_with(|| Value::Object(Map::new()));
    assign(value, &step.path, step.new.clone()).map_err(|error| effect::path_error(&step.path, error))?;
    Ok(())
}

fn assignment(operation: &Operation, step: &Step, claim: &Claim, rules: &Rules<'_>) -> Assignment {
    let source = operation.source.clone().or_else(|| rules.source.cloned());
    let standing = rules.leaf(&step.path);
    // What only adds to a leaf vouches for no more than its own part.
    let confidence = match (step.kept, &standing) {
        (Kept::Level, Some(leaf)) => leaf.level.clone(),
        _ => claim.level.clone(),
    };
    Assignment {
        op: SmolStr::new_static(operation.op.name()),
        path: step.path.clone(),
        removed: step.new.is_none(),
        confidence,
        untrusted: rules.taints(source.as_ref(), &step.path),
        source,
        reason: operation.reason.clone(),
    }
}

#[cfg(test)]
mod tests;
