//! A remark on an entry.

use kokuban_core::ids::Version;
use serde::Serialize;
use serde_json::Value;

use crate::fields::{self, Fields, Read};
use crate::limits::NOTE_BYTES_MAX;

/// The text of a remark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteBody {
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refers_to_version: Option<Version>,
}

impl NoteBody {
    /// # Errors
    /// All mistakes of the body.
    pub fn read(body: Value) -> Read<Self> {
        let mut fields = Fields::of(body)?;
        let text = fields.required("text", fields::text_bytes(NOTE_BYTES_MAX));
        let refers_to_version = fields.optional("refers_to_version", fields::version);
        fields.finish(text.map(|text| Self { text, refers_to_version }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_note_has_a_text_of_at_most_8_kib() {
        assert!(NoteBody::read(json!({"text": "x".repeat(8192), "refers_to_version": 1})).is_ok());
        for body in [json!({"text": "x".repeat(8193)}), json!({"text": ""}), json!({}), json!({"text": null})] {
            assert!(NoteBody::read(body).is_err());
        }
    }

    #[test]
    fn what_a_client_sends_the_server_reads() {
        let note = NoteBody { text: "看".into(), refers_to_version: Some(Version(2)) };
        assert_eq!(NoteBody::read(serde_json::to_value(&note).expect("serialises")), Ok(note));
    }
}
