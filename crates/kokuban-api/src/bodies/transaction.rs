//! Several writes that happen together or not at all.
//!
//! Invariant: no entry is written twice; mistakes point at `/writes/N/…` and `/checks/N/…`, while the operations
//! of a patch point into their own item.

use std::collections::BTreeSet;

use kokuban_core::ids::{EntryId, LeaseToken, Version};
use serde::Serialize;
use serde_json::Value;

use super::lease::ttl_ms;
use super::patch::Patch;
use super::put::Put;
use crate::code::ErrorCode;
use crate::fields::{self, BodyErrors, Fields, Read};
use crate::limits::{CHECKS_PER_TRANSACTION_MAX, LABEL_CHARS_MAX, REASON_CHARS_MAX, WRITES_PER_TRANSACTION_MAX};
use crate::problem::ErrorItem;
use crate::sources::entry_id;

/// All of `writes`, if all of `checks` hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Transaction {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    pub writes: Vec<TransactionWrite>,
}

/// The entry is at this version; 0: it does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    #[serde(flatten)]
    pub id: EntryId,
    pub version: Version,
}

/// One write of a transaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransactionWrite {
    #[serde(flatten)]
    pub id: EntryId,
    #[serde(flatten)]
    pub write: WriteItem,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum WriteItem {
    Put(Box<Put>),
    Patch(Box<Patch>),
    Delete(DeleteItem),
    Lease(LeaseItem),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DeleteItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_token: Option<LeaseToken>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseItem {
    pub ttl_ms: u64,
    #[serde(skip_serializing_if = "super::is_false")]
    pub takeover: bool,
}

#[derive(Clone, Copy)]
enum Method {
    Put,
    Patch,
    Delete,
    Lease,
}

const METHODS: [(&str, Method); 4] =
    [("put", Method::Put), ("patch", Method::Patch), ("delete", Method::Delete), ("lease", Method::Lease)];

impl Check {
    fn read(value: Value) -> Read<Self> {
        let mut fields = Fields::of_member(value)?;
        let id = entry_id(&mut fields);
        let version = fields.required("version", fields::version);
        fields.finish(id.zip(version).map(|(id, version)| Self { id, version }))
    }
}

impl TransactionWrite {
    fn read(value: Value) -> Read<Self> {
        let mut fields = Fields::of_member(value)?;
        let method = fields.required("method", fields::one_of(&METHODS));
        let id = entry_id(&mut fields);
        let Some(method) = method else {
            return Err(fields.into_errors().expect("a method that was not read is a mistake"));
        };
        let write = WriteItem::take(&mut fields, method);
        fields.finish(id.zip(write).map(|(id, write)| Self { id, write }))
    }
}

impl WriteItem {
    fn take(fields: &mut Fields, method: Method) -> Option<Self> {
        Some(match method {
            Method::Put => Self::Put(Box::new(Put::take(fields)?)),
            Method::Patch => Self::Patch(Box::new(Patch::take(fields))),
            Method::Delete => Self::Delete(DeleteItem {
                version: fields.optional("version", fields::version),
                lease_token: fields.optional("lease_token", fields::lease_token),
                confidence: fields.optional("confidence", fields::text_bytes(LABEL_CHARS_MAX)),
                reason: fields.optional("reason", fields::text_chars(REASON_CHARS_MAX)),
            }),
            Method::Lease => Self::Lease(LeaseItem {
                ttl_ms: ttl_ms(fields),
                takeover: fields.optional("takeover", fields::boolean).unwrap_or(false),
            }),
        })
    }
}

impl Transaction {
    /// # Errors
    /// All mistakes of the body.
    pub fn read(body: Value) -> Read<Self> {
        let mut fields = Fields::of(body)?;
        let checks = fields
            .optional("checks", fields::list("checks_per_transaction_max", CHECKS_PER_TRANSACTION_MAX, Check::read));
        let writes = fields.required(
            "writes",
            fields::list("writes_per_transaction_max", WRITES_PER_TRANSACTION_MAX, TransactionWrite::read),
        );
        for errors in writes.iter().flat_map(|writes| written_twice(writes)) {
            fields.mistakes(errors);
        }
        let checks = checks.unwrap_or_default();
        fields.finish(writes.map(|writes| Self { checks, writes }))
    }
}

fn written_twice(writes: &[TransactionWrite]) -> Vec<BodyErrors> {
    let mut seen = BTreeSet::new();
    let twice = writes.iter().enumerate().filter(|(_, write)| !seen.insert(&write.id));
    twice
        .map(|(i, _)| {
            let detail = "an earlier item already writes this entry";
            ErrorItem::at(ErrorCode::DuplicateKey, format!("/writes/{i}"), detail).into()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use kokuban_core::ids::{Key, ZoneName};
    use serde_json::json;

    use super::*;
    use crate::bodies::{mistakes, pairs};

    #[test]
    fn what_a_client_sends_the_server_reads() {
        let id = |key: &str| EntryId::new(ZoneName::new("z").expect("a name"), Key::new(key).expect("a key"));
        let write = |key: &str, write| TransactionWrite { id: id(key), write };
        let patch = Patch::read(json!({"status": "done", "version": 3})).expect("a move");
        let transaction = Transaction {
            checks: vec![Check { id: id("a"), version: Version(0) }],
            writes: vec![
                write("a", WriteItem::Put(Box::new(Put::new(json!({"x": 1}))))),
                write("b", WriteItem::Patch(Box::new(patch))),
                write("c", WriteItem::Delete(DeleteItem { version: Some(Version(1)), ..DeleteItem::default() })),
                write("d", WriteItem::Lease(LeaseItem { ttl_ms: 100, takeover: false })),
            ],
        };
        let sent = serde_json::to_value(&transaction).expect("serialises");
        assert_eq!(sent["writes"][0], json!({"zone": "z", "key": "a", "method": "put", "value": {"x": 1}}));
        assert_eq!(Transaction::read(sent), Ok(transaction));
    }

    #[test]
    fn mistakes_point_at_the_item() {
        let body = json!({
            "checks": [{"zone": "z", "key": "k"}],
            "writes": [
                {"method": "put", "zone": "z", "key": "k"},
                {"method": "erase", "zone": "z", "key": "k", "what": 1},
                {"method": "delete", "zone": "z", "key": "k", "value": 1},
                {"method": "patch", "zone": "z z", "key": "k", "set": {"a..b": 1}},
                7,
            ]
        });
        assert_eq!(
            mistakes(Transaction::read(body)),
            pairs(&[
                ("invalid_value", "/checks/0/version"),
                ("invalid_value", "/writes/0/value"),
                ("invalid_value", "/writes/1/method"),
                ("unknown_member", "/writes/2/value"),
                ("invalid_name", "/writes/3/zone"),
                ("invalid_path", "/writes/3/set/a..b"),
                ("invalid_value", "/writes/4"),
            ])
        );
    }

    #[test]
    fn no_entry_is_written_twice_but_it_may_be_checked_too() {
        let write = |key: &str| json!({"method": "delete", "zone": "z", "key": key});
        let body = json!({"checks": [{"zone": "z", "key": "a", "version": 1}], "writes": [write("a"), write("b"), write("a")]});
        assert_eq!(mistakes(Transaction::read(body)), pairs(&[("duplicate_key", "/writes/2")]));
    }

    #[test]
    fn a_transaction_has_at_most_128_writes_and_checks() {
        let write = |i: usize| json!({"method": "delete", "zone": "z", "key": format!("k{i}")});
        let body = |n: usize| json!({"writes": (0..n).map(write).collect::<Vec<_>>()});
        assert!(Transaction::read(body(128)).is_ok());
        assert_eq!(mistakes(Transaction::read(body(129))), pairs(&[("limit_reached", "/writes")]));
        let checks = json!({"writes": [], "checks": vec![json!({"zone": "z", "key": "k", "version": 1}); 129]});
        assert_eq!(mistakes(Transaction::read(checks)), pairs(&[("limit_reached", "/checks")]));
    }
}
