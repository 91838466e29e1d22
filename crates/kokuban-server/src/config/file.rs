//! The file: TOML whose every key is known.
//!
//! **Invariant**: an unknown key, at any depth, is a flaw with its line and the nearest known name; nothing in a
//! file is passed over.
//! Not known here: whether values go together.

use std::path::Path;

use kokuban_core::ids::{AgentName, BlueprintName};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::flaw::{Flaw, Place, nearest, shown};
use super::keys::{KEYS, Key};
use super::raw::Raw;
use super::secrets::TOKENS_MAX;
use super::whole::Draft;
use super::{BoardRule, ServerRole, Token};
use crate::pattern::Pattern;

const TOKEN_KEYS: &[&str] = &["sha256", "agent", "roles", "boards"];
const RULE_KEYS: &[&str] = &["blueprint"];
/// More rules than this are not looked at for every first write.
const RULES_MAX: usize = 1000;

struct Reader<'d, 't> {
    draft: &'d mut Draft,
    text: &'t str,
    base: &'t Path,
}

/// Adds what the file says to the draft.
pub(super) fn apply(draft: &mut Draft, path: &Path, text: &str) {
    let base = path.parent().unwrap_or_else(|| Path::new(""));
    let mut reader = Reader { draft, text, base };
    match DeTable::parse(text) {
        Ok(root) => reader.root(root.get_ref()),
        Err(error) => {
            let line = error.span().map_or(1, |span| reader.line(span.start));
            reader.flaw(line, first_line(error.message()));
        }
    }
}

impl Reader<'_, '_> {
    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or(self.text.as_bytes());
        before.iter().filter(|b| **b == b'\n').count() + 1
    }

    fn line_of<T>(&self, spanned: &Spanned<T>) -> usize {
        self.line(spanned.span().start)
    }

    fn flaw(&mut self, line: usize, message: impl Into<String>) {
        self.draft.flaws.push(Flaw::new(Place::Line(line), message));
    }

    fn root(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("tokens", _) => self.tokens(value),
                ("boards", DeValue::Table(rules)) => self.rules(rules),
                ("boards", _) => self.flaw(self.line_of(value), "`boards` must be tables like [boards.\"order-*\"]"),
                (section, DeValue::Table(members)) if is_section(section) => self.section(section, members),
                (section, _) if is_section(section) => {
                    self.flaw(self.line_of(value), format!("`{section}` must be a table: write [{section}]"));
                }
                (word, _) => match Key::named(word) {
                    Some(key) => self.set(key, name, value),
                    None => {
                        let first = |key: &Key| key.name.split('.').next().unwrap_or(key.name);
                        self.unknown(name, word, KEYS.iter().map(first).chain(["tokens", "boards"]));
                    }
                },
            }
        }
    }

    fn section(&mut self, section: &str, members: &DeTable<'_>) {
        for (name, value) in members {
            match Key::named(&format!("{section}.{}", name.get_ref())) {
                Some(key) => self.set(key, name, value),
                None => {
                    let known = KEYS.iter().filter_map(|key| key.name.strip_prefix(section)?.strip_prefix('.'));
                    self.unknown(name, name.get_ref(), known);
                }
            }
        }
    }

    fn unknown<'k, T>(&mut self, at: &Spanned<T>, word: &str, known: impl Iterator<Item = &'k str> + Clone) {
        let hint = match nearest(word, known.clone()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => {
                let mut names: Vec<_> = known.map(|name| format!("`{name}`")).collect();
                names.dedup();
                format!("known are {}", names.join(", "))
            }
        };
        self.flaw(self.line_of(at), format!("the key `{}` is unknown; {hint}", shown(word)));
    }

    fn set<T>(&mut self, key: &Key, at: &Spanned<T>, value: &Spanned<DeValue<'_>>) {
        let place = Place::Line(self.line_of(at));
        self.draft.set(key, &raw(value.get_ref()), Some(self.base), place);
    }

    fn rules(&mut self, rules: &DeTable<'_>) {
        if rules.len() > RULES_MAX {
            self.draft.flaws.push(Flaw::new(Place::File, format!("[boards] may have at most {RULES_MAX} rules")));
            return;
        }
        for (pattern, rule) in rules {
            let line = self.line_of(pattern);
            let DeValue::Table(members) = rule.get_ref() else {
                self.flaw(line, format!("write [boards.\"{}\"] with `blueprint = \"…\"`", shown(pattern.get_ref())));
                continue;
            };
            self.check_members(members, RULE_KEYS);
            let pattern = Pattern::new(pattern.get_ref()).map_err(|why| format!("the pattern is invalid: {why}"));
            let blueprint = match members.get("blueprint").map(|v| raw(v.get_ref())) {
                Some(value) => value
                    .text()
                    .and_then(|text| BlueprintName::new(text).map_err(|rule| rule.to_string()))
                    .map_err(|why| format!("`blueprint`: {why}")),
                None => Err("the rule needs `blueprint = \"…\"`".into()),
            };
            match (pattern, blueprint) {
                (Ok(pattern), Ok(blueprint)) => {
                    self.draft.add_rule(BoardRule { pattern, blueprint }, Place::Line(line));
                }
                (pattern, blueprint) => {
                    for message in [pattern.err(), blueprint.err()].into_iter().flatten() {
                        self.flaw(line, message);
                    }
                }
            }
        }
    }

    fn check_members(&mut self, members: &DeTable<'_>, known: &'static [&'static str]) {
        for (name, _) in members {
            if !known.contains(&name.get_ref().as_ref()) {
                self.unknown(name, name.get_ref(), known.iter().copied());
            }
        }
    }

    fn tokens(&mut self, value: &Spanned<DeValue<'_>>) {
        let DeValue::Array(items) = value.get_ref() else {
            self.flaw(self.line_of(value), "`tokens` must be tables like [[tokens]]");
            return;
        };
        if items.len() > TOKENS_MAX {
            self.flaw(self.line_of(value), format!("at most {TOKENS_MAX} tokens can be configured"));
            return;
        }
        for item in items {
            let line = self.line_of(item);
            let DeValue::Table(members) = item.get_ref() else {
                self.flaw(line, "a token must be a table: write [[tokens]]");
                continue;
            };
            self.check_members(members, TOKEN_KEYS);
            match token(members) {
                Ok(token) => self.draft.add_token(token, Place::Line(line)),
                Err(messages) => messages.into_iter().for_each(|message| self.flaw(line, message)),
            }
        }
    }
}

