//! Strict reading of query strings, one type for each kind of call.
//!
//! Invariant: a member that a call does not list is refused, as is one given twice unless the call repeats it;
//! no value is ever echoed, for it may be a secret.
//! Not known here: the calls themselves. Start at [`Query`]; `reads` and `writes` have the types.

mod reads;
mod stream;
mod writes;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use kokuban_core::ids::InvalidName;

use crate::code::ErrorCode;
use crate::fields::{BodyErrors, invalid_name, unknown_word, word};
use crate::limits::QUERY_MEMBERS_MAX;
use crate::names::form_decode;
use crate::problem::{ErrorItem, Problem};
use crate::spelling::{listed, nearest, shown};

pub use reads::{BoardsQuery, EntriesQuery, EntryQuery, LabelFilter, ListQuery, ReadQuery, RefusalsQuery, View};
pub use stream::{After, ChangesQuery, EventsQuery, HistoryQuery, Place, StreamFilter};
pub use writes::{LeaseReleaseQuery, NoteCloseQuery, NoteQuery, PlainQuery, WriteQuery};

/// Members that would put a credential into logs and histories on the way.
const SECRETS: [&str; 3] = ["token", "access_token", "api_key"];

/// A cursor over the members of a query.
#[derive(Debug)]
pub struct Query {
    pairs: Vec<(String, String)>,
    known: Vec<&'static str>,
    errors: Vec<ErrorItem>,
}

/// Most calls have no query, and those that are made most need not look for its members.
fn is_absent(raw: Option<&str>) -> bool {
    raw.is_none_or(str::is_empty)
}

fn mistake(detail: impl Into<String>) -> ErrorItem {
    ErrorItem::new(ErrorCode::InvalidQuery, detail)
}

impl Query {
    /// Decodes what stands behind the `?` of a request.
    ///
    /// # Errors
    /// `invalid_query` for escapes that cannot be decoded, too many members, and secrets.
    pub fn parse(raw: Option<&str>) -> Result<Self, Problem> {
        let mut pairs = Vec::new();
        for part in raw.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            if pairs.len() == QUERY_MEMBERS_MAX {
                return Err(problem(mistake(format!("a query has at most {QUERY_MEMBERS_MAX} members"))));
            }
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let decoded = form_decode(name).and_then(|name| Ok((name, form_decode(value)?)));
            pairs.push(decoded.map_err(|broken| problem(mistake(format!("query: {}", broken.detail()))))?);
        }
        if let Some((name, _)) = pairs.iter().find(|(name, _)| SECRETS.contains(&name.to_ascii_lowercase().as_str())) {
            let detail = format!("`{}` does not belong in a query; send the header Authorization", shown(name));
            return Err(problem(mistake(detail)));
        }
        Ok(Self { pairs, known: Vec::new(), errors: Vec::new() })
    }

    /// All values of a member that may be repeated.
    fn take(&mut self, name: &'static str) -> Vec<String> {
        self.known.push(name);
        let mut values = Vec::new();
        self.pairs.retain_mut(|(given, value)| {
            let found = given == name;
            if found {
                values.push(std::mem::take(value));
            }
            !found
        });
        values
    }

    fn read<T>(&mut self, name: &str, read: impl FnOnce(&str) -> Result<T, ErrorItem>, value: &str) -> Option<T> {
        match read(value) {
            Ok(read) => Some(read),
            Err(mut item) => {
                item.detail = format!("`{name}`: {}", item.detail);
                self.errors.push(item);
                None
            }
        }
    }

    /// A member that may be given once.
    pub fn optional<T>(&mut self, name: &'static str, read: impl FnOnce(&str) -> Result<T, ErrorItem>) -> Option<T> {
        let values = self.take(name);
        if values.len() > 1 {
            self.errors.push(mistake(format!("`{name}` may be given only once")));
            return None;
        }
        self.read(name, read, values.first()?)
    }

    /// A member that must be given once.
    pub fn required<T>(&mut self, name: &'static str, read: impl FnOnce(&str) -> Result<T, ErrorItem>) -> Option<T> {
        let missing = !self.pairs.iter().any(|(given, _)| given == name);
        if missing {
            self.errors.push(mistake(format!("`{name}` is required")));
        }
        self.optional(name, read)
    }

    /// A member that may be given more than once.
    pub fn repeated<T>(&mut self, name: &'static str, mut read: impl FnMut(&str) -> Result<T, ErrorItem>) -> Vec<T> {
        self.take(name).iter().filter_map(|value| self.read(name, &mut read, value)).collect()
    }

    /// A member that is true when it is named.
    pub fn flag(&mut self, name: &'static str) -> bool {
        self.optional(name, flag).unwrap_or(false)
    }

    /// Ends the reading: members that nobody asked for are mistakes.
    ///
    /// # Errors
    /// All mistakes of the query.
    pub fn finish<T>(mut self, built: Option<T>) -> Result<T, Problem> {
        for (name, _) in std::mem::take(&mut self.pairs) {
            let near = nearest(&name, self.known.iter().copied());
            let hint = match near {
                Some(near) => format!("`{near}` is known"),
                None if self.known.is_empty() => "it has none".to_owned(),
                None => format!("known are {}", listed(&self.known)),
            };
            let detail = format!("this call has no query member `{}`; {hint}", shown(&name));
            self.errors.push(mistake(detail).with_nearest(near).with_allowed(self.known.iter().copied()));
        }
        match (BodyErrors::new(self.errors), built) {
            (Some(errors), _) => Err(errors.into()),
            (None, Some(built)) => Ok(built),
            (None, None) => Err(problem(mistake("a member is missing"))),
        }
    }
}

