//! Arguments of the commands about notes.

use clap::Subcommand;
use kokuban_core::ids::EntryId;

use super::entries::entry_id;
use super::help::examples;

#[derive(Debug, Subcommand)]
pub(crate) enum NoteCommand {
    /// Leave a remark; version, value and owner of the entry stay.
    #[command(after_help = examples![
        "kokuban note add -b shop working/plan 'Where does the 4 come from?'",
        "kokuban note add -b shop working/plan 'Too early.' --version 3",
    ])]
    Add {
        /// The entry.
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        /// The remark.
        text: String,
        /// The version the remark is about.
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Show the open remarks.
    #[command(after_help = examples!["kokuban note list -b shop working/plan"])]
    List {
        /// The entry.
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
    },
    /// Close a remark.
    #[command(after_help = examples!["kokuban note close -b shop working/plan n4-0"])]
    Close {
        /// The entry.
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        /// What `add` and `list` show.
        id: String,
    },
}
