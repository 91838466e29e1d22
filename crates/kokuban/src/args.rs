//! The command line: commands, flags, their environment variables and their texts.
//!
//! Invariant: what clap accepts is syntactically complete; a usage error exits with 2 before anything is sent.
//! Not known here: what a command does.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kokuban_core::ids::{EntryId, Key, Position, ZoneName};

/// A networked blackboard for teams of agents.
#[derive(Debug, Parser)]
#[command(name = "kokuban", version, about, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Which server, which board, who calls and how the answer is shown.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of the client commands")]
pub(crate) struct ClientArgs {
    /// Address of the server [default: http://127.0.0.1:7411].
    #[arg(long, global = true, env = "KOKUBAN_URL", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Credential of the caller.
    #[arg(long, global = true, env = "KOKUBAN_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Name of the caller [default: cli-USER, or that of the token].
    #[arg(long, global = true, env = "KOKUBAN_AGENT", value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Board to work on.
    #[arg(long, short = 'b', global = true, env = "KOKUBAN_BOARD", value_name = "BOARD")]
    pub(crate) board: Option<String>,
    /// Form of the output [default: table on a terminal, json in a pipe].
    #[arg(long, short, global = true, value_name = "FORM")]
    pub(crate) output: Option<Form>,
}

/// How results are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people.
    Table,
    /// One JSON document, indented.
    Json,
    /// One JSON document a line.
    Jsonl,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a server.
    Serve(ServeArgs),
    /// Run a server for development: in memory, boards made by their first write.
    Dev(ServeArgs),
    /// Watch three agents work on one board, with all that can go wrong.
    Demo(DemoArgs),
    /// Show an entry.
    Get(GetArgs),
    /// Write the value of an entry.
    Put(PutArgs),
    /// Change leaves of an entry.
    Patch(PatchArgs),
    /// Move an entry to another status.
    Move(MoveArgs),
    /// Delete an entry; its version counter stays.
    Delete(DeleteArgs),
    /// List the entries of a board or zone.
    List(ListArgs),
    /// Follow what happens on a board.
    Watch(WatchArgs),
    /// Show past commits, newest first.
    History(HistoryArgs),
    /// Remarks on an entry.
    #[command(subcommand)]
    Note(NoteCommand),
    /// The exclusive right to write an entry for a time.
    #[command(subcommand)]
    Lease(LeaseCommand),
    /// Lease the next free entry of a zone.
    Claim(ClaimArgs),
    /// Create, show, list and delete boards.
    #[command(subcommand)]
    Board(BoardCommand),
    /// Write a board's history as JSON lines, for `verify`.
    Export,
    /// Check the chain of an export or of a data directory.
    Verify(VerifyArgs),
    /// Check server configurations and blueprints.
    CheckConfig(CheckConfigArgs),
    /// Make credentials.
    #[command(subcommand)]
    Token(TokenCommand),
    /// An agent of `demo`, started by it.
    #[command(hide = true)]
    DemoAgent(DemoAgentArgs),
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServeArgs {
    /// Address and port; port 0 takes a free one [default: 127.0.0.1:7411].
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Directory of the data.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Configuration file.
    #[arg(long, env = "KOKUBAN_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Whether an answered write survives a crash.
    #[arg(long, value_name = "KIND")]
    pub(crate) durability: Option<Durability>,
    /// Form of the log on standard error.
    #[arg(long, value_name = "FORM")]
    pub(crate) log_format: Option<LogFormat>,
    /// Serve without credentials on an address that others can reach.
    #[arg(long)]
    pub(crate) insecure_open: bool,
    /// After damage to the log: keep a copy, and go on with what stands before the damage.
    #[arg(long)]
    pub(crate) salvage: bool,
    /// Stop when standard input ends: for a parent that may be killed.
    #[arg(long, hide = true)]
    pub(crate) end_with_stdin: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Durability {
    Disk,
    Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Starts a server of its own, or uses the one at --url, which must be in mode `open`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the data and the log of the demo's own server here instead of in a temporary directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Kill the demo's own server in the middle and start it again.
    #[arg(long)]
    pub(crate) kill_server: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoAgentArgs {
    pub(crate) role: Role,
}

/// The parts of the demonstration's play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Role {
    /// Requirements.
    Ra,
    /// Technical design.
    Ta,
    /// Review, and arbiter.
    Rv,
    /// A researcher that dies.
    W1,
    /// A researcher that goes on.
    W2,
}

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

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// File of JSON lines that `export` wrote, `-` for standard input, or a data directory.
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CheckConfigArgs {
    /// Configurations of a server, and blueprints.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token: the secret for the agent, its hash for the configuration.
    New {
        /// Agent that will use it.
        #[arg(value_name = "AGENT")]
        name: String,
        /// Role of the agent on the whole server. May be repeated.
        #[arg(long, value_name = "ROLE")]
        role: Vec<ServerRole>,
        /// Boards it may see, as patterns.
        #[arg(long, value_name = "PATTERN", default_value = "*")]
        boards: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerRole {
    /// May do everything that is not an agent's business.
    Admin,
    /// May see every board.
    Observer,
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
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn client_options_may_stand_before_and_after_the_command() {
        for line in ["kokuban -b t1 -o json get z/k", "kokuban get z/k -b t1 -o json"] {
            let cli = Cli::try_parse_from(line.split(' ')).expect(line);
            assert_eq!((cli.client.board.as_deref(), cli.client.output), (Some("t1"), Some(Form::Json)));
        }
    }

    #[test]
    fn every_command_can_be_given_with_all_client_options() {
        let options = "--url http://h:1 --token s --agent a --board b --output json";
        for line in [
            "serve --listen 127.0.0.1:0 --data d --config f --durability memory --log-format json --insecure-open --salvage",
            "dev",
            "demo --data d --kill-server",
            "demo-agent ra",
            "get z/k --version 1 --full --value",
            "get z/k --after-version 1 --until-status raw --wait-ms 5",
            "put z/k -1 --version 1 --status raw --lease-token 4 --reason why",
            "put z/k text --string --if-absent",
            "patch z/k --set a=1 --set b=2 --unset c --version 1",
            "move z/k raw --version 1",
            "delete z/k --version 1",
            "list z --prefix p --status s --owner o --values --at 3 --limit 5",
            "watch --zone z --key k --prefix p --status s --kind created --after start --snapshot --values --count 1",
            "watch --after 00000000000000ab.3 --coalesce-ms 5",
            "history z/k --by a --kind created --values --limit 5",
            "note add z/k text --version 1",
            "note list z/k",
            "note close z/k n1",
            "lease acquire z/k --ttl-ms 5 --wait-ms 5 --takeover",
            "lease renew z/k 4 --ttl-ms 5",
            "lease release z/k 4",
            "lease show z/k",
            "lease revoke z/k --reason why",
            "claim z --status raw --prefix p --to-status processing --ttl-ms 5 --wait-ms 5",
            "board create --blueprint default --title t",
            "board show",
            "board list",
            "board delete",
            "export",
            "verify f",
            "check-config f g",
            "token new ra --role admin --role observer --boards x --boards y",
        ] {
            for whole in [format!("kokuban {line} {options}"), format!("kokuban {options} {line}")] {
                let cli = Cli::try_parse_from(whole.split(' ')).unwrap_or_else(|refused| panic!("{whole}: {refused}"));
                let client = (cli.client.token.as_deref(), cli.client.agent.as_deref(), cli.client.board.as_deref());
                assert_eq!(client, (Some("s"), Some("a"), Some("b")), "{whole}");
            }
        }
    }

    #[test]
    fn an_entry_is_a_zone_and_a_key_with_its_own_slashes() {
        assert_eq!(entry_id("分析/a/b").expect("valid").to_string(), "分析/a/b");
        assert!(entry_id("analysis").expect_err("no key").contains("ZONE/KEY"));
        assert!(entry_id("a b/c").is_err());
    }

    #[test]
    fn what_contradicts_itself_is_a_usage_error() {
        for line in [
            "kokuban put z/k 1 --if-absent --version 3",
            "kokuban get z/k --version 1 --at 2",
            "kokuban patch z/k",
            "kokuban watch --after 12",
            "kokuban lease renew z/k",
            "kokuban frobnicate",
        ] {
            let refused = Cli::try_parse_from(line.split(' ')).expect_err(line);
            assert_eq!(refused.exit_code(), 2, "{line}");
        }
    }
}
