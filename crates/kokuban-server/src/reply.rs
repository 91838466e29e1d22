//! Answers in JSON with the headers that belong to them.
//!
//! Invariant: serialised once; every answer about a board names its position.
//! Not known here: what is answered.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, LOCATION};
use http::{HeaderName, HeaderValue, StatusCode};
use kokuban_api::headers::{EntityTag, IDEMPOTENCY_REPLAYED, POSITION, PREFERENCE_APPLIED, ReturnPreference};
use kokuban_core::ids::Position;
use serde::Serialize;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An answer being put together.
#[derive(Debug)]
pub(crate) struct Reply {
    response: Response,
}

impl Reply {
    pub(crate) fn json<T: Serialize>(status: StatusCode, body: &T, pretty: bool) -> Self {
        let written = if pretty { pretty_bytes(body) } else { serde_json::to_vec(body) };
        Self::bytes(status, written.expect("the types of the wire serialise").into())
    }

    pub(crate) fn bytes(status: StatusCode, body: Bytes) -> Self {
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, JSON);
        Self { response }
    }

    pub(crate) fn empty(status: StatusCode) -> Self {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        Self { response }
    }

    pub(crate) fn at(self, position: Option<Position>) -> Self {
        match position {
            Some(position) => self.header(POSITION, &position),
            None => self,
        }
    }

    pub(crate) fn tagged(self, tag: EntityTag) -> Self {
        self.header(ETAG, &tag)
    }

    pub(crate) fn located(self, href: &str) -> Self {
        self.header(LOCATION, &href)
    }

    pub(crate) fn replayed(self, replayed: bool) -> Self {
        if replayed { self.header(IDEMPOTENCY_REPLAYED, &true) } else { self }
    }

    pub(crate) fn preferring(self, preference: Option<ReturnPreference>) -> Self {
        match preference {
            Some(preference) => self.header(PREFERENCE_APPLIED, &preference.as_str()),
            None => self,
        }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: &dyn std::fmt::Display) -> Self {
        let value = HeaderValue::from_str(&value.to_string()).expect("header values of ours are printable ASCII");
        self.response.headers_mut().insert(name, value);
        self
    }

    pub(crate) fn send(self) -> Response {
        self.response
    }
}

fn pretty_bytes<T: Serialize>(body: &T) -> serde_json::Result<Vec<u8>> {
    // Raw values inside keep their form unless the whole is read and written again.
    let text = serde_json::to_vec(body)?;
    let value: serde_json::Value = serde_json::from_slice(&text)?;
    let mut out = serde_json::to_vec_pretty(&value)?;
    out.push(b'\n');
    Ok(out)
}
