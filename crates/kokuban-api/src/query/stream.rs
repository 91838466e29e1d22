//! The queries of readers of commits: streams, long polls, history.

use std::num::NonZeroU64;

use kokuban_core::ids::{AgentName, Epoch, InvalidPosition, Key, Position, Revision, Status, ZoneName};

use super::reads::{INCLUDE_VALUE, limit, min_position, page};
use super::{Query, integer, mistake, name, one_of, parsed, text, text_chars, within};
use crate::kinds::ChangeKind;
use crate::limits::{COALESCE_MS, LABEL_CHARS_MAX, PREFIX_BYTES_MAX, WAIT_MS};
use crate::problem::{ErrorItem, Problem};

/// Which changes a reader of a board wants. Within a member any value fits, all members must.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamFilter {
    pub zones: Vec<ZoneName>,
    pub keys: Vec<Key>,
    pub prefixes: Vec<String>,
    pub statuses: Vec<Status>,
    pub kinds: Vec<ChangeKind>,
}

impl StreamFilter {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn take(query: &mut Query) -> Self {
        Self {
            zones: query.repeated("zone", name),
            keys: query.repeated("key", name),
            prefixes: query.repeated("prefix", text(PREFIX_BYTES_MAX)),
            statuses: query.repeated("status", name),
            kinds: query.repeated("kind", kind),
        }
    }
}

fn kind(text: &str) -> Result<ChangeKind, ErrorItem> {
    one_of(&ChangeKind::WORDS)(text)
}

/// Where a reader begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum After {
    /// With what comes next.
    #[default]
    Head,
    /// With the first commit.
    Start,
    /// With the commit after this position.
    Position(Position),
}

fn after(text: &str) -> Result<After, ErrorItem> {
    match text {
        "head" => Ok(After::Head),
        "start" => Ok(After::Start),
        position => position
            .parse()
            .map(After::Position)
            .map_err(|error: InvalidPosition| mistake(format!("this must be `head`, `start` or a position; {error}"))),
    }
}

/// A stream of commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventsQuery {
    pub filter: StreamFilter,
    /// As given: without it a Last-Event-ID, or else the head, is where the stream begins.
    pub after: Option<After>,
    pub snapshot: bool,
    /// Longest time that commits are gathered into one message.
    pub coalesce_ms: Option<NonZeroU64>,
    pub include_value: bool,
    pub min_position: Option<Position>,
}

impl EventsQuery {
    /// # Errors
    /// `invalid_query`, `invalid_name`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let mut query = Query::parse(raw)?;
        let read = Self {
            filter: StreamFilter::take(&mut query),
            after: query.optional("after", after),
            snapshot: query.flag("snapshot"),
            coalesce_ms: query.optional("coalesce_ms", within(COALESCE_MS)).and_then(NonZeroU64::new),
            include_value: query.optional("include", one_of(&INCLUDE_VALUE)).is_some(),
            min_position: min_position(&mut query),
        };
        query.finish(Some(read))
    }
}

/// The same by long poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesQuery {
    pub filter: StreamFilter,
    pub after: Option<After>,
    pub coalesce_ms: Option<NonZeroU64>,
    pub include_value: bool,
    pub wait_ms: u64,
    pub limit: usize,
    pub min_position: Option<Position>,
    pub pretty: bool,
}

impl ChangesQuery {
    /// # Errors
    /// `invalid_query`, `invalid_name`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let mut query = Query::parse(raw)?;
        let read = Self {
            filter: StreamFilter::take(&mut query),
            after: query.optional("after", after),
            coalesce_ms: query.optional("coalesce_ms", within(COALESCE_MS)).and_then(NonZeroU64::new),
            include_value: query.optional("include", one_of(&INCLUDE_VALUE)).is_some(),
            wait_ms: query.optional("wait_ms", within(WAIT_MS)).unwrap_or(0),
            limit: limit(&mut query),
            min_position: min_position(&mut query),
            pretty: query.flag("pretty"),
        };
        query.finish(Some(read))
    }
}

