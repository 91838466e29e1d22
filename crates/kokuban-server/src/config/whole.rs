//! A configuration while it is put together, and the checks of the whole.
//!
//! **Invariant**: a server without authentication is reachable from other machines only if someone said so in as
//! many words, and tokens are never configured and ignored.
//! Not known here: TOML.

use std::path::Path;

use super::flaw::{ConfigError, Flaw, Place, nearest};
use super::keys::{self, KEYS};
use super::raw::Raw;
use super::secrets;
use super::{AuthMode, Config, Flag};

/// Variables of the client and of the binary, which are none of ours.
const OTHER_VARIABLES: [&str; 7] = [
    "KOKUBAN_URL",
    "KOKUBAN_TOKEN",
    "KOKUBAN_AGENT",
    "KOKUBAN_BOARD",
    "KOKUBAN_OUTPUT",
    "KOKUBAN_TIMEOUT_MS",
    "KOKUBAN_CONFIG",
];

#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) config: Config,
    pub(super) flaws: Vec<Flaw>,
    auth_is_given: bool,
}

impl Draft {
    /// Sets one key; a value that does not fit is a flaw.
    pub(super) fn set(&mut self, key: &str, raw: &Raw, base: Option<&Path>, place: Place) {
        self.auth_is_given |= key == "auth";
        if let Err(why) = keys::set(&mut self.config, key, raw, base) {
            self.flaws.push(Flaw::new(place, format!("`{key}` {why}")));
        }
    }

    pub(super) fn apply_env(&mut self, env: &[(String, String)]) {
        for (name, value) in env.iter().filter(|(name, _)| name.starts_with("KOKUBAN_")) {
            if name == secrets::VARIABLE {
                self.apply_tokens(value);
            } else if let Some(key) = KEYS.iter().find(|key| keys::variable(key) == *name) {
                self.set(key, &Raw::Plain(value.clone()), None, Place::Named(name.clone()));
            } else if !OTHER_VARIABLES.contains(&name.as_str()) {
                // Not refused: Kubernetes sets variables of this form for a service of this name.
                self.config.warnings.push(unknown_variable(name));
            }
        }
    }

    fn apply_tokens(&mut self, value: &str) {
        match secrets::read(value) {
            Ok((tokens, warnings)) => {
                self.config.tokens.extend(tokens);
                self.config.warnings.extend(warnings);
            }
            Err(why) => self.flaws.push(Flaw::new(Place::Named(secrets::VARIABLE.into()), why)),
        }
    }

    pub(super) fn apply_flags(&mut self, flags: &[Flag]) {
        for Flag { key, flag, value } in flags {
            self.set(key, &Raw::Plain(value.clone()), None, Place::Named((*flag).to_owned()));
        }
    }

    pub(super) fn finish(mut self, file: Option<&Path>) -> Result<Config, ConfigError> {
        // Checks of the whole would only repeat what is wrong with a part.
        if self.flaws.is_empty() {
            self.check_auth();
            self.check_reach();
            self.check_tokens();
        }
        if self.flaws.is_empty() {
            Ok(self.config)
        } else {
            Err(ConfigError { file: file.map(Path::to_path_buf), flaws: self.flaws })
        }
    }

    fn together(&mut self, message: impl Into<String>) {
        self.flaws.push(Flaw::new(Place::Together, message));
    }

    fn check_auth(&mut self) {
        let has_tokens = !self.config.tokens.is_empty();
        match (self.config.auth, has_tokens) {
            (AuthMode::Open, true) if !self.auth_is_given => self.config.auth = AuthMode::Token,
            (AuthMode::Open, true) => self.together(
                "tokens are configured, but `auth = \"open\"` ignores them: set `auth = \"token\"`, or remove the tokens",
            ),
            (AuthMode::Token, false) => self.together(
                "`auth = \"token\"` without a token lets nobody in: add [[tokens]], or set KOKUBAN_TOKENS=agent:secret",
            ),
            (AuthMode::Open, false) | (AuthMode::Token, true) => {}
        }
    }

    fn check_reach(&mut self) {
        let listen = self.config.listen;
        if self.config.auth != AuthMode::Open || listen.ip().is_loopback() {
            return;
        }
        if self.config.insecure_open {
            self.config.warnings.push(format!(
                "NO AUTHENTICATION on {listen}: whoever reaches this address is admin of every board and may name himself as he likes"
            ));
        } else {
            self.together(format!(
                "{listen} can be reached from other machines, and `auth = \"open\"` would let everybody in as admin: \
                 add tokens ([[tokens]] or KOKUBAN_TOKENS=agent:secret), or listen on 127.0.0.1, \
                 or say `insecure_open = true` (--insecure-open) if something else keeps strangers out"
            ));
        }
    }

    fn check_tokens(&mut self) {
        let mut hashes: Vec<_> = self.config.tokens.iter().map(|token| token.sha256.0).collect();
        if hashes.len() > secrets::TOKENS_MAX {
            self.together(format!("at most {} tokens can be configured", secrets::TOKENS_MAX));
        }
        hashes.sort_unstable();
        if hashes.windows(2).any(|pair| pair[0] == pair[1]) {
            self.together("two tokens have the same secret, so it would not be known who calls");
        }
    }
}

fn unknown_variable(name: &str) -> String {
    let known: Vec<_> = KEYS.iter().map(|key| keys::variable(key)).chain([secrets::VARIABLE.into()]).collect();
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("the variable {name} sets nothing; did you mean {near}?"),
        None => format!("the variable {name} sets nothing"),
    }
}
