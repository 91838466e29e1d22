//! Deleting a board. Its history stays in the journal; its name can be used again under a new epoch.

use crate::command::{Drafted, Scene};
use crate::event::Event;
use crate::rejection::{Forbidden, Refusal, Rejection};
use crate::reply::Reply;

pub(crate) fn decide(scene: &Scene<'_>) -> Result<Drafted, Refusal> {
    if !scene.actor.admin {
        return Err(Refusal::of(Rejection::Forbidden { why: Forbidden::AdminOnly }));
    }
    Ok((vec![Event::BoardDeleted], Reply::BoardDeleted))
}
