//! `kokuban watch`: one line for each change, until interrupted.
//!
//! Invariant: in JSON every line is one event `{event, position?, data}`; an interruption of the connection is told on
//! standard error and is not the end. ^C is left to the system, so that it also ends a script around this.

use std::time::Duration;

use futures::StreamExt;
use kokuban_api::stream::{Change, Message};
use kokuban_client::{Board, Commit, Event, EventFilter, Start};
use kokuban_core::ids::{AgentName, Position, Timestamp};
use serde_json::{Value, json};

use super::show;
use crate::args::{WatchArgs, WatchStart};
use crate::failure::Outcome;
use crate::output::{Output, Paint, complain, safe};

/// Agents are padded to this.
const BY_CHARS: usize = 8;

pub(crate) async fn run(args: &WatchArgs, board: &Board, out: Output) -> Outcome {
    let mut events = board.events(&filter(args));
    let mut lines = Lines::new(Paint::of_stdout());
    let (mut commits, mut is_interrupted) = (0, false);
    while let Some(event) = events.next().await {
        let event = event?;
        match &event {
            Event::Interrupted(interruption) => {
                complain(&format!("── the connection broke ({}); connecting again", safe(&interruption.why)));
                is_interrupted = true;
            }
            Event::Bye(_) => is_interrupted = true,
            Event::Hello(_) if is_interrupted => {
                complain("── connected again");
                is_interrupted = false;
            }
            _ => {}
        }
        if let Some((data, text)) = lines.shown(&event) {
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

/// Events as lines; a new day is a line of its own, so that times can be short.
#[derive(Debug)]
struct Lines {
    paint: Paint,
    day: String,
}

impl Lines {
    fn new(paint: Paint) -> Self {
        Self { paint, day: String::new() }
    }

    /// The line for programs and those for people; a greeting is for nobody.
    fn shown(&mut self, event: &Event) -> Option<(Value, String)> {
        let line = |name: &str, position: Option<Position>, data: Value, text: String| {
            let mut line = json!({"event": name, "data": data});
            if let Some(position) = position {
                line["position"] = json!(position);
            }
            Some((line, text))
        };
        match event {
            Event::Commit(commit) => line("commit", Some(commit.position), json!(commit.message), self.commit(commit)),
            Event::Snapshot(entry) => line("snapshot", None, json!(entry), show::entry_line(entry)),
            Event::SnapshotEnd(position) => {
                line("snapshot_end", Some(*position), json!({}), format!("── as of revision {}", position.revision))
            }
            Event::Reset(reset) => {
                let why = word(&json!(reset.reason));
                let text = format!("── the stream could not go on where it was ({why}): read again what matters");
                line("reset", Some(reset.head), json!(reset), text)
            }
            Event::Bye(bye) => {
                line("bye", None, json!(bye), format!("── the server says good-bye: {}", word(&json!(bye.reason))))
            }
            _ => None,
        }
    }

    fn commit(&mut self, commit: &Commit) -> String {
        let revision = commit.position.revision.to_string();
        let lines: Vec<_> = match &commit.message {
            Message::Commit(message) => {
                let line = |change| self.change(message.at, &revision, message.by.as_ref(), change);
                message.changes.iter().map(line).collect()
            }
            // Each change with the one who made it last.
            Message::Coalesced(window) => {
                let line = |change: &Change| match change.at {
                    Some(at) => self.change(at, &revision, change.by.as_ref(), change),
                    None => show::change(change),
                };
                window.changes.iter().map(line).collect()
            }
        };
        lines.join("\n")
    }

    fn change(&mut self, at: Timestamp, revision: &str, by: Option<&AgentName>, change: &Change) -> String {
        let at = at.to_string();
        let (day, time) = at.split_once('T').unwrap_or(("", &at));
        let mut text = String::new();
        if day != self.day {
            day.clone_into(&mut self.day);
            text = format!("── {day}, times in UTC\n");
        }
        let value = change.value.as_ref().map_or_else(String::new, |value| format!(" = {}", show::brief(value)));
        let by = by.map_or("-", AgentName::as_str);
        let time = self.paint.dim(time.trim_end_matches('Z'));
        text + &format!("{time} {revision:>5}  {by:<BY_CHARS$} {}{value}", show::change(change))
    }
}

fn word(value: &Value) -> String {
    value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string())
}
