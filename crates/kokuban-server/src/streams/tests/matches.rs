//! Filters: what passes, and how an entry came to pass or ceased to.

use serde_json::json;

use super::stage::Stage;

#[tokio::test]
async fn a_filter_by_status_says_who_enters_stays_leaves_and_is_gone() {
    let stage = Stage::new().await;
    for key in ["left", "gone", "entered", "edited", "outside"] {
        stage.put(&format!("working/{key}"), json!({"value": 1, "status": "processing"})).await;
    }
    for key in ["left", "gone", "edited"] {
        stage.shift(&format!("working/{key}"), 1, "pending_review").await;
    }
    let mut stream = stage.stream("?status=pending_review").await;
    stream.event("hello").await;
    stage.shift("working/left", 2, "confirmed").await;
    stage.delete("working/gone", 2).await;
    stage.shift("working/entered", 1, "pending_review").await;
    stage.put("working/edited", json!({"value": 2, "version": 2})).await;
    stage.put("working/outside", json!({"value": 2, "version": 1})).await;
    let left = stream.commit().await;
    assert_eq!(left.changes(), ["transitioned left leave"]);
    assert_eq!(left.json()["changes"][0]["status"], json!({"from": "pending_review", "to": "confirmed"}));
    let gone = stream.commit().await;
    assert_eq!(gone.changes(), ["deleted gone gone"]);
    assert_eq!(gone.json()["changes"][0]["status"], json!({"from": "pending_review", "to": null}));
    assert_eq!(stream.commit().await.changes(), ["transitioned entered enter"]);
    assert_eq!(stream.commit().await.changes(), ["updated edited stay"]);
    assert!(stream.is_silent().await, "what matches neither before nor after is left out");
}

#[tokio::test]
async fn within_a_member_any_value_fits_and_all_members_must() {
    let stage = Stage::new().await;
    let as_arbiter = [("kokuban-agent", "arbiter")];
    stage.put("working/a/1", json!({"value": 1})).await;
    stage.put("working/a/2", json!({"value": 1, "status": "processing"})).await;
    stage.put("working/b/1", json!({"value": 1})).await;
    let result = stage.ask("PUT", "/v1/boards/b/entries/result/a/1", &as_arbiter, Some(&json!({"value": 1}))).await;
    result.is(201);
    for (query, expected) in [
        ("zone=working", vec!["a/1", "a/2", "b/1"]),
        ("zone=result", vec!["a/1"]),
        ("zone=working&zone=result&key=a/1", vec!["a/1", "a/1"]),
        ("prefix=a/", vec!["a/1", "a/2", "a/1"]),
        ("prefix=a/&prefix=b/&zone=working", vec!["a/1", "a/2", "b/1"]),
        ("prefix=a/&status=processing", vec!["a/2"]),
        ("prefix=b/&status=processing&status=raw", vec!["b/1"]),
        ("key=b/1&prefix=a/", vec![]),
    ] {
        let json = stage.get(&format!("/v1/boards/b/changes?after=start&{query}")).await.is(200);
        let commits = json["commits"].as_array().unwrap();
        let keys: Vec<_> =
            commits.iter().flat_map(|c| c["changes"].as_array().unwrap()).map(|c| c["key"].as_str().unwrap()).collect();
        assert_eq!(keys, expected, "{query}");
        assert_eq!(json["position"], stage.position().await, "{query}: what was left out is passed");
    }
}

#[tokio::test]
async fn a_filter_by_kind_takes_any_that_applies_and_tells_no_match() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1, "lease_ttl_ms": 60_000})).await;
    let token = stage.get("/v1/boards/b/leases/working/k").await.is(200);
    assert_eq!(token["holder"], "ra");
    let mut stream = stage.stream("?after=start&kind=lease_granted").await;
    stream.event("hello").await;
    let block = stream.commit().await;
    assert_eq!(block.changes(), ["created k"], "named by the first kind that applies, and without a match");
    let mut board = stage.stream("?after=start&kind=board_created&kind=noted").await;
    board.event("hello").await;
    assert_eq!(board.commit().await.changes(), ["board_created"]);
    stage.ask("POST", "/v1/boards/b/notes/working/k", &[], Some(&json!({"text": "why?"}))).await.is(201);
    assert_eq!(board.commit().await.changes(), ["noted k"]);
    assert!(stream.is_silent().await);
}

#[tokio::test]
async fn a_move_with_a_mark_beside_it_is_a_move() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let body = json!({"status": "processing", "version": 1, "summary": "begun"});
    stage.ask("PATCH", "/v1/boards/b/entries/working/k", &[], Some(&body)).await.is(200);
    let body = json!({"version": 2, "summary": "half way"});
    stage.ask("PATCH", "/v1/boards/b/entries/working/k", &[], Some(&body)).await.is(200);
    let mut stream = stage.stream("?after=start&kind=transitioned&kind=updated").await;
    stream.event("hello").await;
    assert_eq!(stream.commit().await.changes(), ["transitioned k"]);
    assert_eq!(stream.commit().await.changes(), ["updated k"]);
}

#[tokio::test]
async fn an_expiry_is_told_with_the_status_it_falls_back_to() {
    tokio::time::pause();
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1, "status": "processing", "lease_ttl_ms": 1_000})).await;
    let mut stream = stage.stream("?status=raw").await;
    stream.event("hello").await;
    let expired = stream.commit().await;
    assert_eq!(expired.changes(), ["lease_expired k enter"]);
    let json = expired.json();
    assert_eq!(json.get("by"), None, "the server itself acted");
    assert_eq!((&json["changes"][0]["owner"], &json["changes"][0]["version"]), (&json!(null), &json!(2)));
    assert_eq!(json["changes"][0]["status"], json!({"from": "processing", "to": "raw"}));
}
