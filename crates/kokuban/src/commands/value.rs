//! Values from the command line: JSON as it stands, from a file, or from standard input.
//!
//! Invariant: text that is not JSON is refused with the way to say it, never guessed to be a string.

use std::io::Read;

use serde_json::Value;

use crate::failure::Failure;

/// How the text of a value is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Text,
}

const FOR_TEXT: &str = "\n  next: for text, add --string";
/// A request body takes 1 MiB; reading more than that is waste.
const INPUT_BYTES_MAX: u64 = 4 << 20;

/// `argument` is the value, `@FILE`, or `-`.
pub(crate) fn read(argument: &str, kind: Kind) -> Result<Value, Failure> {
    match argument.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|e| Failure::usage(format!("{path}: {e}")))?;
            parse(&read_all(file, path)?, kind, path, FOR_TEXT)
        }
        None if argument == "-" => {
            parse(&read_all(std::io::stdin().lock(), "standard input")?, kind, "standard input", FOR_TEXT)
        }
        None => parse(argument, kind, "the value", FOR_TEXT),
    }
}

fn read_all(source: impl Read, name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let n = source
        .take(INPUT_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|e| Failure::usage(format!("{name}: {e}")))?;
    if n as u64 > INPUT_BYTES_MAX {
        return Err(Failure::usage(format!("{name}: more than {INPUT_BYTES_MAX} bytes; a request takes 1 MiB")));
    }
    Ok(text)
}

/// JSON in `text`, or the text itself; `for_text` says what to do where text was meant.
pub(crate) fn parse(text: &str, kind: Kind, name: &str, for_text: &str) -> Result<Value, Failure> {
    if kind == Kind::Text {
        return Ok(Value::String(text.to_owned()));
    }
    strict(text).map_err(|error| {
        let looks_like_text = !text.trim_start().starts_with(['{', '[', '"']);
        let hint = if looks_like_text { for_text } else { "" };
        Failure::usage(format!("{name} is not JSON: {error}{hint}"))
    })
}

/// By the rules of the server, so that what it would refuse is refused here already, and no digit is lost on the way.
fn strict(text: &str) -> Result<Value, String> {
    kokuban_core::json::parse(text.as_bytes(), &kokuban_core::json::Bounds::default()).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_json_or_said_to_be_text() {
        assert_eq!(read("{\"a\": 1}", Kind::Json).expect("JSON"), json!({"a": 1}));
        assert_eq!(read("hello", Kind::Text).expect("text"), json!("hello"));
        let refused = read("hello", Kind::Json).expect_err("not JSON");
        assert_eq!(refused.code(), 2);
        assert!(refused.to_string().contains("--string"));
    }

    #[test]
    fn what_the_server_would_refuse_is_refused_before_it_is_sent() {
        assert!(read("{\"a\": 1, \"a\": 2}", Kind::Json).is_err());
        assert!(read("[1,]", Kind::Json).is_err());
    }

    #[test]
    fn a_missing_file_is_named() {
        assert!(read("@/no/such/file", Kind::Json).expect_err("no file").to_string().contains("/no/such/file"));
    }
}
