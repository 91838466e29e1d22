//! The words in which scenarios are written: one function per thing that an agent may ask.
//!
//! Invariant: what a test does not say stays at its default, and nothing is a default that hides a condition.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use smol_str::SmolStr;

use crate::blueprint::Blueprint;
use crate::command::{
    Acquire, AddNote, Change, Check, Claim, CloseNote, Command, Conditions, CreateBoard, Delete, EchoedMember, Intent,
    LeaseUse, NamedMarks, Op, Operation, Release, Renew, RfcPatch, TagMatch, Transact, TransactItem, Write,
};
use crate::entry::{DerivedFrom, Payload, Source, SourceKind};
use crate::ids::{AgentName, EntryId, Epoch, Key, LeaseToken, Status, Version, ZoneName};
use crate::json::Json;
use crate::path::Path;

/// `zone/key…` as an id.
pub(crate) fn id(place: &str) -> EntryId {
    let (zone, key) = place.split_once('/').expect("zone/key");
    EntryId::new(zone_name(zone), Key::new(key).expect("a key"))
}

pub(crate) fn zone_name(name: &str) -> ZoneName {
    ZoneName::new(name).expect("a zone")
}

pub(crate) fn status(name: &str) -> Status {
    Status::new(name).expect("a status")
}

pub(crate) fn statuses(names: &[&str]) -> Vec<Status> {
    names.iter().map(|name| status(name)).collect()
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::new(name).expect("an agent")
}

pub(crate) fn payload(value: &Value) -> Payload {
    Payload::new(Json::from_value(value))
}

pub(crate) fn blueprint(rules: &str) -> Arc<Blueprint> {
    let text = if rules.contains("name = \"") { rules.to_owned() } else { format!("name = \"test\"\n{rules}") };
    Arc::new(Blueprint::from_toml(&text).unwrap_or_else(|flaws| panic!("{flaws:?}")))
}

pub(crate) fn create(rules: &str) -> CreateBoard {
    CreateBoard { blueprint: blueprint(rules), title: None, labels: BTreeMap::new(), inputs: Vec::new() }
}

impl CreateBoard {
    pub(crate) fn input(mut self, place: &str, value: &Value) -> Self {
        self.inputs.push((id(place), payload(value)));
        self
    }
}

/// A write to be.
#[derive(Debug, Clone)]
pub(crate) struct Draft(Write);

fn draft(place: &str, change: Change) -> Draft {
    Draft(Write {
        id: id(place),
        change,
        conditions: Conditions::default(),
        lease: LeaseUse::default(),
        status: None,
        marks: NamedMarks::default(),
        schema_version: None,
        reason: None,
        echoed: Vec::new(),
        atomic: false,
    })
}

/// Puts a whole value.
#[expect(clippy::needless_pass_by_value, reason = "scenarios read better without a reference before every json!")]
pub(crate) fn put(place: &str, value: Value) -> Draft {
    draft(place, Change::Replace { value: payload(&value), wipes: false })
}

/// Changes status or marks alone.
pub(crate) fn touch(place: &str) -> Draft {
    draft(place, Change::Keep)
}

/// Moves the status alone.
pub(crate) fn mv(place: &str, version: u64, to: &str) -> Draft {
    touch(place).version(version).status(to)
}

/// A patch of the RFCs.
pub(crate) fn rfc(place: &str, patch: RfcPatch) -> Draft {
    draft(place, Change::Rfc(patch))
}

/// A patch; `set`, `unset` and the others add its operations.
pub(crate) fn patch(place: &str) -> Draft {
    draft(place, Change::Patch(Vec::new()))
}

impl Draft {
    pub(crate) fn version(mut self, version: u64) -> Self {
        self.0.conditions.version = Some(Version(version));
        self
    }

    pub(crate) fn if_match(mut self, tags: &[(u64, u64)]) -> Self {
        self.0.conditions.if_match = Some(tag_match(tags));
        self
    }

    pub(crate) fn if_none_match(mut self, tags: &[(u64, u64)]) -> Self {
        self.0.conditions.if_none_match = Some(tag_match(tags));
        self
    }

    pub(crate) fn if_match_any(mut self) -> Self {
        self.0.conditions.if_match = Some(TagMatch::Any);
        self
    }

    pub(crate) fn if_none_match_any(mut self) -> Self {
        self.0.conditions.if_none_match = Some(TagMatch::Any);
        self
    }

