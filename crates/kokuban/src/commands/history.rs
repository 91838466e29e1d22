//! `kokuban history`.

use kokuban_api::answers::{HistoryChange, HistoryCommit, HistoryState};
use kokuban_client::{Board, HistoryFilter};

use super::show;
use crate::args::HistoryArgs;
use crate::failure::{Attempt, Outcome};
use crate::output::{Columns, Last, Output, safe};

const COMMITS: Columns<HistoryCommit, 4> =
    Columns { head: ["revision", "at", "by", "changes"], row, last: Last::Wrapped, none: "no commits" };

pub(crate) async fn run(args: &HistoryArgs, board: &Board, out: Output) -> Outcome {
    let filter = HistoryFilter {
        entry: args.entry.clone(),
        by: args.by.clone(),
        kind: args.kind,
        values: args.values,
        page_items: Some(args.limit.saturating_add(1).clamp(1, 1_000)),
    };
    let listed = out.many(board.history(&filter), args.limit, &COMMITS).await;
    listed.map_err(|failure| failure.of(args.entry.as_ref().map(|entry| Attempt::on("history", entry))))
}

fn row(commit: &HistoryCommit) -> [String; 4] {
    let changes: Vec<_> = commit.changes.iter().map(change).collect();
    let by = show::option(commit.by.as_ref());
    [commit.revision.to_string(), commit.at.to_string(), by, changes.join("\n")]
}

fn change(change: &HistoryChange) -> String {
    let mut text = show::change(&change.change);
    match (value(change.before.as_ref()), value(change.after.as_ref())) {
        (Some(before), Some(after)) if before != after => text += &format!(": {before} → {after}"),
        (None, Some(after)) => text += &format!(" = {after}"),
        (Some(_), Some(_)) | (_, None) => {}
    }
    if let Some(reason) = &change.reason {
        text += &format!(" ({})", safe(reason));
    }
    text
}

fn value(state: Option<&HistoryState>) -> Option<String> {
    state?.value.as_ref().map(show::brief)
}
