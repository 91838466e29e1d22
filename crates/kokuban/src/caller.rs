//! Who calls, from flags and environment: the client that the commands use.
//!
//! Invariant: a call always has a name or a credential. Without either the caller is `cli-<user>`, reduced to what
//! an agent's name may hold; with a credential the name is the credential's, unless one is given.

use std::env;
use std::time::Duration;

use kokuban_client::{Board, Client, RetryPolicy};

use crate::args::{ClientArgs, WhichBoard};
use crate::commands::write::quoted;
use crate::failure::Failure;

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
    args.url.as_deref().unwrap_or(DEFAULT_URL)
}

/// The flags of `args` that a repeated command needs, each with a space before it. What the environment says is
/// there the next time too; the credential is not shown.
pub(crate) fn flags(args: &ClientArgs) -> String {
    [
        ("--url", "KOKUBAN_URL", &args.url),
        ("--board", "KOKUBAN_BOARD", &args.board),
        ("--agent", "KOKUBAN_AGENT", &args.agent),
    ]
    .into_iter()
    .filter_map(|(flag, variable, value)| Some((flag, variable, value.as_deref()?)))
    .filter(|(_, variable, value)| env::var(variable).as_deref() != Ok(*value))
    .map(|(flag, _, value)| format!(" {flag} {}", quoted(value)))
    .collect()
}

/// The client that `args` describe.
pub(crate) fn client(args: &ClientArgs) -> Result<Client, Failure> {
    let timeout = args.timeout_ms.map_or(TIMEOUT, Duration::from_millis);
    let retry = RetryPolicy { total: timeout.min(TRIED_MAX), ..AT_THE_PROMPT };
    let mut builder = Client::builder(url(args)).retry(retry).attempt_timeout(timeout);
    match (&args.agent, &args.token) {
        (Some(agent), _) => builder = builder.agent(agent),
        (None, None) => builder = builder.agent(default_agent()),
        (None, Some(_)) => {}
    }
    if let Some(token) = &args.token {
        builder = builder.token(token);
    }
    Ok(builder.build()?)
}

/// The board that `args` name.
pub(crate) fn board(args: &ClientArgs) -> Result<Board, Failure> {
    board_named(args, &WhichBoard::default())
}

/// The board that `which` names, else `args`.
pub(crate) fn board_named(args: &ClientArgs, which: &WhichBoard) -> Result<Board, Failure> {
    let name = which.name.as_deref().or(args.board.as_deref()).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| {
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
