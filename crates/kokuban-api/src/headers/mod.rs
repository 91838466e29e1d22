//! Headers: their names, and the strict reading of those that change what a request means.
//!
//! Invariant: a header that cannot be read is refused, never guessed at; only `traceparent` is ignored then.
//! Not known here: what the condition of a header is compared with.

mod content;
mod etag;
mod preferences;

use http::{HeaderMap, HeaderName};

use crate::code::ErrorCode;
use crate::problem::ErrorItem;

pub use content::{MediaType, content_type};
pub use etag::{EntityTag, FailedCondition, Match, Preconditions};
pub use preferences::{ReturnPreference, TraceParent, idempotency_key, return_preference, trace_parent};

pub const POSITION: HeaderName = HeaderName::from_static("kokuban-position");
pub const REQUEST_ID: HeaderName = HeaderName::from_static("kokuban-request-id");
pub const AGENT: HeaderName = HeaderName::from_static("kokuban-agent");
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub const PREFER: HeaderName = HeaderName::from_static("prefer");
pub const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

fn invalid(header: &HeaderName, detail: &str) -> ErrorItem {
    ErrorItem::new(ErrorCode::InvalidValue, format!("header {header}: {detail}"))
}

/// The one value of a header that may be given once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h [u8]>, ErrorItem> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    match values.next() {
        Some(_) => Err(invalid(name, "may be given only once")),
        None => Ok(first.map(|value| value.as_bytes())),
    }
}
