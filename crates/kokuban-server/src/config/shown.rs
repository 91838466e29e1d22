//! A configuration for people and programs to look at: every value with its origin, and as a file.
//!
//! **Invariant**: no secret, nor the hash of one, is in it. The file reads back as the same configuration, but for
//! tokens, which stand in it as comments.
//! Not known here: tables and terminals.

use std::fmt::Write as _;
use std::path::Path;

use kokuban_core::ids::{AgentName, BlueprintName};
use serde::Serialize;
use toml::{Table, Value};

use super::effective::Effective;
use super::flaw::Place;
use super::keys::{Change, KEYS};
use super::{Config, ServerRole};

/// Stands for what is there and not shown.
const SET: &str = "«set»";

/// One value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownSetting {
    pub key: &'static str,
    pub value: Value,
    pub origin: String,
    /// The variable that would set it.
    pub variable: String,
    /// Whether a running server takes over a changed value when its configuration is read again.
    pub reloaded: bool,
}

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownToken {
    pub agent: AgentName,
    pub sha256: &'static str,
    pub roles: Vec<ServerRole>,
    pub boards: Vec<String>,
    pub origin: String,
}

/// A rule for boards that their first write creates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownRule {
    pub boards: String,
    pub blueprint: BlueprintName,
    pub origin: String,
}

impl Config {
    /// The value of a key.
    pub(super) fn value(&self, key: &str) -> Value {
        let table = Table::try_from(self).expect("the keys of the file can be written as TOML");
        let found = key.split('.').try_fold(Value::Table(table), |value, part| value.get(part).cloned());
        found.expect("every key is a member of the configuration")
    }
}

impl Effective {
    /// Every setting, in the order of the keys.
    #[must_use]
    pub fn settings(&self) -> Vec<ShownSetting> {
        let shown = KEYS.iter().map(|key| ShownSetting {
            key: key.name,
            value: self.config.value(key.name),
            origin: match self.origins.keys.get(key.name) {
                // What it is without a word about it depends on this.
                None if key.name == "auth" && !self.config.tokens.is_empty() => "default with tokens".to_owned(),
                place => self.origin(place),
            },
            variable: key.variable(),
            reloaded: key.change == Change::AtOnce,
        });
        shown.collect()
    }

    #[must_use]
    pub fn tokens(&self) -> Vec<ShownToken> {
        let all = self.config.tokens.iter().zip(&self.origins.tokens);
        let shown = all.map(|(token, place)| ShownToken {
            agent: token.agent.clone(),
            sha256: SET,
            roles: token.roles.clone(),
            boards: token.boards.iter().map(ToString::to_string).collect(),
            origin: self.origin(Some(place)),
        });
        shown.collect()
    }

    /// In the order in which they count.
    #[must_use]
    pub fn rules(&self) -> Vec<ShownRule> {
        let all = self.config.boards.iter().zip(&self.origins.boards);
        let shown = all.map(|(rule, place)| ShownRule {
            boards: rule.pattern.to_string(),
            blueprint: rule.blueprint.clone(),
            origin: self.origin(Some(place)),
        });
        shown.collect()
    }

    fn origin(&self, place: Option<&Place>) -> String {
        let file = self.file.as_deref().unwrap_or_else(|| Path::new("file"));
        match place {
            None => "default".to_owned(),
            Some(Place::Line(line)) => format!("{}:{line}", file.display()),
            Some(Place::Named(name)) => name.clone(),
            Some(Place::Other(path)) => path.display().to_string(),
            Some(Place::File | Place::Together) => file.display().to_string(),
        }
    }

    /// A file that says the same, wherever it is put.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::from("# Written by `kokuban config show --toml`. Behind each value is its origin.\n");
        let mut section = "";
        for ShownSetting { key, value, origin, .. } in self.settings() {
            let (table, member) = key.split_once('.').unwrap_or(("", key));
            if table != section {
                section = table;
                write(&mut text, &format!("\n[{table}]"));
            }
            write(&mut text, &format!("{member} = {} # {}", found_from_anywhere(key, value), one_line(&origin)));
        }
        for rule in self.rules() {
            let (boards, blueprint) = (Value::from(rule.boards), Value::from(rule.blueprint.as_str()));
            write(&mut text, &format!("\n[boards.{boards}] # {}\nblueprint = {blueprint}", one_line(&rule.origin)));
        }
        if !self.config.tokens.is_empty() {
            write(&mut text, "\n# Hashes of tokens are not shown: take these tables from where they come.");
        }
        for token in self.tokens() {
            let roles = Value::try_from(&token.roles).expect("roles are texts");
            let (agent, boards) = (Value::from(token.agent.as_str()), Value::from(token.boards));
            let members = [
                format!("[[tokens]] # {}", one_line(&token.origin)),
                format!("agent = {agent}"),
                format!("sha256 = \"{SET}\""),
                format!("roles = {roles}"),
                format!("boards = {boards}"),
            ];
            members.iter().for_each(|member| write(&mut text, &format!("#{member}")));
        }
        text
    }
}

/// A path of the file starts from the folder it is in.
fn found_from_anywhere(key: &str, value: Value) -> Value {
    let absolute = |text: &str| {
        let path = std::path::absolute(text).unwrap_or_else(|_| text.into());
        Value::from(path.to_string_lossy().into_owned())
    };
    match (key, value) {
        ("data", Value::String(path)) => absolute(&path),
        ("blueprints", Value::Array(paths)) => {
            Value::Array(paths.iter().filter_map(Value::as_str).map(absolute).collect())
        }
        (_, value) => value,
    }
}

/// A comment ends with its line.
fn one_line(origin: &str) -> String {
    origin.chars().filter(|c| !c.is_control()).collect()
}

fn write(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a String takes everything");
}
