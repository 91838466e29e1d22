//! `kokuban list`.

use futures::{Stream, StreamExt as _};
use kokuban_api::answers::Entry;
use kokuban_client::{Board, Error, ListFilter};
use kokuban_core::ids::Revision;

use super::show;
use crate::args::ListArgs;
use crate::failure::{Attempt, Outcome};
use crate::output::{Columns, Last, Output};

const MARKS: Columns<Entry, 7> = Columns {
    head: ["entry", "version", "status", "owner", "held by", "updated by", "notes"],
    row: marks,
    last: Last::Short,
    none: "no entries",
};

const VALUES: Columns<Entry, 8> = Columns {
    head: ["entry", "version", "status", "owner", "held by", "updated by", "notes", "value"],
    row: marks_and_value,
    last: Last::Cut,
    none: "no entries",
};

pub(crate) async fn run(args: &ListArgs, board: &Board, out: Output) -> Outcome {
    let filter = ListFilter {
        zone: args.zone.clone(),
        prefix: args.prefix.clone(),
        status: args.status.clone(),
        owner: args.owner.clone(),
        values: args.values,
        at: args.at.map(Revision),
        min_position: None,
        page_items: Some(args.limit.saturating_add(1).clamp(1, 1_000)),
    };
    let entries = board.list(&filter);
    let listed = if args.values {
        out.many(entries, args.limit, &VALUES).await
    } else {
        out.many(entries, args.limit, &MARKS).await
    };
    listed.map_err(|failure| failure.of(args.zone.as_ref().map(|zone| Attempt::in_zone("list", zone))))
}

/// Entries as rows, with their values.
pub(crate) async fn show_entries(
    entries: impl Stream<Item = Result<Entry, Error>> + Send,
    limit: usize,
    out: Output,
) -> Outcome {
    out.many(entries.boxed(), limit, &VALUES).await
}

fn marks(entry: &Entry) -> [String; 7] {
    [
        format!("{}/{}", entry.zone, entry.key),
        entry.version.to_string(),
        show::option(entry.status.as_ref()),
        show::option(entry.owner.as_ref()),
        show::option(entry.held_by.as_ref()),
        entry.updated_by.to_string(),
        entry.notes.to_string(),
    ]
}

fn marks_and_value(entry: &Entry) -> [String; 8] {
    let [name, version, status, owner, held_by, updated_by, notes] = marks(entry);
    let value = entry.value.as_ref().map_or_else(String::new, show::brief);
    [name, version, status, owner, held_by, updated_by, notes, value]
}
