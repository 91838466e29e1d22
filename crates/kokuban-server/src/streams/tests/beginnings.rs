//! Where a stream begins, and how it goes on after an interruption.

use serde_json::json;

use super::stage::Stage;

#[tokio::test]
async fn a_stream_opens_with_its_headers_its_retry_and_a_place() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let position = stage.position().await;
    let mut stream = stage.stream("?zone=working&kind=created").await;
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-store"),
        ("x-accel-buffering", "no"),
        ("kokuban-position", &position),
    ] {
        assert_eq!(stream.headers[name], value);
    }
    assert!(!stream.headers.contains_key("content-encoding") && !stream.headers.contains_key("content-length"));
    let hello = stream.event("hello").await;
    assert!((2_000..=5_000).contains(&hello.retry.unwrap()));
    assert_eq!(hello.id.as_deref(), Some(position.as_str()));
    let oldest = position.replace(".1", ".0");
    let expected = json!({"epoch": position.split_once('.').unwrap().0, "head": position, "oldest": oldest,
        "filter": {"zone": ["working"], "kind": ["created"]}, "heartbeat_ms": 15_000});
    assert_eq!(hello.json(), expected);
}

#[tokio::test]
async fn what_happens_while_a_reader_is_away_is_told_when_it_returns() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let mut quiet = stage.stream("").await;
    let id = quiet.event("hello").await.id.unwrap();
    drop(quiet);
    for n in 2..5 {
        stage.put(&format!("working/k{n}"), json!({"value": n})).await;
    }
    let mut again = stage.resume("", &id).await;
    assert_eq!(again.event("hello").await.id, Some(id));
    for n in 2..5 {
        assert_eq!(again.commit().await.revision(), n);
    }
    assert!(again.is_silent().await);
}

#[tokio::test]
async fn an_id_that_cannot_be_served_is_answered_with_a_reset_at_once() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let head = stage.position().await;
    let ahead = format!("{head}000");
    let other = "00000000deadbeef.1";
    let uuid = "6f1c2a04-8e1e-4a7e-9f0a-2f6f4f3a9c11";
    for (id, reason) in [
        ("0", "malformed"),
        ("abc", "malformed"),
        (uuid, "malformed"),
        ("", "malformed"),
        (&ahead, "future"),
        (other, "epoch"),
    ] {
        let mut stream = stage.resume("", id).await;
        let hello = stream.event("hello").await;
        assert_eq!(hello.id, None, "{id}: a reader must not take the place for its own");
        let reset = stream.event("reset").await;
        assert_eq!(reset.id.as_deref(), Some(head.as_str()));
        assert_eq!(reset.json(), json!({"reason": reason, "oldest": head.replace(".1", ".0"), "head": head}), "{id}");
        assert!(stream.is_silent().await);
    }
    let mut stream = stage.resume("", other).await;
    stream.event("hello").await;
    stream.event("reset").await;
    stage.put("working/next", json!({"value": 1})).await;
    assert_eq!(stream.commit().await.changes(), ["created next"]);
}

#[tokio::test]
async fn the_same_places_in_a_query_are_refused() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let head = stage.position().await;
    for route in ["events", "changes"] {
        let get = |after: String| {
            let target = format!("/v1/boards/b/{route}?after={after}");
            let stage = &stage;
            async move { stage.get(&target).await }
        };
        get("0".into()).await.refuses(400, "invalid_query");
        get("abc".into()).await.refuses(400, "invalid_query");
        let future = get(format!("{head}000")).await.refuses(409, "future_position");
        assert_eq!((future["head"].as_str(), future["oldest"].is_string()), (Some(head.as_str()), true));
        get("00000000deadbeef.1".into()).await.refuses(409, "unknown_epoch");
    }
}

#[tokio::test]
async fn a_reader_may_begin_at_the_start_the_head_or_after_a_position() {
    let stage = Stage::new().await;
    for n in 1..4 {
        stage.put(&format!("working/k{n}"), json!({"value": n})).await;
    }
    let head = stage.position().await;
    let mut start = stage.stream("?after=start").await;
    assert_eq!(start.event("hello").await.revision(), 0);
    assert_eq!(start.commit().await.changes(), ["board_created", "created k1"]);
    assert_eq!(start.commit().await.revision(), 2);
    let mut after = stage.stream(&format!("?after={}", head.replace(".3", ".2"))).await;
    assert_eq!(after.event("hello").await.revision(), 2);
    assert_eq!(after.commit().await.revision(), 3);
    let mut at_head = stage.stream("?after=head").await;
    assert_eq!(at_head.event("hello").await.id, Some(head.clone()));
    assert!(at_head.is_silent().await);
    // The header knows better than the query of a reader that comes back.
    let mut resumed = stage.resume("?after=start", &head.replace(".3", ".1")).await;
    assert_eq!(resumed.event("hello").await.revision(), 1);
}

