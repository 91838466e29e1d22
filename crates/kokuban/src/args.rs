//! The command line: commands, flags, their environment variables and their texts.
//!
//! Invariant: what clap accepts is syntactically complete; a usage error exits with 2 before anything is sent.
//! Not known here: what a command does.

mod board;
mod server;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use board::*;
pub(crate) use server::*;

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
#[derive(Debug, Clone, Default, Args)]
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
    /// Write a first deployment: configuration, tokens, a blueprint and a compose file.
    Init(InitArgs),
    /// Tell whether the server takes writes: exit code 0 if it does. For health checks.
    Ready,
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
            "init d --agents x,y --arbiter y --keep",
            "ready",
            "demo --data d --kill-server",
            "demo --tokens d",
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
            "check-config f g --strict",
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
