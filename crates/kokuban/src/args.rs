//! The command line: commands, flags, their environment variables and their texts.
//!
//! Invariant: what clap accepts is syntactically complete; a usage error exits with 2 before anything is sent.
//! Not known here: what a command does. To add one: a variant here with `examples!`, its name in `help::GROUPS`, an
//! arm in `main::run`, a golden transcript in `tests/it/cli`.

mod boards;
mod entries;
mod events;
mod help;
mod leases;
mod notes;
mod servers;

use std::io::Write as _;

use clap::error::ErrorKind;
use clap::{Args, FromArgMatches as _, Parser, Subcommand, ValueEnum};

pub(crate) use self::boards::*;
pub(crate) use self::entries::*;
pub(crate) use self::events::*;
use self::help::examples;
pub(crate) use self::help::{command, command_to_complete};
pub(crate) use self::leases::*;
pub(crate) use self::notes::*;
pub(crate) use self::servers::*;

/// A networked blackboard for teams of agents.
#[derive(Debug, Parser)]
#[command(name = "kokuban", version, about, arg_required_else_help = false)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Cli {
    /// What this process was called with; ends it where that is help or a usage error.
    pub(crate) fn of_process() -> Self {
        let mut command = command();
        let matches =
            command.try_get_matches_from_mut(std::env::args_os()).unwrap_or_else(|error| match error.kind() {
                // `kokuban lease` alone asks for what there is.
                ErrorKind::MissingSubcommand => help_instead(),
                _ => error.exit(),
            });
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
    }
}

/// The help for what was typed, as the usage error that it is.
fn help_instead() -> ! {
    let asked = std::env::args_os().chain(["--help".into()]);
    let help = command().try_get_matches_from(asked).expect_err("help is no command");
    // Who closed it does not read it.
    let _ = write!(anstream::stderr(), "{}", help.render().ansi());
    std::process::exit(2)
}

/// Which server, which board, who calls and how the answer is shown.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server, caller and output")]
pub(crate) struct ClientArgs {
    /// Address of the server [default: http://127.0.0.1:7411].
    #[arg(long, global = true, env = "KOKUBAN_URL", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Credential of the caller; better kept in the variable, where others do not see it.
    #[arg(long, global = true, env = "KOKUBAN_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Name of the caller [default: that of the token, or cli-USER].
    #[arg(long, global = true, env = "KOKUBAN_AGENT", value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Board to work on.
    #[arg(long, short = 'b', global = true, env = "KOKUBAN_BOARD", value_name = "BOARD")]
    pub(crate) board: Option<String>,
    /// Give up when there is no answer within this time [default: 30000].
    #[arg(long, global = true, env = "KOKUBAN_TIMEOUT_MS", value_name = "MS")]
    pub(crate) timeout_ms: Option<u64>,
    /// Form of the output [default: table on a terminal, json in a pipe].
    #[arg(long, short, global = true, env = "KOKUBAN_OUTPUT", value_name = "FORM")]
    pub(crate) output: Option<Form>,
}

