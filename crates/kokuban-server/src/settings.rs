//! The settings in force: what a running server takes from its configuration.
//!
//! **Invariants**: replaced whole, so a request is judged by one reading of the configuration from its head to its
//! answer; it holds them in its context. Only a credential that has ended cuts a stream or a wait short.
//! Not known here: where a configuration comes from, and what of it only a start takes over (`config`).

use std::collections::BTreeMap;
use std::sync::Arc;

use kokuban_core::blueprint::Blueprint;
use kokuban_core::ids::{BlueprintName, BoardName};
use tokio::sync::watch;

use crate::auth::{Authenticator, Caller, Standing};
use crate::config::{self, Config, ConfigError};
use crate::edge::Reach;
use crate::rates::Rates;

/// Of one reading of the configuration.
#[derive(Debug)]
pub struct Settings {
    pub config: Config,
    pub blueprints: BTreeMap<BlueprintName, Arc<Blueprint>>,
    pub authenticator: Authenticator,
    pub(crate) reach: Reach,
    /// What callers may ask per second; none where that is not bounded.
    pub(crate) rates: Option<Arc<Rates>>,
}

impl Settings {
    /// Reads the blueprints that the configuration names.
    ///
    /// # Errors
    /// Every flaw of them, with its place.
    pub fn of(config: Config) -> Result<Self, ConfigError> {
        Ok(Self {
            blueprints: config::load_blueprints(&config)?,
            authenticator: Authenticator::new(&config),
            reach: Reach::new(&config),
            rates: Rates::new(config.limits.requests_per_s_per_caller_max).map(Arc::new),
            config,
        })
    }

    /// The rules of a board that a first write to this name creates.
    #[must_use]
    pub fn create_with(&self, board: &BoardName) -> Option<Arc<Blueprint>> {
        let rule = self.config.rule_for(board.as_str())?;
        self.blueprints.get(&rule.blueprint).cloned()
    }
}

/// Where the settings in force are. Cheap to clone.
#[derive(Debug, Clone)]
pub struct InForce(Arc<watch::Sender<Arc<Settings>>>);

impl InForce {
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(watch::Sender::new(Arc::new(settings))))
    }

    #[must_use]
    pub fn now(&self) -> Arc<Settings> {
        Arc::clone(&self.0.borrow())
    }

    /// From now on these count, for all that begins.
    pub fn replace(&self, mut settings: Settings) {
        self.0.send_modify(|now| {
            // Whoever had used up what it may ask has not got it back.
            if now.config.limits.requests_per_s_per_caller_max == settings.config.limits.requests_per_s_per_caller_max {
                settings.rates.clone_from(&now.rates);
            }
            *now = Arc::new(settings);
        });
    }

    /// Resolves when the credential of `caller`, who was let in before, means something that `matters`.
    pub(crate) fn when<T, F>(&self, caller: Caller, board: BoardName, matters: F) -> impl Future<Output = T> + use<T, F>
    where
        F: Fn(Standing) -> Option<T>,
    {
        let mut settings = self.0.subscribe();
        async move {
            loop {
                let standing = settings.borrow_and_update().authenticator.standing(&caller, &board);
                if let Some(found) = matters(standing) {
                    return found;
                }
                if settings.changed().await.is_err() {
                    // The server is gone, and nothing changes any more.
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(rate: u32) -> Settings {
        let mut config = Config::default();
        config.limits.requests_per_s_per_caller_max = rate;
        Settings::of(config).unwrap()
    }

    #[test]
    fn what_is_held_stays_as_it_was_while_others_see_the_new() {
        let in_force = InForce::new(settings(0));
        let held = in_force.now();
        in_force.replace(settings(5));
        assert_eq!(held.config.limits.requests_per_s_per_caller_max, 0);
        assert_eq!(in_force.now().config.limits.requests_per_s_per_caller_max, 5);
    }

    #[test]
    fn a_rate_that_stays_goes_on_counting() {
        let in_force = InForce::new(settings(5));
        let before = in_force.now();
        in_force.replace(settings(5));
        let same = |a: &Settings, b: &Settings| Arc::ptr_eq(a.rates.as_ref().unwrap(), b.rates.as_ref().unwrap());
        assert!(same(&before, &in_force.now()));
        in_force.replace(settings(6));
        assert!(!same(&before, &in_force.now()));
    }
}
