//! Boards that tests begin with.
//!
//! **Invariant**: a fixture is made over the API like any other board.
//! Not known here: what a test does with it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::caller::Caller;
use crate::server::TestServer;

/// A file of `tests/fixtures`.
#[must_use]
pub fn fixture_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// A board, and where its parts are.
#[derive(Debug, Clone)]
pub struct BoardAt {
    pub name: String,
}

impl BoardAt {
    /// Creates it with a built-in or configured blueprint.
    ///
    /// # Panics
    /// When the server refuses.
    #[must_use]
    pub fn create(caller: &Caller, name: &str, blueprint: &str) -> Self {
        caller.put(&format!("/v1/boards/{name}"), &json!({"blueprint": blueprint})).must(201);
        Self { name: name.to_owned() }
    }

    /// Below the board: `at("entries")`.
    #[must_use]
    pub fn at(&self, rest: &str) -> String {
        format!("/v1/boards/{}/{rest}", self.name)
    }

    /// `zone/key`.
    #[must_use]
    pub fn entry(&self, id: &str) -> String {
        self.at(&format!("entries/{id}"))
    }

    #[must_use]
    pub fn lease(&self, id: &str) -> String {
        self.at(&format!("leases/{id}"))
    }

    /// Every commit of the board, oldest first.
    ///
    /// # Panics
    /// When the history cannot be read.
    #[must_use]
    pub fn history(&self, caller: &Caller) -> Vec<Value> {
        let mut commits = Vec::new();
        let mut path = self.at("history?limit=1000");
        loop {
            let page = caller.get(&path).expect(200).json();
            commits.extend(page["items"].as_array().expect("items").iter().cloned());
            let Some(next) = page["next_page"].as_str() else { break };
            path = self.at(&format!("history?limit=1000&page={next}"));
        }
        commits.reverse();
        commits
    }
}

impl TestServer {
    /// A board with the blueprint `default`, made by the agent `lin`.
    #[must_use]
    pub fn board(&self, name: &str) -> BoardAt {
        BoardAt::create(&self.as_agent("lin"), name, "default")
    }
}