/// How results are shown. Without texts for help, so that help stays short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Table,
    // One document, indented.
    Json,
    // One document a line.
    Jsonl,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a server for development: in memory, boards made by their first write.
    #[command(after_help = examples!["kokuban dev", "kokuban dev --listen 127.0.0.1:0 --data ./board-data"])]
    Dev(ServeArgs),
    /// Write a first deployment: configuration, tokens, a blueprint, a compose file.
    #[command(after_help = examples![
        "kokuban init deployment",
        "kokuban init deployment --agents planner,writer,editor --arbiter editor",
    ])]
    Init(InitArgs),
    /// Tell whether a server takes writes, by the exit code; for health checks.
    #[command(after_help = examples!["kokuban ready", "kokuban ready --url http://127.0.0.1:7411"])]
    Ready,
    /// Watch three agents work on one board, with all that can go wrong.
    #[command(after_help = examples![
        "kokuban demo",
        "kokuban demo --kill-server",
        "kokuban demo --url http://127.0.0.1:7411",
        "kokuban demo --url http://127.0.0.1:7411 --tokens deployment/tokens",
    ])]
    Demo(DemoArgs),
    /// Show an entry.
    #[command(after_help = examples![
        "kokuban get -b shop working/plan",
        "kokuban get -b shop working/plan --value | jq .features",
        "kokuban get -b shop working/plan --version 2              # as it was",
        "kokuban get -b shop working/plan --until-status confirmed # wait for it",
    ])]
    Get(GetArgs),
    /// Write the value of an entry.
    #[command(after_help = examples![
        "kokuban put -b shop working/plan '{\"features\": [\"bookkeeping\"]}'",
        "kokuban put -b shop working/plan @plan.json --version 3   # 3 is what you read",
        "kokuban put -b shop working/title 'Spring' --string --if-absent",
        "echo '[1, 2]' | kokuban put -b shop working/list -",
    ])]
    Put(PutArgs),
    /// Change leaves of an entry.
    #[command(after_help = examples![
        "kokuban patch -b shop working/plan --set budget.total=100 --version 3",
        "kokuban patch -b shop working/plan --set 'by=\"ra\"' --unset draft --version 3",
    ])]
    Patch(PatchArgs),
    /// Move an entry to another status.
    #[command(after_help = examples!["kokuban move -b shop working/plan processing --version 3"])]
    Move(MoveArgs),
    /// Delete an entry; its version counter stays.
    #[command(after_help = examples!["kokuban delete -b shop working/plan --version 3"])]
    Delete(DeleteArgs),
    /// List the entries of a board or zone.
    #[command(after_help = examples![
        "kokuban list -b shop",
        "kokuban list -b shop working --status raw --values",
        "kokuban list -b shop -o jsonl | jq -r .key",
    ])]
    List(ListArgs),
    /// Follow what happens on a board, until ^C.
    #[command(after_help = examples![
        "kokuban watch -b shop",
        "kokuban watch -b shop --after start --values",
        "kokuban watch -b shop --zone working --status confirmed --count 1",
    ])]
    Watch(WatchArgs),
    /// Show past commits, newest first.
    #[command(after_help = examples![
        "kokuban history -b shop",
        "kokuban history -b shop working/plan --values",
        "kokuban history -b shop --by ra --kind deleted",
    ])]
    History(HistoryArgs),
    /// Leave, read and close remarks on an entry.
    #[command(subcommand)]
    Note(NoteCommand),
    /// Take, keep and give back the exclusive right to write an entry.
    #[command(subcommand)]
    Lease(LeaseCommand),
    /// Lease the next free entry of a zone.
    #[command(after_help = examples![
        "kokuban claim -b shop working --status raw --to-status processing",
        "kokuban claim -b shop working --ttl-ms 600000 --wait-ms 30000",
    ])]
    Claim(ClaimArgs),
    /// Create, show, export, list and delete boards.
    #[command(subcommand)]
    Board(BoardCommand),
    /// Show the rules of boards.
    #[command(subcommand)]
    Blueprint(BlueprintCommand),
    /// What `board export` does.
    #[command(hide = true)]
    Export(WhichBoard),
    /// Run a server.
    #[command(after_help = examples![
        "kokuban serve --data ./board-data",
        "kokuban serve --config kokuban.toml",
    ])]
    Serve(ServeArgs),
    /// Check server configurations and blueprints.
    #[command(after_help = examples![
        "kokuban check-config kokuban.toml newsroom.toml",
        "kokuban check-config --strict newsroom.toml     # in a pipeline",
    ])]
    CheckConfig(CheckConfigArgs),
    /// What a server is configured to be.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Make credentials.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Copy all boards of a running server into a file, as an admin.
    #[command(after_help = examples![
        "kokuban backup                            # into kokuban-DATE.backup",
        "kokuban backup /var/backups/",
        "kokuban backup - | ssh elsewhere 'cat > kokuban.backup'",
    ])]
    Backup(BackupArgs),
    /// Make a data directory of a backup, while no server runs on it.
    #[command(after_help = examples![
        "kokuban restore kokuban.backup --data ./board-data",
        "kokuban restore kokuban.backup --data ./board-data --replace # keeps the old",
    ])]
    Restore(RestoreArgs),
    /// Check the chain of an export, a backup or a data directory.
    #[command(after_help = examples![
        "kokuban verify shop.jsonl",
        "kokuban verify kokuban.backup",
        "kokuban verify ./board-data               # while no server runs on it",
    ])]
    Verify(VerifyArgs),
    /// Print completions for a shell.
    #[command(after_help = examples![
        "source <(kokuban completions bash)",
        "kokuban completions fish > ~/.config/fish/completions/kokuban.fish",
    ])]
    Completions(CompletionsArgs),
    /// An agent of `demo`, started by it.
    #[command(hide = true)]
    DemoAgent(DemoAgentArgs),
}

#[cfg(test)]
mod tests;
