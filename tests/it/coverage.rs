//! What the transcripts must contain: every route and every code of this server.
//!
//! **Invariant**: a route or code without a transcript fails, and so does an exception that is no longer needed.
//! Not known here: whether the answers are right.

use std::collections::BTreeSet;

use kokuban_api::ErrorCode;
use kokuban_server::docs::ROUTES;
use kokuban_tests::transcript::{Transcript, read_all};

use crate::transcripts::folder;

/// Codes that no request of a transcript can provoke: they need a fault that other tests make.
const CODES_ELSEWHERE: &[(ErrorCode, &str)] = &[
    (ErrorCode::Timeout, "a slow body: hostile peers"),
    (ErrorCode::RateLimited, "two streams at a time: hostile peers"),
    (ErrorCode::Internal, "a panic in a decision: tests of the engine"),
    (ErrorCode::Overloaded, "more load than the server takes on: hostile peers"),
    (ErrorCode::Behind, "a server behind its journal: tests of the engine"),
    (ErrorCode::Unavailable, "a journal that fails: tests of the journal and engine"),
    (ErrorCode::OutcomeUnknown, "a journal that fails: tests of the journal and engine"),
    (ErrorCode::Quarantined, "damaged records: tests of damage"),
    (ErrorCode::StorageFull, "a full disk: tests of the journal and engine"),
];

fn transcripts() -> Vec<Transcript> {
    read_all(&folder())
}

/// Whether a path of a request is one of a route.
pub(crate) fn is_of_route(route: &str, target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    let (wanted, given): (Vec<&str>, Vec<&str>) = (route.split('/').collect(), path.split('/').collect());
    let has_rest = route.contains("{*");
    let fits = |(wanted, given): (&&str, &&str)| wanted.starts_with('{') || wanted == given;
    let lengths = if has_rest { given.len() >= wanted.len() } else { given.len() == wanted.len() };
    lengths && wanted.iter().zip(&given).all(fits)
}

#[test]
fn every_route_occurs_in_a_transcript_with_a_success() {
    let transcripts = transcripts();
    let asked: Vec<_> = transcripts.iter().flat_map(|transcript| &transcript.exchanges).collect();
    let missing: Vec<String> = ROUTES
        .iter()
        .filter(|route| {
            !asked.iter().any(|exchange| {
                exchange.method == route.method
                    && is_of_route(route.path, &exchange.target)
                    && exchange.expected.status < 400
            })
        })
        .map(|route| format!("{} {}", route.method, route.path))
        .collect();
    assert!(missing.is_empty(), "no transcript shows {missing:#?}");
}

#[test]
fn every_status_that_a_route_documents_occurs_in_a_transcript() {
    let transcripts = transcripts();
    let asked: Vec<_> = transcripts.iter().flat_map(|transcript| &transcript.exchanges).collect();
    let mut missing = Vec::new();
    for route in ROUTES {
        for answer in route.answers {
            let shown = asked.iter().any(|exchange| {
                exchange.method == route.method
                    && is_of_route(route.path, &exchange.target)
                    && exchange.expected.status == answer.status
            });
            if !shown {
                missing.push(format!("{} {} {}", route.method, route.path, answer.status));
            }
        }
    }
    assert!(missing.is_empty(), "no transcript shows {missing:#?}");
}

#[test]
fn every_code_occurs_in_a_transcript_or_has_a_reason_not_to() {
    let (later, now): (Vec<ErrorCode>, Vec<_>) = ErrorCode::ALL.iter().partition(|code| code.comes_later());
    let transcripts = transcripts();
    let asked = transcripts.iter().flat_map(|transcript| &transcript.exchanges);
    let shown: BTreeSet<&str> = asked.filter_map(|exchange| exchange.expected.code.as_deref()).collect();
    let elsewhere: BTreeSet<&str> = CODES_ELSEWHERE.iter().map(|(code, _)| code.as_str()).collect();
    let all: BTreeSet<&str> = now.iter().map(|code| code.as_str()).collect();
    let missing: Vec<_> = all.iter().filter(|code| !shown.contains(*code) && !elsewhere.contains(*code)).collect();
    assert!(missing.is_empty(), "no transcript shows {missing:?}");
    let needless: Vec<_> = elsewhere.intersection(&shown).collect();
    assert!(needless.is_empty(), "these are shown after all: {needless:?}");
    let unknown: Vec<_> = shown.difference(&all).collect();
    assert!(unknown.is_empty(), "no codes, or said to come later: {unknown:?}");
    let early: Vec<_> = later.iter().filter(|code| elsewhere.contains(code.as_str())).collect();
    assert!(early.is_empty(), "these do not come later: {early:?}");
}
