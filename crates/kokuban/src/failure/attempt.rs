//! What a command tried, so that it can be said again with other terms, or another command about the same thing.
//!
//! Invariant: a line is exactly what a shell takes; the words are quoted here and nowhere else.

use kokuban_core::ids::{EntryId, LeaseToken, Status, Version, ZoneName};

use crate::caller::Flags;
use crate::shell::quoted;

/// A longer value is said as a file.
const VALUE_BYTES_SAID_MAX: usize = 2_000;

/// A command about an entry or zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    verb: &'static str,
    zone: ZoneName,
    entry: Option<EntryId>,
    /// Between the place and the terms.
    words: Vec<String>,
    status: Option<Status>,
    version: Option<Version>,
    only_new: bool,
    tail: Vec<String>,
}

impl Attempt {
    pub(crate) fn on(verb: &'static str, entry: &EntryId) -> Self {
        Self { entry: Some(entry.clone()), ..Self::in_zone(verb, &entry.zone) }
    }

    pub(crate) fn in_zone(verb: &'static str, zone: &ZoneName) -> Self {
        Self {
            verb,
            zone: zone.clone(),
            entry: None,
            words: Vec::new(),
            status: None,
            version: None,
            only_new: false,
            tail: Vec::new(),
        }
    }

    pub(crate) fn with_value(mut self, value: &str) -> Self {
        let said = if value.len() > VALUE_BYTES_SAID_MAX { "@value.json" } else { value };
        self.words.push(said.to_owned());
        self
    }

    pub(crate) fn with_switch(mut self, flag: &str) -> Self {
        self.words.push(flag.to_owned());
        self
    }

    pub(crate) fn with_flag(mut self, flag: &str, value: impl ToString) -> Self {
        self.words.extend([flag.to_owned(), value.to_string()]);
        self
    }

    pub(crate) fn with_lease(mut self, token: LeaseToken) -> Self {
        self.tail.extend(["--lease-token".to_owned(), token.to_string()]);
        self
    }

    pub(crate) fn with_reason(mut self, reason: &str) -> Self {
        self.tail.extend(["--reason".to_owned(), reason.to_owned()]);
        self
    }

    pub(crate) fn moving_to(mut self, status: &Status) -> Self {
        self.status = Some(status.clone());
        self
    }

    pub(crate) fn at_version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self.only_new = false;
        self
    }

    /// Who wants to create it does not want to replace what is there.
    pub(crate) fn only_new(mut self) -> Self {
        self.only_new = true;
        self
    }

    pub(crate) fn without_version(mut self) -> Self {
        self.version = None;
        self
    }

    pub(super) fn verb(&self) -> &'static str {
        self.verb
    }

    /// Whether it is about a lease or a note, which belong to somebody.
    pub(super) fn ends_what_is_not_ones_own(&self) -> bool {
        matches!(self.verb, "lease release" | "lease revoke" | "note close")
    }

    pub(super) fn zone(&self) -> &ZoneName {
        &self.zone
    }

    pub(super) fn entry(&self) -> Option<&EntryId> {
        self.entry.as_ref()
    }

    pub(super) fn status(&self) -> Option<&Status> {
        self.status.as_ref()
    }

    /// The same in another zone.
    pub(super) fn elsewhere(&self, zone: &ZoneName) -> Self {
        let entry = self.entry.as_ref().map(|entry| EntryId::new(zone.clone(), entry.key.clone()));
        Self { zone: zone.clone(), entry, ..self.clone() }
    }

    /// The same on another entry.
    pub(super) fn on_entry(&self, entry: EntryId) -> Self {
        Self { zone: entry.zone.clone(), entry: Some(entry), ..self.clone() }
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.version
    }

    pub(super) fn is_only_new(&self) -> bool {
        self.only_new
    }

    /// Another command about the same entry, or zone.
    pub(super) fn instead(&self, verb: &'static str) -> Self {
        match &self.entry {
            Some(entry) => Self::on(verb, entry),
            None => Self::in_zone(verb, &self.zone),
        }
    }

    /// The command as a line.
    pub(super) fn line(&self, flags: &Flags) -> String {
        let place = self.entry.as_ref().map_or_else(|| self.zone.to_string(), ToString::to_string);
        let mut line = format!("kokuban {} {}", self.verb, quoted(&place));
        let mut say = |word: &str| line.extend([" ", &quoted(word)]);
        if let (Some(status), "move") = (&self.status, self.verb) {
            say(status.as_str());
        }
        self.words.iter().for_each(|word| say(word));
        if let (Some(status), false) = (&self.status, self.verb == "move") {
            say("--status");
            say(status.as_str());
        }
        if self.only_new {
            say("--if-absent");
        }
        if let Some(version) = self.version {
            say("--version");
            say(&version.to_string());
        }
        self.tail.iter().for_each(|word| say(word));
        line + &flags.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_the_same_command_on_other_terms() {
        let board = Flags { board: Some("b".into()), ..Flags::default() };
        let none = Flags::default();
        let entry = EntryId::new("analysis".parse().expect("zone"), "a/b".parse().expect("key"));
        let put =
            Attempt::on("put", &entry).with_value("{\"a\": 'x'}").at_version(Version(3)).with_lease(LeaseToken(9));
        assert_eq!(
            put.at_version(Version(7)).line(&board),
            r#"kokuban put analysis/a/b '{"a": '\''x'\''}' --version 7 --lease-token 9 --board b"#
        );
        let status = "pending_review".parse().expect("status");
        let shift = Attempt::on("move", &entry).moving_to(&status).with_reason("it is time");
        assert_eq!(shift.line(&none), "kokuban move analysis/a/b pending_review --reason 'it is time'");
        assert_eq!(shift.instead("get").line(&none), "kokuban get analysis/a/b");
        let text = Attempt::on("put", &entry).with_value(&"x".repeat(5_000)).moving_to(&status).only_new().line(&none);
        assert_eq!(text, "kokuban put analysis/a/b @value.json --status pending_review --if-absent");
    }
}
