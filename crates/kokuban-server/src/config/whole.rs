//! A configuration while it is put together, and the checks of the whole.
//!
//! **Invariant**: a server without authentication is reachable from other machines only if someone said so in as
//! many words, and tokens are never configured and ignored.
//! Not known here: TOML.

use std::path::{Path, PathBuf};

use kokuban_core::ids::BlueprintName;

use super::effective::{Effective, Origins};
use super::flaw::{ConfigError, Flaw, Place, nearest, shown};
use super::keys::{self, KEYS, Key};
use super::raw::Raw;
use super::sources::{DATA_FLAG, Flag, OTHER_VARIABLES, TOKENS_VARIABLE, is_of_kubernetes};
use super::{AuthMode, BoardRule, Config, Durability, Token, secrets};
use crate::pattern::Pattern;

/// The origin of what `kokuban dev` sets by itself.
const DEV: &str = "kokuban dev";

#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) config: Config,
    pub(super) origins: Origins,
    pub(super) flaws: Vec<Flaw>,
}

impl Draft {
    /// Sets one key; a value that does not fit is a flaw.
    pub(super) fn set(&mut self, key: &Key, raw: &Raw, base: Option<&Path>, place: Place) {
        match keys::set(&mut self.config, key.name, raw, base) {
            Ok(()) => drop(self.origins.keys.insert(key.name, place)),
            Err(why) => self.flaws.push(Flaw::new(place, format!("`{}` {why}", key.name))),
        }
    }

    pub(super) fn add_token(&mut self, token: Token, place: Place) {
        self.config.tokens.push(token);
        self.origins.tokens.push(place);
    }

    pub(super) fn add_rule(&mut self, rule: BoardRule, place: Place) {
        self.config.boards.push(rule);
        self.origins.boards.push(place);
    }

    pub(super) fn apply_env(&mut self, env: &[(String, String)]) {
        for (name, value) in env.iter().filter(|(name, _)| name.starts_with("KOKUBAN_")) {
            if name == TOKENS_VARIABLE {
                self.apply_tokens(value);
            } else if let Some(key) = KEYS.iter().find(|key| key.variable() == *name) {
                self.set(key, &Raw::Plain(value.clone()), None, Place::Named(name.clone()));
            } else if !OTHER_VARIABLES.contains(&name.as_str()) && !is_of_kubernetes(name) {
                self.config.warnings.push(unknown_variable(name));
            }
        }
    }

    fn apply_tokens(&mut self, value: &str) {
        match secrets::read(value) {
            Ok((tokens, warnings)) => {
                let place = || Place::Named(TOKENS_VARIABLE.into());
                tokens.into_iter().for_each(|token| self.add_token(token, place()));
                self.config.warnings.extend(warnings);
            }
            Err(why) => self.flaws.push(Flaw::new(Place::Named(TOKENS_VARIABLE.into()), why)),
        }
    }

    /// What `kokuban dev` means: in memory unless a flag says where the data are kept, and whatever board is written
    /// to first is made with the blueprint `default`.
    pub(super) fn apply_dev(&mut self, flags: &[Flag]) {
        let place = || Place::Named(DEV.to_owned());
        if !flags.iter().any(|flag| flag.key == "data") {
            let durability = Key::named("durability").expect("it is a key");
            self.set(durability, &Raw::Plain("memory".to_owned()), None, place());
        }
        let blueprint = BlueprintName::new("default").expect("a plain name");
        self.add_rule(BoardRule { pattern: Pattern::any(), blueprint }, place());
    }

    pub(super) fn apply_flags(&mut self, flags: &[Flag]) {
        for Flag { key, flag, value } in flags {
            let place = Place::Named((*flag).to_owned());
            match Key::named(key) {
                Some(key) => self.set(key, &Raw::Plain(value.clone()), None, place),
                None => self.flaws.push(Flaw::new(place, unknown_key(key))),
            }
        }
    }

    /// # Errors
    /// Every flaw.
    pub(super) fn finish(mut self, file: Option<PathBuf>) -> Result<Effective, ConfigError> {
        // Checks of the whole would only repeat what is wrong with a part.
        if self.flaws.is_empty() {
            self.check_auth();
            self.check_reach();
            self.check_tokens();
            self.check_data();
        }
        let Self { mut config, origins, flaws } = self;
        let warnings = std::mem::take(&mut config.warnings);
        for warning in warnings {
            if !config.warnings.contains(&warning) {
                config.warnings.push(warning);
            }
        }
        if flaws.is_empty() { Ok(Effective { config, file, origins }) } else { Err(ConfigError { file, flaws }) }
    }

    pub(super) fn together(&mut self, message: impl Into<String>) {
        self.flaws.push(Flaw::new(Place::Together, message));
    }

    fn check_auth(&mut self) {
        let has_tokens = !self.config.tokens.is_empty();
        match (self.config.auth, has_tokens) {
            (AuthMode::Open, true) if !self.origins.keys.contains_key("auth") => self.config.auth = AuthMode::Token,
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

    fn check_data(&mut self) {
        let given = matches!(self.origins.keys.get("data"), Some(Place::Named(name)) if name == DATA_FLAG);
        if given && self.config.durability == Durability::Memory {
            let warning = format!("{DATA_FLAG} is not used: with `durability = \"memory\"` nothing is written");
            self.config.warnings.push(warning);
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

fn unknown_key(name: &str) -> String {
    match nearest(name, KEYS.iter().map(|key| key.name)) {
        Some(near) => format!("the key `{}` is unknown; did you mean `{near}`?", shown(name)),
        None => format!("the key `{}` is unknown; `kokuban config show` lists all", shown(name)),
    }
}

fn unknown_variable(name: &str) -> String {
    let known: Vec<_> = KEYS.iter().map(Key::variable).chain([TOKENS_VARIABLE.into()]).collect();
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("the variable {name} sets nothing; did you mean {near}?"),
        None => format!("the variable {name} sets nothing"),
    }
}
