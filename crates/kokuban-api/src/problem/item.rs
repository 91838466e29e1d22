//! One failed check of many, and what it may carry.

use std::borrow::Cow;

use kokuban_core::ids::{AgentName, Version};
use kokuban_core::json::Json;
use serde::{Deserialize, Serialize};

use crate::code::{Code, ErrorCode};

/// A bound of the server or board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    pub name: Cow<'static, str>,
    pub max: u64,
}

/// One failed check. `pointer` is a JSON Pointer into the request body, and absent for path, query and headers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorItem {
    pub code: Code,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Box<Limit>>,
    /// The leaf that a guarded operation would have replaced (`precondition_required`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<Box<Leaf>>,
}

/// A leaf of a document as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leaf {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_omitted: Option<bool>,
    pub version: Version,
    pub by: AgentName,
}

impl ErrorItem {
    #[must_use]
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            pointer: None,
            detail: detail.into(),
            allowed: None,
            nearest: None,
            limit: None,
            leaf: None,
        }
    }

    /// A failed check of the body, at a JSON Pointer.
    #[must_use]
    pub fn at(code: ErrorCode, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), ..Self::new(code, detail) }
    }

    #[must_use]
    pub fn with_allowed<S: Into<String>>(mut self, allowed: impl IntoIterator<Item = S>) -> Self {
        self.allowed = Some(allowed.into_iter().map(Into::into).collect());
        self
    }

    #[must_use]
    pub fn with_nearest(mut self, nearest: Option<impl Into<Box<str>>>) -> Self {
        self.nearest = nearest.map(Into::into);
        self
    }

    #[must_use]
    pub fn with_limit(mut self, name: &'static str, max: u64) -> Self {
        self.limit = Some(Box::new(Limit { name: Cow::Borrowed(name), max }));
        self
    }

    /// The same failure seen from an enclosing body: `prefix` comes before its pointer.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        self.pointer = Some(format!("{prefix}{}", self.pointer.unwrap_or_default()));
        self
    }
}