    pub(crate) fn status(mut self, to: &str) -> Self {
        self.0.status = Some(status(to));
        self
    }

    pub(crate) fn token(mut self, token: u64) -> Self {
        self.0.lease.token = Some(LeaseToken(token));
        self
    }

    pub(crate) fn ttl(mut self, ms: u64) -> Self {
        self.0.lease.ttl_ms = Some(ms);
        self
    }

    pub(crate) fn confidence(mut self, level: &str) -> Self {
        self.0.marks.confidence = Some(SmolStr::new(level));
        self
    }

    pub(crate) fn untrusted(mut self) -> Self {
        self.0.marks.untrusted = true;
        self
    }

    pub(crate) fn summary(mut self, text: &str) -> Self {
        self.0.marks.summary = Some(SmolStr::new(text));
        self
    }

    pub(crate) fn source(mut self, kind: SourceKind, reference: &str) -> Self {
        self.0.marks.source = Some(Source { kind, reference: SmolStr::new(reference) });
        self
    }

    pub(crate) fn derived_from(mut self, places: &[(&str, u64)]) -> Self {
        let list = places.iter().map(|(place, version)| DerivedFrom { id: id(place), version: Version(*version) });
        self.0.marks.derived_from = Some(list.collect());
        self
    }

    pub(crate) fn schema_version(mut self, version: u64) -> Self {
        self.0.schema_version = Some(version);
        self
    }

    pub(crate) fn reason(mut self, text: &str) -> Self {
        self.0.reason = Some(SmolStr::new(text));
        self
    }

    pub(crate) fn echo(mut self, name: &str, value: Value) -> Self {
        self.0.echoed.push(EchoedMember { name: SmolStr::new(name), value });
        self
    }

    pub(crate) fn atomic(mut self) -> Self {
        self.0.atomic = true;
        self
    }

    pub(crate) fn set(self, path: &str, value: Value) -> Self {
        self.operation(Op::Set(value), path, None)
    }

    pub(crate) fn set_unchanged_since(self, path: &str, value: Value, since: u64) -> Self {
        self.operation(Op::Set(value), path, Some(Version(since)))
    }

    pub(crate) fn unset(self, path: &str) -> Self {
        self.operation(Op::Unset, path, None)
    }

    pub(crate) fn add(self, path: &str, items: &[Value]) -> Self {
        self.operation(Op::Add(items.to_vec()), path, None)
    }

    pub(crate) fn remove(self, path: &str, items: &[Value]) -> Self {
        self.operation(Op::Remove(items.to_vec()), path, None)
    }

    pub(crate) fn reset(self, path: &str, items: &[Value]) -> Self {
        self.operation(Op::Reset(items.to_vec()), path, None)
    }

    pub(crate) fn append(self, path: &str, items: &[Value]) -> Self {
        self.operation(Op::Append(items.to_vec()), path, None)
    }

    #[expect(clippy::needless_pass_by_value, reason = "scenarios read better without a reference before every json!")]
    pub(crate) fn increment(self, path: &str, by: Value) -> Self {
        let number = by.as_number().expect("a number").clone();
        self.operation(Op::Increment(number), path, None)
    }

    #[expect(clippy::needless_pass_by_value, reason = "scenarios read better without a reference before every json!")]
    pub(crate) fn merge(self, path: &str, members: Value) -> Self {
        self.operation(Op::Merge(members.as_object().expect("an object").clone()), path, None)
    }

    fn last(mut self, change: impl FnOnce(&mut Operation)) -> Self {
        let Change::Patch(operations) = &mut self.0.change else { panic!("operations belong to a patch") };
        change(operations.last_mut().expect("an operation comes first"));
        self
    }

    /// The operation before is meant so.
    pub(crate) fn intent(self, intent: Intent) -> Self {
        self.last(|operation| operation.intent = intent)
    }

    /// The operation before is so sure.
    pub(crate) fn at_level(self, level: &str) -> Self {
        self.last(|operation| operation.confidence = Some(SmolStr::new(level)))
    }

    /// A put may wipe content.
    pub(crate) fn wiping(mut self) -> Self {
        let Change::Replace { wipes, .. } = &mut self.0.change else { panic!("only a put wipes") };
        *wipes = true;
        self
    }

