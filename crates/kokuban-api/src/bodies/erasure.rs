//! The body of an erasure: a hash, and why its value has to go.
//!
//! Not known here: where the value is.

use kokuban_core::ids::Sha256;
use serde::Serialize;
use serde_json::Value;

use crate::fields::{self, Fields, Read, invalid};
use crate::limits::REASON_CHARS_MAX;

/// A value to take out of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Erasure {
    /// Of the value, as entries and history show it.
    pub sha256: Sha256,
    pub reason: String,
}

impl Erasure {
    /// Reads the body strictly.
    ///
    /// # Errors
    /// Every mistake, with its pointer.
    pub fn read(body: Value) -> Read<Self> {
        let mut fields = Fields::of(body)?;
        let sha256 = fields.required("sha256", |value| {
            fields::text(value)?.parse::<Sha256>().map_err(|_| invalid("this must be 64 lower-case hexadecimal digits"))
        });
        let reason = fields.required("reason", fields::text_chars(REASON_CHARS_MAX));
        fields.finish(sha256.zip(reason).map(|(sha256, reason)| Self { sha256, reason }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bodies::{mistakes, pairs};

    #[test]
    fn an_erasure_names_a_hash_and_a_reason() {
        let sha256 = Sha256::of(b"x");
        let erasure = Erasure::read(json!({"sha256": sha256, "reason": "asked by its subject"})).expect("a body");
        assert_eq!(erasure.sha256, sha256);
        let wrong = json!({"sha256": "ABC", "raeson": "x"});
        let expected = [("invalid_value", "/sha256"), ("invalid_value", "/reason"), ("unknown_member", "/raeson")];
        assert_eq!(mistakes(Erasure::read(wrong)), pairs(&expected));
    }
}
