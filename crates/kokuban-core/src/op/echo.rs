//! Members of an entry as read that come back in a write.
//!
//! Invariant: a member that only the server sets changes nothing; it must say what is so.
//! Not known here: members that a write sets.

use serde_json::Value;
use smol_str::SmolStr;

use crate::command::Scene;
use crate::entry::Entry;
use crate::ids::EntryId;

/// A member of an entry as read, sent back.
#[derive(Debug, Clone, PartialEq)]
pub struct EchoedMember {
    pub name: SmolStr,
    pub value: Value,
}

impl EchoedMember {
    /// Whether the member may stand in a write of this entry.
    pub(crate) fn holds(&self, scene: &Scene<'_>, id: &EntryId, entry: Option<&Entry>) -> bool {
        let text = |expected: &dyn std::fmt::Display| self.value == Value::String(expected.to_string());
        let number = |expected: u64| self.value.as_u64() == Some(expected);
        let name = self.name.as_str();
        match (name, entry) {
            // These move by themselves between a read and a write.
            ("held_by" | "notes" | "attempts" | "conflict", _) => true,
            ("zone", _) => text(&id.zone),
            ("key", _) => text(&id.key),
            ("board", _) => text(scene.board.name()),
            ("owner", None) | (_, None) => self.value.is_null(),
            ("owner", Some(entry)) => {
                let owners = [scene.board.owner(id, entry), Some(entry.value_by()), entry.last_holder()];
                self.value.is_null() || owners.into_iter().flatten().any(|owner| text(&owner))
            }
            ("revision", Some(entry)) => number(entry.revision.0),
            ("value_version", Some(entry)) => number(entry.value_version.0),
            ("bytes", Some(entry)) => number(entry.bytes()),
            ("updated_by", Some(entry)) => text(&entry.updated_by()),
            ("updated_at", Some(entry)) => text(&entry.updated_at),
            ("created_by", Some(entry)) => text(&entry.created_by()),
            ("created_at", Some(entry)) => text(&entry.created_at),
            ("value_by", Some(entry)) => text(&entry.value_by()),
            ("sha256", Some(entry)) => text(&entry.sha256),
            ("etag", Some(entry)) => {
                let epoch = scene.board.life().map_or(scene.ctx.fresh_epoch, |life| life.epoch);
                text(&format_args!("\"{}-{epoch}\"", entry.version))
            }
            ("ticket", Some(_)) => self.value.is_null(),
            _ => false,
        }
    }
}
