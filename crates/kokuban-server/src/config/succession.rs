//! What a running server takes over from a configuration that is read again.
//!
//! **Invariants**: all or nothing; what counts only from a start stays as it was. What comes of it is checked as a
//! whole: a file that is right by itself may be wrong for the address in use.
//! Not known here: who has to be told.

use super::effective::Effective;
use super::flaw::ConfigError;
use super::keys::{self, Change, KEYS};
use super::raw::Raw;
use super::whole::Draft;
use super::{AuthMode, Config};

/// The next configuration of a running server.
#[derive(Debug, Clone)]
pub struct Succession {
    pub config: Config,
    /// Changed keys that count from now on, and `tokens` and `boards` where those changed.
    pub taken: Vec<&'static str>,
    /// Changed keys that count from the next start on.
    pub left: Vec<&'static str>,
}

impl Config {
    /// # Errors
    /// The two do not go together.
    pub fn succeeded_by(&self, next: Effective) -> Result<Succession, ConfigError> {
        let changed = |key: &&keys::Key| self.value(key.name) != next.config.value(key.name);
        let names = |change: Change| {
            let keys = KEYS.iter().filter(|key| key.change == change).filter(changed);
            keys.map(|key| key.name).collect::<Vec<_>>()
        };
        let (mut taken, left) = (names(Change::AtOnce), names(Change::AtStart));
        if self.tokens != next.config.tokens {
            taken.push("tokens");
        }
        if self.boards != next.config.boards {
            taken.push("boards");
        }
        let opens = self.auth == AuthMode::Token && next.config.auth == AuthMode::Open;
        let meant = next.is_given("auth");
        let mut draft = Draft { config: next.config, origins: next.origins, flaws: Vec::new() };
        for key in &left {
            keep(&mut draft.config, self, key);
        }
        if opens && !meant {
            draft.together(
                "no token is left, and everybody would be let in as admin: write `auth = \"open\"` if that is meant",
            );
        }
        let config = draft.finish(next.file)?.config;
        Ok(Succession { config, taken, left })
    }
}

/// Sets a key to what it was.
fn keep(config: &mut Config, was: &Config, key: &'static str) {
    let value = Raw::of(&was.value(key));
    keys::set(config, key, &value, None).expect("what was in force can be set");
}
