//! A board as bytes: what replaying its whole log would give.
//!
//! Layout: `S` `2`, the head in JSON, then zone by zone the name and the entries, each behind its key. Every part is
//! preceded by its length, every list by its number. Snapshots of the first form are read too: they were records (see
//! `record`) with the entries in the head and their values beside it.
//! Invariant: `Board::from_snapshot(board.to_snapshot())` is the same board, indexes included, and gives the same bytes.
//! Not known here: when snapshots are taken and where they are kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use imbl::{OrdMap, Vector};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::zone::Zone;
use super::{Board, KeyRecord, Life};
use crate::blueprint::Blueprint;
use crate::compact::{put_bytes, put_number, take_bytes, take_number, take_text};
use crate::entry::{EndedLease, Entry, EntryParts, Lease, Note, Payload, Stamp, Tombstone};
use crate::event::{Payloads, blueprint_as_members};
use crate::ids::{AgentName, BoardName, BoardTime, EntryId, Epoch, Key, Revision, Version, ZoneName};
use crate::json::Json;
use crate::record::{self, Damage};

const MAGIC: [u8; 2] = *b"S2";

/// All but the entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Snapshot {
    name: BoardName,
    revision: Revision,
    time: BoardTime,
    floor: Version,
    #[serde(default, skip_serializing_if = "is_zero")]
    restored: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    life: Option<StoredLife>,
    /// In the older form only; now they follow the head.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    entries: Vec<(EntryId, EntryParts)>,
    tombstones: Vec<(EntryId, Tombstone)>,
    leases: Vec<(EntryId, Lease)>,
    ended_leases: Vec<(EntryId, Vec<EndedLease>)>,
    notes: Vec<(EntryId, Vec<Note>)>,
    /// The values of operations that were held back, in the order of their notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    held: Vec<Option<Json>>,
    keys: Vec<(AgentName, SmolStr, KeyRecord)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredLife {
    epoch: Epoch,
    /// Missing in the first snapshots that were stored. What came before those then counts as another life, of which
    /// little is shown.
    #[serde(default)]
    since: Option<Revision>,
    #[serde(with = "blueprint_as_members")]
    blueprint: Arc<Blueprint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<SmolStr>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<SmolStr, SmolStr>,
    created: Stamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(version: &Version) -> bool {
    *version == Version::ZERO
}

impl Payloads for Snapshot {
    fn payloads<'a>(&'a self, visit: &mut dyn FnMut(&'a Payload)) {
        self.entries.iter().for_each(|(_, entry)| visit(&entry.value));
    }

    fn payloads_mut(&mut self, visit: &mut dyn FnMut(&mut Payload)) {
        self.entries.iter_mut().for_each(|(_, entry)| visit(&mut entry.value));
    }
}

impl Board {
    /// The board as bytes.
    #[must_use]
    pub fn to_snapshot(&self) -> Bytes {
        let head = serde_json::to_vec(&Snapshot::of(self)).expect("only texts, numbers and maps with text keys");
        let mut out = MAGIC.to_vec();
        put_bytes(&mut out, &head);
        put_number(&mut out, self.zones.len() as u64);
        for (name, zone) in &self.zones {
            put_bytes(&mut out, name.as_str().as_bytes());
            put_number(&mut out, zone.n_entries() as u64);
            for (key, entry) in zone.entries() {
                put_bytes(&mut out, key.as_str().as_bytes());
                entry.put(&mut out);
            }
        }
        out.into()
    }

    /// Takes back what [`Board::to_snapshot`] gave, or gave in an older form.
    ///
    /// # Errors
    /// What is wrong with the bytes. Values are not compared with their hashes: the hash of the whole vouches for them.
    pub fn from_snapshot(bytes: &Bytes) -> Result<Self, Damage> {
        let Some(mut rest) = bytes.strip_prefix(&MAGIC) else {
            let first_form = record::decode::<Snapshot>(bytes)?.content;
            return first_form.into_board(OrdMap::new()).ok_or(Damage::Framing);
        };
        let head = take_bytes(&mut rest).ok_or(Damage::Framing)?;
        let head: Snapshot = serde_json::from_slice(head).map_err(|error| Damage::Head(error.to_string()))?;
        let zones = zones(&mut rest).filter(|_| rest.is_empty()).ok_or(Damage::Framing)?;
        head.into_board(zones).ok_or(Damage::Framing)
    }

    /// Whether this is `folded`, with all its values and perhaps some that have left the log.
    pub(crate) fn keeps(&self, folded: &Self) -> bool {
        let has_its_value = |((_, stored), (_, folded)): ((_, &Arc<Entry>), (_, &Arc<Entry>))| {
            stored.has_value() || !folded.has_value()
        };
        self.without_values().to_snapshot() == folded.without_values().to_snapshot()
            && self.entries().zip(folded.entries()).all(has_its_value)
    }

    /// The same board with every value known by its hash only.
    pub(crate) fn without_values(&self) -> Self {
        let without = |zone: &Arc<Zone>| {
            let entries = zone.entries().map(|(key, entry)| (key.clone(), entry.without_value()));
            Arc::new(entries.collect())
        };
        let zones = self.zones.iter().map(|(name, zone)| (name.clone(), without(zone))).collect();
        let stripped = |notes: &Vector<Note>| {
            let mut notes = notes.clone();
            notes.iter_mut().filter_map(Note::payload_mut).for_each(|payload| payload.json = None);
            notes
        };
        let notes = self.notes.iter().map(|(id, notes)| (id.clone(), stripped(notes))).collect();
        let mut board = Self { zones, notes, ..self.clone() };
        self.leases().for_each(|(id, lease)| board.put_lease(&id, lease.clone()));
        board.reindex();
        board
    }
}

fn zones(rest: &mut &[u8]) -> Option<OrdMap<ZoneName, Arc<Zone>>> {
    let mut zones = OrdMap::new();
    for _ in 0..take_number(rest)? {
        let name = ZoneName::known(take_text(rest)?);
        let mut zone = Zone::default();
        for _ in 0..take_number(rest)? {
            let key = Key::known(take_text(rest)?);
            zone.put(&key, Entry::take(rest)?);
        }
        zones.insert(name, Arc::new(zone));
    }
    Some(zones)
}

impl Snapshot {
    fn of(board: &Board) -> Self {
        Self {
            name: board.name.clone(),
            revision: board.revision,
            time: board.time,
            floor: board.floor,
            restored: board.restored,
            life: board.life.as_ref().map(|life| StoredLife {
                epoch: life.epoch,
                since: Some(life.since),
                blueprint: Arc::clone(&life.blueprint),
                title: life.title.clone(),
                labels: life.labels.clone(),
                created: life.created.clone(),
            }),
            entries: Vec::new(),
            tombstones: board.tombstones.iter().map(|(id, t)| (id.clone(), t.clone())).collect(),
            leases: board.leases().map(|(id, lease)| (id, lease.clone())).collect(),
            ended_leases: board
                .ended_leases
                .iter()
                .map(|(id, ended)| (id.clone(), ended.iter().cloned().collect()))
                .collect(),
            notes: board.notes.iter().map(|(id, notes)| (id.clone(), notes.iter().cloned().collect())).collect(),
            held: board
                .notes
                .values()
                .flatten()
                .filter_map(Note::payload)
                .map(|payload| payload.json.clone())
                .collect(),
            keys: board.keys.iter().map(|((by, key), record)| (by.clone(), key.clone(), record.clone())).collect(),
        }
    }
}

impl Snapshot {
    /// `None`: a lease on nothing.
    fn into_board(mut self, zones: OrdMap<ZoneName, Arc<Zone>>) -> Option<Board> {
        let held = self.notes.iter_mut().flat_map(|(_, notes)| notes).filter_map(Note::payload_mut);
        held.zip(self.held).for_each(|(payload, json)| payload.json = json);
        let mut board = Board {
            revision: self.revision,
            time: self.time,
            floor: self.floor,
            restored: self.restored,
            life: self.life.map(|life| Life {
                epoch: life.epoch,
                since: life.since.unwrap_or(self.revision),
                blueprint: life.blueprint,
                title: life.title,
                labels: life.labels,
                created: life.created,
            }),
            zones,
            tombstones: self.tombstones.into_iter().collect(),
            ended_leases: self.ended_leases.into_iter().map(|(id, ended)| (id, Vector::from(ended))).collect(),
            notes: self.notes.into_iter().map(|(id, notes)| (id, Vector::from(notes))).collect(),
            keys: self.keys.into_iter().map(|(by, key, record)| ((by, key), record)).collect(),
            ..Board::absent(self.name)
        };
        self.entries.iter().for_each(|(id, entry)| board.put_packed(id, Entry::pack(entry)));
        for (id, lease) in self.leases {
            board.entry(&id)?;
            board.put_lease(&id, lease);
        }
        board.reindex();
        Some(board)
    }
}

#[cfg(test)]
mod tests;
