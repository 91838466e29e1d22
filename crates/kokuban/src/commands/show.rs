//! How things of a board look to people: entries, receipts, changes, leases, boards as lines.
//!
//! Invariant: every text that came from a board goes through `safe`, so line ends in what comes out are ours.

use kokuban_api::answers::{
    BoardSummary, Entry, EntryDetails, Lease, Outcome, Receipt, StateLevel, Warning, ZoneCount,
};
use kokuban_api::stream::Change;
use kokuban_core::ids::{Status, ZoneName};
use kokuban_core::json::Json;

use crate::output::{clip, in_json, safe};

/// Longest value shown within a line, in columns.
const WITHIN_A_LINE: usize = 300;
/// Longest value shown on the line of its name; a longer one is indented below it.
const BESIDE_ITS_NAME: usize = 64;
/// Most lines of a value among other things; `get --value` shows all of it.
const LINES_MAX: usize = 60;

/// The canonical text.
pub(crate) fn json(value: &Json) -> String {
    String::from_utf8_lossy(value.bytes()).into_owned()
}

/// A value within a line.
pub(crate) fn brief(value: &Json) -> String {
    clip(&in_json(&json(value)), WITHIN_A_LINE).into_owned()
}

/// A whole value, indented where it is long.
pub(crate) fn value(value: &Json) -> String {
    let line = json(value);
    if line.len() <= BESIDE_ITS_NAME {
        return in_json(&line).into_owned();
    }
    let lines = serde_json::to_string_pretty(&value.to_value()).unwrap_or(line);
    in_json(&lines).into_owned()
}

/// A line for each member that is set.
pub(crate) fn entry(entry: &Entry) -> String {
    let mut lines = vec![format!("{}/{}", safe(entry.zone.as_str()), safe(entry.key.as_str()))];
    if let Some(shown) = &entry.value {
        lines.push(named("value", &value_below(shown)));
    }
    lines.push(named("version", &entry.version));
    if let Some(status) = &entry.status {
        lines.push(named("status", &safe(status.as_str())));
    }
    lines.push(named("owner", &option(entry.owner.as_ref())));
    lines.push(named("updated", &format!("{} by {}", entry.updated_at, entry.updated_by)));
    if let Some(holder) = &entry.held_by {
        lines.push(named("held by", holder));
    }
    for (name, n) in [("notes", entry.notes), ("attempts", entry.attempts)] {
        if n > 0 {
            lines.push(named(name, &n));
        }
    }
    if let Some(details) = &entry.details {
        lines.extend(full(details));
    }
    lines.join("\n")
}

fn named(name: &str, text: &dyn std::fmt::Display) -> String {
    format!("  {name:<10} {text}")
}

/// The value beside its name, or below it.
fn value_below(shown: &Json) -> String {
    let text = value(shown);
    let n = text.lines().count();
    if n < 2 {
        return text;
    }
    let mut lines: Vec<_> = text.lines().take(LINES_MAX).map(|line| format!("    {line}")).collect();
    if n > LINES_MAX {
        lines.push(format!("    … {} lines more; `get --value` shows them", n - LINES_MAX));
    }
    format!("\n{}", lines.join("\n"))
}

/// What the full view adds.
fn full(details: &EntryDetails) -> Vec<String> {
    let mut lines = vec![
        ("created", format!("{} by {}", details.created_at, details.created_by)),
        ("written", format!("as of version {} by {}", details.value_version, details.value_by)),
        ("revision", details.revision.to_string()),
        ("etag", details.etag.clone()),
        ("sha256", details.sha256.to_string()),
        ("bytes", details.bytes.to_string()),
    ];
    for source in &details.derived_from {
        lines.push(("from", format!("{}@{}", source.id, source.version)));
    }
    if let Some(reason) = &details.reason {
        lines.push(("reason", reason.clone()));
    }
    lines.into_iter().map(|(name, text)| named(name, &safe(&text))).collect()
}

pub(crate) fn receipt(receipt: &Receipt) -> String {
    let status = receipt.status.as_ref().map_or_else(String::new, |status| format!(" {}", safe(status.as_str())));
    let outcome = match receipt.outcome {
        Outcome::Created => "created",
        Outcome::Updated => "updated",
        Outcome::Deleted => "deleted",
        Outcome::Unchanged => "unchanged",
    };
    let mut text = format!("{outcome}, version {}{status}", receipt.version);
    if let Some(granted) = &receipt.lease {
        text += &format!("\nlease {}", lease(granted));
    }
    text + &warnings(&receipt.warnings)
}

fn warnings(warnings: &[Warning]) -> String {
    let lines = warnings.iter().map(|warning| format!("\nwarning {}: {}", warning.code, safe(&warning.detail)));
    lines.collect()
}

