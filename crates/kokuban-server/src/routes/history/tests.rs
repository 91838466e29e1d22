//! What the history tells, one sentence each.

use serde_json::{Value, json};

use crate::streams::tests::stage::Stage;

async fn history(stage: &Stage, query: &str) -> Value {
    stage.get(&format!("/v1/boards/b/history{query}")).await.is(200)
}

fn revisions(page: &Value) -> Vec<u64> {
    page["items"].as_array().unwrap().iter().map(|item| item["revision"].as_u64().unwrap()).collect()
}

/// Kind and key of each change.
fn changes(page: &Value) -> Vec<String> {
    let changes = page["items"].as_array().unwrap().iter().flat_map(|item| item["changes"].as_array().unwrap());
    changes.map(|c| format!("{} {}", c["kind"].as_str().unwrap(), c["key"].as_str().unwrap_or("-"))).collect()
}

/// Revisions 1 to 6.
async fn lived_in() -> Stage {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": {"a": 1}, "reason": "begin"})).await;
    stage.put("working/other", json!({"value": 1})).await;
    stage.shift("working/k", 1, "processing").await;
    let patch =
        json!({"version": 2, "operations": [{"op": "set", "path": "/b", "value": 2}, {"op": "unset", "path": "/a"}]});
    stage.ask("PATCH", "/v1/boards/b/entries/working/k", &[("kokuban-agent", "rb")], Some(&patch)).await.is(200);
    stage.put("scratch/ra/draft", json!({"value": "dr4ft"})).await;
    stage.delete("working/k", 3).await;
    stage
}

#[tokio::test]
async fn commits_are_told_newest_first_and_page_by_page() {
    let stage = lived_in().await;
    let all = history(&stage, "").await;
    assert_eq!(revisions(&all), [6, 4, 3, 2, 1]);
    assert_eq!((&all["position"], all.get("next_page")), (&json!(stage.position().await), None));
    let first = &all["items"][4];
    assert_eq!(first["changes"][1]["reason"], "begin");
    assert!(first["hash"].as_str().unwrap().len() == 32 && first["by"] == "ra");
    let (mut page, mut seen) = (String::new(), Vec::new());
    loop {
        let part = history(&stage, &format!("?limit=2{page}")).await;
        seen.extend(revisions(&part));
        match part["next_page"].as_str() {
            Some(next) => page = format!("&page={next}"),
            None => break,
        }
    }
    assert_eq!(seen, [6, 4, 3, 2, 1]);
    stage.get("/v1/boards/b/history?page=xyz").await.refuses(400, "invalid_query");
}

#[tokio::test]
async fn the_history_is_narrowed_by_entry_author_kind_and_range() {
    let stage = lived_in().await;
    for (query, expected) in [
        ("?key=other", vec![2]),
        ("?zone=working&key=k", vec![6, 4, 3, 1]),
        ("/working/k", vec![6, 4, 3, 1]),
        ("/working/never", vec![]),
        ("?by=rb", vec![4]),
        ("?kind=created", vec![2, 1]),
        ("?kind=board_created", vec![1]),
        ("?kind=transitioned&kind=deleted", vec![6, 3]),
        ("?after=2&before=6", vec![4, 3]),
        ("?ticket=T-1", vec![]),
        ("?zone=scratch", vec![5]),
    ] {
        assert_eq!(revisions(&history(&stage, query).await), expected, "{query}");
    }
    assert_eq!(changes(&history(&stage, "?kind=created&key=k").await), ["created k"]);
    let epoch_after = stage.position().await.replace(".6", ".3");
    assert_eq!(revisions(&history(&stage, &format!("?after={epoch_after}")).await), [6, 4]);
    stage.get("/v1/boards/b/history?after=00000000deadbeef.3").await.refuses(409, "unknown_epoch");
    stage.get("/v1/boards/b/history?zone=nowhere").await.refuses(404, "zone_not_found");
    stage.get("/v1/boards/b/history/nowhere/k").await.refuses(404, "zone_not_found");
    stage.get("/v1/boards/b/history/working/k?zone=working").await.refuses(400, "invalid_query");
    stage.get("/v1/boards/none/history").await.refuses(404, "board_not_found");
}

