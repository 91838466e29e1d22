//! Leases: asked for, and renewed.

use kokuban_core::ids::LeaseToken;
use serde::Serialize;
use serde_json::Value;

use crate::fields::{self, Fields, Read};
use crate::limits::{TTL_MS, TTL_MS_DEFAULT, WAIT_MS};

pub(super) fn ttl_ms(fields: &mut Fields) -> u64 {
    fields.optional("ttl_ms", fields::within(TTL_MS)).unwrap_or(TTL_MS_DEFAULT)
}

pub(super) fn wait_ms(fields: &mut Fields) -> u64 {
    fields.optional("wait_ms", fields::within(WAIT_MS)).unwrap_or(0)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
pub(super) fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Asks for a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseRequest {
    pub ttl_ms: u64,
    /// How long to wait while another holds it.
    #[serde(skip_serializing_if = "is_zero")]
    pub wait_ms: u64,
    /// The caller lost its own token: fence the old one and grant a new one.
    #[serde(skip_serializing_if = "super::is_false")]
    pub takeover: bool,
}

impl Default for LeaseRequest {
    fn default() -> Self {
        Self { ttl_ms: TTL_MS_DEFAULT, wait_ms: 0, takeover: false }
    }
}

impl LeaseRequest {
    /// # Errors
    /// All mistakes of the body.
    pub fn read(body: Value) -> Read<Self> {
        let mut fields = Fields::of(body)?;
        let ttl_ms = ttl_ms(&mut fields);
        let wait_ms = wait_ms(&mut fields);
        let takeover = fields.optional("takeover", fields::boolean).unwrap_or(false);
        fields.finish(Some(Self { ttl_ms, wait_ms, takeover }))
    }
}

/// Sets the deadline anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseRenewal {
    pub lease_token: LeaseToken,
    pub ttl_ms: u64,
}

impl LeaseRenewal {
    /// # Errors
    /// All mistakes of the body.
    pub fn read(body: Value) -> Read<Self> {
        let mut fields = Fields::of(body)?;
        let lease_token = fields.required("lease_token", fields::lease_token);
        let ttl_ms = ttl_ms(&mut fields);
        fields.finish(lease_token.map(|lease_token| Self { lease_token, ttl_ms }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bodies::{mistakes, pairs};

    #[test]
    fn a_lease_lasts_a_minute_unless_told_otherwise() {
        assert_eq!(LeaseRequest::read(json!({})), Ok(LeaseRequest::default()));
        assert_eq!(LeaseRequest::default().ttl_ms, 60_000);
    }

    #[test]
    fn a_time_out_of_range_is_refused_with_the_range() {
        for ttl_ms in [json!(99), json!(3_600_001), json!(0), json!(-1), json!(1e3)] {
            let refused = LeaseRequest::read(json!({"ttl_ms": ttl_ms}));
            assert_eq!(mistakes(refused), pairs(&[("invalid_value", "/ttl_ms")]));
        }
        let errors = LeaseRequest::read(json!({"ttl_ms": 99})).expect_err("too short");
        assert!(errors.items()[0].detail.contains("from 100 to 3600000"));
        assert!(LeaseRequest::read(json!({"ttl_ms": 100, "wait_ms": 30_000})).is_ok());
        assert!(LeaseRequest::read(json!({"wait_ms": 30_001})).is_err());
    }

    #[test]
    fn what_a_client_sends_the_server_reads() {
        let request = LeaseRequest { ttl_ms: 500, wait_ms: 7, takeover: true };
        assert_eq!(LeaseRequest::read(serde_json::to_value(&request).expect("serialises")), Ok(request));
        let renewal = LeaseRenewal { lease_token: LeaseToken(3), ttl_ms: 500 };
        assert_eq!(LeaseRenewal::read(serde_json::to_value(&renewal).expect("serialises")), Ok(renewal));
    }

    #[test]
    fn a_renewal_names_its_token() {
        assert_eq!(mistakes(LeaseRenewal::read(json!({"ttl_ms": 500}))), pairs(&[("invalid_value", "/lease_token")]));
    }
}
