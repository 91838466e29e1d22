//! The body of every refusal: `application/problem+json` with the facts a program needs to go on.
//!
//! Invariant: a problem names what happened, whether anything changed and what to do next; it never
//! echoes a secret. Absent members are left out.
//! Not known here: whether the caller may read what `current` shows. Who builds the problem asks first.

mod item;

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use kokuban_core::ids::{AgentName, Position, Status, Timestamp, Version};
use kokuban_core::json::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::code::{Code, ErrorCode, NextAction, SideEffects};
pub use item::{ErrorItem, Leaf, Limit};

/// The content type of every problem.
pub const CONTENT_TYPE: &str = "application/problem+json";
/// What `type` begins with; the code follows.
pub const TYPE_PREFIX: &str = "urn:kokuban:problem:";
/// Longest value shown in `current`, in bytes of its canonical form.
pub const SHOWN_VALUE_BYTES_MAX: usize = 4096;

/// A refusal. One pointer wide, so that it is cheap in a `Result`; its members are those of [`Members`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Problem(Box<Members>);

/// The members of a problem, in the order they are sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Members {
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    pub title: Cow<'static, str>,
    pub status: u16,
    pub detail: String,
    pub code: Code,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    pub retryable: bool,
    pub side_effects: SideEffects,
    pub next: Next,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Box<Current>>,
    /// Pointers of what changed since the version the caller named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Vec<String>>,
    /// What would have been accepted: statuses, methods, names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorItem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Who holds the lease (`lease_held`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by_you: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_ms: Option<u64>,
    /// Why a lease is lost (`lease_lost`), or another word that a code defines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
    /// The bound that is reached (`limit_reached`, `value_too_large`, …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The known name nearest to an unknown one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// The oldest position still served (`compacted`, `unknown_epoch`, `future_position`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Position>,
    /// The newest position, in the same cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Position>,
}

/// What to do next, and where there is one, the call that does it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Next {
    pub action: NextAction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

impl Next {
    #[must_use]
    pub fn action(action: NextAction) -> Self {
        Self { action, method: None, path: None, body: None }
    }

    #[must_use]
    pub fn call(action: NextAction, method: &'static str, path: impl Into<String>) -> Self {
        Self { action, method: Some(Cow::Borrowed(method)), path: Some(path.into()), body: None }
    }

    #[must_use]
    pub fn with_body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }
}

/// The entry as it stands, beside a refused write.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Current {
    pub version: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// The request that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// The value is over [`SHOWN_VALUE_BYTES_MAX`] and was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_omitted: Option<bool>,
    /// The caller wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yours: Option<bool>,
    /// It already has the value that the request would have written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_value: Option<bool>,
}

impl Deref for Problem {
    type Target = Members;
    fn deref(&self) -> &Members {
        &self.0
    }
}

impl DerefMut for Problem {
    fn deref_mut(&mut self) -> &mut Members {
        &mut self.0
    }
}

