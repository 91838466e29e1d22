//! Commits as blocks of a stream.
//!
//! Invariant: what all readers see alike is encoded once and shared.
//! Not known here: when a block is sent.

use bytes::Bytes;
use kokuban_api::from_core::message;
use kokuban_api::sse::{self, EventName};
use kokuban_api::stream::{Change, Coalesced};
use kokuban_core::blueprint::Blueprint;
use kokuban_core::ids::{Epoch, Position};
use kokuban_engine::Logged;

use super::scope::Scope;

/// What one commit is for one reader.
#[derive(Debug)]
pub(super) enum Block {
    Message(Bytes),
    /// Nothing of it is seen.
    Nothing,
}

/// The block of a commit by itself.
pub(super) fn of_commit(scope: &Scope, rules: &Blueprint, logged: &Logged, epoch: Epoch) -> Block {
    let commit = &logged.commit;
    let position = Position { epoch, revision: commit.revision };
    if !scope.shares(rules, commit) {
        let changes = scope.changes(rules, commit);
        return if changes.is_empty() { Block::Nothing } else { Block::Message(encode(logged, position, changes)) };
    }
    let shared = logged.rendered.get_or_init(|| {
        let changes = scope.changes(rules, commit);
        if changes.is_empty() { Bytes::new() } else { encode(logged, position, changes) }
    });
    if shared.is_empty() { Block::Nothing } else { Block::Message(shared.clone()) }
}

fn encode(logged: &Logged, position: Position, changes: Vec<Change>) -> Bytes {
    sse::event(Some(position), EventName::Commit, &message(&logged.commit, changes))
}

pub(super) fn of_window(epoch: Epoch, window: &Coalesced) -> Bytes {
    let position = Position { epoch, revision: window.revisions.last };
    sse::event(Some(position), EventName::Commit, window)
}
