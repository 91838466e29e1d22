//! Reads a request body within its bounds.
//!
//! **Invariant**: content type, encoding and the stated length are judged before the body is first polled,
//! because polling is what makes hyper say `100 Continue`. Never more than the bound is held in memory.
//! Not known here: JSON.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use kokuban_api::headers::{MediaType, content_type};
use kokuban_api::problem::{ErrorCode, Problem};

/// Bounds of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    pub bytes_max: u64,
    /// For the whole body.
    pub within: Duration,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { bytes_max: 1024 * 1024, within: Duration::from_secs(30) }
    }
}

/// Whether a call may come without a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyNeed {
    Required,
    /// No body reads as no bytes, and needs no content type.
    Optional,
}

/// The body, which must be `application/json`.
///
/// # Errors
/// 415, 413, 408, and 400 when it breaks off or its chunks cannot be read.
pub async fn read_body(headers: &HeaderMap, body: Body, need: BodyNeed, limits: BodyLimits) -> Result<Bytes, Problem> {
    if need == BodyNeed::Optional && is_absent(headers, &body) {
        return Ok(Bytes::new());
    }
    content_type(headers, &[MediaType::Json])?;
    read_bytes(headers, body, limits).await
}

/// The body, of whatever content type the caller has judged.
///
/// # Errors
/// 415 for an encoding, 413, 408, and 400 when it breaks off or its chunks cannot be read.
pub async fn read_bytes(headers: &HeaderMap, mut body: Body, limits: BodyLimits) -> Result<Bytes, Problem> {
    check_encoding(headers)?;
    if body.size_hint().lower() > limits.bytes_max {
        return Err(too_large(limits));
    }
    let reading = collect(&mut body, limits);
    match tokio::time::timeout(limits.within, reading).await {
        Ok(read) => read,
        Err(_) => Err(Problem::new(
            ErrorCode::Timeout,
            format!("the body did not arrive within {} ms", limits.within.as_millis()),
        )),
    }
}

async fn collect(body: &mut Body, limits: BodyLimits) -> Result<Bytes, Problem> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    let mut n_bytes: u64 = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|_| Problem::new(ErrorCode::Malformed, "the body ended early or its chunks cannot be read"))?;
        let Ok(data) = frame.into_data() else { continue };
        n_bytes += data.len() as u64;
        if n_bytes > limits.bytes_max {
            return Err(too_large(limits));
        }
        // Most bodies come in one piece, which is passed on as it is.
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.reserve(first.len() + data.len());
            all.extend_from_slice(&first);
            first = Bytes::new();
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

fn too_large(limits: BodyLimits) -> Problem {
    Problem::new(ErrorCode::BodyTooLarge, format!("the body may have at most {} bytes", limits.bytes_max))
        .with_limit("body_bytes_max", limits.bytes_max)
}

fn is_absent(headers: &HeaderMap, body: &Body) -> bool {
    body.is_end_stream() || (!headers.contains_key(TRANSFER_ENCODING) && !headers.contains_key(CONTENT_LENGTH))
}

fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(Problem::new(ErrorCode::UnsupportedMediaType, "send the body without the header Content-Encoding"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;
    use std::convert::Infallible;

    const LIMITS: BodyLimits = BodyLimits { bytes_max: 8, within: Duration::from_millis(50) };

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    fn json() -> HeaderMap {
        headers(&[("content-type", "application/json"), ("content-length", "1")])
    }

    fn chunks(pieces: &[&'static str]) -> Body {
        Body::from_stream(stream::iter(pieces.iter().map(|p| Ok::<_, Infallible>(*p)).collect::<Vec<_>>()))
    }

    async fn code(headers: &HeaderMap, body: Body) -> Result<Bytes, ErrorCode> {
        read_body(headers, body, BodyNeed::Required, LIMITS).await.map_err(|p| p.known_code().unwrap())
    }

    #[tokio::test]
    async fn a_body_is_read_whole_however_it_is_cut() {
        assert_eq!(code(&json(), Body::from("12345678")).await, Ok("12345678".into()));
        assert_eq!(code(&json(), chunks(&["12", "", "345", "678"])).await, Ok("12345678".into()));
        assert_eq!(code(&json(), Body::empty()).await, Ok(Bytes::new()));
    }

    #[tokio::test]
    async fn one_byte_over_the_bound_is_too_large_stated_or_counted() {
        assert_eq!(code(&json(), Body::from("123456789")).await, Err(ErrorCode::BodyTooLarge));
        assert_eq!(code(&json(), chunks(&["12345678", "9"])).await, Err(ErrorCode::BodyTooLarge));
    }

    #[tokio::test]
    async fn a_stated_length_over_the_bound_is_refused_without_polling_the_body() {
        struct Untouched;
        impl http_body::Body for Untouched {
            type Data = Bytes;
            type Error = Infallible;
            fn poll_frame(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
                panic!("polled")
            }
            fn size_hint(&self) -> http_body::SizeHint {
                http_body::SizeHint::with_exact(9)
            }
        }
        assert_eq!(code(&json(), Body::new(Untouched)).await, Err(ErrorCode::BodyTooLarge));
        assert_eq!(code(&headers(&[]), Body::new(Untouched)).await, Err(ErrorCode::UnsupportedMediaType));
    }

    #[tokio::test]
    async fn a_body_that_never_ends_is_given_up_in_time() {
        let endless = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        assert_eq!(code(&json(), endless).await, Err(ErrorCode::Timeout));
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_malformed() {
        let broken = Body::from_stream(stream::iter([Ok("1"), Err(std::io::Error::other("cut"))]));
        assert_eq!(code(&json(), broken).await, Err(ErrorCode::Malformed));
    }

    #[tokio::test]
    async fn json_has_any_parameter_but_another_charset() {
        for right in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json;charset=\"UTF-8\"; x=y",
            "application/json;",
        ] {
            assert!(code(&headers(&[("content-type", right)]), Body::from("1")).await.is_ok(), "{right}");
        }
        for wrong in
            ["text/plain", "application/jsonx", "application/json; charset=latin1", "", "application/problem+json"]
        {
            let refused = code(&headers(&[("content-type", wrong)]), Body::from("1")).await;
            assert_eq!(refused, Err(ErrorCode::UnsupportedMediaType), "{wrong}");
        }
        let encoded = headers(&[("content-type", "application/json"), ("content-encoding", "gzip")]);
        assert_eq!(code(&encoded, Body::from("1")).await, Err(ErrorCode::UnsupportedMediaType));
    }

    #[tokio::test]
    async fn an_optional_body_may_be_absent_but_not_of_another_type() {
        let read = |headers: HeaderMap, body| async move {
            read_body(&headers, body, BodyNeed::Optional, LIMITS).await.map_err(|p| p.known_code().unwrap())
        };
        assert_eq!(read(headers(&[]), Body::empty()).await, Ok(Bytes::new()));
        assert_eq!(read(json(), Body::from("{}")).await, Ok("{}".into()));
        let text = headers(&[("content-type", "text/plain"), ("content-length", "2")]);
        assert_eq!(read(text, Body::from("{}")).await, Err(ErrorCode::UnsupportedMediaType));
    }
}
