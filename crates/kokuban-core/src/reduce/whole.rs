//! A value that comes as a whole, judged leaf by leaf like a patch.
//!
//! Invariant: a rewrite that forgets members wipes nothing that is guarded, and lowers nothing.
//! Not known here: conditions on versions; a whole value always names one.

use serde_json::Value;
use smol_str::SmolStr;

use super::gate::Rules;
use super::{effect, leaves};
use crate::event::Assignment;
use crate::path::Path;
use crate::rejection::Rejection;

/// What a whole value assigns.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Replaced {
    /// The leaves that differ; empty where the value is one leaf.
    pub(crate) assignments: Vec<Assignment>,
}

/// Judges `new` in the place of `old`. `wipes` says that content may go.
///
/// # Errors
/// Every leaf that would be wiped, or replaced by a lower level.
pub(crate) fn replace(
    old: Option<&Value>,
    new: &Value,
    wipes: bool,
    op: &'static str,
    rules: &Rules<'_>,
) -> Result<Replaced, Vec<(Path, Rejection)>> {
    let per_leaf = rules.per_leaf();
    let changes = leaves::changes(old, new, !per_leaf);
    let mut refused = Vec::new();
    for change in changes.iter().filter(|_| !rules.free) {
        let Some(old) = change.old else { continue };
        if !wipes && let Some(path) = wiped(old, change.new, &change.path, rules) {
            let shown = path.to_string();
            refused.push((path, Rejection::NullGuarded { path: shown }));
            continue;
        }
        if let Some(leaf) = rules.leaf(&change.path).filter(|leaf| leaf.rank > rules.claim.rank) {
            let stands = leaf.level.unwrap_or_default();
            let given = rules.claim.level.clone();
            let path = change.path.to_string();
            refused.push((change.path.clone(), Rejection::LowerConfidence { path, stands, given }));
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    if !per_leaf {
        return Ok(Replaced::default());
    }
    let assign = |path: Path, removed: bool| assignment(op, path, removed, rules);
    let mut assignments = Vec::new();
    for change in changes {
        match change.new {
            None => assignments.push(assign(change.path, true)),
            Some(new) => {
                assignments.extend(leaves::of(&change.path, new).into_iter().map(|(path, _)| assign(path, false)));
            }
        }
    }
    Ok(Replaced { assignments })
}

/// The first guarded leaf with content that `new` puts nothing in the place of.
fn wiped(old: &Value, new: Option<&Value>, path: &Path, rules: &Rules<'_>) -> Option<Path> {
    let slot = rules.slot?;
    let comes = new.is_some_and(|new| !effect::is_blank(new));
    if comes {
        return None;
    }
    let content = leaves::of(path, old).into_iter().filter(|(_, leaf)| !effect::is_blank(leaf));
    content.map(|(path, _)| path).find(|path| slot.guards(path))
}

fn assignment(op: &'static str, path: Path, removed: bool, rules: &Rules<'_>) -> Assignment {
    Assignment {
        op: SmolStr::new_static(op),
        untrusted: rules.untrusted && !removed,
        path,
        removed,
        confidence: rules.claim.level.clone().filter(|_| !removed),
        source: rules.source.cloned().filter(|_| !removed),
        reason: None,
    }
}

/// Raises the level of what stands, without a new value: of each leaf that stands lower.
///
/// # Errors
/// A leaf stands higher than what is claimed.
pub(crate) fn vouch(standing: &Value, rules: &Rules<'_>) -> Result<Vec<Assignment>, Rejection> {
    let leaves = if rules.per_leaf() { leaves::of(&Path::ROOT, standing) } else { Vec::new() };
    let whole = if rules.per_leaf() { None } else { Some(Path::ROOT) };
    let mut assignments = Vec::new();
    for path in leaves.into_iter().map(|(path, _)| path).chain(whole) {
        let Some(leaf) = rules.leaf(&path) else { continue };
        if leaf.rank > rules.claim.rank {
            let stands = leaf.level.unwrap_or_default();
            return Err(Rejection::LowerConfidence {
                path: path.to_string(),
                stands,
                given: rules.claim.level.clone(),
            });
        }
        if leaf.rank < rules.claim.rank && rules.per_leaf() {
            let untrusted = leaf.untrusted || rules.untrusted;
            assignments.push(Assignment { untrusted, ..assignment("vouch", path, false, rules) });
        }
    }
    Ok(assignments)
}