    fn operation(mut self, op: Op, path: &str, unchanged_since: Option<Version>) -> Self {
        let Change::Patch(operations) = &mut self.0.change else { panic!("operations belong to a patch") };
        let path = Path::parse(path).expect("a path");
        operations.push(Operation {
            op,
            path,
            unchanged_since,
            intent: Intent::Overwrite,
            confidence: None,
            source: None,
            reason: None,
        });
        self
    }
}

fn tag_match(tags: &[(u64, u64)]) -> TagMatch {
    TagMatch::Tags(tags.iter().map(|(version, epoch)| (Version(*version), Epoch(*epoch))).collect())
}

impl From<Draft> for Command {
    fn from(draft: Draft) -> Self {
        Self::Write(Box::new(draft.0))
    }
}

impl From<Draft> for TransactItem {
    fn from(draft: Draft) -> Self {
        Self::Write(Box::new(draft.0))
    }
}

pub(crate) fn delete(place: &str) -> Delete {
    Delete { id: id(place), conditions: Conditions::default(), lease: LeaseUse::default(), reason: None }
}

impl Delete {
    pub(crate) fn version(mut self, version: u64) -> Self {
        self.conditions.version = Some(Version(version));
        self
    }

    pub(crate) fn if_match(mut self, tags: &[(u64, u64)]) -> Self {
        self.conditions.if_match = Some(tag_match(tags));
        self
    }

    pub(crate) fn token(mut self, token: u64) -> Self {
        self.lease.token = Some(LeaseToken(token));
        self
    }
}

pub(crate) fn transact() -> Transact {
    Transact { checks: Vec::new(), items: Vec::new() }
}

impl Transact {
    pub(crate) fn check(mut self, place: &str, version: u64) -> Self {
        self.checks.push(Check { id: id(place), version: Version(version) });
        self
    }

    pub(crate) fn and(mut self, item: impl Into<TransactItem>) -> Self {
        self.items.push(item.into());
        self
    }
}

pub(crate) fn acquire(place: &str, ttl_ms: u64) -> Acquire {
    Acquire { id: id(place), ttl_ms, takeover: false }
}

impl Acquire {
    pub(crate) fn takeover(mut self) -> Self {
        self.takeover = true;
        self
    }
}

pub(crate) fn renew(place: &str, token: u64, ttl_ms: u64) -> Renew {
    Renew { id: id(place), token: LeaseToken(token), ttl_ms }
}

pub(crate) fn release(place: &str, token: u64) -> Release {
    Release { id: id(place), token: Some(LeaseToken(token)), reason: None }
}

/// Ends a lease without its token.
pub(crate) fn revoke(place: &str) -> Release {
    Release { id: id(place), token: None, reason: Some(SmolStr::new("stuck")) }
}

pub(crate) fn claim(zone: &str, ttl_ms: u64) -> Claim {
    Claim { zone: zone_name(zone), status: None, prefix: None, ttl_ms, to_status: None }
}

impl Claim {
    pub(crate) fn in_status(mut self, name: &str) -> Self {
        self.status = Some(status(name));
        self
    }

    pub(crate) fn under(mut self, prefix: &str) -> Self {
        self.prefix = Some(prefix.to_owned());
        self
    }

    pub(crate) fn to(mut self, name: &str) -> Self {
        self.to_status = Some(status(name));
        self
    }
}

pub(crate) fn note(place: &str, text: &str) -> AddNote {
    AddNote { id: id(place), text: SmolStr::new(text), refers_to_version: None }
}

impl AddNote {
    pub(crate) fn about(mut self, version: u64) -> Self {
        self.refers_to_version = Some(Version(version));
        self
    }
}

pub(crate) fn close(place: &str, note: &str) -> CloseNote {
    CloseNote { id: id(place), note: SmolStr::new(note) }
}

pub(crate) fn erase(value: &Value) -> Command {
    Command::Erase { sha256: payload(value).sha256, reason: SmolStr::new("personal data") }
}

macro_rules! commands {
    ($($type:ident),*) => {$(
        impl From<$type> for Command {
            fn from(command: $type) -> Self {
                Self::$type(command)
            }
        }
    )*};
}

commands!(CreateBoard, Delete, Transact, Acquire, Renew, Release, Claim, AddNote, CloseNote);

impl From<Delete> for TransactItem {
    fn from(delete: Delete) -> Self {
        Self::Delete(delete)
    }
}

impl From<Acquire> for TransactItem {
    fn from(acquire: Acquire) -> Self {
        Self::Lease(acquire)
    }
}
