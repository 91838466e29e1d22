//! `kokuban watch`: one line for each commit, until interrupted.
//!
//! Invariant: in JSON every line is one event `{event, position?, data}`; an interruption of the connection is not
//! the end.

use std::time::Duration;

use futures::StreamExt;
use kokuban_api::stream::Message;
use kokuban_client::{Board, Commit, Event, EventFilter, Start};
use kokuban_core::ids::Position;
use serde_json::{Value, json};

use super::show;
use crate::args::{WatchArgs, WatchStart};
use crate::failure::Outcome;
use crate::output::{Output, safe};

pub(crate) async fn run(args: &WatchArgs, board: &Board, out: Output) -> Outcome {
    let mut events = board.events(&filter(args));
    let mut commits = 0;
    while let Some(event) = events.next().await {
        let event = event?;
        if let Some((data, text)) = shown(&event) {
            out.next(&data, |_| text)?;
        }
        commits += u64::from(matches!(event, Event::Commit(_)));
        if args.count.is_some_and(|count| commits >= count) {
            break;
        }
    }
    Ok(())
}

fn filter(args: &WatchArgs) -> EventFilter {
    let mut filter = EventFilter::new().start(match args.after {
        WatchStart::Head => Start::Head,
        WatchStart::Oldest => Start::Oldest,
        WatchStart::After(position) => Start::After(position),
    });
    filter = args.zone.iter().fold(filter, |filter, zone| filter.zone(zone.as_str()));
    filter = args.key.iter().fold(filter, EventFilter::key);
    filter = args.prefix.iter().fold(filter, EventFilter::prefix);
    filter = args.status.iter().fold(filter, |filter, status| filter.status(status.as_str()));
    for kind in &args.kind {
        filter = filter.kind(*kind);
    }
    if args.snapshot {
        filter = filter.snapshot();
    }
    if args.values {
        filter = filter.values();
    }
    if let Some(ms) = args.coalesce_ms {
        filter = filter.coalesce(Duration::from_millis(ms));
    }
    filter
}

/// The line for programs and the one for people; a greeting is for nobody.
fn shown(event: &Event) -> Option<(Value, String)> {
    let line = |name: &str, position: Option<Position>, data: Value, text: String| {
        let mut line = json!({"event": name, "data": data});
        if let Some(position) = position {
            line["position"] = json!(position);
        }
        Some((line, text))
    };
    match event {
        Event::Commit(commit) => line("commit", Some(commit.position), json!(commit.message), commit_line(commit)),
        Event::Snapshot(entry) => line("snapshot", None, json!(entry), show::entry_line(entry)),
        Event::SnapshotEnd(position) => {
            line("snapshot_end", Some(*position), json!({}), format!("── as of revision {}", position.revision))
        }
        Event::Reset(reset) => {
            let text =
                format!("── the stream could not go on ({}): read again what matters", word(json!(reset.reason)));
            line("reset", Some(reset.head), json!(reset), text)
        }
        Event::Bye(bye) => {
            line("bye", None, json!(bye), format!("── the server says good-bye: {}", word(json!(bye.reason))))
        }
        _ => None,
    }
}

fn word(value: Value) -> String {
    value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string())
}

fn commit_line(commit: &Commit) -> String {
    let changes: Vec<_> = commit.message.changes().iter().map(show::change).collect();
    let (at, by) = match &commit.message {
        Message::Commit(commit) => (commit.at.to_string(), show::option(commit.by.as_ref())),
        Message::Coalesced(window) => (format!("{}-{}", window.revisions.first, window.revisions.last), "-".to_owned()),
    };
    format!("{at} {:>5} {by:<8} {}", commit.position.revision, safe(&changes.join("; ")))
}
