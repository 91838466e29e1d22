//! The one error of the edge, and the one way it becomes an answer.
//!
//! **Invariant**: the answer made here carries the problem as an extension and no body; `edge` adds the request
//! id, writes the body and the headers that go with it. So a refusal is encoded once, wherever it arose.
//! Not known here: why something was refused.

use std::fmt;

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use kokuban_api::problem::{ErrorCode, Problem};
use kokuban_core::ids::Position;

/// A refusal on its way out.
#[derive(Debug, Clone)]
pub struct ApiError {
    problem: Problem,
    /// Boxed, because few refusals have any.
    headers: Option<Box<HeaderMap>>,
}

pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    #[must_use]
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Problem::new(code, detail).into()
    }

    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    pub fn problem_mut(&mut self) -> &mut Problem {
        &mut self.problem
    }

    /// With the header that names where the board stands, if it is known.
    #[must_use]
    pub(crate) fn at(self, position: Option<Position>) -> Self {
        match position.and_then(|position| position.to_string().parse().ok()) {
            Some(value) => self.with_header(kokuban_api::headers::POSITION, value),
            None => self,
        }
    }

    /// A header of the answer, such as Kokuban-Position.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.get_or_insert_default().insert(name, value);
        self
    }
}

impl ApiError {
    /// A reply of another kind than the command asks for: a defect.
    #[must_use]
    pub(crate) fn unexpected() -> Self {
        Self::new(ErrorCode::Internal, "the answer does not belong to the question")
    }
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        Self { problem, headers: None }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for ApiError {}

/// Marks an answer whose body is still to be written.
#[derive(Debug, Clone)]
pub(crate) struct Refused(pub(crate) Problem);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if let Some(headers) = self.headers {
            *response.headers_mut() = *headers;
        }
        response.extensions_mut().insert(Refused(self.problem));
        response
    }
}
