//! Erasing a value from the history by its hash.
//!
//! Invariant: only past values can be erased; what stands now is overwritten or deleted first. The commit says that
//! something was erased; taking the bytes out of the log is an effect that follows it.
//! Not known here: where the bytes are.

use smol_str::SmolStr;

use crate::command::{Drafted, Scene};
use crate::event::Event;
use crate::ids::Sha256;
use crate::rejection::{Forbidden, Refusal, Rejection};
use crate::reply::Reply;

pub(crate) fn decide(scene: &Scene<'_>, sha256: Sha256, reason: &SmolStr) -> Result<Drafted, Refusal> {
    if !scene.actor.admin {
        return Err(Refusal::of(Rejection::Forbidden { why: Forbidden::AdminOnly }));
    }
    if let Some((id, _)) = scene.board.entries().find(|(_, entry)| entry.sha256 == sha256) {
        return Err(Refusal::of(Rejection::StillCurrent { id: id.clone() }));
    }
    Ok((vec![Event::Erased { sha256, reason: reason.clone() }], Reply::Erased { values: 0 }))
}
