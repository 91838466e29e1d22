//! The queries of calls that read what is there: lists and entries.

use kokuban_core::ids::{AgentName, Position, Revision, Status, Version, ZoneName};

use super::{Query, integer, is_absent, mistake, name, one_of, parsed, text, text_chars, within};
use crate::limits::{LABEL_CHARS_MAX, LIST_LIMIT, LIST_LIMIT_DEFAULT, PAGE_TOKEN_BYTES_MAX, PREFIX_BYTES_MAX, WAIT_MS};
use crate::problem::{ErrorItem, Problem};

pub(super) const INCLUDE_VALUE: [(&str, ()); 1] = [("value", ())];

pub(super) fn limit(query: &mut Query) -> usize {
    let limit = query.optional("limit", within(LIST_LIMIT)).unwrap_or(LIST_LIMIT_DEFAULT);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

pub(super) fn page(query: &mut Query) -> Option<String> {
    query.optional("page", text(PAGE_TOKEN_BYTES_MAX))
}

pub(super) fn min_position(query: &mut Query) -> Option<Position> {
    query.optional("min_position", parsed)
}

/// A read with nothing to choose: the board summary, its blueprint, a lease.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadQuery {
    pub min_position: Option<Position>,
    pub pretty: bool,
}

impl ReadQuery {
    /// # Errors
    /// `invalid_query`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let mut query = Query::parse(raw)?;
        let read = Self { min_position: min_position(&mut query), pretty: query.flag("pretty") };
        query.finish(Some(read))
    }
}

/// A list with nothing to choose: the notes of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    pub limit: usize,
    pub page: Option<String>,
    pub min_position: Option<Position>,
    pub pretty: bool,
}

impl ListQuery {
    /// # Errors
    /// `invalid_query`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let mut query = Query::parse(raw)?;
        let read = Self {
            limit: limit(&mut query),
            page: page(&mut query),
            min_position: min_position(&mut query),
            pretty: query.flag("pretty"),
        };
        query.finish(Some(read))
    }
}

/// The boards that have the labels, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardsQuery {
    pub labels: Vec<LabelFilter>,
    pub limit: usize,
    pub page: Option<String>,
    pub pretty: bool,
}

/// A label by name, or by name and value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelFilter {
    pub name: String,
    pub value: Option<String>,
}

fn label(text: &str) -> Result<LabelFilter, ErrorItem> {
    let text = text_chars(2 * LABEL_CHARS_MAX + 1)(text)?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text.as_str(), None),
    };
    if name.is_empty() {
        return Err(mistake("this must be `name` or `name=value`"));
    }
    Ok(LabelFilter { name: name.to_owned(), value })
}

impl BoardsQuery {
    /// # Errors
    /// `invalid_query`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let mut query = Query::parse(raw)?;
        let read = Self {
            labels: query.repeated("label", label),
            limit: limit(&mut query),
            page: page(&mut query),
            pretty: query.flag("pretty"),
        };
        query.finish(Some(read))
    }
}

/// The entries of a board, or of one zone of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntriesQuery {
    pub zone: Option<ZoneName>,
    pub prefix: Option<String>,
    pub status: Option<Status>,
    pub owner: Option<AgentName>,
    pub include_value: bool,
    pub at: Option<Revision>,
    pub limit: usize,
    pub page: Option<String>,
    pub min_position: Option<Position>,
    pub pretty: bool,
}

impl EntriesQuery {
    /// # Errors
    /// `invalid_query`, `invalid_name`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let mut query = Query::parse(raw)?;
        let read = Self {
            zone: query.optional("zone", name),
            prefix: query.optional("prefix", text(PREFIX_BYTES_MAX)),
            status: query.optional("status", name),
            owner: query.optional("owner", name),
            include_value: query.optional("include", one_of(&INCLUDE_VALUE)).is_some(),
            at: query.optional("at", integer).map(Revision),
            limit: limit(&mut query),
            page: page(&mut query),
            min_position: min_position(&mut query),
            pretty: query.flag("pretty"),
        };
        query.finish(Some(read))
    }
}

