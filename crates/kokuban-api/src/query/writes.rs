//! The queries of calls that change something.

use kokuban_core::ids::{LeaseToken, Version};

use super::{Query, integer, is_absent, text_chars};
use crate::limits::{LABEL_CHARS_MAX, REASON_CHARS_MAX};
use crate::problem::Problem;

/// PUT, PATCH and DELETE of an entry, and transactions: conditions for calls that have no body of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteQuery {
    pub dry_run: bool,
    pub atomic: bool,
    pub version: Option<Version>,
    pub lease_token: Option<LeaseToken>,
    pub confidence: Option<String>,
    pub reason: Option<String>,
    pub pretty: bool,
}

impl WriteQuery {
    /// # Errors
    /// `invalid_query`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        if is_absent(raw) {
            return Ok(Self::default());
        }
        let mut query = Query::parse(raw)?;
        let read = Self {
            dry_run: query.flag("dry_run"),
            atomic: query.flag("atomic"),
            version: query.optional("version", integer).map(Version),
            lease_token: query.optional("lease_token", integer).map(LeaseToken),
            confidence: query.optional("confidence", text_chars(LABEL_CHARS_MAX)),
            reason: query.optional("reason", text_chars(REASON_CHARS_MAX)),
            pretty: query.flag("pretty"),
        };
        query.finish(Some(read))
    }
}

/// DELETE of a lease: the holder's release names the token, an arbiter's revocation a reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaseReleaseQuery {
    pub lease_token: Option<LeaseToken>,
    pub reason: Option<String>,
    pub dry_run: bool,
    pub pretty: bool,
}

impl LeaseReleaseQuery {
    /// # Errors
    /// `invalid_query`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let mut query = Query::parse(raw)?;
        let read = Self {
            lease_token: query.optional("lease_token", integer).map(LeaseToken),
            reason: query.optional("reason", text_chars(REASON_CHARS_MAX)),
            dry_run: query.flag("dry_run"),
            pretty: query.flag("pretty"),
        };
        query.finish(Some(read))
    }
}

/// DELETE of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteCloseQuery {
    pub id: String,
    pub dry_run: bool,
    pub pretty: bool,
}

impl NoteCloseQuery {
    /// # Errors
    /// `invalid_query`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let mut query = Query::parse(raw)?;
        let (id, dry_run, pretty) =
            (query.required("id", text_chars(LABEL_CHARS_MAX)), query.flag("dry_run"), query.flag("pretty"));
        query.finish(id.map(|id| Self { id, dry_run, pretty }))
    }
}

/// POST of a note.
pub type NoteQuery = PlainQuery;

/// Writes whose conditions, if any, all stand in the body: leases, claims, notes, boards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlainQuery {
    pub dry_run: bool,
    pub pretty: bool,
}

impl PlainQuery {
    /// # Errors
    /// `invalid_query`.
    pub fn read(raw: Option<&str>) -> Result<Self, Problem> {
        let mut query = Query::parse(raw)?;
        let read = Self { dry_run: query.flag("dry_run"), pretty: query.flag("pretty") };
        query.finish(Some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delete_names_its_conditions_in_the_query() {
        let query = WriteQuery::read(Some("version=7&lease_token=12&reason=no+longer%20true&dry_run&pretty=false"))
            .expect("a good query");
        assert_eq!((query.version, query.lease_token), (Some(Version(7)), Some(LeaseToken(12))));
        assert_eq!((query.reason.as_deref(), query.dry_run, query.pretty), (Some("no longer true"), true, false));
        assert_eq!(WriteQuery::read(None).expect("empty"), WriteQuery::default());
    }

    #[test]
    fn a_version_is_digits_only() {
        for query in ["version=", "version=-1", "version=%2B7", "version=7.0", "version=99999999999999999999"] {
            assert!(WriteQuery::read(Some(query)).is_err(), "{query}");
        }
    }

    #[test]
    fn closing_a_note_names_the_note() {
        assert!(NoteCloseQuery::read(None).is_err());
        assert_eq!(NoteCloseQuery::read(Some("id=n7-0")).expect("an id").id, "n7-0");
    }

    #[test]
    fn a_release_may_carry_a_reason() {
        let query = LeaseReleaseQuery::read(Some("lease_token=3&reason=done")).expect("a good query");
        assert_eq!((query.lease_token, query.reason.as_deref()), (Some(LeaseToken(3)), Some("done")));
    }
}
