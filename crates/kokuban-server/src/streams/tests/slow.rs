//! Readers that do not keep up.

use std::collections::BTreeMap;

use serde_json::json;

use super::stage::Stage;

const COMMITS: u64 = 3_000;

async fn write_much(stage: &Stage) {
    let filler = "x".repeat(2_000);
    for n in 0..COMMITS {
        stage
            .put(&format!("working/k{}", n % 7), json!({"value": [n, filler], "replace": true, "version": n / 7}))
            .await;
    }
}

#[tokio::test]
async fn a_slow_reader_gets_every_commit_and_holds_little() {
    let stage = Stage::new().await;
    stage.put("working/first", json!({"value": 1})).await;
    let mut slow = stage.stream("?include=value").await;
    slow.event("hello").await;
    write_much(&stage).await;
    // All of it lies behind the reader, and the oldest of it no longer in memory.
    let mut expected = 2;
    while expected <= COMMITS + 1 {
        let before = slow.raw.len();
        let block = slow.commit().await;
        assert_eq!(block.revision(), expected);
        assert!(slow.raw.len() - before <= 64 * 1_024, "{} bytes at once", slow.raw.len() - before);
        expected += 1;
    }
    assert!(slow.is_silent().await);
}

#[tokio::test]
async fn a_slow_reader_that_gathers_ends_with_the_last_state_of_every_key() {
    let stage = Stage::new().await;
    stage.put("working/first", json!({"value": 1})).await;
    let mut slow = stage.stream("?include=value&coalesce_ms=50").await;
    slow.event("hello").await;
    write_much(&stage).await;
    let mut last = BTreeMap::new();
    let mut reached = 1;
    while reached < COMMITS + 1 {
        let block = slow.commit().await;
        let json = block.json();
        assert_eq!(json["revisions"]["first"], reached + 1, "windows follow one another without a hole");
        reached = block.revision();
        for change in json["changes"].as_array().unwrap() {
            last.insert(change["key"].as_str().unwrap().to_owned(), change["value"][0].as_u64().unwrap());
        }
    }
    let expected: BTreeMap<_, _> = (COMMITS - 7..COMMITS).map(|n| (format!("k{}", n % 7), n)).collect();
    assert_eq!(last, expected);
}

#[tokio::test]
async fn a_reader_whose_place_left_the_log_is_reset() {
    let stage = Stage::new().await;
    stage.put("working/first", json!({"value": 1})).await;
    let mut slow = stage.stream("").await;
    let mut with_snapshot = stage.stream("?snapshot=true&coalesce_ms=10").await;
    slow.event("hello").await;
    with_snapshot.rest_of_snapshot().await;
    write_much(&stage).await;
    let (journal, board) = (stage.app.engine.journal(), "b".parse::<kokuban_core::ids::BoardName>().unwrap());
    let cut = kokuban_core::ids::Revision(1_000);
    while journal.info(board.clone()).await.unwrap().unwrap().snapshot < Some(cut) {
        tokio::task::yield_now().await;
    }
    journal.prune(board, cut).await.unwrap();
    let head = stage.position().await;
    let reset = slow.event("reset").await;
    assert_eq!((reset.id.as_deref(), &reset.json()["reason"]), (Some(head.as_str()), &json!("compacted")));
    stage.put("working/after", json!({"value": 1})).await;
    assert_eq!(slow.commit().await.changes(), ["created after"]);
    assert_eq!(with_snapshot.event("reset").await.id, None, "it asked for a snapshot, which begins again");
    assert_eq!(with_snapshot.event("snapshot").await.json()["key"], "after");
}
