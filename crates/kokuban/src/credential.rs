//! Secrets of callers, and the table by which a server knows one.
//!
//! Invariant: a secret is shown only by who asks to reveal it; the table has its hash alone.

use std::fmt::{self, Write as _};

use anyhow::Context as _;
use kokuban_core::ids::{AgentName, Sha256};

/// 256 bits: nobody guesses it, so its plain hash may be kept.
const SECRET_BYTES: usize = 32;

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// # Errors
    /// The system has no random bytes to give.
    pub(crate) fn random() -> anyhow::Result<Self> {
        let mut bytes = [0; SECRET_BYTES];
        getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
        let mut text = String::from("kb_");
        bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("writing to a String does not fail"));
        Ok(Self(text))
    }

    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

/// The table of a caller for the server's configuration.
pub(crate) fn table(agent: &AgentName, secret: &Secret, roles: &[String], boards: &[String]) -> String {
    let list = |items: &[String]| {
        let quoted: Vec<_> = items.iter().map(|item| toml::Value::from(item.as_str()).to_string()).collect();
        format!("[{}]", quoted.join(", "))
    };
    let hash = Sha256::of(secret.reveal().as_bytes());
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
        let (agent, secret) = (AgentName::new("ra").expect("valid"), Secret::random().expect("random"));
        let text = table(&agent, &secret, &["observer".to_owned()], &["order-*".to_owned()]);
        assert!(!text.contains(secret.reveal()));
        assert!(text.contains(&Sha256::of(secret.reveal().as_bytes()).to_string()));
        assert!(text.parse::<toml::Table>().is_ok(), "{text}");
    }

    #[test]
    fn no_two_secrets_are_alike_and_none_is_shown_by_accident() {
        let (one, other) = (Secret::random().expect("random"), Secret::random().expect("random"));
        assert_ne!(one, other);
        assert!(!format!("{one:?}").contains(one.reveal()));
    }
}
