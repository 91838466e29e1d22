//! Placeholders in an expected answer, for what differs from run to run.
//!
//! `{{epoch}}` (the same within a file; `{{epoch2}}` is another) · `{{page}}` (the last one given out) · `{{time}}` ·
//! `{{uuid}}` · `{{ms}}` · `{{hash}}` · `{{version}}` · `{{addr}}` · `{{any}}`
//! **Invariant**: what is captured must agree with every later use.
//! Not known here: JSON.

use std::collections::BTreeMap;

/// What was captured so far, by name.
pub(super) type Known = BTreeMap<String, String>;

/// Whether `actual` is what `expected` describes.
pub(super) fn matches(expected: &str, actual: &str, known: &mut Known) -> bool {
    let Some(at) = expected.find("{{") else { return expected == actual };
    let Some(length) = expected[at..].find("}}") else { return expected == actual };
    let (before, name, after) = (&expected[..at], &expected[at + 2..at + length], &expected[at + length + 2..]);
    let Some(rest) = actual.strip_prefix(before) else { return false };
    let taken = extent(name, rest, after);
    let Some(text) = rest.get(..taken).filter(|text| is_one(name, text)) else { return false };
    let is_kept = name.starts_with("epoch") && known.get(name).is_some_and(|earlier| earlier != text);
    if is_kept {
        return false;
    }
    known.insert(name.to_owned(), text.to_owned());
    matches(after, &rest[taken..], known)
}

fn extent(name: &str, rest: &str, after: &str) -> usize {
    match kind(name) {
        "any" if after.is_empty() => rest.len(),
        "any" => rest.find(after.split("{{").next().unwrap_or_default()).unwrap_or(rest.len()),
        "time" => 24,
        "epoch" => 16,
        "uuid" => 36,
        "ms" => rest.bytes().take_while(u8::is_ascii_digit).count(),
        "hash" => rest.bytes().take_while(u8::is_ascii_hexdigit).count(),
        _ => rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.~%=:+/,@".contains(byte)).count(),
    }
}

fn is_one(name: &str, text: &str) -> bool {
    match kind(name) {
        "any" => true,
        "time" => is_time(text),
        "epoch" => is_hex(text, 16),
        "uuid" => is_uuid(text),
        "hash" => text.len() >= 32 && is_hex(text, text.len()),
        "ms" | "page" | "version" | "addr" => !text.is_empty(),
        other => panic!("`{{{{{other}}}}}` is no placeholder of an answer"),
    }
}

/// `epoch2` is an `epoch`.
fn kind(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

pub(super) fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// `2026-01-02T03:04:05.678Z`.
pub(super) fn is_time(text: &str) -> bool {
    let form = "dddd-dd-ddTdd:dd:dd.dddZ";
    let fits = |(form, byte): (u8, u8)| if form == b'd' { byte.is_ascii_digit() } else { byte == form };
    text.len() == form.len() && form.bytes().zip(text.bytes()).all(fits)
}

pub(super) fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths = [8, 4, 4, 4, 12];
    parts.len() == 5 && parts.iter().zip(lengths).all(|(part, length)| is_hex(part, length))
}
