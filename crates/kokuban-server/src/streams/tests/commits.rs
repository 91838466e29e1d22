//! What a commit looks like on a stream, and to whom.

use serde_json::{Value, json};

use super::stage::{Parser, Stage};

/// A board with one zone for everybody and one that only `rb` reads, and a scratch table.
async fn with_a_closed_zone() -> Stage {
    let stage = Stage::new().await;
    let blueprint = json!({"name": "closed", "zones": {
        "open": {"access": "public"},
        "closed": {"access": "restricted", "owners": ["rb"], "readers": ["rb"]},
        "scratch": {"tier": "scratch"}
    }});
    stage.ask("PUT", "/v1/boards/b", &[], Some(&json!({"blueprint": blueprint}))).await.is(201);
    stage
}

fn transaction(keys: &[&str]) -> Value {
    let writes: Vec<_> =
        keys.iter().map(|key| json!({"method": "put", "zone": "working", "key": key, "value": 1})).collect();
    json!({"writes": writes})
}

#[tokio::test]
async fn a_commit_is_one_message_with_its_changes_in_request_order() {
    let stage = Stage::new().await;
    stage.put("working/first", json!({"value": 1})).await;
    let mut stream = stage.stream("").await;
    stream.event("hello").await;
    let body = transaction(&["z", "a", "m"]);
    stage.ask("POST", "/v1/boards/b/transactions", &[], Some(&body)).await.is(200);
    let block = stream.commit().await;
    assert_eq!(block.changes(), ["created z", "created a", "created m"]);
    assert_eq!(block.id, Some(stage.position().await));
    let commit = block.json();
    assert_eq!((&commit["revision"], &commit["by"]), (&json!(2), &json!("ra")));
    assert!(commit["at"].as_str().unwrap().ends_with('Z') && commit["request_id"].as_str().unwrap().len() == 36);
    let change = json!({"kind": "created", "zone": "working", "key": "z", "version": 1,
        "status": {"from": null, "to": "raw"}, "owner": "ra"});
    assert_eq!(commit["changes"][0], change);
}

#[tokio::test]
async fn cut_at_any_byte_a_stream_resumes_without_loss_or_doubling() {
    let stage = Stage::new().await;
    stage.put("working/first", json!({"value": 1})).await;
    let mut whole = stage.stream("").await;
    whole.event("hello").await;
    let begins = whole.raw.len();
    let body = transaction(&["key1", "key2"]);
    stage.ask("POST", "/v1/boards/b/transactions", &[], Some(&body)).await.is(200);
    whole.commit().await;
    for cut in 0..=whole.raw.len() {
        let mut parser = Parser::default();
        parser.take(&whole.raw[..cut]);
        let (mut seen, mut last) = (Vec::new(), None);
        while let Some(block) = parser.next() {
            last = block.id.clone().or(last);
            if block.event.as_deref() == Some("commit") {
                seen.extend(block.changes());
            }
        }
        assert!(cut < whole.raw.len() || seen.len() == 2);
        let Some(last) = last else {
            assert!(cut < begins, "without an id the reader begins anew");
            continue;
        };
        let mut again = stage.resume("", &last).await;
        again.event("hello").await;
        if seen.is_empty() {
            seen.extend(again.commit().await.changes());
        }
        assert!(again.is_silent().await, "cut at {cut}");
        assert_eq!(seen, ["created key1", "created key2"], "cut at {cut}");
    }
}

#[tokio::test]
async fn every_revision_of_an_unfiltered_stream_is_a_message_or_an_id() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let mut stream = stage.stream("").await;
    stream.event("hello").await;
    stage.put("scratch/ra/draft", json!({"value": "mine"})).await;
    let lease = stage.ask("POST", "/v1/boards/b/leases/working/k", &[], Some(&json!({"ttl_ms": 60_000}))).await.is(201);
    let renew = json!({"lease_token": lease["lease_token"], "ttl_ms": 60_000});
    stage.ask("PUT", "/v1/boards/b/leases/working/k", &[], Some(&renew)).await.is(200);
    let key = [("idempotency-key", "once")];
    let put = json!({"value": 1, "version": 1, "lease_token": lease["lease_token"]});
    stage.ask("PUT", "/v1/boards/b/entries/working/k", &key, Some(&put)).await.is(200);
    let scratch = stream.block().await.unwrap();
    assert!(scratch.is_id_only() && scratch.revision() == 2, "{scratch:?}");
    let granted = stream.commit().await;
    assert_eq!((granted.revision(), granted.changes()), (3, vec!["lease_granted k".to_owned()]));
    assert_eq!(granted.json()["changes"][0]["held_by"], "ra");
    let renewed = stream.block().await.unwrap();
    assert!(renewed.is_id_only() && renewed.revision() == 4, "{renewed:?}");
    let unchanged = stream.block().await.unwrap();
    assert!(unchanged.is_id_only() && unchanged.revision() == 5, "{unchanged:?}");
    let mut asked = stage.stream("?after=start&kind=lease_renewed").await;
    asked.event("hello").await;
    assert_eq!(asked.commit().await.changes(), ["lease_renewed k"]);
}

#[tokio::test]
async fn scratch_tables_are_told_of_only_by_name() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    stage.put("scratch/ra/draft", json!({"value": "mine"})).await;
    let mut named = stage.stream("?after=start&zone=scratch&include=value").await;
    named.event("hello").await;
    let block = named.commit().await;
    assert_eq!(block.changes(), ["created ra/draft enter"]);
    assert_eq!(block.json()["changes"][0]["value"], "mine");
    let mut by_key = stage.stream("?after=start&key=ra/draft&kind=created").await;
    by_key.event("hello").await;
    assert!(by_key.is_silent().await);
}

