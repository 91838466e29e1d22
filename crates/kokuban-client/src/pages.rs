//! Lists of any length, one page at a time, as they are read.
//!
//! Invariant: at most one page is held; all pages of one list show one position, so nothing is listed twice or missed.
//! A page token lives 60 s: a list that is read more slowly ends with 410 `compacted`.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use kokuban_api::answers::List;
use kokuban_core::ids::{AgentName, EntryId, Position, Revision, Status, ZoneName};
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::query::Query;
use crate::transport::{Call, Transport};

/// The items of a list.
pub struct Pages<T>(BoxStream<'static, Result<T, Error>>);

impl<T> std::fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pages")
    }
}

impl<T> Stream for Pages<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}

impl<T> Pages<T> {
    /// The first `items_max` items at most.
    ///
    /// # Errors
    /// The first error on the way.
    pub async fn collect_up_to(self, items_max: usize) -> Result<Vec<T>, Error> {
        self.0.take(items_max).try_collect().await
    }
}

/// Which entries to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    pub zone: Option<ZoneName>,
    pub prefix: Option<String>,
    pub status: Option<Status>,
    pub owner: Option<AgentName>,
    /// With values.
    pub values: bool,
    /// As the board was at this revision.
    pub at: Option<Revision>,
    pub min_position: Option<Position>,
    /// Items in one page; the server's default where absent.
    pub page_items: Option<usize>,
}

impl ListFilter {
    pub(crate) fn query(&self) -> Query {
        let mut query = Query::default();
        query.push_some("zone", self.zone.as_ref());
        query.push_some("prefix", self.prefix.as_ref());
        query.push_some("status", self.status.as_ref());
        query.push_some("owner", self.owner.as_ref());
        if self.values {
            query.push("include", "value");
        }
        query.push_some("at", self.at);
        query.push_some("min_position", self.min_position);
        query.push_some("limit", self.page_items);
        query
    }
}

/// Which commits to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    pub entry: Option<EntryId>,
    pub by: Option<AgentName>,
    pub kind: Option<kokuban_api::ChangeKind>,
    /// With values before and after.
    pub values: bool,
    /// Items in one page; the server's default where absent.
    pub page_items: Option<usize>,
}

impl HistoryFilter {
    pub(crate) fn query(&self) -> Query {
        let mut query = Query::default();
        query.push_some("by", self.by.as_ref());
        query.push_some("kind", self.kind.map(kokuban_api::ChangeKind::as_str));
        if self.values {
            query.push("include", "value");
        }
        query.push_some("limit", self.page_items);
        query
    }
}

struct Reader<T> {
    transport: Transport,
    target: String,
    query: Query,
    ready: VecDeque<T>,
    next: Next,
}

enum Next {
    First,
    Page(String),
    End,
}

pub(crate) fn pages<T>(transport: Transport, target: String, query: Query) -> Pages<T>
where
    T: DeserializeOwned + Send + 'static,
{
    let reader = Reader { transport, target, query, ready: VecDeque::new(), next: Next::First };
    Pages(stream::unfold(reader, Reader::step).boxed())
}

impl<T: DeserializeOwned> Reader<T> {
    async fn step(mut self) -> Option<(Result<T, Error>, Self)> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some((Ok(item), self));
            }
            let mut query = self.query.clone();
            match std::mem::replace(&mut self.next, Next::End) {
                Next::First => {}
                Next::Page(token) => query.push("page", token),
                Next::End => return None,
            }
            match self.page(&query).await {
                Ok(page) => {
                    self.ready = page.items.into();
                    self.next = page.next_page.map_or(Next::End, Next::Page);
                }
                Err(error) => return Some((Err(error), self)),
            }
        }
    }

    async fn page(&mut self, query: &Query) -> Result<List<T>, Error> {
        self.transport.send(&Call::read(format!("{}{query}", self.target))).await?.json()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fake::{Fake, Reply};

    fn entry(key: &str) -> serde_json::Value {
        json!({"zone": "z", "key": key, "version": 1, "updated_by": "ra", "updated_at": "2026-11-30T12:00:00.000Z"})
    }

    #[tokio::test]
    async fn pages_follow_each_other_until_there_is_no_next_one() {
        let first = json!({"items": [entry("a"), entry("b")], "position": "00000000000000ab.9", "next_page": "p+2"});
        let last = json!({"items": [entry("c")], "position": "00000000000000ab.9"});
        let fake = Fake::start([Reply::Json(200, first), Reply::Json(200, last)]).await;
        let filter = ListFilter { page_items: Some(2), values: true, ..ListFilter::default() };
        let board = fake.client().board("b").expect("a name");
        let entries = board.list(&filter).collect_up_to(100).await.expect("listed");
        assert_eq!(entries.iter().map(|entry| entry.key.to_string()).collect::<Vec<_>>(), ["a", "b", "c"]);
        let targets: Vec<_> = fake.received().into_iter().map(|request| request.target).collect();
        let page = "/v1/boards/b/entries?include=value&limit=2";
        assert_eq!(targets, [page.to_owned(), format!("{page}&page=p%2B2")]);
    }

    #[tokio::test]
    async fn no_more_pages_are_asked_for_than_are_read() {
        let first = json!({"items": [entry("a"), entry("b")], "next_page": "p2"});
        let fake = Fake::start([Reply::Json(200, first)]).await;
        let board = fake.client().board("b").expect("a name");
        assert_eq!(board.list(&ListFilter::default()).collect_up_to(2).await.expect("listed").len(), 2);
        assert_eq!(fake.received().len(), 1);
    }

    #[tokio::test]
    async fn a_list_that_breaks_off_ends_with_the_error() {
        let first = json!({"items": [entry("a")], "next_page": "p2"});
        let gone = Reply::problem(410, "compacted", json!({"retryable": false}));
        let fake = Fake::start([Reply::Json(200, first), gone]).await;
        let mut list = fake.client().board("b").expect("a name").list(&ListFilter::default());
        assert!(list.next().await.expect("an item").is_ok());
        assert_eq!(list.next().await.expect("an outcome").expect_err("gone").status(), Some(410));
        assert!(list.next().await.is_none());
    }
}