/// How much of an entry is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum View {
    #[default]
    Brief,
    Full,
}

/// One entry: now, in the past, or once it has become something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryQuery {
    pub view: View,
    pub at: Option<Revision>,
    pub version: Option<Version>,
    pub after_version: Option<Version>,
    pub until_status: Option<Status>,
    pub wait_ms: Option<u64>,
    pub min_position: Option<Position>,
    pub pretty: bool,
}

impl EntryQuery {
    /// # Errors
    /// `invalid_query`, `invalid_name`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        if is_absent(raw) {
            return Ok(Self::default());
        }
        let mut query = Query::parse(raw)?;
        let read = Self {
            view: query.optional("view", one_of(&[("full", View::Full), ("brief", View::Brief)])).unwrap_or_default(),
            at: query.optional("at", integer).map(Revision),
            version: query.optional("version", integer).map(Version),
            after_version: query.optional("after_version", integer).map(Version),
            until_status: query.optional("until_status", name),
            wait_ms: query.optional("wait_ms", within(WAIT_MS)),
            min_position: min_position(&mut query),
            pretty: query.flag("pretty"),
        };
        let past = usize::from(read.at.is_some()) + usize::from(read.version.is_some());
        let waits = read.after_version.is_some() || read.until_status.is_some();
        if past + usize::from(waits) > 1 {
            query
                .errors
                .push(mistake("`at`, `version` and waiting (`after_version`, `until_status`) exclude each other"));
        }
        query.finish(Some(read))
    }
}

/// The last refusals of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalsQuery {
    pub by: Option<AgentName>,
    pub limit: usize,
    pub min_position: Option<Position>,
    pub pretty: bool,
}

impl RefusalsQuery {
    /// # Errors
    /// `invalid_query`, `invalid_name`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let mut query = Query::parse(raw)?;
        let read = Self {
            by: query.optional("by", name),
            limit: limit(&mut query),
            min_position: min_position(&mut query),
            pretty: query.flag("pretty"),
        };
        query.finish(Some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSITION: &str = "000000000000001f.12";

    #[test]
    fn a_list_has_a_hundred_items_unless_told_otherwise() {
        assert_eq!(EntriesQuery::read(None).expect("empty").limit, 100);
        assert_eq!(EntriesQuery::read(Some("limit=1000")).expect("the most").limit, 1000);
        assert!(EntriesQuery::read(Some("limit=1001")).is_err());
    }

    #[test]
    fn a_list_is_narrowed_by_zone_prefix_status_and_owner() {
        let query = EntriesQuery::read(Some(
            "zone=%E5%88%86%E6%9E%90&prefix=a/&status=raw&owner=ra&include=value&at=7&min_position=000000000000001f.12",
        ))
        .expect("a good query");
        assert_eq!(query.zone.as_ref().map(ZoneName::as_str), Some("分析"));
        assert_eq!((query.prefix.as_deref(), query.at, query.include_value), (Some("a/"), Some(Revision(7)), true));
        assert_eq!(query.min_position.map(|position| position.to_string()).as_deref(), Some(POSITION));
    }

    #[test]
    fn an_entry_is_read_at_one_time_only() {
        assert!(EntryQuery::read(Some("at=3&version=4")).is_err());
        assert!(EntryQuery::read(Some("at=3&after_version=4")).is_err());
        let query = EntryQuery::read(Some("view=full&after_version=7&until_status=done&wait_ms=30000")).expect("waits");
        assert_eq!((query.view, query.wait_ms), (View::Full, Some(30_000)));
        assert!(EntryQuery::read(Some("wait_ms=30001")).is_err());
    }

    #[test]
    fn boards_are_found_by_label_with_or_without_value() {
        let query = BoardsQuery::read(Some("label=team%3Dx=y&label=hot")).expect("good");
        assert_eq!(query.labels[0], LabelFilter { name: "team".into(), value: Some("x=y".into()) });
        assert_eq!(query.labels[1], LabelFilter { name: "hot".into(), value: None });
        assert!(BoardsQuery::read(Some("label==x")).is_err());
    }
}
