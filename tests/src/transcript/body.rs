//! Request bodies and targets: placeholders that stand for many or for unprintable bytes.
//!
//! `{{hex: ef bb bf}}` · `{{repeat: 300000 a}}` · `{{nest: 33 [ 1 ]}}` · `{{epoch}}` and other captured names.
//! **Invariant**: everything else goes out byte for byte.
//! Not known here: answers.

use std::collections::BTreeMap;

/// The bytes that a text of the file stands for.
///
/// # Panics
/// When a placeholder is none.
pub(super) fn expand(text: &str, known: &BTreeMap<String, String>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let Some(length) = rest[at..].find("}}") else { break };
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        bytes.extend(placeholder(&rest[at + 2..at + length], known));
        rest = &rest[at + length + 2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

fn placeholder(inside: &str, known: &BTreeMap<String, String>) -> Vec<u8> {
    let wrong = || -> ! { panic!("`{{{{{inside}}}}}` is no placeholder of a request") };
    match inside.split_once(": ") {
        Some(("hex", digits)) => {
            let bytes = digits.split_whitespace().map(|pair| u8::from_str_radix(pair, 16).unwrap_or_else(|_| wrong()));
            bytes.collect()
        }
        Some(("repeat", rest)) => {
            let (n, text) = rest.split_once(' ').unwrap_or_else(|| wrong());
            text.repeat(n.parse().unwrap_or_else(|_| wrong())).into_bytes()
        }
        Some(("nest", rest)) => {
            let parts: Vec<&str> = rest.split_whitespace().collect();
            let [n, open, inner, close] = parts[..] else { wrong() };
            let n = n.parse().unwrap_or_else(|_| wrong());
            format!("{}{inner}{}", open.repeat(n), close.repeat(n)).into_bytes()
        }
        // A name that no answer gave goes out as it stands, and the answer will show it.
        _ => known.get(inside).cloned().unwrap_or_else(|| inside.to_owned()).into_bytes(),
    }
}
