//! Blueprints of boards in memory: equal ones are kept once.
//!
//! Invariant: what is given back rules exactly as what was given. Nothing is kept for its own sake: a blueprint goes
//! with the last board that has it.
//! Not known here: what blueprints say.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use kokuban_core::blueprint::Blueprint;
use kokuban_core::board::Board;
use kokuban_core::ids::BlueprintName;

#[derive(Debug, Default)]
pub(crate) struct Rules {
    by_name: Mutex<BTreeMap<BlueprintName, Vec<Weak<Blueprint>>>>,
}

impl Rules {
    /// Lets a board that was read from storage share its blueprint with those that have the same.
    pub(crate) fn share(&self, board: &mut Board) {
        let Some(own) = board.life().map(|life| Arc::clone(&life.blueprint)) else { return };
        let shared = self.kept(&own);
        board.share_blueprint(&shared);
    }

    fn kept(&self, own: &Arc<Blueprint>) -> Arc<Blueprint> {
        // Nothing under the lock can panic half way through a change.
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = by_name.entry(own.name.clone()).or_default();
        kept.retain(|kept| kept.strong_count() > 0);
        if let Some(found) = kept.iter().filter_map(Weak::upgrade).find(|kept| **kept == **own) {
            return found;
        }
        kept.push(Arc::downgrade(own));
        Arc::clone(own)
    }
}

#[cfg(test)]
mod tests {
    use kokuban_core::blueprint::builtin;

    use super::*;

    #[test]
    fn equal_blueprints_are_kept_once_and_go_with_the_last_that_has_them() {
        let rules = Rules::default();
        let copy = || Arc::new(Blueprint::clone(&builtin("default").expect("built in")));
        let (one, two) = (rules.kept(&copy()), rules.kept(&copy()));
        assert!(Arc::ptr_eq(&one, &two));
        let mut other = Blueprint::clone(&one);
        other.schema_version = 99;
        assert!(!Arc::ptr_eq(&one, &rules.kept(&Arc::new(other))));
        drop((one, two));
        let fresh = copy();
        assert!(Arc::ptr_eq(&fresh, &rules.kept(&fresh)));
    }
}
