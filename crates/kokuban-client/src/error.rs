//! Why a call has no result: refused by the server, not reached, or not understood.
//!
//! Invariant: a problem the server answered is kept whole, so that nobody parses texts; no error text carries a
//! value, a token or an address with a query.
//! Not known here: what to do about it. `Problem::next` says that, and `retry` whether the call is sent again.

use std::time::Duration;

use kokuban_api::{ErrorCode, Problem};
use kokuban_core::ids::InvalidName;

/// What can go wrong with a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused; `code`, `current` and `next` say why and what to do.
    #[error("{}: {}", .0.code, .0.detail)]
    Problem(Problem),
    /// An answer that is no success and no problem document: something between here and the server made it.
    #[error("status {status} without a problem document")]
    Status { status: u16, retry_after: Option<Duration> },
    /// No connection, or it broke before the answer was complete.
    #[error("the server cannot be reached: {0}")]
    Unreachable(#[source] reqwest::Error),
    /// No complete answer in this time.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// An answer or a stream that this client does not understand.
    #[error("not understood: {0}")]
    Protocol(String),
    /// A name that no server takes; nothing was sent.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The client was built without what it needs.
    #[error("{0}")]
    Config(String),
}

impl Error {
    pub(crate) fn from_http(error: reqwest::Error) -> Self {
        let error = error.without_url();
        if error.is_builder() { Self::Config(error.to_string()) } else { Self::Unreachable(error) }
    }

    /// The problem the server answered, where it did.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem(problem) => Some(problem),
            _ => None,
        }
    }

    /// The code, where the server refused with one that this client knows.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        self.problem().and_then(|problem| problem.known_code())
    }

    /// The status of the answer, where there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Problem(problem) => Some(problem.status),
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Another write came first: read again, think again, write again.
    #[must_use]
    pub fn is_version_conflict(&self) -> bool {
        self.code() == Some(ErrorCode::VersionConflict)
    }

    /// The state of the board forbids the write: any 409, 412 or 428.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self.status(), Some(409 | 412 | 428))
    }

    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self.status(), Some(401 | 403))
    }

    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// No answer at all: the server or the way to it is gone.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Timeout(_) | Self::Status { status: 502..=504, .. })
    }

    /// The lease named in the call is not live any more.
    #[must_use]
    pub fn is_lease_lost(&self) -> bool {
        self.code() == Some(ErrorCode::LeaseLost)
    }

    /// The same call may well succeed a little later, and repeating it has no second effect.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Problem(problem) => transient_status(problem.status) && problem.retryable,
            Self::Status { status, .. } => transient_status(*status),
            Self::Unreachable(_) | Self::Timeout(_) => true,
            Self::Protocol(_) | Self::Name(_) | Self::Config(_) => false,
        }
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Problem(problem) => problem.retry_after_ms.map(Duration::from_millis),
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// A word for a log: never a text from the server, which may quote a request.
    pub(crate) fn kind(&self) -> &str {
        match self {
            Self::Problem(problem) => problem.code.as_str(),
            Self::Status { .. } => "status",
            Self::Unreachable(_) => "unreachable",
            Self::Timeout(_) => "timeout",
            Self::Protocol(_) => "protocol",
            Self::Name(_) => "name",
            Self::Config(_) => "config",
        }
    }
}

fn transient_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 502..=504)
}
