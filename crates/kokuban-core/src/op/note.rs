//! Notes: remarks on an entry that do not touch it.
//!
//! Invariant: value, version, status and owner of the entry stay.
//! Not known here: operations that a gate held back; they become notes elsewhere.

use smol_str::{SmolStr, format_smolstr};

use super::refuse;
use crate::caller::{Act, authorise};
use crate::command::{Drafted, Failures, Scene};
use crate::entry::Note;
use crate::event::Event;
use crate::ids::{EntryId, Version};
use crate::rejection::{Forbidden, Item, Refusal, Rejection};
use crate::reply::Reply;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddNote {
    pub id: EntryId,
    pub text: SmolStr,
    pub refers_to_version: Option<Version>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseNote {
    pub id: EntryId,
    pub note: SmolStr,
}

pub(crate) fn add(scene: &Scene<'_>, add: &AddNote) -> Result<Drafted, Refusal> {
    let mut failures = Failures::of(Item::Whole);
    failures.keep(authorise(scene.board, scene.actor, &add.id, Act::Comment));
    let limits = &scene.board.blueprint().limits;
    match scene.board.entry(&add.id) {
        None => failures.add(Rejection::NotFound { id: add.id.clone() }),
        Some(entry) => {
            if add.refers_to_version.is_some_and(|version| version > entry.version || version == Version::ZERO) {
                let what = "refers_to_version must be a version that the entry has had";
                failures.add_at("/refers_to_version", Rejection::InvalidValue { what });
            }
        }
    }
    if scene.board.n_notes(&add.id) >= limits.notes_per_entry_max {
        failures.add(Rejection::LimitReached { limit: "notes_per_entry_max", max: limits.notes_per_entry_max });
    }
    if add.text.len() as u64 > limits.note_bytes_max {
        failures.add_at("/text", Rejection::LimitReached { limit: "note_bytes_max", max: limits.note_bytes_max });
    }
    if !failures.is_empty() {
        return Err(refuse(scene, failures.into_list(), |_| Some((add.id.clone(), None))));
    }
    let note = Note {
        id: format_smolstr!("n{}-0", scene.revision),
        by: scene.actor.agent.clone(),
        at: scene.ctx.at,
        text: add.text.clone(),
        refers_to_version: add.refers_to_version,
    };
    let reply = Reply::Noted { id: add.id.clone(), note: note.id.clone() };
    Ok((vec![Event::Noted { id: add.id.clone(), note }], reply))
}

pub(crate) fn close(scene: &Scene<'_>, close: &CloseNote) -> Result<Drafted, Refusal> {
    let mut failures = Failures::of(Item::Whole);
    failures.keep(authorise(scene.board, scene.actor, &close.id, Act::Comment));
    let note = scene.board.notes(&close.id).and_then(|notes| notes.iter().find(|note| note.id == close.note));
    match (scene.board.entry(&close.id), note) {
        (None, _) => failures.add(Rejection::NotFound { id: close.id.clone() }),
        (_, None) => failures.add(Rejection::NoteNotFound { note: close.note.clone() }),
        (Some(entry), Some(note)) => {
            let agent = &scene.actor.agent;
            let blueprint = scene.board.blueprint();
            let owns_zone = blueprint.zone(&close.id.zone).is_some_and(|zone| scene.actor.owns_zone(blueprint, zone));
            let owns_entry = scene.board.owner(&close.id, entry).as_ref() == Some(agent);
            if note.by != *agent && !owns_entry && !owns_zone && !scene.is_arbiter() {
                failures.add(Rejection::Forbidden { why: Forbidden::NotYourNote });
            }
        }
    }
    if !failures.is_empty() {
        return Err(refuse(scene, failures.into_list(), |_| Some((close.id.clone(), None))));
    }
    Ok((vec![Event::NoteClosed { id: close.id.clone(), note: close.note.clone() }], Reply::NoteClosed))
}

#[cfg(test)]
mod tests;
