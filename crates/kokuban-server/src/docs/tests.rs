//! The table, and what is made from it.

use std::collections::BTreeSet;

use kokuban_api::bodies::{Claim, CreateBoard, Erasure, LeaseRenewal, LeaseRequest, NoteBody, Patch, Put, Transaction};
use kokuban_api::problem::{ErrorCode, Problem};
use kokuban_api::query as read;
use serde_json::{Value, json};

use super::*;

/// What the reader of a call's query knows, from how it refuses an unknown member.
fn known_to_reader(operation: &str) -> Option<Vec<String>> {
    const WRONG: Option<&str> = Some("zzzzzzzz=1");
    fn known<T>(result: Result<T, Problem>) -> Option<Vec<String>> {
        result.err()?.errors.iter().find_map(|error| error.allowed.clone())
    }
    match operation {
        "get_board" | "get_blueprint" | "get_lease" | "export_board" | "get_blame" | "get_completeness" => {
            known(read::ReadQuery::read(WRONG))
        }
        "list_boards" => known(read::BoardsQuery::read(WRONG)),
        "list_refusals" => known(read::RefusalsQuery::read(WRONG)),
        "list_entries" | "list_zone" => known(read::EntriesQuery::read(WRONG)),
        "get_entry" => known(read::EntryQuery::read(WRONG)),
        "put_entry" | "patch_entry" | "delete_entry" => known(read::WriteQuery::read(WRONG)),
        "get_server" | "get_backup" | "create_board" | "delete_board" | "erase_value" | "transact" | "grant_lease"
        | "renew_lease" | "claim" | "add_note" => known(read::PlainQuery::read(WRONG)),
        "release_lease" => known(read::LeaseReleaseQuery::read(WRONG)),
        "list_notes" => known(read::ListQuery::read(WRONG)),
        "close_note" => known(read::NoteCloseQuery::read(WRONG)),
        "stream_events" => known(read::EventsQuery::read(WRONG)),
        "get_changes" => known(read::ChangesQuery::read(WRONG)),
        "list_history" | "list_entry_history" => known(read::HistoryQuery::read(WRONG)),
        _ => None,
    }
}

#[test]
fn the_query_members_of_a_route_are_those_its_reader_takes() {
    for route in ROUTES {
        let documented: BTreeSet<_> = route.query.iter().map(|member| member.name.to_owned()).collect();
        let taken: BTreeSet<_> = known_to_reader(route.operation_id).unwrap_or_default().into_iter().collect();
        assert_eq!(documented, taken, "{}", route.operation_id);
    }
}

#[test]
fn the_members_of_a_body_are_those_its_reader_takes() {
    fn refuses<T>(result: Result<T, impl Into<Problem>>, member: &str) -> bool {
        let Err(errors) = result else { return false };
        let problem: Problem = errors.into();
        problem
            .errors
            .iter()
            .any(|e| e.code == ErrorCode::UnknownMember && e.pointer.as_deref() == Some(&format!("/{member}")))
    }
    type Refuses = fn(Value, &str) -> bool;
    let readers: [(&str, Refuses); 9] = [
        ("CreateBoard", |v, m| refuses(CreateBoard::read(v), m)),
        ("Put", |v, m| refuses(Put::read(v), m)),
        ("Patch", |v, m| refuses(Patch::read(v), m)),
        ("Transaction", |v, m| refuses(Transaction::read(v), m)),
        ("LeaseRequest", |v, m| refuses(LeaseRequest::read(v), m)),
        ("LeaseRenewal", |v, m| refuses(LeaseRenewal::read(v), m)),
        ("Claim", |v, m| refuses(Claim::read(v), m)),
        ("Erasure", |v, m| refuses(Erasure::read(v), m)),
        ("NoteBody", |v, m| refuses(NoteBody::read(v), m)),
    ];
    let schemas = schemas::schemas();
    for (name, refused) in readers {
        let members: Vec<_> = schemas[name]["properties"].as_object().unwrap().keys().collect();
        for member in members {
            assert!(!refused(json!({member: 1}), member), "{name} does not take {member}");
        }
        assert!(refused(json!({"zzzzzzzz": 1}), "zzzzzzzz"), "{name} refuses what it does not know");
    }
    let bodies: BTreeSet<_> = ROUTES.iter().filter_map(|r| Some(r.body?.schema)).collect();
    assert_eq!(bodies, readers.iter().map(|(name, _)| *name).collect());
}

#[test]
fn every_route_has_its_own_id_and_place_and_says_what_it_does() {
    let ids: BTreeSet<_> = ROUTES.iter().map(|r| r.operation_id).collect();
    let places: BTreeSet<_> = ROUTES.iter().map(|r| (r.method, r.path)).collect();
    assert_eq!((ids.len(), places.len()), (ROUTES.len(), ROUTES.len()));
    for route in ROUTES {
        assert!(!route.summary.is_empty() && !route.answers.is_empty(), "{}", route.operation_id);
        assert_eq!(route.mutates, route.method != "GET", "{}", route.operation_id);
        if let Some(at) = route.path.find("{*") {
            assert!(route.path[at..].ends_with("{*key}"), "the key is last in {}", route.path);
        }
    }
}

#[test]
fn every_reference_of_the_openapi_document_leads_somewhere() {
    fn walk(value: &Value, root: &Value, n: &mut usize) {
        match value {
            Value::Object(members) => {
                if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                    *n += 1;
                    assert!(root.pointer(target.strip_prefix('#').unwrap()).is_some(), "{target} leads nowhere");
                }
                members.values().for_each(|v| walk(v, root, n));
            }
            Value::Array(items) => items.iter().for_each(|v| walk(v, root, n)),
            _ => {}
        }
    }
    let document = document();
    let mut n = 0;
    walk(&document, &document, &mut n);
    assert!(n > 100, "{n}");
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    let n_operations: usize = paths.values().map(|p| p.as_object().unwrap().len()).sum();
    assert_eq!(n_operations, ROUTES.len());
}

#[test]
fn the_page_names_every_route_and_code_and_needs_nothing_from_elsewhere() {
    let page = page::render();
    for route in ROUTES {
        assert!(page.contains(&format!("id=\"{}\"", route.operation_id)), "{}", route.operation_id);
    }
    for code in ErrorCode::ALL {
        assert!(page.contains(code.as_str()), "{code}");
    }
    for word in ["<script", "src=", "@import", "url(", "https://", "{{"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[tokio::test]
async fn a_router_that_lacks_a_route_or_has_a_method_too_many_is_found_out() {
    let lacking = disagreements(router()).await;
    assert!(
        lacking.iter().any(|l| l.contains("/v1/boards/{board}/claims")) && !lacking.iter().any(|l| l.contains("/docs"))
    );
    let nothing = || async {};
    let more = router().route("/livez", get(nothing).put(nothing));
    assert!(disagreements(more).await.iter().any(|l| l.contains("PUT /livez")));
}

#[tokio::test]
async fn every_document_is_served() {
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;
    for (path, media_type) in [
        ("/openapi.json", "application/json"),
        ("/docs", "text/html; charset=utf-8"),
        ("/llms.txt", "text/plain; charset=utf-8"),
    ] {
        let request = http::Request::get(path).body(axum::body::Body::empty()).unwrap();
        let response = router::<()>().oneshot(request).await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()[CONTENT_TYPE]),
            (200, &media_type.parse().unwrap())
        );
        assert!(response.into_body().collect().await.unwrap().to_bytes().len() > 1000);
    }
}
