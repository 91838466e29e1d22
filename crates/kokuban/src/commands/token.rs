//! `kokuban token new`: a secret for an agent, and the hash of it for the configuration.
//!
//! Invariant: the secret is shown once and stored nowhere; the configuration never holds it.

use clap::ValueEnum;
use kokuban_core::ids::Sha256;
use serde_json::json;

use crate::args::{Form, TokenCommand};
use crate::credential::{Secret, table};
use crate::failure::Outcome;
use crate::output::{Output, complain, print};

/// The configuration's table goes to standard output also in a pipe, where it is to be appended; JSON only if asked.
pub(crate) fn run(command: &TokenCommand, out: Output) -> Outcome {
    let TokenCommand::New { name, role, boards } = command;
    let roles: Vec<_> = role.iter().filter_map(|role| Some(role.to_possible_value()?.get_name().to_owned())).collect();
    let secret = Secret::random()?;
    if out.form() != Form::Table {
        let sha256 = Sha256::of(secret.reveal().as_bytes());
        let token =
            json!({"agent": name, "secret": secret.reveal(), "sha256": sha256, "roles": roles, "boards": boards});
        return Ok(out.one(&token, |_| String::new())?);
    }
    complain(&format!(
        "The secret for `{name}`, shown this once; give it to the agent as KOKUBAN_TOKEN:\n  {}\n\
         For the configuration of the server:",
        secret.reveal()
    ));
    Ok(print(&table(name, &secret, &roles, boards))?)
}
