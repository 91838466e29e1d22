//! Arguments of the commands that read and write entries.

use clap::Args;
use kokuban_core::ids::{AgentName, EntryId, Key, Status, ZoneName};

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The entry.
    #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
    pub(crate) entry: EntryId,
    /// As it was at this version of its own.
    #[arg(long, value_name = "N", conflicts_with_all = ["at", "after_version", "until_status"])]
    pub(crate) version: Option<u64>,
    /// As it was at this revision of the board.
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["after_version", "until_status"])]
    pub(crate) at: Option<u64>,
    /// Wait until it has a higher version.
    #[arg(long, value_name = "N")]
    pub(crate) after_version: Option<u64>,
    /// Wait until it has this status.
    #[arg(long, value_name = "STATUS")]
    pub(crate) until_status: Option<Status>,
    /// Wait at most this long, with one of the two above.
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    pub(crate) wait_ms: u64,
    /// All that is known about it.
    #[arg(long)]
    pub(crate) full: bool,
    /// Only the value, as JSON.
    #[arg(long)]
    pub(crate) value: bool,
}

/// What a write may depend on and carry.
#[derive(Debug, Clone, Args)]
pub(crate) struct WriteArgs {
    /// The version this write is based on.
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<u64>,
    /// Token of the lease on the entry.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) lease_token: Option<u64>,
    /// Why, for the history.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    /// The entry.
    #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
    pub(crate) entry: EntryId,
    /// JSON; `@FILE` reads it from a file, `-` from standard input.
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) value: String,
    /// The value is text, not JSON.
    #[arg(long)]
    pub(crate) string: bool,
    /// Only if there is no such entry yet.
    #[arg(long, conflicts_with = "version")]
    pub(crate) if_absent: bool,
    /// Move it to this status in the same commit.
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<Status>,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    /// The entry.
    #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
    pub(crate) entry: EntryId,
    /// Set a leaf: `path=JSON`, the path with dots or as a JSON Pointer. May be repeated.
    #[arg(long, value_name = "PATH=JSON", required_unless_present_any = ["unset", "status"])]
    pub(crate) set: Vec<String>,
    /// Remove a leaf. May be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) unset: Vec<String>,
    /// Move it to this status in the same commit.
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<Status>,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    /// The entry.
    #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
    pub(crate) entry: EntryId,
    /// Where to.
    pub(crate) status: Status,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The entry.
    #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
    pub(crate) entry: EntryId,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only this zone.
    pub(crate) zone: Option<ZoneName>,
    /// Only keys that begin so.
    #[arg(long)]
    pub(crate) prefix: Option<String>,
    /// Only entries of this status.
    #[arg(long)]
    pub(crate) status: Option<Status>,
    /// Only entries of this agent.
    #[arg(long, value_name = "AGENT")]
    pub(crate) owner: Option<AgentName>,
    /// Show the values too.
    #[arg(long)]
    pub(crate) values: bool,
    /// As it was at this revision of the board.
    #[arg(long, value_name = "REVISION")]
    pub(crate) at: Option<u64>,
    /// At most this many.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) limit: usize,
}

/// `ZONE/KEY`, the key with its own slashes.
pub(super) fn entry_id(text: &str) -> Result<EntryId, String> {
    let (zone, key) = text.split_once('/').ok_or("an entry is named ZONE/KEY, such as `analysis/requirements`")?;
    let zone = ZoneName::new(zone).map_err(|e| e.to_string())?;
    let key = Key::new(key).map_err(|e| e.to_string())?;
    Ok(EntryId::new(zone, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_zone_and_a_key_with_its_own_slashes() {
        assert_eq!(entry_id("分析/a/b").expect("valid").to_string(), "分析/a/b");
        assert!(entry_id("analysis").expect_err("no key").contains("ZONE/KEY"));
        assert!(entry_id("a b/c").is_err());
    }
}
