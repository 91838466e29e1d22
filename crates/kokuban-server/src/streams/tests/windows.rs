//! Streams that gather commits: one message for each window.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::stage::Stage;

#[tokio::test(start_paused = true)]
async fn a_window_opens_with_the_first_commit_and_ends_in_one_message() {
    let stage = Stage::new().await;
    stage.put("working/first", json!({"value": 1})).await;
    let mut stream = stage.stream("?coalesce_ms=500&include=value").await;
    stream.event("hello").await;
    let begun = Instant::now();
    stage.put("working/a", json!({"value": 1})).await;
    stage.put("working/b", json!({"value": 1})).await;
    stage.put("scratch/ra/x", json!({"value": 1})).await;
    stage.put("working/a", json!({"value": 2, "version": 1})).await;
    let rb = [("kokuban-agent", "rb")];
    let moved = json!({"status": "processing", "version": 2});
    stage.ask("PATCH", "/v1/boards/b/entries/working/a", &rb, Some(&moved)).await.is(200);
    let block = stream.commit().await;
    assert!(begun.elapsed() >= Duration::from_millis(500));
    let json = block.json();
    assert_eq!((block.revision(), &json["revisions"]), (6, &json!({"first": 2, "last": 6})));
    assert_eq!(block.changes(), ["created a", "created b"]);
    let a = &json["changes"][0];
    assert_eq!((&a["version"], &a["value"], &a["by"]), (&json!(3), &json!(2), &json!("rb")));
    assert_eq!(a["status"], json!({"from": null, "to": "processing"}));
    assert_eq!((&json["changes"][1]["by"], json["changes"][1]["at"].is_string()), (&json!("ra"), true));
    assert!(json.get("by").is_none() && json.get("revision").is_none());
    stage.put("working/b", json!({"value": 2, "version": 1})).await;
    assert_eq!(stream.commit().await.json()["revisions"], json!({"first": 7, "last": 7}));
}

#[tokio::test(start_paused = true)]
async fn a_window_compares_before_the_first_and_after_the_last() {
    let stage = Stage::new().await;
    for key in ["through", "gone", "back", "other"] {
        stage.put(&format!("working/{key}"), json!({"value": 1, "status": "processing"})).await;
    }
    stage.shift("working/gone", 1, "pending_review").await;
    stage.shift("working/back", 1, "pending_review").await;
    let mut stream = stage.stream("?coalesce_ms=100&status=pending_review").await;
    stream.event("hello").await;
    // In and out again: as if it had never been there.
    stage.shift("working/through", 1, "pending_review").await;
    stage.shift("working/through", 2, "confirmed").await;
    stage.delete("working/gone", 2).await;
    // Deleted and made anew is not gone.
    stage.delete("working/back", 2).await;
    stage.put("working/back", json!({"value": 9, "version": 0, "status": "processing"})).await;
    stage.shift("working/back", 4, "pending_review").await;
    let block = stream.commit().await;
    assert_eq!(block.changes(), ["deleted gone gone", "created back stay"]);
    assert_eq!(block.json()["changes"][1]["version"], 5);
    assert_eq!(block.id, Some(stage.position().await));
}

#[tokio::test(start_paused = true)]
async fn a_window_that_comes_to_nothing_leaves_an_id_behind() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1, "status": "processing"})).await;
    let mut stream = stage.stream("?coalesce_ms=100&status=pending_review").await;
    stream.event("hello").await;
    stage.shift("working/k", 1, "pending_review").await;
    stage.shift("working/k", 2, "confirmed").await;
    let block = stream.block().await.unwrap();
    assert!(block.is_id_only() && block.revision() == 3, "{block:?}");
}

#[tokio::test(start_paused = true)]
async fn no_id_overtakes_an_open_window() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let mut stream = stage.stream("?coalesce_ms=60000&zone=working").await;
    stream.event("hello").await;
    stage.put("scratch/ra/x", json!({"value": 1})).await;
    stage.put("working/k", json!({"value": 2, "version": 1})).await;
    let begun = Instant::now();
    let mut heard = 0;
    loop {
        let block = stream.block().await.unwrap();
        if block.event.is_some() {
            assert_eq!(block.json()["revisions"], json!({"first": 3, "last": 3}));
            break;
        }
        assert!(block.id.is_none() || block.revision() == 2, "{block:?}");
        heard += block.comments;
    }
    assert!(begun.elapsed() >= Duration::from_secs(60) && heard >= 3, "{heard}");
}

#[tokio::test(start_paused = true)]
async fn a_window_that_is_full_ends_early() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let mut stream = stage.stream("?coalesce_ms=60000&include=value").await;
    stream.event("hello").await;
    let begun = Instant::now();
    for n in 0..6 {
        stage.put(&format!("working/k{n}"), json!({"value": "x".repeat(16_000)})).await;
    }
    assert_eq!(stream.commit().await.changes().len(), 5);
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(stream.commit().await.changes(), ["created k5"]);
}
