//! Arguments of the commands that show what happens and what happened.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, value_parser};
use kokuban_api::ChangeKind;
use kokuban_core::ids::{AgentName, EntryId, Position, Status, ZoneName};

use super::entries::entry_id;

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Only this zone. This and the next four may be repeated.
    #[arg(long)]
    pub(crate) zone: Vec<ZoneName>,
    /// Only this key.
    #[arg(long)]
    pub(crate) key: Vec<String>,
    /// Only keys that begin so.
    #[arg(long)]
    pub(crate) prefix: Vec<String>,
    /// Only entries that have, or had, this status.
    #[arg(long)]
    pub(crate) status: Vec<Status>,
    /// Only changes of this kind, such as `updated` or `lease_expired`.
    #[arg(long, value_parser = change_kind(), hide_possible_values = true)]
    pub(crate) kind: Vec<ChangeKind>,
    /// Begin after this position, or with `start`; `head` is from now on.
    #[arg(long, default_value = "head", value_name = "POSITION", value_parser = watch_start)]
    pub(crate) after: WatchStart,
    /// First the entries as they are.
    #[arg(long)]
    pub(crate) snapshot: bool,
    /// Show the new values too.
    #[arg(long)]
    pub(crate) values: bool,
    /// Collect the commits of this long into one message.
    #[arg(long, value_name = "MS")]
    pub(crate) coalesce_ms: Option<u64>,
    /// End after this many commits; without it ^C ends it (exit code 130, as of anything that is interrupted).
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchStart {
    Head,
    Oldest,
    After(Position),
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Only commits that touched this entry.
    #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
    pub(crate) entry: Option<EntryId>,
    /// Only commits of this agent.
    #[arg(long, value_name = "AGENT")]
    pub(crate) by: Option<AgentName>,
    /// Only commits with a change of this kind, such as `updated` or `lease_expired`.
    #[arg(long, value_parser = change_kind(), hide_possible_values = true)]
    pub(crate) kind: Option<ChangeKind>,
    /// Show values before and after.
    #[arg(long)]
    pub(crate) values: bool,
    /// At most this many.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
}

fn watch_start(text: &str) -> Result<WatchStart, String> {
    match text {
        "head" => Ok(WatchStart::Head),
        "start" => Ok(WatchStart::Oldest),
        other => other.parse().map(WatchStart::After).map_err(|e| format!("`head`, `start`, or a position: {e}")),
    }
}

/// A kind by its name; a typing error gets the nearest one.
fn change_kind() -> impl TypedValueParser<Value = ChangeKind> {
    let names = PossibleValuesParser::new(ChangeKind::ALL.iter().map(|kind| kind.as_str()));
    names.map(|name| {
        let known = ChangeKind::ALL.iter().copied().find(|kind| kind.as_str() == name);
        known.expect("the parser lets only names of kinds through")
    })
}
