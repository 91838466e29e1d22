//! The shape of a row of the table of routes.
//!
//! Not known here: the rows.

use super::query::QuerySpec;

/// A route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteSpec {
    pub method: &'static str,
    /// As the router writes it: `{name}` is one segment, `{*key}` all that is left.
    pub path: &'static str,
    pub operation_id: &'static str,
    pub tag: &'static str,
    pub summary: &'static str,
    pub query: &'static [QuerySpec],
    pub body: Option<BodySpec>,
    /// What it answers when it does what was asked. Refusals are problems everywhere.
    pub answers: &'static [AnswerSpec],
    /// Whether a call may change something, and so takes an Idempotency-Key.
    pub mutates: bool,
    /// Whether callers need no credential.
    pub public: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodySpec {
    /// A name of `schemas.rs`.
    pub schema: &'static str,
    pub required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerSpec {
    pub status: u16,
    pub summary: &'static str,
    pub content: Content,
}

/// What stands in an answer; schemas by their name in `schemas.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Nothing,
    Json(&'static str),
    /// `{items, position, next_page?}` of such items.
    ListOf(&'static str),
    /// Another content type, which no schema describes.
    Other(&'static str),
}

impl RouteSpec {
    /// The path as OpenAPI writes it.
    #[must_use]
    pub fn openapi_path(&self) -> String {
        self.path.replace("{*", "{")
    }

    /// The names in the path, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| Some(part.strip_prefix('{')?.strip_suffix('}')?.trim_start_matches('*')))
    }
}
