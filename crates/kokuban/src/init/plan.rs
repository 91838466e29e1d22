//! What a first deployment consists of: the text of every file, from the names of the callers and their secrets.
//!
//! Invariant: pure; the secrets stand in the files of their callers and nowhere else. The compose file is the one of
//! the repository, without what only a checkout has.
//! Not known here: disks.

use std::fmt::Write as _;

use kokuban_core::ids::AgentName;

use crate::credential::{self, Secret};

const CONFIG: &str = include_str!("kokuban.toml");
const BLUEPRINT: &str = include_str!("team.toml");
const COMPOSE: &str = include_str!("../../../../docker/compose.yaml");
/// Keeps a folder out of a repository, whatever the rest of that ignores.
const IGNORE_ALL: &str = "*\n";

/// The file that makes a folder a deployment.
pub(super) const CONFIG_FILE: &str = "kokuban.toml";
pub(super) const BLUEPRINT_FILE: &str = "blueprints/team.toml";
pub(super) const COMPOSE_FILE: &str = "compose.yaml";
pub(super) const TOKENS: &str = "tokens";
/// As the configuration names it.
const DATA: &str = "data";

/// Somebody who will call the server.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) name: AgentName,
    /// On every board of the server.
    pub(super) role: Option<&'static str>,
    pub(super) secret: Secret,
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// The server in its container too, which is another user.
    Everyone,
    Owner,
}

/// A file to be written, by its path in the deployment's folder.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) sight: Sight,
}

/// Every file, the configuration last: where it is, the deployment is whole.
pub(super) fn plan(callers: &[Caller], arbiter: &AgentName) -> Vec<Planned> {
    let public = |path: &str, text: String| Planned { path: path.to_owned(), text, sight: Sight::Everyone };
    let ignored = [TOKENS, DATA].map(|folder| Planned {
        path: format!("{folder}/.gitignore"),
        text: IGNORE_ALL.to_owned(),
        sight: Sight::Owner,
    });
    let mut files: Vec<_> = callers.iter().map(token_file).chain(ignored).collect();
    files.push(public(BLUEPRINT_FILE, BLUEPRINT.replace("{arbiter}", arbiter.as_str())));
    files.push(public(COMPOSE_FILE, compose(COMPOSE)));
    files.push(public(CONFIG_FILE, config(callers)));
    files
}

fn token_file(caller: &Caller) -> Planned {
    let name = &caller.name;
    let text = format!(
        "# The credential of `{name}`, for it alone. To call as `{name}` from a shell, without the secret on the screen or\n\
         # in the history:  set -a; . tokens/{name}.env; set +a\n\
         KOKUBAN_TOKEN={}\n",
        caller.secret.reveal()
    );
    Planned { path: format!("{TOKENS}/{name}.env"), text, sight: Sight::Owner }
}

fn config(callers: &[Caller]) -> String {
    let mut text = CONFIG.to_owned();
    for Caller { name, role, secret } in callers {
        let roles: Vec<_> = role.iter().map(|role| (*role).to_owned()).collect();
        let _ = write!(text, "\n{}", credential::table(name, secret, &roles, &["*".to_owned()]));
    }
    text
}

/// The compose file of a folder made by `init`: parts between arrows that only a checkout has are left out, and those
/// that only such a folder has are no comments any more.
fn compose(checked_in: &str) -> String {
    let mut part = "";
    let mut lines = Vec::new();
    for line in checked_in.lines() {
        let mark = line.trim_start();
        if let Some(name) = mark.strip_prefix("# ↓ ") {
            part = name;
        } else if mark.starts_with("# ↑ ") {
            part = "";
        } else if part == "init" {
            lines.push(line.replacen("#-", "-", 1));
        } else if part != "checkout" {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> (Vec<Caller>, Vec<Planned>) {
        let caller = |name, role| Caller {
            name: AgentName::new(name).expect("a name"),
            role,
            secret: Secret::random().expect("the system has random bytes"),
        };
        let callers = vec![caller("admin", Some("admin")), caller("ra", None)];
        let files = plan(&callers, &callers[1].name);
        (callers, files)
    }

    #[test]
    fn a_secret_is_in_the_file_of_its_caller_alone_and_only_the_owner_reads_that() {
        let (callers, files) = files();
        for Caller { name, secret, .. } in &callers {
            let holding: Vec<_> = files.iter().filter(|file| file.text.contains(secret.reveal())).collect();
            assert_eq!(holding.len(), 1);
            assert_eq!((holding[0].path.clone(), holding[0].sight), (format!("tokens/{name}.env"), Sight::Owner));
        }
        assert_eq!(files.last().expect("files").path, CONFIG_FILE, "what says that all is there comes last");
    }

    #[test]
    fn the_compose_file_has_nothing_of_a_checkout_and_mounts_the_files_beside_it() {
        let text = compose(COMPOSE);
        for foreign in ["build:", "setup", "context", "condition", "↓", "↑", "config:"] {
            assert!(!text.contains(foreign), "{foreign} is in\n{text}");
        }
        for kept in ["read_only: true", "- data:/data", "- ./kokuban.toml:/etc/kokuban/kokuban.toml:ro", "restart:"] {
            assert!(text.contains(kept), "{kept} is missing in\n{text}");
        }
    }
}
