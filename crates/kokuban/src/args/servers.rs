//! Arguments of the commands that need no board: servers, the demonstration, files, credentials, completions.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use kokuban_core::ids::AgentName;

use super::help::examples;

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// After damage to the log: keep a copy, and go on with what stands before the damage.
    #[arg(long)]
    pub(crate) salvage: bool,
    /// Stop when standard input ends: for a parent that may be killed.
    #[arg(long, hide = true)]
    pub(crate) end_with_stdin: bool,
}

/// Where the settings of a server come from; variables `KOKUBAN_…` set them too.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SettingArgs {
    /// Address and port; port 0 takes a free one [default: 127.0.0.1:7411] [env: KOKUBAN_LISTEN].
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Directory of the data [env: KOKUBAN_DATA].
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Configuration file.
    #[arg(long, env = "KOKUBAN_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Whether an answered write survives a crash [env: KOKUBAN_DURABILITY].
    #[arg(long, value_name = "KIND")]
    pub(crate) durability: Option<Durability>,
    /// Form of the log on standard error [env: KOKUBAN_LOG_FORMAT].
    #[arg(long, value_name = "FORM")]
    pub(crate) log_format: Option<LogFormat>,
    /// Serve without credentials on an address that others can reach.
    #[arg(long)]
    pub(crate) insecure_open: bool,
    /// Any other setting, such as `limits.boards_max=500`; lists are separated by commas. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, such as limits.boards_max=500")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting of a server that would start here and now, and where it comes from; no secret.
    #[command(after_help = examples![
        "kokuban config show --config kokuban.toml",
        "kokuban config show --set limits.boards_max=500 --toml",
    ])]
    Show(ConfigShowArgs),
}

/// Takes the same flags and variables as `serve`.
#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// What `kokuban dev` would use.
    #[arg(long)]
    pub(crate) dev: bool,
    /// Write a configuration file that says the same.
    #[arg(long)]
    pub(crate) toml: bool,
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

/// Nothing that is there is overwritten, and no secret is shown: each is in a file of its own.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Folder of the deployment; made if it is not there.
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Agents that get a token. Those of the demonstration, unless others are named.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "lin,ra,ta,w1,w2,rv")]
    pub(crate) agents: Vec<AgentName>,
    /// The agent with the last word on boards of the first blueprint [default: the last of the agents].
    #[arg(long, value_name = "NAME")]
    pub(crate) arbiter: Option<AgentName>,
    /// Where a configuration is already, leave all as it is and succeed: for scripts and containers.
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Starts a server of its own, or uses the one at --url. One with tokens needs those of lin, ra, ta, w1, w2 and rv, from
/// --tokens or from the variable KOKUBAN_TOKENS=lin:SECRET,ra:SECRET,…
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Folder with a file NAME.env for each agent that says KOKUBAN_TOKEN=SECRET, as `init` writes them.
    #[arg(long, value_name = "DIR")]
    pub(crate) tokens: Option<PathBuf>,
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
pub(crate) struct BackupArgs {
    /// File, or a directory for a file named after the time; `-` for standard output [default: here].
    #[arg(value_name = "FILE", default_value = ".", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// Write over a file that is there, once the new one is whole.
    #[arg(long)]
    pub(crate) replace: bool,
}

/// Boards come back as they were when the backup was taken, under a new epoch, with revisions and versions that were
/// never given before.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// File that `backup` wrote.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Directory that gets the data.
    #[arg(long, env = "KOKUBAN_DATA", value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Put it in the place of the data that is there, which is kept beside it.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Bring boards that are damaged in the backup back as far as they are whole.
    #[arg(long)]
    pub(crate) salvage: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// File that `export` or `backup` wrote, `-` for standard input, or a data directory.
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CheckConfigArgs {
    /// Configurations of a server, and blueprints.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Fail on warnings too: for a pipeline that keeps them out.
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token: the secret for the agent, its hash for the configuration.
    #[command(after_help = examples![
        "kokuban token new ra",
        "kokuban token new ra --boards 'shop-*' >> kokuban.toml   # secret on stderr",
        "kokuban token new root --role admin",
    ])]
    New {
        /// Agent that will use it.
        #[arg(value_name = "AGENT")]
        name: AgentName,
        /// Role on the whole server: an admin may do what is no agent's business, an observer sees every board. May be
        /// repeated.
        #[arg(long, value_name = "ROLE")]
        role: Vec<ServerRole>,
        /// Boards it may see, `*` standing for any characters. May be repeated.
        #[arg(long, value_name = "PATTERN", default_value = "*")]
        boards: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerRole {
    Admin,
    Observer,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell that will read them.
    pub(crate) shell: clap_complete::Shell,
}
