//! How things of a board look to people: entries, receipts, commits, leases, notes as lines.
//!
//! Invariant: every text that came from a board goes through `safe`.

use kokuban_api::answers::{Entry, EntryDetails, Lease, Outcome, Receipt};
use kokuban_api::stream::Change;
use kokuban_core::json::Json;

use crate::output::{clip, safe};

/// Longest value shown on one line.
const VALUE_CHARS_MAX: usize = 2_000;

pub(crate) fn value(value: &Json) -> String {
    clip(&safe(&json(value)), VALUE_CHARS_MAX)
}

/// The canonical text.
pub(crate) fn json(value: &Json) -> String {
    String::from_utf8_lossy(value.bytes()).into_owned()
}

/// A line for each member that is set.
pub(crate) fn entry(entry: &Entry) -> String {
    let mut lines = vec![format!("{}/{}", safe(entry.zone.as_str()), safe(entry.key.as_str()))];
    let mut line = |name: &str, text: String| lines.push(format!("  {name:<10} {text}"));
    if let Some(shown) = &entry.value {
        line("value", value(shown));
    }
    line("version", entry.version.to_string());
    if let Some(status) = &entry.status {
        line("status", safe(status.as_str()).into_owned());
    }
    line("owner", option(entry.owner.as_ref()));
    line("updated", format!("{} by {}", entry.updated_at, entry.updated_by));
    if let Some(holder) = &entry.held_by {
        line("held by", holder.to_string());
    }
    for (name, n) in [("notes", entry.notes), ("attempts", entry.attempts)] {
        if n > 0 {
            line(name, n.to_string());
        }
    }
    if let Some(details) = &entry.details {
        lines.extend(full(details));
    }
    lines.join("\n")
}

/// What the full view adds.
fn full(details: &EntryDetails) -> Vec<String> {
    let mut lines = vec![
        ("created", format!("{} by {}", details.created_at, details.created_by)),
        ("value", format!("of version {} by {}", details.value_version, details.value_by)),
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
    lines.into_iter().map(|(name, text)| format!("  {name:<10} {}", safe(&text))).collect()
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
    for warning in &receipt.warnings {
        text += &format!("\nwarning {}: {}", warning.code, safe(&warning.detail));
    }
    text
}

pub(crate) fn lease(lease: &Lease) -> String {
    let token = lease.lease_token.map_or_else(String::new, |token| format!(", token {token}"));
    format!("held by {} for {} ms more{token}", lease.holder, lease.remaining_ms)
}

pub(crate) fn option<T: std::fmt::Display>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| safe(&value.to_string()).into_owned())
}

/// One change in a few words.
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
    if let Some(value) = &change.value {
        text += &format!(" = {}", clip(&json(value), VALUE_CHARS_MAX));
    }
    text
}

/// An entry on one line.
pub(crate) fn entry_line(entry: &Entry) -> String {
    let status = option(entry.status.as_ref());
    let shown = entry.value.as_ref().map_or_else(String::new, value);
    let line =
        format!("{}/{} v{} {status} {} {shown}", entry.zone, entry.key, entry.version, option(entry.owner.as_ref()));
    line.trim_end().to_owned()
}
