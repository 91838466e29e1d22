//! A slot: a declared place for entries, with its kind, schema and bounds.
//!
//! Invariant: `max_items` and `on_full` are set only where a value has items; `fields` only on documents.
//! Not known here: values. Schemas are kept as written and compiled by who checks with them.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::flaw::{FlawKind, Flaws, Shown};
use super::read::{self, Members, Node};
use super::schema::Schema;
use super::zone::{Known, Party, parties};
use crate::ids::{EntryId, Key, ZoneName};
use crate::path::Path;

/// Items of a set or list that declares no bound (contract §8).
pub const MAX_ITEMS: u64 = 1_000;
/// Depth of a document beyond which a write is warned `nested` (contract §8).
pub(super) const MAX_DEPTH: u64 = 3;
/// Most fields of one document, and how deep fields may stand in fields.
pub(super) const FIELDS_MAX: usize = 256;
pub(super) const FIELD_DEPTH_MAX: usize = 8;

/// One slot, or one field of a document: the members are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Slot {
    pub kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// JSON Schema 2020-12, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    pub weight: Share,
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_full: Option<OnFull>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub producers: Vec<Party>,
    pub per_producer: bool,
    /// The entries of a `per_producer` slot are candidates of each other (contract §9.3).
    pub candidates: bool,
    pub trusted_only: bool,
    pub null_guard: bool,
    pub trim: bool,
    pub max_depth: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Slot>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Scalar,
    Set,
    List,
    Document,
    Counter,
}

/// What `append` and `add` do at `max_items`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFull {
    Reject,
    DropOldest,
}

/// A share between 0 and 1 in millionths, so that sums and comparisons are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Share {
    pub millionths: u32,
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.millionths {
            0 => serializer.serialize_u64(0),
            1_000_000 => serializer.serialize_u64(1),
            n => serializer.serialize_f64(f64::from(n) / 1e6),
        }
    }
}

impl Share {
    /// A number between 0 and 1 with at most six decimals.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded, and within 0..=1_000_000")]
    pub(super) fn read(node: &Node<'_>, flaws: &mut Flaws) -> Option<Self> {
        let Some(number) = node.value.as_f64() else {
            read::wrong_type(node, "a number between 0 and 1", flaws);
            return None;
        };
        if !(0.0..=1.0).contains(&number) {
            let detail = format!("must be between 0 and 1, not {number}");
            flaws.add(&node.pointer, FlawKind::OutOfRange { min: 0, max: 1 }, detail);
            return None;
        }
        let millionths = (number * 1e6).round() as u32;
        #[expect(clippy::float_cmp, reason = "exact on purpose: both are the double nearest to the same decimal")]
        let exact = f64::from(millionths) / 1e6 == number;
        if !exact {
            flaws.add(&node.pointer, FlawKind::InvalidValue { nearest: None }, "must have at most 6 decimals");
            return None;
        }
        Some(Self { millionths })
    }
}

const MEMBERS: [&str; 15] = [
    "kind",
    "title",
    "schema",
    "weight",
    "required",
    "max_items",
    "on_full",
    "producers",
    "per_producer",
    "candidates",
    "trusted_only",
    "null_guard",
    "trim",
    "max_depth",
    "fields",
];

const KINDS: &[(&str, Kind)] = &[
    ("scalar", Kind::Scalar),
    ("set", Kind::Set),
    ("list", Kind::List),
    ("document", Kind::Document),
    ("counter", Kind::Counter),
];

impl Slot {
    /// `depth` is that of fields in fields; a slot itself has 0.
    pub(super) fn read(node: &Node<'_>, known: &Known<'_>, depth: usize, flaws: &mut Flaws) -> Option<Self> {
        let members = Members::open(node, &MEMBERS, flaws)?;
        let kind = members.one_of("kind", KINDS, flaws);
        let kind_unclear = kind.is_none() && members.get("kind").is_some();
        let kind = kind.unwrap_or(Kind::Scalar);
        let producers = members.get("producers").map(|node| parties(&node, known, flaws)).unwrap_or_default();
        let slot = Self {
            kind,
            title: members.title(flaws),
            schema: members.get("schema").and_then(|node| Schema::read(&node, flaws)),
            weight: members.get("weight").and_then(|node| Share::read(&node, flaws)).unwrap_or_default(),
            required: members.boolean("required", false, flaws),
            max_items: members.integer("max_items", 1..=10_000, flaws),
            on_full: members.one_of("on_full", ON_FULL, flaws),
            producers,
            per_producer: members.boolean("per_producer", false, flaws),
            candidates: members.boolean("candidates", false, flaws),
            trusted_only: members.boolean("trusted_only", false, flaws),
            null_guard: members.boolean("null_guard", true, flaws),
            trim: members.boolean("trim", false, flaws),
            max_depth: members.integer("max_depth", 1..=32, flaws).unwrap_or(MAX_DEPTH),
            fields: members.get("fields").map(|node| fields(&node, known, depth, flaws)).unwrap_or_default(),
        };
        if !kind_unclear {
            slot.check(&members, flaws);
        }
        Some(slot)
    }

