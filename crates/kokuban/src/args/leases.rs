//! Arguments of the commands that hand out the exclusive right to write.

use clap::{Args, Subcommand};
use kokuban_core::ids::{EntryId, Status, ZoneName};

use super::entries::entry_id;
use super::help::examples;

#[derive(Debug, Subcommand)]
pub(crate) enum LeaseCommand {
    /// Take it.
    #[command(after_help = examples![
        "kokuban lease acquire -b shop working/plan                  # for a minute",
        "kokuban lease acquire -b shop working/plan --ttl-ms 600000 --wait-ms 30000",
        "kokuban lease acquire -b shop working/plan --takeover       # you lost its token",
    ])]
    Acquire {
        /// The entry.
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        /// How long it is yours, from 100 ms to an hour.
        #[arg(long, value_name = "MS", default_value_t = 60_000)]
        ttl_ms: u64,
        /// Wait this long for another holder, up to 30 s.
        #[arg(long, value_name = "MS")]
        wait_ms: Option<u64>,
        /// Replace a lease of your own whose token is gone.
        #[arg(long)]
        takeover: bool,
    },
    /// Keep it.
    #[command(after_help = examples!["kokuban lease renew -b shop working/plan 17 --ttl-ms 600000"])]
    Renew {
        /// The entry.
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        /// What `acquire` gave.
        #[arg(value_name = "TOKEN")]
        lease_token: u64,
        /// How long it is yours from now on, from 100 ms to an hour.
        #[arg(long, value_name = "MS", default_value_t = 60_000)]
        ttl_ms: u64,
    },
    /// Give it back.
    #[command(after_help = examples!["kokuban lease release -b shop working/plan 17"])]
    Release {
        /// The entry.
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        /// What `acquire` gave.
        #[arg(value_name = "TOKEN")]
        lease_token: u64,
    },
    /// Show who holds it.
    #[command(after_help = examples!["kokuban lease show -b shop working/plan"])]
    Show {
        /// The entry.
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
    },
    /// Take it away from its holder, as an arbiter.
    #[command(after_help = examples!["kokuban lease revoke -b shop working/plan --reason 'the agent is gone'"])]
    Revoke {
        /// The entry.
        #[arg(value_name = "ZONE/KEY", value_parser = entry_id)]
        entry: EntryId,
        /// Why, for the history.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ClaimArgs {
    /// Where to look.
    pub(crate) zone: ZoneName,
    /// Only entries of this status.
    #[arg(long)]
    pub(crate) status: Option<Status>,
    /// Only keys that begin so.
    #[arg(long)]
    pub(crate) prefix: Option<String>,
    /// Move it to this status in the same commit.
    #[arg(long, value_name = "STATUS")]
    pub(crate) to_status: Option<Status>,
    /// How long it is yours, from 100 ms to an hour.
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    pub(crate) ttl_ms: u64,
    /// Wait this long for one, up to 30 s.
    #[arg(long, value_name = "MS")]
    pub(crate) wait_ms: Option<u64>,
}
