//! Waiting for a state, with a bound.
//!
//! **Invariant**: what is waited for is looked at again and again; the pause between two looks decides nothing.
//! Not known here: what is waited for.

use std::thread;
use std::time::{Duration, Instant};

const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Waits until `holds` does.
///
/// # Panics
/// When it does not within the bound.
pub fn until(what: &str, within: Duration, mut holds: impl FnMut() -> bool) {
    until_some(what, within, || holds().then_some(()));
}

/// Waits until `look` finds something.
///
/// # Panics
/// When it does not within the bound.
pub fn until_some<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + within;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}: not within {within:?}");
        thread::sleep(BETWEEN_LOOKS);
    }
}
