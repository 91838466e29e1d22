//! Callers of a deployment, outside its containers: curl, and the program with its tokens.
//!
//! **Invariant**: a caller has the secret that the deployment made for it, and nothing else.
//! Not known here: what is asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kokuban_tests::{Caller, server_binary};
use serde_json::Value;

use super::docker::must;

/// A server at an address, and the folder of its callers' tokens.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(crate) address: String,
    tokens: PathBuf,
}

impl Outside {
    pub(crate) fn new(address: String, tokens: &Path) -> Self {
        Self { address, tokens: tokens.to_path_buf() }
    }

    pub(crate) fn secret(&self, name: &str) -> String {
        let path = self.tokens.join(format!("{name}.env"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let secret = text.lines().find_map(|line| line.strip_prefix("KOKUBAN_TOKEN="));
        secret.expect("the file holds a token").to_owned()
    }

    /// A call by curl: status and body.
    pub(crate) fn curl(&self, name: &str, path: &str, args: &[&str]) -> (u16, String) {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--max-time", "30", "--write-out", "\n%{http_code}"]);
        curl.args(["--header", &format!("Authorization: Bearer {}", self.secret(name))]);
        let told = must(curl.args(args).arg(format!("http://{}{path}", self.address)));
        let (body, status) = told.rsplit_once('\n').expect("curl writes the status at the end");
        (status.parse().expect("a number"), body.to_owned())
    }

    pub(crate) fn json(&self, name: &str, path: &str) -> Value {
        let (status, body) = self.curl(name, path, &[]);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Somebody who calls without curl, for many calls.
    pub(crate) fn caller(&self, name: &str) -> Caller {
        let address = self.address.parse().expect("an address with a port");
        Caller::new(address).with("Authorization", &format!("Bearer {}", self.secret(name)))
    }

    /// The program as `name`; what it prints.
    pub(crate) fn kokuban(&self, name: &str, args: &[&str]) -> String {
        let mut command = Command::new(server_binary());
        for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KOKUBAN_")) {
            command.env_remove(variable);
        }
        command.env("KOKUBAN_URL", format!("http://{}", self.address)).env("KOKUBAN_TOKEN", self.secret(name));
        must(command.args(args))
    }

    pub(crate) fn tokens(&self) -> &str {
        self.tokens.to_str().expect("a path in UTF-8")
    }
}
