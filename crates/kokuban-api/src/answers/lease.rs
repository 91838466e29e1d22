//! A lease as its holder, or anybody, sees it.

use kokuban_core::ids::{AgentName, LeaseToken};
use serde::{Deserialize, Serialize};

use super::{Entry, is_false};

/// Who holds an entry and for how long; with the token for the holder alone, when it is granted or renewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub holder: AgentName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_token: Option<LeaseToken>,
    pub ttl_ms: u64,
    pub remaining_ms: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

impl Lease {
    /// What would be granted: of a dry run nobody has a token.
    #[must_use]
    pub fn tried(self) -> Self {
        Self { lease_token: None, dry_run: true, ..self }
    }
}

/// A claimed entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claimed {
    pub entry: Entry,
    pub lease: Lease,
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::reads_back;
    use super::*;

    #[test]
    fn the_token_is_shown_only_where_it_is_granted() {
        let holder = AgentName::new("ra").expect("a name");
        let granted = Lease { holder, lease_token: Some(LeaseToken(9)), ttl_ms: 100, remaining_ms: 99, dry_run: false };
        reads_back(&granted, &json!({"holder": "ra", "lease_token": 9, "ttl_ms": 100, "remaining_ms": 99}));
        let shown = Lease { lease_token: None, ..granted.clone() };
        reads_back(&shown, &json!({"holder": "ra", "ttl_ms": 100, "remaining_ms": 99}));
        reads_back(&granted.tried(), &json!({"holder": "ra", "ttl_ms": 100, "remaining_ms": 99, "dry_run": true}));
    }
}