    fn check(&self, members: &Members<'_>, flaws: &mut Flaws) {
        let has_items = matches!(self.kind, Kind::Set | Kind::List);
        let contradictions = [
            ("max_items", self.max_items.is_some() && !has_items, "only a `set` or a `list` has items"),
            ("on_full", self.on_full.is_some() && !has_items, "only a `set` or a `list` can be full"),
            (
                "on_full",
                self.on_full == Some(OnFull::DropOldest) && self.kind == Kind::Set,
                "a `set` has no order, so none of its items is the oldest",
            ),
            ("fields", !self.fields.is_empty() && self.kind != Kind::Document, "only a `document` has fields"),
            ("candidates", self.candidates && !self.per_producer, "only the entries of a `per_producer` slot can be"),
        ];
        for (member, _, why) in contradictions.into_iter().filter(|(_, holds, _)| *holds) {
            flaws.add(&read::join(&members.pointer, member), FlawKind::Contradiction, why);
        }
    }

    /// The deepest field that is declared on the way to `path`, if `path` is a field itself: the whole value is the slot.
    #[must_use]
    pub fn field_at(&self, path: &Path) -> Option<&Self> {
        path.segments().iter().try_fold(self, |slot, name| slot.fields.get(name.as_str()))
    }

    /// Whether the slot or one of its fields counts for completeness.
    #[must_use]
    pub fn is_weighed(&self) -> bool {
        self.weight.millionths > 0 || self.fields.values().any(Self::is_weighed)
    }

    /// Whether each leaf has an author and a level of its own.
    #[must_use]
    pub fn has_leaves(&self) -> bool {
        self.kind == Kind::Document
    }

    /// Whether content at `path` is safe from being wiped with nothing: as the nearest declared field says.
    #[must_use]
    pub fn guards(&self, path: &Path) -> bool {
        let mut slot = self;
        for name in path.segments() {
            match slot.fields.get(name.as_str()) {
                Some(field) => slot = field,
                None => break,
            }
        }
        slot.null_guard
    }

    /// The first required field at or below `path` that has content in `value`, which stands there.
    #[must_use]
    pub fn required_within(&self, path: &Path, value: &Value) -> Option<Path> {
        let slot = self.field_at(path)?;
        if slot.required && !path.is_root() {
            return Some(path.clone());
        }
        slot.fields.iter().find_map(|(name, _)| {
            let member = value.get(name)?;
            self.required_within(&path.join(name), member)
        })
    }

    /// The most items this slot or field may have.
    #[must_use]
    pub fn items_max(&self) -> u64 {
        self.max_items.unwrap_or(MAX_ITEMS)
    }
}

const ON_FULL: &[(&str, OnFull)] = &[("reject", OnFull::Reject), ("drop_oldest", OnFull::DropOldest)];

fn fields(node: &Node<'_>, known: &Known<'_>, depth: usize, flaws: &mut Flaws) -> BTreeMap<String, Slot> {
    if depth >= FIELD_DEPTH_MAX {
        let detail = format!("fields may stand in fields {FIELD_DEPTH_MAX} deep");
        flaws.add(&node.pointer, FlawKind::TooMany { max: FIELD_DEPTH_MAX }, detail);
        return BTreeMap::new();
    }
    let mut found = BTreeMap::new();
    for (name, field) in read::map(node, FIELDS_MAX, flaws) {
        if name.is_empty() || name.len() > 256 {
            flaws.add(
                &field.pointer,
                FlawKind::OutOfRange { min: 1, max: 256 },
                "a field has a name of 1 to 256 bytes",
            );
        }
        if let Some(slot) = Slot::read(&field, known, depth + 1, flaws) {
            found.insert(name.to_owned(), slot);
        }
    }
    found
}

/// Checks `zone/pattern`: the zone exists, and the pattern is a key in which a segment may be `*`.
pub(super) fn check_pattern(pointer: &str, text: &str, zones: &[&str], flaws: &mut Flaws) {
    let Some((zone, pattern)) = text.split_once('/') else {
        let detail = format!("{}: a slot is named `zone/key`, where `*` is any one segment of the key", Shown(text));
        flaws.add(pointer, FlawKind::InvalidName, detail);
        return;
    };
    if read::member_name(pointer, zone, ZoneName::new, flaws).is_some() && !zones.contains(&zone) {
        read::unknown_reference(pointer, "zone", zone, zones.iter().copied(), flaws);
    }
    let literal = pattern.split('/').map(|segment| if segment == "*" { "x" } else { segment });
    read::member_name(pointer, &literal.collect::<Vec<_>>().join("/"), Key::new, flaws);
}

/// Whether `zone/pattern` declares this entry.
pub(super) fn pattern_fits(text: &str, id: &EntryId) -> bool {
    let Some((zone, pattern)) = text.split_once('/') else { return false };
    let mut wanted = pattern.split('/');
    let segments_fit = id.key.segments().all(|segment| wanted.next().is_some_and(|w| w == "*" || w == segment));
    zone == id.zone.as_str() && segments_fit && wanted.next().is_none()
}

/// Orders patterns that fit the same entry: more literal segments first, then the later first `*`.
pub(super) fn precision(text: &str) -> (usize, usize) {
    let segments = || text.split('/').skip(1);
    let literal = segments().filter(|segment| *segment != "*").count();
    (literal, segments().position(|segment| segment == "*").unwrap_or(usize::MAX))
}
