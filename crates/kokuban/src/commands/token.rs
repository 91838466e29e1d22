//! `kokuban token new`: a secret for an agent, and the hash of it for the configuration.
//!
//! Invariant: the secret is shown once and stored nowhere; the configuration never holds it.

use clap::ValueEnum;

use crate::args::TokenCommand;
use crate::credential::{Secret, table};
use crate::failure::Outcome;
use crate::output::{complain, print};

pub(crate) fn run(command: &TokenCommand) -> Outcome {
    let TokenCommand::New { name, role, boards } = command;
    let roles: Vec<_> = role.iter().filter_map(|role| Some(role.to_possible_value()?.get_name().to_owned())).collect();
    let secret = Secret::random()?;
    complain(&format!(
        "The secret for `{name}`, shown this once; give it to the agent as KOKUBAN_TOKEN:\n  {}\n\
         For the configuration of the server:",
        secret.reveal()
    ));
    Ok(print(&table(name, &secret, &roles, boards))?)
}
