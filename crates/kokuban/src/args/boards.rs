//! Arguments of the commands about whole boards.

use clap::{Args, Subcommand};

use super::help::examples;

#[derive(Debug, Subcommand)]
pub(crate) enum BoardCommand {
    /// Create a board.
    #[command(after_help = examples![
        "kokuban board create shop",
        "kokuban board create paper --blueprint @newsroom.toml --title 'Monday'",
    ])]
    Create {
        #[command(flatten)]
        name: WhichBoard,
        /// Name of a blueprint the server knows, or `@FILE` with one as TOML or JSON.
        #[arg(long, default_value = "default", value_name = "NAME|@FILE")]
        blueprint: String,
        /// A line for people.
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
    },
    /// Show its position, counts and size.
    #[command(after_help = examples!["kokuban board show shop"])]
    Show(WhichBoard),
    /// Write its history as JSON lines, for `verify`.
    #[command(after_help = examples![
        "kokuban board export shop > shop.jsonl",
        "kokuban board export shop | kokuban verify -",
    ])]
    Export(WhichBoard),
    /// List the boards you may see.
    #[command(after_help = examples!["kokuban board list"])]
    List,
    /// Delete it, as an admin.
    #[command(after_help = examples!["kokuban board delete shop"])]
    Delete(WhichBoard),
}

impl BoardCommand {
    /// The board in its own place.
    pub(crate) fn board(&self) -> Option<&str> {
        match self {
            Self::Create { name, .. } | Self::Show(name) | Self::Export(name) | Self::Delete(name) => {
                name.name.as_deref()
            }
            Self::List => None,
        }
    }
}

/// Commands about a whole board take its name in its own place, too.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WhichBoard {
    /// The board, instead of --board.
    #[arg(value_name = "BOARD")]
    pub(crate) name: Option<String>,
}