/// A token of the file. What is given as its hash is never shown: it may be the secret itself.
fn token(members: &DeTable<'_>) -> Result<Token, Vec<String>> {
    let member = |name: &str| members.get(name).map(|value| raw(value.get_ref()));
    let needed = |name: &str| member(name).ok_or_else(|| format!("the token needs `{name}`"));
    let named = |name: &str, why: String| format!("`{name}`: {why}");
    let sha256 = needed("sha256").and_then(|raw| {
        let hash = raw.text().ok().and_then(|text| text.to_ascii_lowercase().parse().ok());
        hash.ok_or_else(|| {
            named("sha256", "must be the 64 hexadecimal digits of the SHA-256 of the secret, never the secret".into())
        })
    });
    let agent = needed("agent").and_then(|raw| {
        let name = raw.text().and_then(|text| AgentName::new(text).map_err(|rule| rule.to_string()));
        name.map_err(|why| named("agent", why))
    });
    let roles = member("roles").map_or(Ok(Vec::new()), |raw| raw.each(role).map_err(|why| named("roles", why)));
    let boards = member("boards").map_or(Ok(vec![Pattern::any()]), |raw| {
        let pattern = |text: &str| Pattern::new(text).map_err(|why| format!("`{}`: {why}", shown(text)));
        raw.each(pattern).map_err(|why| named("boards", why))
    });
    match (sha256, agent, roles, boards) {
        (Ok(sha256), Ok(agent), Ok(roles), Ok(boards)) => Ok(Token { sha256, agent, roles, boards }),
        (sha256, agent, roles, boards) => {
            Err([sha256.err(), agent.err(), roles.err(), boards.err()].into_iter().flatten().collect())
        }
    }
}

fn role(text: &str) -> Result<ServerRole, String> {
    match text {
        "admin" => Ok(ServerRole::Admin),
        "observer" => Ok(ServerRole::Observer),
        _ => Err(format!(
            "`{}` is no server-wide role: these are `admin` and `observer`, others stand in the blueprint of a board",
            shown(text)
        )),
    }
}

fn is_section(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.split_once('.').is_some_and(|(section, _)| section == name))
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Boolean(value) => Raw::Boolean(*value),
        DeValue::Integer(number) if number.radix() == 10 => Raw::Number(number.as_str().to_owned()),
        DeValue::Integer(_) => Raw::Other("a number that is not decimal"),
        DeValue::Float(_) => Raw::Other("a fraction"),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Table(_) => Raw::Other("a table"),
        DeValue::Array(items) => {
            let texts: Option<Vec<_>> = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
            texts.map_or(Raw::Other("a list of other things"), Raw::List)
        }
    }
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}