impl Problem {
    /// A problem with everything that its code implies.
    #[must_use]
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Members {
            kind: Cow::Owned(format!("{TYPE_PREFIX}{code}")),
            title: Cow::Borrowed(code.title()),
            status: code.status(),
            detail: detail.into(),
            code: code.into(),
            request_id: None,
            retryable: code.is_retryable(),
            side_effects: code.side_effects(),
            next: Next::action(code.default_action()),
            current: None,
            changed: None,
            allowed: None,
            errors: Vec::new(),
            retry_after_ms: None,
            held_by: None,
            held_by_you: None,
            remaining_ms: None,
            reason: None,
            limit: None,
            nearest: None,
            oldest: None,
            head: None,
        }))
    }

    /// A problem from failed checks: the first gives code, detail, `allowed`, `nearest` and `limit`; all stand in `errors`.
    /// `None` when there are no failed checks, or the first has a code that is not known here.
    #[must_use]
    pub fn from_errors(errors: Vec<ErrorItem>) -> Option<Self> {
        let first = errors.first()?;
        let mut problem = Self::new(first.code.known()?, first.detail.clone());
        problem.allowed.clone_from(&first.allowed);
        problem.nearest = first.nearest.as_deref().map(str::to_owned);
        problem.limit = first.limit.as_deref().cloned();
        problem.errors = errors;
        Some(problem)
    }

    /// The code, if this side knows it.
    #[must_use]
    pub fn known_code(&self) -> Option<ErrorCode> {
        self.code.known()
    }

    /// Whether the code is `code`.
    #[must_use]
    pub fn is(&self, code: ErrorCode) -> bool {
        self.code == code
    }

    /// Another status than the usual one of the code; one of [`ErrorCode::statuses`].
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// A failed condition of a header: 412 instead of 409.
    #[must_use]
    pub fn from_header_condition(self) -> Self {
        self.with_status(412)
    }

    #[must_use]
    pub fn with_request_id(mut self, request_id: impl Into<String>) -> Self {
        self.request_id = Some(request_id.into());
        self
    }

    #[must_use]
    pub fn with_next(mut self, next: Next) -> Self {
        self.next = next;
        self
    }

    #[must_use]
    pub fn with_side_effects(mut self, side_effects: SideEffects) -> Self {
        self.side_effects = side_effects;
        self
    }

    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    #[must_use]
    pub fn with_current(mut self, current: Current) -> Self {
        self.current = Some(Box::new(current));
        self
    }

    #[must_use]
    pub fn with_changed(mut self, pointers: Vec<String>) -> Self {
        self.changed = Some(pointers);
        self
    }

    #[must_use]
    pub fn with_allowed<S: Into<String>>(mut self, allowed: impl IntoIterator<Item = S>) -> Self {
        self.allowed = Some(allowed.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a failed check with the code and detail of the problem, at a pointer into the body.
    #[must_use]
    pub fn with_pointer(mut self, pointer: impl Into<String>) -> Self {
        let item =
            ErrorItem { code: self.code.clone(), ..ErrorItem::at(ErrorCode::Internal, pointer, self.detail.clone()) };
        self.errors.push(item);
        self
    }

    #[must_use]
    pub fn with_error(mut self, item: ErrorItem) -> Self {
        self.errors.push(item);
        self
    }

    #[must_use]
    pub fn with_errors(mut self, errors: Vec<ErrorItem>) -> Self {
        self.errors = errors;
        self
    }

    /// When to try again; also the header Retry-After, see [`Problem::retry_after_s`].
    #[must_use]
    pub fn with_retry_after_ms(mut self, ms: u64) -> Self {
        self.retry_after_ms = Some(ms);
        self
    }

    #[must_use]
    pub fn with_holder(mut self, held_by: AgentName, held_by_you: bool, remaining_ms: u64) -> Self {
        self.held_by = Some(held_by);
        self.held_by_you = held_by_you.then_some(true);
        self.remaining_ms = Some(remaining_ms);
        self
    }

    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    #[must_use]
    pub fn with_limit(mut self, name: impl Into<Cow<'static, str>>, max: u64) -> Self {
        self.limit = Some(Limit { name: name.into(), max });
        self
    }

    #[must_use]
    pub fn with_nearest(mut self, nearest: Option<impl Into<String>>) -> Self {
        self.nearest = nearest.map(Into::into);
        self
    }

    #[must_use]
    pub fn with_positions(mut self, oldest: Position, head: Position) -> Self {
        self.oldest = Some(oldest);
        self.head = Some(head);
        self
    }

    /// `retry_after_ms` in whole seconds, rounded up, for the header Retry-After.
    #[must_use]
    pub fn retry_after_s(&self) -> Option<u64> {
        self.retry_after_ms.map(|ms| ms.div_ceil(1000))
    }

    /// The bytes to send.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self)
            .expect("a problem has no map with keys other than text, and writing to memory does not fail")
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}", self.code, self.status, self.detail)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_problem_says_only_what_is_known() {
        let problem = Problem::new(ErrorCode::BoardNotFound, "there is no board `b`").with_request_id("r1");
        assert_eq!(
            serde_json::to_value(&problem).expect("serialises"),
            json!({
                "type": "urn:kokuban:problem:board_not_found", "title": "Board not found", "status": 404,
                "detail": "there is no board `b`", "code": "board_not_found", "request_id": "r1", "retryable": false,
                "side_effects": "none", "next": {"action": "fix_request"}
            })
        );
    }

    #[test]
    fn a_problem_reads_back_as_written() {
        let current = Current {
            version: Version(7),
            yours: Some(false),
            value: Some(Json::from_value(&json!([1, 2.5, {"a": null}]))),
            ..Current::default()
        };
        let problem = Problem::new(ErrorCode::VersionConflict, "now at 7")
            .from_header_condition()
            .with_current(current)
            .with_changed(vec!["/a".into()])
            .with_pointer("/version")
            .with_limit("x", 3)
            .with_retry_after_ms(1001)
            .with_next(Next::call(NextAction::Reread, "GET", "/v1/boards/b/entries/z/k"));
        let back: Problem = serde_json::from_slice(&problem.to_bytes()).expect("reads back");
        assert_eq!(back, problem);
        assert_eq!((back.status, back.retry_after_s()), (412, Some(2)));
    }

    #[test]
    fn members_and_codes_of_a_newer_server_do_not_hurt_a_client() {
        let text = r#"{"type":"urn:kokuban:problem:new_one","title":"t","status":409,"detail":"d","code":"new_one",
            "retryable":true,"side_effects":"none","next":{"action":"wait","in":"x"},"extra":[1]}"#;
        let problem: Problem = serde_json::from_str(text).expect("tolerant");
        assert_eq!((problem.known_code(), problem.code.as_str()), (None, "new_one"));
    }

    #[test]
    fn the_first_failed_check_gives_status_and_code() {
        let errors = vec![
            ErrorItem::at(ErrorCode::WrongKind, "/value", "not a list"),
            ErrorItem::at(ErrorCode::SchemaViolation, "/value/a", "too short").below("/writes/1"),
        ];
        let problem = Problem::from_errors(errors).expect("two errors");
        assert!(problem.is(ErrorCode::WrongKind));
        assert_eq!(problem.errors[1].pointer.as_deref(), Some("/writes/1/value/a"));
        assert_eq!(Problem::from_errors(Vec::new()), None);
    }
}
