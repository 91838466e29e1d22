//! Arguments of the commands about whole boards and their rules.

use clap::{Args, Subcommand, ValueEnum};

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

#[derive(Debug, Subcommand)]
pub(crate) enum BlueprintCommand {
    /// Draw its lifecycles: statuses, moves, and who may make them.
    #[command(after_help = examples![
        "kokuban blueprint graph default > default.svg",
        "kokuban blueprint graph newsroom.toml --lifecycle article > article.svg",
        "kokuban blueprint graph newsroom.toml --format mermaid",
        "kokuban blueprint graph --board shop > shop.svg    # the rules it lives by",
    ])]
    Graph {
        /// A blueprint that is built in, or a file [default: that of --board].
        #[arg(value_name = "NAME|FILE")]
        source: Option<String>,
        /// Only this lifecycle.
        #[arg(long, value_name = "NAME")]
        lifecycle: Option<String>,
        /// Language of the picture.
        #[arg(long, value_name = "FORMAT", default_value = "svg")]
        format: GraphForm,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphForm {
    /// A picture for browsers and documents.
    Svg,
    /// For Graphviz.
    Dot,
    /// A flowchart for pages that draw Mermaid.
    Mermaid,
}
