//! Who calls, from flags and environment: the client that the commands use.
//!
//! Invariant: a call always has a name or a credential. Without either the caller is `cli-<user>`, reduced to what
//! an agent's name may hold; with a credential the name is the credential's, unless one is given.

use std::time::Duration;
use std::{env, fmt};

use kokuban_client::{Board, Client, RetryPolicy};

use crate::args::ClientArgs;
use crate::failure::Failure;
use crate::shell::quoted;

const DEFAULT_URL: &str = "http://127.0.0.1:7411";
/// No new attempt begins later than this, even where an answer may take longer.
const TRIED_MAX: Duration = Duration::from_secs(10);
/// How long an answer may take where nobody says.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Somebody waits at the prompt: a server that restarts is waited for, one that is not there is told soon.
const AT_THE_PROMPT: RetryPolicy =
    RetryPolicy { attempts_max: 5, total: TRIED_MAX, base: Duration::from_millis(100), cap: Duration::from_secs(2) };

/// The address that `args` name.
pub(crate) fn url(args: &ClientArgs) -> &str {
    set(args.url.as_deref()).unwrap_or(DEFAULT_URL)
}

/// An empty variable is none.
fn set(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// The flags with which another command is for the same server, board and caller. What the environment says is there
/// the next time too, and stays unsaid. A credential that was typed is not shown; its place is the variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) url: Option<String>,
    pub(crate) board: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) has_token: bool,
}

impl Flags {
    /// Those of `args` that were typed.
    pub(crate) fn typed(args: &ClientArgs) -> Self {
        let typed = |variable: &str, value: &Option<String>| {
            value.clone().filter(|value| env::var(variable).as_deref() != Ok(value.as_str()))
        };
        Self {
            url: typed("KOKUBAN_URL", &args.url),
            board: typed("KOKUBAN_BOARD", &args.board),
            agent: typed("KOKUBAN_AGENT", &args.agent),
            has_token: typed("KOKUBAN_TOKEN", &args.token).is_some(),
        }
    }

    /// For a command that is about this board, or none.
    pub(crate) fn on_board(&self, board: Option<&str>) -> Self {
        Self { board: board.map(str::to_owned), ..self.clone() }
    }
}

/// Each with a space before it.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flag, value) in [("--url", &self.url), ("--board", &self.board), ("--agent", &self.agent)] {
            if let Some(value) = value {
                write!(f, " {flag} {}", quoted(value))?;
            }
        }
        if self.has_token { f.write_str(" --token \"$KOKUBAN_TOKEN\"") } else { Ok(()) }
    }
}

/// The client that `args` describe.
pub(crate) fn client(args: &ClientArgs) -> Result<Client, Failure> {
    let timeout = args.timeout_ms.map_or(TIMEOUT, Duration::from_millis);
    let retry = RetryPolicy { total: timeout.min(TRIED_MAX), ..AT_THE_PROMPT };
    let mut builder = Client::builder(url(args)).retry(retry).attempt_timeout(timeout);
    let (agent, token) = (set(args.agent.as_deref()), set(args.token.as_deref()));
    match (agent, token) {
        (Some(agent), _) => builder = builder.agent(agent),
        (None, None) => builder = builder.agent(default_agent()),
        (None, Some(_)) => {}
    }
    if let Some(token) = token {
        builder = builder.token(token);
    }
    Ok(builder.build()?)
}

/// The board that `args` name.
pub(crate) fn board(args: &ClientArgs) -> Result<Board, Failure> {
    let name = set(args.board.as_deref()).ok_or_else(|| {
        Failure::usage("which board? Give --board NAME, or set KOKUBAN_BOARD; `kokuban board list` shows them.")
    })?;
    Ok(client(args)?.board(name)?)
}

fn default_agent() -> String {
    let user = env::var("USER").or_else(|_| env::var("LOGNAME")).unwrap_or_default();
    agent_for(&user)
}

/// `cli-<user>`, with what a name may not hold left out.
fn agent_for(user: &str) -> String {
    let kept: String = user.chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).take(60).collect();
    if kept.is_empty() { "cli".to_owned() } else { format!("cli-{kept}") }
}

#[cfg(test)]
mod tests {
    use kokuban_core::ids::AgentName;

    use super::*;

    #[test]
    fn the_default_caller_is_named_after_the_user_within_the_rule_for_agents() {
        assert_eq!(agent_for("root"), "cli-root");
        assert_eq!(agent_for("DOMAIN\\jürgen o'x"), "cli-DOMAINjrgenox");
        assert_eq!(agent_for("林"), "cli");
        assert!(AgentName::new(&agent_for(&"x".repeat(200))).is_ok());
    }
}
