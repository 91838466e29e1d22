//! A claim: a lease of whichever entry fits.

use kokuban_core::ids::{Status, ZoneName};
use serde::Serialize;
use serde_json::Value;

use super::lease::{is_zero, ttl_ms, wait_ms};
use crate::fields::{self, Fields, Read};
use crate::limits::{PREFIX_BYTES_MAX, TTL_MS_DEFAULT};

/// Asks for the lease of one free entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    pub zone: ZoneName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    pub ttl_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_status: Option<Status>,
    #[serde(skip_serializing_if = "is_zero")]
    pub wait_ms: u64,
}

impl Claim {
    /// Any free entry of a zone, for a minute, without waiting.
    #[must_use]
    pub fn of(zone: ZoneName) -> Self {
        Self { zone, status: None, prefix: None, ttl_ms: TTL_MS_DEFAULT, to_status: None, wait_ms: 0 }
    }

    /// # Errors
    /// All mistakes of the body.
    pub fn read(body: Value) -> Read<Self> {
        let mut fields = Fields::of(body)?;
        let zone = fields.required("zone", fields::name);
        let status = fields.nullable("status", fields::name);
        let prefix = fields.optional("prefix", fields::text_bytes(PREFIX_BYTES_MAX));
        let ttl_ms = ttl_ms(&mut fields);
        let to_status = fields.nullable("to_status", fields::name);
        let wait_ms = wait_ms(&mut fields);
        fields.finish(zone.map(|zone| Self { zone, status, prefix, ttl_ms, to_status, wait_ms }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bodies::{mistakes, pairs};

    #[test]
    fn what_a_client_sends_the_server_reads() {
        let status = |text| Some(Status::new(text).expect("a name"));
        let zone = ZoneName::new("z").expect("a name");
        let claim = Claim {
            status: status("raw"),
            prefix: Some("a/".into()),
            to_status: status("processing"),
            wait_ms: 10,
            ..Claim::of(zone)
        };
        assert_eq!(Claim::read(serde_json::to_value(&claim).expect("serialises")), Ok(claim));
    }

    #[test]
    fn a_claim_names_its_zone() {
        assert_eq!(
            mistakes(Claim::read(json!({"prefix": ""}))),
            pairs(&[("invalid_value", "/zone"), ("invalid_value", "/prefix"),])
        );
    }
}