pub(crate) fn lease(lease: &Lease) -> String {
    let token = lease.lease_token.map_or_else(String::new, |token| format!(", token {token}"));
    format!("held by {} for {} more{token}", lease.holder, duration(lease.remaining_ms))
}

/// A time span as people say it.
pub(crate) fn duration(ms: u64) -> String {
    match (ms / 1_000, ms / 60_000, ms / 3_600_000) {
        (0, ..) => format!("{ms} ms"),
        (s, 0, _) => format!("{s} s"),
        (s, m, 0) if s % 60 == 0 => format!("{m} min"),
        (s, m, 0) => format!("{m} min {} s", s % 60),
        (_, m, h) if m % 60 == 0 => format!("{h} h"),
        (_, m, h) => format!("{h} h {} min", m % 60),
    }
}

pub(crate) fn option<T: std::fmt::Display>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| safe(&value.to_string()).into_owned())
}

pub(crate) fn board(board: &BoardSummary) -> String {
    let mut lines = vec![board.board.to_string()];
    if let Some(title) = &board.title {
        lines.push(named("title", &safe(title)));
    }
    lines.push(named("blueprint", &format!("{}, schema {}", board.blueprint, board.schema_version)));
    lines.push(named("position", &board.position));
    lines.push(named("created", &format!("{} by {}", board.created_at, board.created_by)));
    lines.extend(board.zones.iter().map(|(zone, count)| named("zone", &zone_line(zone, count))));
    let level = match board.state.level {
        StateLevel::Ok => "",
        StateLevel::Warn => ", more than a prompt comfortably takes",
        StateLevel::Full => ", full",
    };
    let largest = board.state.largest.first();
    let largest = largest.map(|entry| format!(", largest {}/{} with {}", entry.zone, entry.key, entry.bytes));
    lines.push(named("state", &safe(&format!("{} bytes{}{level}", board.state.bytes, largest.unwrap_or_default()))));
    for (name, n) in [("leases", board.leases), ("conflicts", board.conflicts), ("proposals", board.proposals)] {
        if n > 0 {
            lines.push(named(name, &n));
        }
    }
    lines.extend(board.labels.iter().map(|(name, text)| named("label", &safe(&format!("{name} = {text}")))));
    lines.join("\n") + &warnings(&board.warnings)
}

fn zone_line(zone: &ZoneName, count: &ZoneCount) -> String {
    let statuses: Vec<_> = count.statuses.iter().map(|(status, n): (&Status, &u64)| format!("{n} {status}")).collect();
    let statuses = if statuses.is_empty() { String::new() } else { format!(" ({})", statuses.join(", ")) };
    safe(&format!("{zone}: {} entries{statuses}", count.entries)).into_owned()
}

/// One change in a few words, without its value.
pub(crate) fn change(change: &Change) -> String {
    let mut text = change.kind.as_str().to_owned();
    if let (Some(zone), Some(key)) = (&change.zone, &change.key) {
        text += &format!(" {zone}/{key}");
    }
    if let Some(version) = change.version {
        text += &format!(" v{version}");
    }
    match change.status.as_ref().map(|moved| (&moved.from, &moved.to)) {
        Some((Some(from), Some(to))) if from != to => text += &format!(" {from} → {to}"),
        Some((_, Some(status))) => text += &format!(" {status}"),
        Some((_, None)) | None => {}
    }
    if let Some(holder) = &change.held_by {
        text += &format!(", held by {holder}");
    }
    safe(&text).into_owned()
}

/// An entry on one line.
pub(crate) fn entry_line(entry: &Entry) -> String {
    let (status, owner) = (option(entry.status.as_ref()), option(entry.owner.as_ref()));
    let shown = entry.value.as_ref().map_or_else(String::new, |value| format!(" = {}", brief(value)));
    format!("{}/{} v{} {status}, owner {owner}{shown}", entry.zone, entry.key, entry.version)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_value_is_indented_and_a_huge_one_says_how_to_see_the_rest() {
        let long = Json::from_value(&json!({"features": ["bookkeeping", "reminders", "something else that is long"]}));
        let text = value_below(&long);
        assert!(text.starts_with("\n    {\n      \"features\": [\n"), "{text}");
        let huge = Json::from_value(&json!(vec![0; 1_000]));
        assert!(value_below(&huge).ends_with("lines more; `get --value` shows them"));
        assert_eq!(value(&huge).lines().count(), 1_002);
        assert_eq!(value_below(&Json::from_value(&json!("x"))), "\"x\"");
    }

    #[test]
    fn a_time_span_is_said_in_its_two_largest_units() {
        let said = [999, 59_994, 600_000, 3_599_999, 3_600_000].map(duration);
        assert_eq!(said, ["999 ms", "59 s", "10 min", "59 min 59 s", "1 h"]);
    }
}