#[tokio::test]
async fn a_snapshot_shows_one_revision_and_goes_on_after_it() {
    let stage = Stage::new().await;
    for n in 1..4 {
        stage.put(&format!("working/k{n}"), json!({"value": n})).await;
    }
    stage.put("scratch/ra/draft", json!({"value": "mine"})).await;
    let head = stage.position().await;
    let mut stream = stage.stream("?snapshot=true&include=value").await;
    assert_eq!(stream.event("hello").await.id, None);
    for n in 1..4 {
        let block = stream.event("snapshot").await;
        let entry = block.json();
        assert_eq!((block.id.as_ref(), &entry["key"], &entry["value"]), (None, &json!(format!("k{n}")), &json!(n)));
        assert_eq!((&entry["version"], &entry["status"], &entry["owner"]), (&json!(1), &json!("raw"), &json!("ra")));
        // What happens meanwhile comes after it.
        stage.put(&format!("working/late{n}"), json!({"value": n})).await;
    }
    let end = stream.event("snapshot_end").await;
    assert_eq!((end.id.clone(), end.json()), (Some(head), json!({"revision": 4, "entries": 3})));
    for n in 1..4 {
        assert_eq!(stream.commit().await.changes(), [format!("created late{n}")]);
    }
    let mut without = stage.stream("?snapshot=true&prefix=k2").await;
    without.event("hello").await;
    let entry = without.event("snapshot").await.json();
    assert!(entry["key"] == "k2" && entry.get("value").is_none());
    without.event("snapshot_end").await;
}

#[tokio::test]
async fn a_snapshot_is_given_only_to_a_reader_whose_place_is_lost() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let head = stage.position().await;
    let mut known = stage.resume("?snapshot=true", &head).await;
    assert_eq!(known.event("hello").await.id.as_ref(), Some(&head));
    assert!(known.is_silent().await);
    let mut lost = stage.resume("?snapshot=true", "00000000deadbeef.1").await;
    assert_eq!(lost.event("hello").await.id, None);
    assert_eq!(lost.event("reset").await.id, None, "only the end of the snapshot is a place");
    assert_eq!(lost.event("snapshot").await.id, None);
    assert_eq!(lost.event("snapshot_end").await.id, Some(head));
}

#[tokio::test]
async fn head_opens_no_stream_and_a_caller_has_so_many() {
    let stage = Stage::with(|config| config.limits.streams_per_caller_max = 2).await;
    stage.put("working/k", json!({"value": 1})).await;
    let head = stage.ask("HEAD", "/v1/boards/b/events", &[], None).await;
    assert_eq!((head.status, head.header("content-type"), head.text.as_str()), (200, "text/event-stream", ""));
    assert_eq!(stage.app.metrics.streams.get(), 0);
    let first = stage.stream("").await;
    let _second = stage.stream("").await;
    assert_eq!(stage.app.metrics.streams.get(), 2);
    let refused = stage.get("/v1/boards/b/events").await;
    assert_eq!(refused.header("retry-after"), "1");
    refused.refuses(429, "rate_limited");
    let _of_another = stage.stream_with("", &[("kokuban-agent", "rv")]).await;
    drop(first);
    stage.stream("").await;
}

#[tokio::test]
async fn a_stream_of_nothing_is_refused() {
    let stage = Stage::new().await;
    stage.get("/v1/boards/none/events").await.refuses(404, "board_not_found");
    stage.put("working/k", json!({"value": 1})).await;
    stage.get("/v1/boards/b/events?zone=nowhere").await.refuses(404, "zone_not_found");
    stage.get("/v1/boards/b/events?zoen=working").await.refuses(400, "invalid_query");
    stage.get("/v1/boards/b/events?min_position=00000000deadbeef.1").await.refuses(409, "unknown_epoch");
}

#[tokio::test]
async fn a_stream_needs_no_place_among_the_requests_in_work() {
    let stage = Stage::with(|config| config.limits.requests_in_flight_max = 1).await;
    stage.put("working/k", json!({"value": 1})).await;
    let mut stream = stage.stream("").await;
    stream.event("hello").await;
    stage.put("working/k2", json!({"value": 1})).await;
    stream.commit().await;
}
