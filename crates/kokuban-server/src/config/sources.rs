//! Where settings come from: a file, the environment, flags, and what `kokuban dev` sets by itself.
//!
//! **Invariant**: the same sources can be read again, and give the same but for what changed in the file.
//! Not known here: what settings mean.

use std::path::PathBuf;

/// Tokens of the environment, with their secrets.
pub const TOKENS_VARIABLE: &str = "KOKUBAN_TOKENS";
/// The flag that names the data directory.
pub(super) const DATA_FLAG: &str = "--data";
/// Variables of the program that are no settings of a server.
pub const OTHER_VARIABLES: &[&str] = &[
    "KOKUBAN_CONFIG",
    "KOKUBAN_URL",
    "KOKUBAN_TOKEN",
    "KOKUBAN_AGENT",
    "KOKUBAN_BOARD",
    "KOKUBAN_OUTPUT",
    "KOKUBAN_TIMEOUT_MS",
];

/// A value given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// A key of the file, such as `listen` or `limits.boards_max`.
    pub key: String,
    /// As the user wrote it, such as `--listen`.
    pub flag: &'static str,
    pub value: String,
}

/// Where settings come from, weakest first.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    pub file: Option<PathBuf>,
    /// Variables of the environment; others than `KOKUBAN_…` are passed over.
    pub env: Vec<(String, String)>,
    /// The server is for development.
    pub dev: bool,
    pub flags: Vec<Flag>,
}

impl Sources {
    /// A file, flags, and the environment of this process.
    #[must_use]
    pub fn of_process(file: Option<PathBuf>, dev: bool, flags: Vec<Flag>) -> Self {
        // A name or value that is not Unicode is none of ours.
        let env = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Self { file, env: env.collect(), dev, flags }
    }
}

/// Kubernetes tells every container where the services are; for one that is named `kokuban` by these variables.
pub(super) fn is_of_kubernetes(name: &str) -> bool {
    name.strip_prefix("KOKUBAN_").is_some_and(|rest| {
        rest == "PORT" || ["PORT_", "SERVICE_HOST", "SERVICE_PORT"].iter().any(|start| rest.starts_with(start))
    })
}
