//! `kokuban config show`: what a server that starts here and now would be, value by value, and why.
//!
//! Invariant: reads the sources that `serve` reads, in the same way; starts and changes nothing, and shows no secret.
//! Not known here: what settings mean.

use kokuban_server::config::{Effective, ShownRule, ShownSetting, ShownToken};
use serde::Serialize;

use crate::args::{ConfigCommand, ConfigShowArgs};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Output, complain, print};
use crate::serve::{Mode, sources};

#[derive(Debug, Serialize)]
struct Shown {
    settings: Vec<ShownSetting>,
    tokens: Vec<ShownToken>,
    boards: Vec<ShownRule>,
    warnings: Vec<String>,
}

pub(crate) fn run(command: &ConfigCommand, out: Output) -> Outcome {
    let ConfigCommand::Show(args) = command;
    let effective = effective(args)?;
    if args.toml {
        return Ok(print(&effective.to_toml())?);
    }
    let shown = Shown {
        settings: effective.settings(),
        tokens: effective.tokens(),
        boards: effective.rules(),
        warnings: effective.config.warnings,
    };
    Ok(out.one(&shown, text)?)
}

fn effective(args: &ConfigShowArgs) -> Result<Effective, Failure> {
    let mode = if args.dev { Mode::Dev } else { Mode::Serve };
    let effective = Effective::load(&sources(&args.settings, mode)).map_err(|error| Failure::Other(error.into()))?;
    for warning in &effective.config.warnings {
        complain(&format!("warning: {warning}"));
    }
    Ok(effective)
}

fn text(shown: &Shown) -> String {
    let settings = shown.settings.iter().map(|setting| {
        let value = setting.value.as_str().map_or_else(|| setting.value.to_string(), str::to_owned);
        [setting.key.to_owned(), value, setting.origin.clone()]
    });
    let mut text = output::rows(["setting", "value", "from"], settings);
    if !shown.tokens.is_empty() {
        let tokens = shown.tokens.iter().map(|token| {
            let roles: Vec<_> = token.roles.iter().map(|role| format!("{role:?}").to_lowercase()).collect();
            let roles = if roles.is_empty() { "-".to_owned() } else { roles.join(", ") };
            [token.agent.to_string(), token.sha256.to_owned(), roles, token.boards.join(", "), token.origin.clone()]
        });
        text.push('\n');
        text += &output::rows(["token of", "sha256", "roles", "boards", "from"], tokens);
    }
    if !shown.boards.is_empty() {
        let rules =
            shown.boards.iter().map(|rule| [rule.boards.clone(), rule.blueprint.to_string(), rule.origin.clone()]);
        text.push('\n');
        text += &output::rows(["boards", "created with", "from"], rules);
    }
    text
}
