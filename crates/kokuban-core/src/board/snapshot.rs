//! A board as bytes: what replaying its whole log would give.
//!
//! Invariant: `Board::from(Snapshot::of(board))` is the same board, indexes included, and encodes to the same bytes.
//! Not known here: when snapshots are taken and where they are kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::Vector;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::{Board, KeyRecord, Life};
use crate::blueprint::Blueprint;
use crate::entry::{EndedLease, Entry, Lease, Note, Payload, Stamp, Tombstone};
use crate::event::{Payloads, blueprint_as_members};
use crate::ids::{AgentName, BoardName, BoardTime, EntryId, Epoch, Revision, Version};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Snapshot {
    pub name: BoardName,
    pub revision: Revision,
    pub time: BoardTime,
    pub floor: Version,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restored: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<StoredLife>,
    pub entries: Vec<(EntryId, Arc<Entry>)>,
    pub tombstones: Vec<(EntryId, Tombstone)>,
    pub leases: Vec<(EntryId, Lease)>,
    pub ended_leases: Vec<(EntryId, Vec<EndedLease>)>,
    pub notes: Vec<(EntryId, Vec<Note>)>,
    pub keys: Vec<(AgentName, SmolStr, KeyRecord)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredLife {
    pub epoch: Epoch,
    pub since: Revision,
    #[serde(with = "blueprint_as_members")]
    pub blueprint: Arc<Blueprint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<SmolStr>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<SmolStr, SmolStr>,
    pub created: Stamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(version: &Version) -> bool {
    *version == Version::ZERO
}

impl Payloads for Snapshot {
    fn payloads<'a>(&'a self, visit: &mut dyn FnMut(&'a Payload)) {
        self.entries.payloads(visit);
    }

    fn payloads_mut(&mut self, visit: &mut dyn FnMut(&mut Payload)) {
        self.entries.payloads_mut(visit);
    }
}

impl Snapshot {
    #[must_use]
    pub fn of(board: &Board) -> Self {
        Self {
            name: board.name.clone(),
            revision: board.revision,
            time: board.time,
            floor: board.floor,
            restored: board.restored,
            life: board.life.as_ref().map(|life| StoredLife {
                epoch: life.epoch,
                since: life.since,
                blueprint: Arc::clone(&life.blueprint),
                title: life.title.clone(),
                labels: life.labels.clone(),
                created: life.created.clone(),
            }),
            entries: board.entries.iter().map(|(id, entry)| (id.clone(), Arc::clone(entry))).collect(),
            tombstones: board.tombstones.iter().map(|(id, t)| (id.clone(), t.clone())).collect(),
            leases: board.leases.iter().map(|(id, lease)| (id.clone(), lease.clone())).collect(),
            ended_leases: board
                .ended_leases
                .iter()
                .map(|(id, ended)| (id.clone(), ended.iter().cloned().collect()))
                .collect(),
            notes: board.notes.iter().map(|(id, notes)| (id.clone(), notes.iter().cloned().collect())).collect(),
            keys: board.keys.iter().map(|((by, key), record)| (by.clone(), key.clone(), record.clone())).collect(),
        }
    }
}

impl From<Snapshot> for Board {
    fn from(snapshot: Snapshot) -> Self {
        let mut board = Self {
            revision: snapshot.revision,
            time: snapshot.time,
            floor: snapshot.floor,
            restored: snapshot.restored,
            life: snapshot.life.map(|life| Life {
                epoch: life.epoch,
                since: life.since,
                blueprint: life.blueprint,
                title: life.title,
                labels: life.labels,
                created: life.created,
            }),
            entries: snapshot.entries.into_iter().collect(),
            tombstones: snapshot.tombstones.into_iter().collect(),
            leases: snapshot.leases.into_iter().collect(),
            ended_leases: snapshot.ended_leases.into_iter().map(|(id, e)| (id, Vector::from(e))).collect(),
            notes: snapshot.notes.into_iter().map(|(id, notes)| (id, Vector::from(notes))).collect(),
            keys: snapshot.keys.into_iter().map(|(by, key, record)| ((by, key), record)).collect(),
            ..Self::absent(snapshot.name)
        };
        board.reindex();
        board
    }
}
