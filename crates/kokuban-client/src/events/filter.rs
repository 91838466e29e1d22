//! What a reader of a stream asks for, as the query of contract §6.
//!
//! Invariant: the same filter gives the same query on every connection; only Last-Event-ID changes.

use std::time::Duration;

use kokuban_api::ChangeKind;
use kokuban_core::ids::Position;

use crate::query::Query;

/// Where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// With what happens from now on.
    #[default]
    Head,
    /// With the oldest commit still in the history.
    Oldest,
    /// With the commit after this one; where that cannot be served, with a `Reset`.
    After(Position),
}

/// Which commits a stream shows, and how. The default shows all, from now on, without values.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    start: Start,
    zones: Vec<String>,
    keys: Vec<String>,
    prefixes: Vec<String>,
    statuses: Vec<String>,
    kinds: Vec<ChangeKind>,
    snapshot: bool,
    values: bool,
    coalesce: Option<Duration>,
}

impl EventFilter {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// Only changes in this zone; with several calls, in any of them. So for the others.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zones.push(zone.into());
        self
    }

    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.keys.push(key.into());
        self
    }

    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefixes.push(prefix.into());
        self
    }

    #[must_use]
    pub fn status(mut self, status: impl Into<String>) -> Self {
        self.statuses.push(status.into());
        self
    }

    #[must_use]
    pub fn kind(mut self, kind: ChangeKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// First the entries as they are, then what follows.
    #[must_use]
    pub fn snapshot(mut self) -> Self {
        self.snapshot = true;
        self
    }

    /// Changes carry the new values.
    #[must_use]
    pub fn values(mut self) -> Self {
        self.values = true;
        self
    }

    /// Collects the commits of this long into one message, each entry once in its last state.
    #[must_use]
    pub fn coalesce(mut self, window: Duration) -> Self {
        self.coalesce = Some(window);
        self
    }

    pub(crate) fn resume_position(&self) -> Option<Position> {
        match self.start {
            Start::After(position) => Some(position),
            Start::Head | Start::Oldest => None,
        }
    }

    pub(crate) fn query(&self) -> Query {
        let mut query = Query::default();
        let repeated =
            [("zone", &self.zones), ("key", &self.keys), ("prefix", &self.prefixes), ("status", &self.statuses)];
        for (name, values) in repeated {
            values.iter().for_each(|value| query.push(name, value));
        }
        self.kinds.iter().for_each(|kind| query.push("kind", kind.as_str()));
        if self.start == Start::Oldest {
            query.push("after", "start");
        }
        if self.snapshot {
            query.push("snapshot", "true");
        }
        if self.values {
            query.push("include", "value");
        }
        if let Some(window) = self.coalesce {
            query.push("coalesce_ms", window.as_millis());
        }
        query
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_filter_asks_for_everything_from_now_on() {
        assert_eq!(EventFilter::new().query().to_string(), "");
    }

    #[test]
    fn filters_are_repeated_and_escaped() {
        let filter = EventFilter::new().zone("分析").zone("a+b").start(Start::Oldest).snapshot();
        assert_eq!(filter.query().to_string(), "?zone=%E5%88%86%E6%9E%90&zone=a%2Bb&after=start&snapshot=true");
    }
}
