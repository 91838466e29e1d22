//! `kokuban list`.

use kokuban_api::answers::Entry;
use kokuban_client::{Board, ListFilter};
use kokuban_core::ids::Revision;

use super::show;
use crate::args::ListArgs;
use crate::failure::Outcome;
use crate::output::{Output, clip, safe};

const SHOWN_VALUE_CHARS: usize = 60;

pub(crate) async fn run(args: &ListArgs, board: &Board, out: Output) -> Outcome {
    let filter = ListFilter {
        zone: args.zone.clone(),
        prefix: args.prefix.clone(),
        status: args.status.clone(),
        owner: args.owner.clone(),
        values: args.values,
        at: args.at.map(Revision),
        min_position: None,
        page_items: Some(args.limit.clamp(1, 1_000)),
    };
    let entries = board.list(&filter).collect_up_to(args.limit).await?;
    show_entries(&entries, out)
}

/// Entries as rows; with their values, where they have them.
pub(crate) fn show_entries(entries: &[Entry], out: Output) -> Outcome {
    let columns = ["entry", "version", "status", "owner", "held by", "updated by", "notes"];
    if entries.iter().all(|entry| entry.value.is_none()) {
        return Ok(out.many(entries, columns, marks)?);
    }
    let [entry, version, status, owner, held_by, updated_by, notes] = columns;
    let columns = [entry, version, status, owner, held_by, updated_by, notes, "value"];
    Ok(out.many(entries, columns, |entry| {
        let value = entry.value.as_ref().map_or_else(String::new, |v| clip(&safe(&show::json(v)), SHOWN_VALUE_CHARS));
        let [name, version, status, owner, held_by, updated_by, notes] = marks(entry);
        [name, version, status, owner, held_by, updated_by, notes, value]
    })?)
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
