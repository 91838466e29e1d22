//! Creating a board, with the entries that it begins with.
//!
//! Invariant: inputs become entries in the same commit, written by the creator whatever the access of their zones.
//! A board that is there stays as it is.
//! Not known here: where blueprints come from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;

use super::size::Growth;
use super::status;
use crate::blueprint::Blueprint;
use crate::command::{Drafted, Failures, Scene, floor_of, preview};
use crate::entry::{Marks, Payload};
use crate::event::{BoardCreated, EntryWritten, Event};
use crate::ids::EntryId;
use crate::rejection::{Forbidden, Item, Refusal, Rejection};
use crate::reply::{Reply, Warning};

#[derive(Debug, Clone, PartialEq)]
pub struct CreateBoard {
    pub blueprint: Arc<Blueprint>,
    pub title: Option<SmolStr>,
    pub labels: BTreeMap<SmolStr, SmolStr>,
    pub inputs: Vec<(EntryId, Payload)>,
}

pub(crate) fn decide(scene: &Scene<'_>, create: &CreateBoard) -> Result<Drafted, Refusal> {
    if scene.actor.observer && !scene.actor.admin {
        return Err(Refusal::of(Rejection::Forbidden { why: Forbidden::Observer }));
    }
    if let Some(life) = scene.board.life() {
        return if life.blueprint == create.blueprint {
            Ok((Vec::new(), Reply::Board { created: false, warnings: ignored(create) }))
        } else {
            Err(Refusal::of(Rejection::BoardExists))
        };
    }
    let created = Event::BoardCreated(Box::new(BoardCreated {
        blueprint: Arc::clone(&create.blueprint),
        title: create.title.clone(),
        labels: create.labels.clone(),
        // A board that was deleted goes on counting, so that no version of its keys repeats.
        floor: floor_of(scene.revision),
    }));
    let max = create.blueprint.limits.labels_max;
    if create.labels.len() as u64 > max {
        let mut failures = Failures::of(Item::Whole);
        failures.add_at("/labels", Rejection::LimitReached { limit: "labels_max", max });
        return Err(Refusal { failures: failures.into_list(), current: None });
    }
    let mut events = vec![created];
    let opened = preview(scene.board, scene.ctx, events.clone(), scene.revision);
    let inside = Scene { board: &opened, actor: scene.actor, ctx: scene.ctx, revision: scene.revision };
    events.extend(inputs(&inside, create)?);
    let enforced = create.blueprint.not_enforced().to_vec();
    let warnings = if enforced.is_empty() { Vec::new() } else { vec![Warning::NotEnforced { members: enforced }] };
    Ok((events, Reply::Board { created: true, warnings }))
}

/// What was given for a creation that did not happen.
fn ignored(create: &CreateBoard) -> Vec<Warning> {
    let given = [
        ("title", create.title.is_some()),
        ("labels", !create.labels.is_empty()),
        ("inputs", !create.inputs.is_empty()),
    ];
    let members: Vec<_> =
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| SmolStr::new_static(name)).collect();
    if members.is_empty() { Vec::new() } else { vec![Warning::Ignored { members }] }
}

fn inputs(scene: &Scene<'_>, create: &CreateBoard) -> Result<Vec<Event>, Refusal> {
    let mut failures = Failures::of(Item::Whole);
    let mut growth = Growth::default();
    let max = create.blueprint.limits.inputs_max;
    if create.inputs.len() as u64 > max {
        failures.add_at("/inputs", Rejection::LimitReached { limit: "inputs_max", max });
    }
    let mut events = Vec::new();
    let mut written = BTreeSet::new();
    for (id, value) in &create.inputs {
        if !written.insert(id) {
            failures.add_at(format!("/inputs/{}", escape(id)), Rejection::DuplicateKey { id: id.clone() });
            continue;
        }
        if create.blueprint.zone(&id.zone).is_none() {
            let what = "the blueprint has no such zone";
            failures.add_at(format!("/inputs/{}", escape(id)), Rejection::InvalidValue { what });
            continue;
        }
        let mut sizes = Failures::of(Item::Whole);
        growth.judge(scene, id, None, value, &mut sizes);
        for failure in sizes.into_list() {
            failures.add_at(format!("/inputs/{}", escape(id)), failure.rejection);
        }
        let status = failures.keep(status::judge(scene, id, None, None, false)).flatten();
        events.push(Event::EntryWritten(Box::new(EntryWritten {
            id: id.clone(),
            version: scene.board.next_version(id),
            value: value.clone(),
            value_changed: true,
            created: true,
            status_from: None,
            status,
            marks: Marks::default(),
            schema_version: create.blueprint.schema_version,
            reason: None,
            under_lease: false,
            assignments: Vec::new(),
        })));
    }
    if failures.is_empty() { Ok(events) } else { Err(Refusal { failures: failures.into_list(), current: None }) }
}

/// A name of a member as a segment of a JSON Pointer.
fn escape(id: &EntryId) -> String {
    id.to_string().replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
