//! The content type of a request body.
//!
//! Invariant: a body is UTF-8 and not encoded; a charset or encoding that says otherwise is refused.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};

use crate::code::ErrorCode;
use crate::problem::Problem;

/// A kind of body that some call takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    Json,
    /// RFC 6902.
    JsonPatch,
    /// RFC 7396.
    MergePatch,
}

impl MediaType {
    const ALL: [Self; 3] = [Self::Json, Self::JsonPatch, Self::MergePatch];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::JsonPatch => "application/json-patch+json",
            Self::MergePatch => "application/merge-patch+json",
        }
    }
}

/// The content type of a request with a body, one of `taken` (the first is the one that is advised).
///
/// # Errors
/// 415 `unsupported_media_type` that names the right header.
pub fn content_type(headers: &HeaderMap, taken: &[MediaType]) -> Result<MediaType, Problem> {
    let encoded = headers.get_all(CONTENT_ENCODING).iter();
    if encoded.into_iter().any(|value| !value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity")) {
        let detail = "a request body must not be encoded; send it without the header Content-Encoding";
        return Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
    }
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let found = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok().and_then(media_type),
        _ => None,
    };
    found.filter(|found| taken.contains(found)).ok_or_else(|| unsupported(taken))
}

fn unsupported(taken: &[MediaType]) -> Problem {
    let names: Vec<&str> = taken.iter().map(|media_type| media_type.as_str()).collect();
    let advised = names.first().copied().unwrap_or(MediaType::Json.as_str());
    let detail = format!("send the body as UTF-8 with the header `Content-Type: {advised}`");
    Problem::new(ErrorCode::UnsupportedMediaType, detail).with_allowed(names)
}

/// The media type, if it is a known one and its charset, if any, is UTF-8.
fn media_type(text: &str) -> Option<MediaType> {
    let mut parts = text.split(';');
    let essence = parts.next()?.trim_ascii();
    let found = MediaType::ALL.into_iter().find(|known| essence.eq_ignore_ascii_case(known.as_str()))?;
    let utf_8 = parts.filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
        !name.trim_ascii().eq_ignore_ascii_case("charset")
            || value.trim_ascii().trim_matches('"').eq_ignore_ascii_case("utf-8")
    });
    utf_8.then_some(found)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const ALL: [MediaType; 3] = MediaType::ALL;

    fn of(text: &str) -> Result<MediaType, Problem> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(text).expect("a header value"));
        content_type(&headers, &ALL)
    }

    #[test]
    fn json_may_carry_any_parameter_but_another_charset() {
        for text in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
            "application/json; profile=x; v=1",
        ] {
            assert_eq!(of(text), Ok(MediaType::Json), "{text}");
        }
        for text in ["application/json; charset=latin1", "text/json", "application/x-www-form-urlencoded", "json", ""] {
            let problem = of(text).expect_err(text);
            assert_eq!(problem.status, 415);
            assert!(problem.detail.contains("Content-Type: application/json"));
        }
    }

    #[test]
    fn both_patch_formats_are_told_apart() {
        assert_eq!(of("application/json-patch+json"), Ok(MediaType::JsonPatch));
        assert_eq!(of("application/merge-patch+json; charset=utf-8"), Ok(MediaType::MergePatch));
    }

    #[test]
    fn a_body_without_type_with_two_types_or_encoded_is_refused() {
        let mut headers = HeaderMap::new();
        assert!(content_type(&headers, &ALL).is_err());
        headers.append(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        assert!(content_type(&headers, &[MediaType::MergePatch]).is_err());
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(content_type(&headers, &ALL).expect_err("gzip").is(ErrorCode::UnsupportedMediaType));
        headers.remove(CONTENT_ENCODING);
        headers.append(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        assert!(content_type(&headers, &ALL).is_err());
    }
}