fn problem(item: ErrorItem) -> Problem {
    BodyErrors::from(item).into()
}

fn flag(text: &str) -> Result<bool, ErrorItem> {
    match text {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(mistake("this must be true or false")),
    }
}

fn integer(text: &str) -> Result<u64, ErrorItem> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| mistake("this must be an integer that is not negative"))
}

fn within(range: RangeInclusive<u64>) -> impl FnOnce(&str) -> Result<u64, ErrorItem> {
    move |text| {
        let n = integer(text)?;
        let outside = || mistake(format!("this must be from {} to {}", range.start(), range.end()));
        range.contains(&n).then_some(n).ok_or_else(outside)
    }
}

fn name<T: FromStr<Err = InvalidName>>(text: &str) -> Result<T, ErrorItem> {
    text.parse().map_err(|broken| invalid_name(&broken))
}

fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, ErrorItem> {
    text.parse().map_err(|error: T::Err| mistake(error.to_string()))
}

fn text(bytes_max: usize) -> impl Fn(&str) -> Result<String, ErrorItem> {
    move |text| {
        if text.len() > bytes_max {
            Err(mistake(format!("this must have at most {bytes_max} bytes")))
        } else {
            Ok(text.to_owned())
        }
    }
}

fn text_chars(max: usize) -> impl Fn(&str) -> Result<String, ErrorItem> {
    move |text| {
        let short = text.chars().nth(max).is_none();
        short.then(|| text.to_owned()).ok_or_else(|| mistake(format!("this must have at most {max} characters")))
    }
}

fn one_of<T: Copy>(words: &[(&'static str, T)]) -> impl Fn(&str) -> Result<T, ErrorItem> {
    move |text| word(words, text).ok_or_else(|| unknown_word(ErrorCode::InvalidQuery, text, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_member_learns_the_nearest_known_one() {
        let problem = EntriesQuery::read(Some("zoen=a")).expect_err("misspelt");
        assert!(problem.is(ErrorCode::InvalidQuery));
        assert_eq!((problem.status, problem.nearest.as_deref()), (400, Some("zone")));
        let problem = PlainQuery::read(Some("zoen=a")).expect_err("no such member");
        assert!(problem.allowed.as_ref().is_some_and(|allowed| allowed.contains(&"pretty".to_owned())));
    }

    #[test]
    fn a_member_given_twice_is_refused_unless_the_call_repeats_it() {
        let problem = EntriesQuery::read(Some("limit=1&limit=2")).expect_err("twice");
        assert_eq!(problem.detail, "`limit` may be given only once");
        let events = EventsQuery::read(Some("kind=created&kind=deleted")).expect("repeatable");
        assert_eq!(events.filter.kinds.len(), 2);
    }

    #[test]
    fn a_secret_in_a_query_is_refused_and_never_echoed() {
        for query in ["token=s3cret", "a=1&access_token=s3cret", "api_key=s3cret", "Token=s3cret", "%74oken=s3cret"] {
            let problem = EntriesQuery::read(Some(query)).expect_err("a secret");
            assert!(problem.is(ErrorCode::InvalidQuery));
            assert!(!format!("{problem:?}").contains("s3cret"), "{query}");
        }
    }

    #[test]
    fn no_value_of_a_query_is_echoed() {
        for query in ["limit=s3cret", "zone=s3cret%20x", "status=s3cret%2Fx", "at=s3cret", "include=s3cret"] {
            let problem = EntriesQuery::read(Some(query)).expect_err("wrong");
            assert!(!format!("{problem:?}").contains("s3cret"), "{query}");
        }
    }

    #[test]
    fn broken_escapes_are_an_invalid_query() {
        for query in ["zone=%zz", "zone=%", "%ff=1", "zone=%c3"] {
            assert!(EntriesQuery::read(Some(query)).expect_err(query).is(ErrorCode::InvalidQuery), "{query}");
        }
    }

    #[test]
    fn a_query_with_too_many_members_is_refused() {
        let query = vec!["kind=created"; 257].join("&");
        assert!(EventsQuery::read(Some(&query)).expect_err("too many").is(ErrorCode::InvalidQuery));
    }

    #[test]
    fn all_mistakes_of_a_query_are_reported_at_once() {
        let problem = EntriesQuery::read(Some("limit=0&zone=a%20b&x=1")).expect_err("three");
        assert_eq!(problem.errors.len(), 3);
        assert_eq!(problem.errors[1].detail, "`limit`: this must be from 1 to 1000");
    }
}
