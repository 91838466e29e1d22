//! The long poll.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::stage::Stage;

#[tokio::test]
async fn a_poll_gives_what_is_there_page_by_page() {
    let stage = Stage::new().await;
    for n in 1..=5 {
        stage.put(&format!("working/k{n}"), json!({"value": n})).await;
    }
    let mut after = "start".to_owned();
    let mut seen = Vec::new();
    for expected in [2, 2, 1] {
        let answer = stage.get(&format!("/v1/boards/b/changes?after={after}&limit=2")).await;
        let position = answer.header("kokuban-position").to_owned();
        let json = answer.is(200);
        let commits = json["commits"].as_array().unwrap();
        assert_eq!(commits.len(), expected);
        seen.extend(commits.iter().map(|commit| commit["revision"].as_u64().unwrap()));
        after = json["position"].as_str().unwrap().to_owned();
        assert_eq!((position, json["more"].as_bool().unwrap()), (after.clone(), expected == 2));
    }
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    let none = stage.get("/v1/boards/b/changes").await.is(200);
    assert_eq!(none, json!({"commits": [], "position": after, "more": false}));
}

#[tokio::test(start_paused = true)]
async fn a_poll_waits_for_what_it_asked_for_and_not_longer() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let begun = Instant::now();
    let waiting = stage.get("/v1/boards/b/changes?wait_ms=30000&prefix=wanted");
    let writing = async {
        stage.put("working/other", json!({"value": 1})).await;
        tokio::time::advance(Duration::from_secs(3)).await;
        stage.put("working/wanted", json!({"value": 1})).await;
    };
    let (answer, ()) = tokio::join!(waiting, writing);
    let json = answer.is(200);
    assert_eq!((json["commits"][0]["revision"].as_u64(), json["commits"].as_array().unwrap().len()), (Some(3), 1));
    assert_eq!(json["commits"][0]["changes"][0]["match"], "enter");
    assert!((3..10).contains(&begun.elapsed().as_secs()));
    let begun = Instant::now();
    let json = stage.get("/v1/boards/b/changes?wait_ms=2000").await.is(200);
    assert_eq!((json["commits"].as_array().unwrap().len(), begun.elapsed().as_secs()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_poll_gathers_into_one_message() {
    let stage = Stage::new().await;
    for n in 1..=3 {
        stage.put(&format!("working/k{n}"), json!({"value": n})).await;
    }
    let json = stage.get("/v1/boards/b/changes?after=start&coalesce_ms=1000").await.is(200);
    assert_eq!(json["commits"].as_array().unwrap().len(), 1);
    assert_eq!(json["commits"][0]["revisions"], json!({"first": 1, "last": 3}));
    assert_eq!(json["position"], stage.position().await);
}

#[tokio::test]
async fn a_poll_ends_when_the_server_stops_or_the_board_is_deleted() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let waiting = stage.get("/v1/boards/b/changes?wait_ms=30000");
    let deleting = async {
        tokio::task::yield_now().await;
        stage.ask("DELETE", "/v1/boards/b", &[], None).await.is(204);
    };
    let (answer, ()) = tokio::join!(waiting, deleting);
    answer.refuses(404, "board_not_found");
    stage.put("working/k", json!({"value": 1})).await;
    let waiting = stage.get("/v1/boards/b/changes?wait_ms=30000");
    let stopping = async {
        tokio::task::yield_now().await;
        stage.app.shutdown.begin();
    };
    let (answer, ()) = tokio::join!(waiting, stopping);
    assert_eq!(answer.is(200)["commits"], json!([]));
}

#[tokio::test]
async fn a_poll_takes_a_last_event_id_like_a_stream() {
    let stage = Stage::new().await;
    for n in 1..=3 {
        stage.put(&format!("working/k{n}"), json!({"value": n})).await;
    }
    let second = stage.position().await.replace(".3", ".2");
    let resumed =
        stage.ask("GET", "/v1/boards/b/changes?after=start", &[("last-event-id", &second)], None).await.is(200);
    assert_eq!(resumed["commits"].as_array().unwrap().len(), 1);
    let broken = stage.ask("GET", "/v1/boards/b/changes", &[("last-event-id", "abc")], None).await;
    broken.refuses(400, "invalid_value");
}
