//! What reading and writing entries over HTTP tells, one sentence each.

use serde_json::{Value, json};

use crate::streams::tests::stage::Stage;

const K: &str = "/v1/boards/b/entries/working/k";

async fn keys(stage: &Stage, query: &str) -> (Vec<String>, Option<String>, String) {
    let page = stage.get(&format!("/v1/boards/b/entries{query}")).await.is(200);
    let keys = page["items"].as_array().unwrap().iter().map(|item| item["key"].as_str().unwrap().to_owned());
    let next = page["next_page"].as_str().map(str::to_owned);
    (keys.collect(), next, page["position"].as_str().unwrap().to_owned())
}

async fn lived_in() -> Stage {
    let stage = Stage::new().await;
    for key in ["a", "b", "c", "d"] {
        stage.put(&format!("working/{key}"), json!({"value": key})).await;
    }
    stage
}

#[tokio::test]
async fn all_pages_of_a_list_show_one_revision_now_and_in_the_past() {
    for query in ["limit=2", "limit=2&at=4"] {
        let stage = lived_in().await;
        let (first, next, position) = keys(&stage, &format!("?{query}")).await;
        assert_eq!(first, ["a", "b"]);
        stage.delete("working/d", 1).await;
        let (second, end, same) = keys(&stage, &format!("?{query}&page={}", next.unwrap())).await;
        assert_eq!((second, end, same), (vec!["c".to_owned(), "d".to_owned()], None, position), "{query}");
    }
}

#[tokio::test]
async fn a_token_goes_into_a_url_as_it_is_whatever_the_names_are() {
    let stage = Stage::new().await;
    let long = ["%E5%AD%A6"; 42].concat();
    let long = [long.as_str(); 4].join("/");
    stage.put("working/a+b", json!({"value": 1})).await;
    stage.put(&format!("working/{long}"), json!({"value": 1})).await;
    stage.put("working/%E5%AE%8C", json!({"value": 1})).await;
    let (mut seen, mut page) = (0, String::new());
    loop {
        let (found, next, _) = keys(&stage, &format!("?limit=1{page}")).await;
        seen += found.len();
        match next {
            Some(next) => page = format!("&page={next}"),
            None => break,
        }
    }
    assert_eq!(seen, 3);
}

#[tokio::test]
async fn a_page_token_that_was_not_given_is_a_mistake_and_one_of_another_life_is_over() {
    let stage = lived_in().await;
    stage.get("/v1/boards/none/entries?page=xyz").await.refuses(400, "invalid_query");
    let over = stage.get("/v1/boards/b/entries?page=00000000deadbeef.4.782f61").await;
    assert_eq!(over.header("kokuban-position"), stage.position().await);
    over.refuses(410, "compacted");
}

#[tokio::test]
async fn a_read_of_the_past_says_what_was_not_there_and_where_to_look() {
    let stage = lived_in().await;
    assert_eq!(keys(&stage, "?at=0").await.2, stage.position().await.replace(".4", ".0"));
    for (query, says) in [
        ("at=1", "there was no entry `working/b` at revision 1"),
        ("version=9", "the history has no version 9 of `working/b` with a value"),
    ] {
        let refused = stage.get(&format!("/v1/boards/b/entries/working/b?{query}")).await;
        assert_eq!(refused.header("kokuban-position"), stage.position().await);
        let refused = refused.refuses(404, "not_found");
        assert_eq!(
            (&refused["detail"], &refused["next"]["path"]),
            (&json!(says), &json!("/v1/boards/b/history/working/b"))
        );
    }
    let ahead = stage.get("/v1/boards/b/entries?at=99").await.refuses(409, "future_position");
    assert_eq!(ahead["head"], stage.position().await);
}

#[tokio::test]
async fn a_read_under_a_condition_that_fails_shows_the_entry_as_it_is() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": {"a": 1}})).await;
    let refused = stage.ask("GET", K, &[("if-match", "W/\"1-00000000deadbeef\"")], None).await;
    let refused = refused.refuses(412, "version_conflict");
    assert_eq!((&refused["current"]["value"], &refused["next"]["action"]), (&json!({"a": 1}), &json!("reread")));
}

#[tokio::test]
async fn whoever_names_no_version_is_shown_the_same_call_with_it() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let next =
        |body: Value| (body["next"]["method"].clone(), body["next"]["path"].clone(), body["next"]["body"].clone());
    for (method, body, path) in [
        ("PUT", Some(json!({"value": 2})), K.to_owned()),
        ("PATCH", Some(json!({"status": "processing"})), K.to_owned()),
        ("DELETE", None, format!("{K}?version=1")),
    ] {
        let refused = stage.ask(method, K, &[], body.as_ref()).await.refuses(428, "precondition_required");
        let again = if body.is_some() { json!({"version": 1}) } else { Value::Null };
        assert_eq!(next(refused), (json!(method), json!(path), again));
    }
    let items = json!({"writes": [{"method": "delete", "zone": "working", "key": "k"}]});
    let refused = stage.ask("POST", "/v1/boards/b/transactions", &[], Some(&items)).await;
    let refused = refused.refuses(428, "precondition_required");
    assert_eq!(
        (&refused["errors"][0]["pointer"], &refused["next"]),
        (&json!("/writes/0"), &json!({"action": "fix_request"}))
    );
}

#[tokio::test]
async fn a_leaf_that_needs_a_condition_is_shown_with_value_version_and_author() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": {"a": {"b": "old"}}})).await;
    let set = json!({"set": {"a.b": "new"}});
    let refused = stage.ask("PATCH", K, &[("kokuban-agent", "rb")], Some(&set)).await;
    let refused = refused.refuses(428, "precondition_required");
    assert_eq!(refused["errors"][0]["leaf"], json!({"value": "old", "version": 1, "by": "ra"}));
    assert_eq!(refused["errors"][0]["pointer"], "/set/a.b");
}

