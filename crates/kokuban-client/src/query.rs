//! The query of a request target.
//!
//! Invariant: a text in a query decodes to exactly that text, whatever script it is in.
//! Not known here: which members a call has; paths (`kokuban_api::names` makes them).

use std::fmt;

use kokuban_api::names::encode_query;

/// The query of a target, empty or beginning with `?`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(String);

impl Query {
    pub(crate) fn push(&mut self, name: &str, value: impl ToString) {
        let separator = if self.0.is_empty() { '?' } else { '&' };
        self.0.push(separator);
        self.0.push_str(name);
        self.0.push('=');
        self.0.push_str(&encode_query(&value.to_string()));
    }

    pub(crate) fn push_some(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_empty_or_begins_with_a_question_mark() {
        let mut query = Query::default();
        assert_eq!(query.to_string(), "");
        query.push("after", "ab.1");
        query.push_some("limit", Some(5));
        query.push_some("page", None::<&str>);
        assert_eq!(query.to_string(), "?after=ab.1&limit=5");
    }
}
