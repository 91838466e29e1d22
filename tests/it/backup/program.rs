//! The commands `backup`, `restore`, `verify` as their users call them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kokuban_tests::{TestServer, server_binary};
use serde_json::Value;

/// How a command ended.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Said {
    #[track_caller]
    pub(super) fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// What it complained about.
    #[track_caller]
    pub(super) fn ended_with(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self.err
    }

    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

pub(super) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(server_binary());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("KOKUBAN_") {
            command.env_remove(name);
        }
    }
    command.args(args).stdin(Stdio::null());
    command
}

pub(super) fn kokuban(args: &[&str]) -> Said {
    let output = command(args).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn name(path: &Path) -> &str {
    path.to_str().expect("a path of ours is UTF-8")
}

/// Takes a backup into a file of this name.
pub(super) fn backup(server: &TestServer, dir: &Path, file: &str) -> PathBuf {
    let path = dir.join(file);
    kokuban(&["backup", name(&path), "--url", &server.url()]).well();
    path
}

pub(super) fn restore(file: &Path, data: &Path, more: &[&str]) -> Said {
    kokuban(&[&["restore", name(file), "--data", name(data)], more].concat())
}

pub(super) fn verify(path: &Path) -> Said {
    kokuban(&["verify", name(path)])
}

/// Where a restored board stood in the backup, and where it goes on.
pub(super) fn revisions(restored: &Value, board: &str) -> (u64, u64) {
    let boards = restored["boards"].as_array().expect("boards");
    let found = boards.iter().find(|found| found["board"] == board).expect("a board");
    (found["was"].as_u64().expect("a revision"), found["revision"].as_u64().expect("a revision"))
}
