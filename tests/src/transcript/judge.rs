//! Whether an answer is the one in the file, and what every answer must have whatever the file says.
//!
//! **Invariant**: all differences of an answer are reported. Texts for people (`detail`) may change; that they are
//! there may not.
//! Not known here: how the answer was got.

use std::collections::BTreeSet;

use serde_json::Value;

use super::file::Expected;
use super::normal::IMPLIED_MEMBERS;
use super::pattern::{self, Known, is_uuid};
use crate::http::Response;

/// The differences.
pub(super) fn judge(expected: &Expected, answer: &Response, known: &mut Known) -> Vec<String> {
    let mut flaws = Vec::new();
    for (name, wanted) in &expected.headers {
        match answer.header(name) {
            Some(actual) if pattern::matches(wanted, actual, known) => {}
            other => flaws.push(format!("header {name}: expected {wanted:?}, found {other:?}")),
        }
    }
    let text = answer.text();
    let contained: Vec<&str> = expected.body.lines().filter_map(|line| line.strip_prefix("~ ")).collect();
    if !contained.is_empty() {
        let absent = contained.iter().filter(|wanted| !text.contains(**wanted));
        flaws.extend(absent.map(|wanted| format!("the body does not contain {wanted:?}")));
        return flaws;
    }
    match (serde_json::from_str::<Value>(&expected.body), serde_json::from_str::<Value>(&text)) {
        (Ok(wanted), Ok(actual)) => {
            let is_problem = answer.header("content-type") == Some("application/problem+json");
            compare("", &wanted, &actual, is_problem, known, &mut flaws);
        }
        _ => compare_lines(&expected.body, &text, known, &mut flaws),
    }
    flaws
}

fn compare_lines(wanted: &str, actual: &str, known: &mut Known, flaws: &mut Vec<String>) {
    let (wanted, actual): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), actual.trim_end().lines().collect());
    if wanted.len() != actual.len() {
        flaws.push(format!("{} lines instead of {}:\n{}", actual.len(), wanted.len(), actual.join("\n")));
        return;
    }
    for (at, (wanted, actual)) in wanted.iter().zip(&actual).enumerate() {
        let data = |line: &str| serde_json::from_str::<Value>(line.strip_prefix("data: ").unwrap_or(line));
        match (data(wanted), data(actual)) {
            (Ok(wanted), Ok(actual)) => {
                compare(&format!("line {}: ", at + 1), &wanted, &actual, false, known, flaws);
            }
            _ if pattern::matches(wanted, actual, known) => {}
            _ => flaws.push(format!("line {}: expected {wanted:?}, found {actual:?}", at + 1)),
        }
    }
}

fn compare(at: &str, wanted: &Value, actual: &Value, is_problem: bool, known: &mut Known, flaws: &mut Vec<String>) {
    match (wanted, actual) {
        (Value::Object(wanted), Value::Object(actual)) => {
            let implied = |name: &str| is_problem && IMPLIED_MEMBERS.contains(&name);
            for (name, value) in wanted {
                match actual.get(name) {
                    Some(Value::String(text)) if name == "detail" && !text.is_empty() => {}
                    Some(found) => compare(&format!("{at}/{name}"), value, found, false, known, flaws),
                    None => flaws.push(format!("{at}/{name}: absent, expected {value}")),
                }
            }
            let more = actual.iter().filter(|(name, _)| !wanted.contains_key(*name) && !implied(name));
            flaws.extend(more.map(|(name, value)| format!("{at}/{name}: unexpected, it is {value}")));
        }
        (Value::Array(wanted), Value::Array(actual)) if wanted.len() == actual.len() => {
            for (index, (wanted, actual)) in wanted.iter().zip(actual).enumerate() {
                compare(&format!("{at}/{index}"), wanted, actual, false, known, flaws);
            }
        }
        (Value::String(wanted), Value::String(actual)) if pattern::matches(wanted, actual, known) => {}
        (Value::String(wanted), Value::Number(actual)) if pattern::matches(wanted, &actual.to_string(), known) => {}
        _ if wanted == actual => {}
        _ => flaws.push(format!("{at}: expected {wanted}, found {actual}")),
    }
}

/// Boards that are there.
pub(super) type Boards = BTreeSet<String>;

/// Codes of refusals that say nothing about a board, because it was not asked.
const BEFORE_BOARD: [&str; 20] = [
    "malformed",
    "duplicate_member",
    "too_complex",
    "unknown_member",
    "invalid_value",
    "invalid_name",
    "invalid_path",
    "invalid_query",
    "invalid_blueprint",
    "number_not_representable",
    "agent_required",
    // Judged from the body where it can be.
    "duplicate_key",
    "limit_reached",
    "unauthenticated",
    "origin_refused",
    "method_not_allowed",
    "board_not_found",
    "body_too_large",
    "unsupported_media_type",
    "wrong_host",
];

/// What contract §3 promises of every answer.
pub(super) fn judge_any(target: &str, method: &str, answer: &Response, boards: &mut Boards) -> Vec<String> {
    let mut flaws = Vec::new();
    match answer.header("kokuban-request-id") {
        Some(id) if is_uuid(id) => {}
        other => flaws.push(format!("Kokuban-Request-Id is {other:?}")),
    }
    position(target, method, answer, boards, &mut flaws);
    if answer.status >= 400 && method != "HEAD" {
        problem(answer, &mut flaws);
    }
    flaws
}

/// Every answer about a board that is there says where it is.
fn position(target: &str, method: &str, answer: &Response, boards: &mut Boards, flaws: &mut Vec<String>) {
    let path = target.split('?').next().unwrap_or_default();
    let Some(rest) = path.strip_prefix("/v1/boards/") else { return };
    let board = rest.split('/').next().unwrap_or_default().to_owned();
    let has = answer.header("kokuban-position").is_some();
    if has {
        boards.insert(board.clone());
    }
    if method == "DELETE" && !rest.contains('/') && answer.status == 204 {
        boards.remove(&board);
    }
    let code = answer.code();
    let unasked = method == "OPTIONS" || BEFORE_BOARD.contains(&code.as_str()) || code == "forbidden";
    if !has && boards.contains(&board) && !unasked {
        flaws.push(format!("{} {code} has no Kokuban-Position", answer.status));
    }
}

fn problem(answer: &Response, flaws: &mut Vec<String>) {
    let mut must = |holds: bool, what: &str| {
        if !holds {
            flaws.push(format!("the problem has {what}"));
        }
    };
    must(answer.header("content-type") == Some("application/problem+json"), "another content type");
    let Ok(body) = serde_json::from_slice::<Value>(&answer.body) else {
        must(false, "no JSON in its body");
        return;
    };
    let code = body["code"].as_str().unwrap_or_default();
    must(body["type"] == format!("urn:kokuban:problem:{code}"), "another type than its code");
    must(body["status"] == answer.status, "another status than the answer");
    must(body["request_id"].as_str() == answer.header("kokuban-request-id"), "another request id");
    must(body["title"].is_string() && body["detail"].is_string(), "no words");
    must(body["retryable"].is_boolean(), "no `retryable`");
    must(matches!(body["side_effects"].as_str(), Some("none" | "unknown")), "no `side_effects`");
    must(body["next"]["action"].is_string(), "no next step");
    if let Some(first) = body["errors"].as_array().and_then(|errors| errors.first()) {
        must(first["code"] == code, "another code than its first error");
    }
}
