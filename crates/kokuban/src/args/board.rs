//! Arguments of the commands about a board and its entries.

use clap::{Args, Subcommand};
use kokuban_core::ids::{EntryId, Key, Position, ZoneName};

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
    pub(crate) until_status: Option<String>,
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
    pub(crate) status: Option<String>,
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
    pub(crate) status: Option<String>,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    /// The entry.
    #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
    pub(crate) entry: EntryId,
    pub(crate) status: String,
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
    pub(crate) zone: Option<String>,
    #[arg(long)]
    pub(crate) prefix: Option<String>,
    #[arg(long)]
    pub(crate) status: Option<String>,
    #[arg(long)]
    pub(crate) owner: Option<String>,
    /// Show the values too.
    #[arg(long)]
    pub(crate) values: bool,
    /// As it was at this revision of the board.
    #[arg(long, value_name = "REVISION")]
    pub(crate) at: Option<u64>,
    /// At most this many.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Only this zone. This and the next four may be repeated.
    #[arg(long)]
    pub(crate) zone: Vec<String>,
    #[arg(long)]
    pub(crate) key: Vec<String>,
    #[arg(long)]
    pub(crate) prefix: Vec<String>,
    #[arg(long)]
    pub(crate) status: Vec<String>,
    #[arg(long)]
    pub(crate) kind: Vec<String>,
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
    /// End after this many commits.
    #[arg(long, value_name = "N")]
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
    #[arg(long)]
    pub(crate) by: Option<String>,
    /// Only commits with a change of this kind.
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Show values before and after.
    #[arg(long)]
    pub(crate) values: bool,
    /// At most this many.
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: usize,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NoteCommand {
    /// Leave a remark; version, value and owner of the entry stay.
    Add {
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        text: String,
        /// The version the remark is about.
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Show the open remarks.
    List {
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
    },
    /// Close a remark.
    Close {
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LeaseCommand {
    /// Take it.
    Acquire {
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        #[arg(long, value_name = "MS", default_value_t = 60_000)]
        ttl_ms: u64,
        /// Wait this long for another holder.
        #[arg(long, value_name = "MS")]
        wait_ms: Option<u64>,
        /// Replace a lease of your own whose token is gone.
        #[arg(long)]
        takeover: bool,
    },
    /// Keep it.
    Renew {
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        /// What `acquire` gave.
        #[arg(value_name = "TOKEN")]
        lease_token: u64,
        #[arg(long, value_name = "MS", default_value_t = 60_000)]
        ttl_ms: u64,
    },
    /// Give it back.
    Release {
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        /// What `acquire` gave.
        #[arg(value_name = "TOKEN")]
        lease_token: u64,
    },
    /// Show who holds it.
    Show {
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
    },
    /// Take it away from its holder, as an arbiter.
    Revoke {
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        #[arg(long)]
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ClaimArgs {
    /// Where to look.
    pub(crate) zone: String,
    /// Only entries of this status.
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// Only keys that begin so.
    #[arg(long)]
    pub(crate) prefix: Option<String>,
    /// Move it to this status in the same commit.
    #[arg(long, value_name = "STATUS")]
    pub(crate) to_status: Option<String>,
    /// How long it is yours, from 100 ms to an hour.
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    pub(crate) ttl_ms: u64,
    /// Wait this long for one.
    #[arg(long, value_name = "MS")]
    pub(crate) wait_ms: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BoardCommand {
    /// Create the board named by --board.
    Create {
        /// Name of a blueprint the server knows, or `@FILE` with one as TOML or JSON.
        #[arg(long, default_value = "default", value_name = "NAME|@FILE")]
        blueprint: String,
        #[arg(long)]
        title: Option<String>,
    },
    /// Show its position, counts and size.
    Show,
    /// List the boards you may see.
    List,
    /// Delete it, as an admin.
    Delete,
}

/// `ZONE/KEY`, the key with its own slashes.
fn entry_id(text: &str) -> Result<EntryId, String> {
    let (zone, key) = text.split_once('/').ok_or("an entry is named ZONE/KEY, such as `analysis/requirements`")?;
    let zone = ZoneName::new(zone).map_err(|e| e.to_string())?;
    let key = Key::new(key).map_err(|e| e.to_string())?;
    Ok(EntryId::new(zone, key))
}

fn watch_start(text: &str) -> Result<WatchStart, String> {
    match text {
        "head" => Ok(WatchStart::Head),
        "start" => Ok(WatchStart::Oldest),
        other => other.parse().map(WatchStart::After).map_err(|e| format!("`head`, `start`, or a position: {e}")),
    }
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
