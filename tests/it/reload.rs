//! SIGHUP: the configuration is read again, and taken over whole or not at all (contract §6.11, §13).
//!
//! **Invariant**: nothing is asked of the server but over its sockets and signals; what it says of a reload is in its
//! log.
//! Not known here: which keys there are; the tests of the configuration try each.

mod bounds;
mod credentials;
mod refused;
mod terminal;

use kokuban_core::ids::Sha256;

/// A token for a configuration file.
fn token(agent: &str, rest: &str) -> String {
    let hash = Sha256::of(secret(agent).as_bytes());
    format!("[[tokens]]\nagent = \"{agent}\"\nsha256 = \"{hash}\"\n{rest}\n")
}

fn secret(agent: &str) -> String {
    format!("the-secret-of-{agent}")
}