/// A place in the history: a position, or a bare revision of the current epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub epoch: Option<Epoch>,
    pub revision: Revision,
}

fn place(text: &str) -> Result<Place, ErrorItem> {
    if text.contains('.') {
        let Position { epoch, revision } = parsed(text)?;
        return Ok(Place { epoch: Some(epoch), revision });
    }
    integer(text).map(|revision| Place { epoch: None, revision: Revision(revision) })
}

/// The commits of a board, or of one entry, newest first. Both ends are exclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryQuery {
    pub zone: Option<ZoneName>,
    pub key: Option<Key>,
    pub by: Option<AgentName>,
    pub ticket: Option<String>,
    pub kinds: Vec<ChangeKind>,
    pub after: Option<Place>,
    pub before: Option<Place>,
    pub limit: usize,
    pub page: Option<String>,
    pub include_value: bool,
    pub include_operations: bool,
    pub min_position: Option<Position>,
    pub pretty: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HistoryInclude {
    Value,
    Operations,
}

impl HistoryQuery {
    /// # Errors
    /// `invalid_query`, `invalid_name`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let words = [("value", HistoryInclude::Value), ("operations", HistoryInclude::Operations)];
        let mut query = Query::parse(raw)?;
        let include = query.repeated("include", one_of(&words));
        let read = Self {
            zone: query.optional("zone", name),
            key: query.optional("key", name),
            by: query.optional("by", name),
            ticket: query.optional("ticket", text_chars(LABEL_CHARS_MAX)),
            kinds: query.repeated("kind", kind),
            after: query.optional("after", place),
            before: query.optional("before", place),
            limit: limit(&mut query),
            page: page(&mut query),
            include_value: include.contains(&HistoryInclude::Value),
            include_operations: include.contains(&HistoryInclude::Operations),
            min_position: min_position(&mut query),
            pretty: query.flag("pretty"),
        };
        query.finish(Some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::ErrorCode;

    const POSITION: &str = "000000000000001f.12";

    #[test]
    fn a_stream_begins_at_a_position_the_head_or_the_start() {
        let after = |text: &str| EventsQuery::read(Some(text)).map(|query| query.after);
        assert_eq!(after("after=head").expect("head"), Some(After::Head));
        assert_eq!(after("after=start").expect("start"), Some(After::Start));
        let position = POSITION.parse().expect("a position");
        assert_eq!(after(&format!("after={POSITION}")).expect("position"), Some(After::Position(position)));
        assert_eq!(after("").expect("nothing"), None);
        assert!(after("after=12").expect_err("no epoch").is(ErrorCode::InvalidQuery));
    }

    #[test]
    fn a_stream_takes_several_values_of_each_filter() {
        let query = EventsQuery::read(Some("zone=a&zone=b&key=x/y&kind=noted&coalesce_ms=0&snapshot")).expect("good");
        assert_eq!((query.filter.zones.len(), query.filter.keys.len(), query.coalesce_ms), (2, 1, None));
        assert!(query.snapshot && !query.filter.is_empty());
        let refused = EventsQuery::read(Some("kind=delted")).expect_err("misspelt");
        assert_eq!(refused.nearest.as_deref(), Some("deleted"));
        assert!(EventsQuery::read(Some("coalesce_ms=60001")).is_err());
    }

    #[test]
    fn a_poll_answers_at_once_unless_told_to_wait() {
        assert_eq!(ChangesQuery::read(Some("after=start")).expect("good").wait_ms, 0);
    }

    #[test]
    fn history_takes_revisions_and_positions() {
        let query = HistoryQuery::read(Some("after=5&before=000000000000001f.12&include=value&include=operations"))
            .expect("good");
        assert_eq!(query.after, Some(Place { epoch: None, revision: Revision(5) }));
        assert_eq!(query.before, Some(Place { epoch: Some(Epoch(0x1f)), revision: Revision(12) }));
        assert!(query.include_value && query.include_operations);
    }
}
