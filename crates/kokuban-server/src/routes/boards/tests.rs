//! What calls about boards tell, one sentence each.

use serde_json::json;

use crate::streams::tests::stage::Stage;

#[tokio::test]
async fn a_repeated_creation_shows_the_board_as_it_was_even_after_it_is_gone() {
    let stage = Stage::new().await;
    let (path, key) = ("/v1/boards/b", ("idempotency-key", "t:1"));
    let create = json!({"blueprint": "default", "title": "T"});
    let first = stage.ask("PUT", path, &[key], Some(&create)).await.is(201);
    stage.put("working/k", json!({"value": 1})).await;
    for _ in 0..2 {
        let again = stage.ask("PUT", path, &[key], Some(&create)).await;
        assert_eq!(again.header("idempotency-replayed"), "true");
        assert_eq!(again.header("kokuban-position"), first["position"]);
        assert_eq!(again.is(201), first);
        stage.ask("DELETE", path, &[], None).await;
    }
}

#[tokio::test]
async fn a_dry_run_names_no_position_of_a_board_that_will_never_be() {
    let stage = Stage::new().await;
    let board = ("/v1/boards/none", "PUT", json!({"blueprint": "default"}), 201);
    let entry = ("/v1/boards/none/entries/working/k", "PUT", json!({"value": 1}), 201);
    let several = ("/v1/boards/none/transactions", "POST", json!({"writes": []}), 200);
    for (path, method, body, status) in [board, entry, several] {
        let answer = stage.ask(method, &format!("{path}?dry_run=true"), &[], Some(&body)).await;
        assert_eq!((answer.header("kokuban-position"), answer.status), ("", status), "{path}: {}", answer.text);
    }
    stage.get("/v1/boards/none").await.refuses(404, "board_not_found");
}

#[tokio::test]
async fn a_blueprint_shows_nothing_of_zones_that_the_reader_may_not_read() {
    let stage = Stage::new().await;
    let rules = json!({"name": "r", "prompt_zones": ["open", "hidden"],
        "zones": {"open": {}, "hidden": {"readers": ["ra"]}},
        "slots": {"hidden/x": {"kind": "scalar"}},
        "triggers": {"t": {"agent": "ra", "on": {"zones": ["hidden"]}}}});
    stage.ask("PUT", "/v1/boards/b", &[], Some(&json!({"blueprint": rules}))).await.is(201);
    let whole = stage.get("/v1/boards/b/blueprint").await.text;
    assert_eq!(whole.matches("hidden").count(), 4, "{whole}");
    let seen = stage.get_as("rb", "/v1/boards/b/blueprint").await;
    assert!(!seen.text.contains("hidden"), "{}", seen.text);
}

#[tokio::test]
async fn refusals_say_which_call_was_refused_and_only_on_boards_that_are_there() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    stage.ask("PUT", "/v1/boards/b/entries/working/k", &[], Some(&json!({"value": 2}))).await.is(428);
    stage.ask("DELETE", "/v1/boards/b/leases/working/k?lease_token=7", &[], None).await.is(409);
    stage.ask("POST", "/v1/boards/gone/notes/working/k", &[], Some(&json!({"text": "a"}))).await.is(404);
    let list = stage.get("/v1/boards/b/refusals").await.is(200);
    let calls: Vec<_> = list["items"].as_array().unwrap().iter().map(|item| item["call"].as_str().unwrap()).collect();
    assert_eq!(calls, ["DELETE leases", "PUT entries"]);
    stage.ask("PUT", "/v1/boards/gone", &[], Some(&json!({"blueprint": "default"}))).await.is(201);
    assert_eq!(stage.get("/v1/boards/gone/refusals").await.is(200)["items"], json!([]));
    let ahead = stage.position().await.replace(".1", ".9");
    stage.get(&format!("/v1/boards/b/refusals?min_position={ahead}")).await.refuses(409, "future_position");
}

#[tokio::test]
async fn a_list_of_boards_goes_on_by_tokens_and_tells_nothing_of_others() {
    let stage = Stage::new().await;
    for name in ["a+b", "b", "c"] {
        let path = format!("/v1/boards/{name}");
        stage.ask("PUT", &path, &[], Some(&json!({"blueprint": "default"}))).await.is(201);
    }
    let (mut seen, mut page) = (Vec::new(), String::new());
    loop {
        let list = stage.get(&format!("/v1/boards?limit=1{page}")).await.is(200);
        seen.push(list["items"][0]["board"].as_str().unwrap().to_owned());
        match list["next_page"].as_str() {
            Some(next) => page = format!("&page={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["a+b", "b", "c"]);
    stage.get("/v1/boards?page=b").await.refuses(400, "invalid_query");
}

#[tokio::test]
async fn whoever_deletes_what_is_not_there_is_not_led_to_create_it() {
    let stage = Stage::new().await;
    let refused = stage.ask("DELETE", "/v1/boards/none", &[], None).await.refuses(404, "board_not_found");
    assert_eq!(refused["next"], json!({"action": "stop"}));
}