#[tokio::test]
async fn calls_without_an_entity_refuse_conditions_instead_of_passing_them_over() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    for (method, path, body) in [
        ("POST", "transactions", Some(json!({"writes": []}))),
        ("POST", "leases/working/k", Some(json!({}))),
        ("POST", "claims", Some(json!({"zone": "working"}))),
        ("POST", "notes/working/k", Some(json!({"text": "a"}))),
        ("DELETE", "notes/working/k?id=n1-0", None),
        ("DELETE", "leases/working/k", None),
    ] {
        let path = format!("/v1/boards/b/{path}");
        let refused = stage.ask(method, &path, &[("if-match", "*")], body.as_ref()).await;
        refused.refuses(400, "invalid_value");
    }
    let create = json!({"blueprint": "default"});
    let refused = stage.ask("PUT", "/v1/boards/b", &[("if-none-match", "*")], Some(&create)).await;
    refused.refuses(400, "invalid_value");
}

#[tokio::test]
async fn a_dry_run_hands_out_no_token() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let ask = async |method, path: &str, body: Value| {
        let path = format!("/v1/boards/b/{path}?dry_run=true");
        let bytes = body.to_string().len().to_string();
        stage.ask(method, &path, &[("content-length", &bytes)], Some(&body)).await.is(201)
    };
    let lease = ask("POST", "leases/working/k", json!({"ttl_ms": 500})).await;
    assert_eq!(lease, json!({"holder": "ra", "ttl_ms": 500, "remaining_ms": 500, "dry_run": true}));
    let claimed = ask("POST", "claims", json!({"zone": "working"})).await;
    assert_eq!((&claimed["dry_run"], claimed["lease"].get("lease_token")), (&json!(true), None));
    let written = ask("PUT", "entries/working/new", json!({"value": 1, "lease_ttl_ms": 500})).await;
    assert_eq!((&written["dry_run"], written["lease"].get("lease_token")), (&json!(true), None));
    assert_eq!(ask("POST", "notes/working/k", json!({"text": "a"})).await["dry_run"], true);
    stage.get("/v1/boards/b/leases/working/k").await.refuses(404, "not_found");
    assert!(stage.position().await.ends_with(".1"));
}

#[tokio::test]
async fn waiting_reads_have_places_like_streams() {
    let stage = Stage::with(|config| config.limits.streams_per_caller_max = 0).await;
    stage.put("working/k", json!({"value": 1})).await;
    stage.get(&format!("{K}?after_version=1&wait_ms=60")).await.refuses(429, "rate_limited");
    stage.get("/v1/boards/b/changes?wait_ms=60").await.refuses(429, "rate_limited");
    stage.get(&format!("{K}?after_version=0&wait_ms=60")).await.is(200);
}

#[tokio::test]
async fn a_wait_ends_when_its_board_is_deleted() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let path = format!("{K}?after_version=1&wait_ms=30000");
    let (waited, deleted) = tokio::join!(stage.get(&path), stage.ask("DELETE", "/v1/boards/b", &[], None));
    deleted.is(204);
    waited.refuses(404, "board_not_found");
}

#[tokio::test]
async fn a_conflict_tells_what_changed_however_the_version_was_named() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": {"a": 1, "b": 1}})).await;
    stage.put("working/k", json!({"value": {"a": 1, "b": 2}, "version": 1})).await;
    let tag = format!("\"1-{}\"", stage.position().await.split('.').next().unwrap());
    let item = |write: Value| json!({"writes": [write], "checks": []});
    let put = json!({"method": "put", "zone": "working", "key": "k", "version": 1, "value": 3});
    let delete = json!({"method": "delete", "zone": "working", "key": "k", "version": 1});
    let check = json!({"writes": [], "checks": [{"zone": "working", "key": "k", "version": 1}]});
    let several = "/v1/boards/b/transactions";
    for (method, path, tag, body) in [
        ("PUT", K, None, Some(json!({"value": 3, "version": 1}))),
        ("PUT", K, Some(tag.as_str()), Some(json!({"value": 3}))),
        ("DELETE", K, Some(tag.as_str()), None),
        ("POST", several, None, Some(item(put))),
        ("POST", several, None, Some(item(delete))),
        ("POST", several, None, Some(check)),
    ] {
        let headers: Vec<_> = tag.iter().map(|tag| ("if-match", *tag)).collect();
        let refused = stage.ask(method, path, &headers, body.as_ref()).await.json();
        assert_eq!((&refused["code"], &refused["changed"]), (&json!("version_conflict"), &json!(["/b"])), "{refused}");
    }
}

#[tokio::test]
async fn a_past_value_that_was_erased_is_gone_and_says_so() {
    let stage = Stage::new().await;
    let sha256 = stage.put("working/k", json!({"value": "s3cret"})).await["sha256"].clone();
    stage.put("working/k", json!({"value": "open", "version": 1})).await;
    let erasure = json!({"sha256": sha256, "reason": "asked for"});
    stage.ask("POST", "/v1/boards/b/erasures", &[], Some(&erasure)).await.is(200);
    let gone = stage.get(&format!("{K}?version=1")).await.refuses(410, "compacted");
    assert!(gone["detail"].as_str().unwrap().contains(sha256.as_str().unwrap()), "{gone}");
    stage.get(&format!("{K}?version=2")).await.is(200);
}
