//! `kokuban token new`: a secret for an agent, and the hash of it for the configuration.
//!
//! Invariant: the secret is shown once and stored nowhere; the configuration never holds it.

use std::fmt::Write;

use anyhow::Context;
use clap::ValueEnum;
use kokuban_core::ids::{AgentName, Sha256};
use serde_json::json;

use crate::args::{Form, TokenCommand};
use crate::failure::Outcome;
use crate::output::{Output, complain, print};

/// 256 bits: nobody guesses it, so its plain hash may be kept.
const SECRET_BYTES: usize = 32;

/// The configuration's table goes to standard output also in a pipe, where it is to be appended; JSON only if asked.
pub(crate) fn run(command: &TokenCommand, out: Output) -> Outcome {
    let TokenCommand::New { name, role, boards } = command;
    let roles: Vec<_> = role.iter().filter_map(|role| Some(role.to_possible_value()?.get_name().to_owned())).collect();
    let secret = secret()?;
    if out.form() != Form::Table {
        let sha256 = Sha256::of(secret.as_bytes());
        let token = json!({"agent": name, "secret": secret, "sha256": sha256, "roles": roles, "boards": boards});
        return Ok(out.one(&token, |_| String::new())?);
    }
    complain(&format!(
        "The secret for `{name}`, shown this once; give it to the agent as KOKUBAN_TOKEN:\n  {secret}\n\
         For the configuration of the server:"
    ));
    Ok(print(&table(name, &secret, &roles, boards))?)
}

fn secret() -> anyhow::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
    let mut text = String::from("kb_");
    bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("writing to a String does not fail"));
    Ok(text)
}

fn table(agent: &AgentName, secret: &str, roles: &[String], boards: &[String]) -> String {
    let list = |items: &[String]| {
        let quoted: Vec<_> = items.iter().map(|item| toml::Value::from(item.as_str()).to_string()).collect();
        format!("[{}]", quoted.join(", "))
    };
    let hash = Sha256::of(secret.as_bytes());
    let mut text = format!("[[tokens]]\nagent = \"{agent}\"\nsha256 = \"{hash}\"\n");
    if !roles.is_empty() {
        let _ = writeln!(text, "roles = {}", list(roles));
    }
    let _ = writeln!(text, "boards = {}", list(boards));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_gets_the_hash_and_never_the_secret() {
        let (agent, secret) = (AgentName::new("ra").expect("valid"), secret().expect("random"));
        let text = table(&agent, &secret, &["observer".to_owned()], &["order-*".to_owned()]);
        assert!(!text.contains(&secret));
        assert!(text.contains(&Sha256::of(secret.as_bytes()).to_string()));
        assert!(text.parse::<toml::Table>().is_ok(), "{text}");
    }

    #[test]
    fn no_two_secrets_are_alike() {
        assert_ne!(secret().expect("random"), secret().expect("random"));
    }
}
