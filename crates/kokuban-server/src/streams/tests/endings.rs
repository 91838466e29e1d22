//! Silence, and the ends of streams.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::stage::Stage;

#[tokio::test(start_paused = true)]
async fn silence_is_filled_every_fifteen_seconds() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let mut stream = stage.stream("").await;
    stream.event("hello").await;
    let mut last = Instant::now();
    for _ in 0..3 {
        let block = stream.block().await.unwrap();
        assert_eq!((block.comments, block.id, block.event), (1, None, None));
        assert_eq!(last.elapsed().as_secs(), 15);
        last = Instant::now();
    }
    tokio::time::advance(Duration::from_secs(10)).await;
    stage.put("working/k2", json!({"value": 1})).await;
    stream.commit().await;
    let after = Instant::now();
    assert_eq!(stream.block().await.unwrap().comments, 1);
    assert_eq!(after.elapsed().as_secs(), 15, "silence is counted from the last block");
}

#[tokio::test(start_paused = true)]
async fn a_filtered_stream_learns_its_place_by_time() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let mut stream = stage.stream("?zone=result").await;
    stream.event("hello").await;
    stage.put("working/k2", json!({"value": 1})).await;
    let begun = Instant::now();
    let place = stream.block().await.unwrap();
    assert!(place.is_id_only() && place.revision() == 2, "{place:?}");
    assert_eq!(begun.elapsed().as_secs(), 15);
}

#[tokio::test]
async fn a_filtered_stream_learns_its_place_by_count() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 0})).await;
    let mut stream = stage.stream("?zone=result").await;
    stream.event("hello").await;
    for version in 1..=2_050 {
        stage.put("working/k", json!({"value": version, "version": version})).await;
    }
    for revision in [1_001, 2_001] {
        let place = stream.block().await.unwrap();
        assert!(place.is_id_only() && place.revision() == revision, "{place:?}");
    }
    assert!(stream.is_silent().await);
}

#[tokio::test]
async fn when_the_server_stops_readers_are_told() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let mut streams = Vec::new();
    for query in ["", "?zone=working", "?coalesce_ms=60000", "?snapshot=true"] {
        streams.push((query, stage.stream(query).await));
    }
    for (_, stream) in &mut streams {
        stream.event("hello").await;
    }
    stage.put("working/k2", json!({"value": 1})).await;
    assert_eq!(stage.app.metrics.streams.get(), 4);
    stage.app.shutdown.begin();
    for (query, stream) in &mut streams {
        let blocks = stream.rest().await;
        let bye = blocks.last().unwrap();
        assert_eq!((bye.event.as_deref(), bye.json()), (Some("bye"), json!({"reason": "shutdown"})), "{query}");
        assert_eq!(bye.id, None);
    }
    assert_eq!(stage.app.metrics.streams.get(), 0, "an ended stream gives its place back");
}

#[tokio::test]
async fn a_deleted_board_ends_its_streams_after_what_came_before() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let mut plain = stage.stream("").await;
    let mut gathering = stage.stream("?coalesce_ms=60000").await;
    plain.event("hello").await;
    gathering.event("hello").await;
    stage.put("working/k2", json!({"value": 1})).await;
    stage.ask("DELETE", "/v1/boards/b", &[], None).await.is(204);
    // Whoever makes a board of this name anew is no reason to go on.
    stage.put("working/another", json!({"value": 1})).await;
    for stream in [&mut plain, &mut gathering] {
        assert_eq!(stream.commit().await.changes(), ["created k2"]);
        let bye = stream.event("bye").await;
        assert_eq!(bye.json(), json!({"reason": "deleted"}));
        assert_eq!(stream.block().await, None);
    }
}

#[tokio::test]
async fn a_recreated_board_tells_nothing_of_its_earlier_life() {
    let stage = Stage::new().await;
    stage.put("working/old", json!({"value": "s3cret"})).await;
    let old = stage.position().await;
    stage.ask("DELETE", "/v1/boards/b", &[], None).await.is(204);
    stage.put("working/new", json!({"value": 1})).await;
    let mut start = stage.stream("?after=start&include=value").await;
    start.event("hello").await;
    let first = start.commit().await;
    assert_eq!((first.revision(), first.changes()), (3, vec!["board_created".to_owned(), "created new".to_owned()]));
    assert_eq!(first.id, Some(stage.position().await));
    let mut lost = stage.resume("", &old).await;
    lost.event("hello").await;
    assert_eq!(lost.event("reset").await.json()["reason"], "epoch");
    for target in ["changes?after=start&include=value", "history?include=value"] {
        let answer = stage.get(&format!("/v1/boards/b/{target}")).await;
        assert!(answer.text.contains("new") && !answer.text.contains("old"), "{}", answer.text);
    }
}
