//! `kokuban history`.

use kokuban_api::answers::HistoryCommit;
use kokuban_client::{Board, HistoryFilter};

use super::show;
use crate::args::HistoryArgs;
use crate::failure::Outcome;
use crate::output::Output;

pub(crate) async fn run(args: &HistoryArgs, board: &Board, out: Output) -> Outcome {
    let filter = HistoryFilter {
        entry: args.entry.clone(),
        by: args.by.clone(),
        kind: args.kind,
        values: args.values,
        page_items: Some(args.limit.clamp(1, 1_000)),
    };
    let commits = board.history(&filter).collect_up_to(args.limit).await?;
    Ok(out.many(&commits, ["revision", "at", "by", "changes"], |commit| {
        [commit.revision.to_string(), commit.at.to_string(), show::option(commit.by.as_ref()), changes(commit)]
    })?)
}

fn changes(commit: &HistoryCommit) -> String {
    let texts: Vec<_> = commit
        .changes
        .iter()
        .map(|change| {
            let mut text = show::change(&change.change);
            if let Some(after) = change.after.as_ref().and_then(|after| after.value.as_ref()) {
                text += &format!(" = {}", show::json(after));
            }
            if let Some(reason) = &change.reason {
                text += &format!(" ({reason})");
            }
            text
        })
        .collect();
    texts.join("; ")
}