#[tokio::test]
async fn values_are_sent_where_asked_for_and_as_the_commit_wrote_them() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": {"a": 1.5, "b": [null]}})).await;
    stage.shift("working/k", 1, "processing").await;
    stage.put("working/k", json!({"value": null, "version": 2, "replace": true})).await;
    let mut with = stage.stream("?after=start&include=value&zone=working").await;
    with.event("hello").await;
    assert_eq!(with.commit().await.json()["changes"][0]["value"], json!({"a": 1.5, "b": [null]}));
    assert_eq!(with.commit().await.json()["changes"][0].get("value"), None, "a move writes no value");
    assert_eq!(with.commit().await.json()["changes"][0].get("value"), Some(&Value::Null));
    let mut without = stage.stream("?after=start").await;
    without.event("hello").await;
    assert_eq!(without.commit().await.json()["changes"][1].get("value"), None);
}

#[tokio::test]
async fn what_may_not_be_read_is_not_told() {
    let stage = with_a_closed_zone().await;
    let mut ra = stage.stream("?after=start&include=value").await;
    let mut rb = stage.stream_with("?after=start", &[("kokuban-agent", "rb")]).await;
    let as_rb = [("kokuban-agent", "rb")];
    let writes = json!({"writes": [
        {"method": "put", "zone": "closed", "key": "plan", "value": "s3cret"},
        {"method": "put", "zone": "open", "key": "news", "value": "for all"}
    ]});
    stage.ask("POST", "/v1/boards/b/transactions", &as_rb, Some(&writes)).await.is(200);
    stage.ask("PUT", "/v1/boards/b/entries/closed/alone", &as_rb, Some(&json!({"value": "s3cret"}))).await.is(201);
    ra.event("hello").await;
    rb.event("hello").await;
    assert_eq!(ra.commit().await.changes(), ["board_created"]);
    assert_eq!(ra.commit().await.changes(), ["created news"]);
    let hidden = ra.block().await.unwrap();
    assert!(hidden.is_id_only() && hidden.revision() == 3);
    let raw = String::from_utf8(ra.raw.clone()).unwrap();
    for secret in ["closed", "plan", "alone", "s3cret"] {
        assert!(!raw.contains(secret), "{secret} in {raw}");
    }
    rb.commit().await;
    assert_eq!(rb.commit().await.changes(), ["created plan", "created news"]);
    assert_eq!(rb.commit().await.changes(), ["created alone"]);
    stage.get("/v1/boards/b/events?zone=closed").await.refuses(404, "zone_not_found");
    stage.get("/v1/boards/b/changes?zone=closed").await.refuses(404, "zone_not_found");
    let snapshot = stage.stream("?snapshot=true&include=value").await.rest_until_live().await;
    assert!(!snapshot.contains("s3cret") && snapshot.contains("news"));
}

#[tokio::test]
async fn no_text_of_a_writer_forges_an_event() {
    let stage = Stage::new().await;
    let hostile = [
        "x\nevent: reset\ndata: {}\n\n",
        "x\r\nid: 0000000000000001.1\r\n\r\n",
        "\rdata: forged\r\r",
        "\u{0}\u{2028}\u{2029}\u{85}\u{feff}",
    ];
    stage.put("working/first", json!({"value": 1})).await;
    let mut stream = stage.stream("?include=value").await;
    stream.event("hello").await;
    for (n, text) in hostile.iter().enumerate() {
        let body =
            json!({"value": {*text: text}, "summary": text, "reason": text, "source": {"kind": "web", "ref": text}});
        stage.ask("PUT", &format!("/v1/boards/b/entries/working/k{n}"), &[], Some(&body)).await.is(201);
        let block = stream.commit().await;
        assert_eq!(block.revision(), n as u64 + 2);
        assert_eq!(block.json()["changes"][0]["value"], json!({*text: text}), "the value is intact");
    }
    assert!(stream.is_silent().await);
    // Names and ids take no such text in the first place.
    for name in ["a%0Ab", "a%0Db", "a%00b", "a%E2%80%A8b"] {
        let target = format!("/v1/boards/b/entries/working/{name}");
        stage.ask("PUT", &target, &[], Some(&json!({"value": 1}))).await.refuses(400, "invalid_name");
        stage.get(&format!("/v1/boards/b/events?key={name}")).await.refuses(400, "invalid_name");
    }
}

#[tokio::test]
async fn readers_who_see_all_share_the_same_bytes() {
    let stage = Stage::new().await;
    stage.put("working/first", json!({"value": 1})).await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = stage.stream("").await;
        stream.event("hello").await;
        stream.raw.clear();
        streams.push(stream);
    }
    stage.put("working/k", json!({"value": 1})).await;
    for stream in &mut streams {
        stream.commit().await;
    }
    assert!(streams.iter().all(|stream| stream.raw == streams[0].raw && !stream.raw.is_empty()));
    let handle = stage.app.engine.board(&"b".parse().unwrap()).await.unwrap().unwrap();
    let published = handle.published();
    let shared = published.commit(kokuban_core::ids::Revision(2)).unwrap().rendered.get().unwrap();
    assert_eq!(&streams[0].raw[..], &shared[..]);
}