#[tokio::test]
async fn both_sides_of_a_change_are_shown_where_asked_for() {
    let stage = lived_in().await;
    let page = history(&stage, "/working/k?include=value").await;
    let sides = |n: usize| {
        let change = &page["items"][n]["changes"];
        let change = change.as_array().unwrap().last().unwrap();
        let of = |side: &str| change.get(side).map(|s| (s["version"].clone(), s["status"].clone(), s["value"].clone()));
        (of("before"), of("after"))
    };
    let first = Some((json!(1), json!("raw"), json!({"a": 1})));
    let moved = Some((json!(2), json!("processing"), json!({"a": 1})));
    let patched = Some((json!(3), json!("processing"), json!({"b": 2})));
    assert_eq!(sides(0), (patched.clone(), None), "deleted");
    assert_eq!(sides(1), (moved.clone(), patched), "patched");
    assert_eq!(sides(2), (first.clone(), moved), "moved");
    assert_eq!(sides(3), (None, first), "created");
    // What stood before is found also where the page does not reach.
    let narrow = history(&stage, "/working/k?include=value&limit=1").await;
    assert_eq!(narrow["items"][0]["changes"][0]["before"]["value"], json!({"b": 2}));
    let bounded = history(&stage, "?include=value&after=2&before=4").await;
    assert_eq!(bounded["items"][0]["changes"][0]["before"]["value"], json!({"a": 1}));
    let without = history(&stage, "/working/k").await;
    assert!(without["items"].as_array().unwrap().iter().all(|item| item["changes"][0].get("after").is_none()));
}

#[tokio::test]
async fn what_each_operation_did_is_shown_where_asked_for() {
    let stage = lived_in().await;
    let page = history(&stage, "/working/k?include=operations").await;
    let operations = &page["items"][1]["changes"][0]["operations"];
    assert_eq!(operations, &json!([{"op": "set", "path": "/b", "value": 2}, {"op": "unset", "path": "/a"}]));
    assert_eq!(page["items"][2]["changes"][0].get("operations"), None);
}

#[tokio::test]
async fn values_of_scratch_tables_are_never_in_the_history() {
    let stage = lived_in().await;
    for query in ["?zone=scratch&include=value&include=operations", "/scratch/ra/draft?include=value", "?include=value"]
    {
        let answer = stage.get(&format!("/v1/boards/b/history{query}")).await;
        assert!(!answer.text.contains("dr4ft"), "{}", answer.text);
    }
    let page = history(&stage, "?zone=scratch&include=value").await;
    let after = &page["items"][0]["changes"][0]["after"];
    assert!(after["sha256"].is_string() && after["bytes"] == 7 && after.get("value").is_none(), "{after}");
}

#[tokio::test]
async fn erased_values_are_there_by_hash_only() {
    let stage = lived_in().await;
    let page = history(&stage, "/working/k?include=value").await;
    let sha256 = page["items"][1]["changes"][0]["after"]["sha256"].clone();
    let erasure = json!({"sha256": sha256, "reason": "a secret"});
    let answer = stage.ask("POST", "/v1/boards/b/erasures", &[], Some(&erasure)).await;
    assert!(answer.status < 300, "{}", answer.text);
    let page = history(&stage, "/working/k?include=value&include=operations").await;
    let patched = &page["items"][1]["changes"][0];
    assert_eq!((&patched["after"]["sha256"], patched["after"].get("value")), (&sha256, None));
    assert_eq!(patched["operations"][0].get("value"), None);
}

#[tokio::test]
async fn what_may_not_be_read_has_no_history() {
    let stage = Stage::new().await;
    let blueprint = json!({"name": "closed", "zones": {"open": {"access": "public"},
        "closed": {"access": "restricted", "owners": ["rb"], "readers": ["rb"]}}});
    stage.ask("PUT", "/v1/boards/b", &[], Some(&json!({"blueprint": blueprint}))).await.is(201);
    let rb = [("kokuban-agent", "rb")];
    stage.ask("PUT", "/v1/boards/b/entries/closed/plan", &rb, Some(&json!({"value": "s3cret"}))).await.is(201);
    stage.put("open/news", json!({"value": 1})).await;
    let answer = stage.get("/v1/boards/b/history?include=value").await;
    assert!(!answer.text.contains("plan") && !answer.text.contains("s3cret"), "{}", answer.text);
    assert_eq!(revisions(&answer.is(200)), [3, 1]);
    stage.get("/v1/boards/b/history/closed/plan").await.refuses(404, "zone_not_found");
    assert_eq!(revisions(&stage.get_as("rb", "/v1/boards/b/history").await.is(200)), [3, 2, 1]);
}

#[tokio::test]
async fn a_search_that_finds_little_is_bounded_and_goes_on() {
    let stage = Stage::new().await;
    stage.put("working/rare", json!({"value": 1})).await;
    stage.put("working/k", json!({"value": 0})).await;
    for version in 1..=5_100 {
        stage.put("working/k", json!({"value": version, "version": version})).await;
    }
    let first = history(&stage, "?key=rare").await;
    assert_eq!(revisions(&first), [0; 0]);
    let next = first["next_page"].as_str().expect("it did not look at everything");
    let second = history(&stage, &format!("?key=rare&page={next}")).await;
    assert_eq!((revisions(&second), second.get("next_page")), (vec![1], None));
}
