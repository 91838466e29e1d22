//! Answers in the form that stands in the file: what differs from run to run becomes a placeholder.
//!
//! **Invariant**: what this writes, `judge.rs` accepts for the same answer.
//! Not known here: whether an answer is right.

use serde_json::{Map, Value};

use super::pattern::{Known, is_hex, is_time, is_uuid};

/// Longest line of JSON that is not broken.
const LINE_CHARS_MAX: usize = 116;
/// Members that every problem has, which follow from its code and are checked for all of them at once.
pub(super) const IMPLIED_MEMBERS: [&str; 4] = ["type", "title", "request_id", "status"];
/// Durations that depend on when one looks.
const CLOCKED_MEMBERS: [&str; 5] = ["board_time", "remaining_ms", "retry_after_ms", "heartbeat_ms", "uptime_ms"];

/// A JSON body, with placeholders.
pub(super) fn json(value: &Value, is_problem: bool, known: &mut Known) -> Value {
    let mut value = value.clone();
    if let (true, Some(members)) = (is_problem, value.as_object_mut()) {
        members.retain(|name, _| !IMPLIED_MEMBERS.contains(&name.as_str()));
    }
    member("", value, known)
}

fn member(name: &str, value: Value, known: &mut Known) -> Value {
    match value {
        Value::String(text) => Value::String(string(name, &text, known)),
        Value::Number(_) if CLOCKED_MEMBERS.contains(&name) => "{{ms}}".into(),
        Value::Array(items) => items.into_iter().map(|item| member(name, item, known)).collect(),
        Value::Object(members) => {
            let done = members.into_iter().map(|(name, value)| {
                let value = member(&name, value, known);
                (name, value)
            });
            Value::Object(done.collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn string(name: &str, text: &str, known: &mut Known) -> String {
    let by_name = match name {
        "next_page" => Some("{{page}}"),
        "version" if !text.is_empty() => Some("{{version}}"),
        "hash" | "previous" | "chain" if is_hex(text, text.len()) && text.len() >= 32 => Some("{{hash}}"),
        "detail" => return with_epochs(&without_durations(text), known),
        _ if is_time(text) => Some("{{time}}"),
        _ if is_uuid(text) => Some("{{uuid}}"),
        _ => None,
    };
    by_name.map_or_else(|| with_epochs(text, known), str::to_owned)
}

/// `59994 ms` differs from run to run; texts are not compared, but should not change with each blessing.
fn without_durations(text: &str) -> String {
    let Some((before, after)) = text.split_once(" ms more") else { return text.to_owned() };
    let before = before.trim_end_matches(|c: char| c.is_ascii_digit());
    format!("{before}{{{{ms}}}} ms more{after}")
}

/// A header, with placeholders.
pub(super) fn header(name: &str, value: &str, known: &mut Known) -> String {
    if name == "Retry-After" { "{{ms}}".to_owned() } else { with_epochs(value, known) }
}

/// Replaces epochs that were seen, and those that stand where one must be.
pub(super) fn with_epochs(text: &str, known: &mut Known) -> String {
    let bare = text.trim_matches('"');
    let candidates = [bare.split('.').next(), bare.rsplit('-').next()];
    for candidate in candidates.into_iter().flatten() {
        if is_hex(candidate, 16) && !known.values().any(|value| value == candidate) {
            let n = known.keys().filter(|name| name.starts_with("epoch")).count();
            let name = if n == 0 { "epoch".to_owned() } else { format!("epoch{}", n + 1) };
            known.insert(name, candidate.to_owned());
        }
    }
    let mut text = text.to_owned();
    for (name, value) in known.iter().filter(|(name, _)| name.starts_with("epoch")) {
        text = text.replace(value, &format!("{{{{{name}}}}}"));
    }
    text
}

/// Lines of a body that is not one JSON document: records of JSON lines, blocks of a stream.
pub(super) fn lines(text: &str, known: &mut Known) -> String {
    let done = text.lines().map(|line| {
        let (prefix, rest) = match line.strip_prefix("data: ") {
            Some(rest) => ("data: ", rest),
            None => ("", line),
        };
        match serde_json::from_str::<Value>(rest) {
            Ok(value) if value.is_object() => format!("{prefix}{}", json(&value, false, known)),
            _ if line.starts_with("retry: ") => "retry: {{ms}}".to_owned(),
            _ => match line.strip_prefix("id: ") {
                Some(id) => format!("id: {}", with_epochs(id, known)),
                None => line.to_owned(),
            },
        }
    });
    done.collect::<Vec<_>>().join("\n")
}

/// JSON over as many lines as it needs, each part on one line where it fits.
pub(super) fn pretty(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0, 0);
    text
}

fn write(out: &mut String, value: &Value, depth: usize, before: usize) {
    let flat = flat(value);
    let indent = "  ".repeat(depth + 1);
    if before + flat.chars().count() + 2 * depth <= LINE_CHARS_MAX {
        out.push_str(&flat);
        return;
    }
    let (open, close, parts): (char, char, Vec<(String, &Value)>) = match value {
        Value::Array(items) => ('[', ']', items.iter().map(|item| (String::new(), item)).collect()),
        Value::Object(members) => (
            '{',
            '}',
            members.iter().map(|(name, value)| (format!("{}: ", Value::from(name.as_str())), value)).collect(),
        ),
        _ => {
            out.push_str(&flat);
            return;
        }
    };
    out.push(open);
    for (at, (name, part)) in parts.iter().enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&indent);
        out.push_str(name);
        write(out, part, depth + 1, name.chars().count() + 1);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

fn flat(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(flat).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let parts = members.iter().map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), flat(value)));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
