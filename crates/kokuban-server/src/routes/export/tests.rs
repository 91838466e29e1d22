//! What an export holds, and that it verifies.

use kokuban_core::verify::{Report, Verifier};
use serde_json::{Value, json};

use crate::streams::tests::stage::Stage;

async fn export(stage: &Stage, agent: &str) -> String {
    let answer = stage.get_as(agent, "/v1/boards/b/export").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/jsonl"));
    answer.text
}

fn verify(export: &str) -> Report {
    let mut verifier = Verifier::new();
    for line in export.split_inclusive('\n') {
        verifier.line(line).unwrap_or_else(|flaw| panic!("{flaw}"));
    }
    verifier.finish().unwrap_or_else(|flaw| panic!("{flaw}"))
}

#[tokio::test]
async fn an_export_is_whole_and_verifies_against_the_stored_chain() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": [1, 1.5, 18_446_744_073_709_551_615_u64, null, "\u{2028}\r\n"]})).await;
    stage.put("working/null", json!({"value": null})).await;
    let keyed = [("idempotency-key", "once")];
    let claim = json!({"zone": "working", "ttl_ms": 60_000});
    stage.ask("POST", "/v1/boards/b/claims", &keyed, Some(&claim)).await.is(201);
    stage.ask("POST", "/v1/boards/b/notes/working/null", &[], Some(&json!({"text": "why?\nbecause"}))).await.is(201);
    for version in 1..=700 {
        stage.put("working/null", json!({"value": version, "version": version})).await;
    }
    stage.delete("working/null", 701).await;
    let text = export(&stage, "ra").await;
    let report = verify(&text);
    assert_eq!((report.revision.0, report.commits, report.entries), (705, 705, Some(1)));
    assert_eq!((report.withheld, report.absent_values), (0, 0));
    let handle = stage.app.engine.board(&"b".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(report.hash, handle.published().chain);
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&header["format"], &header["position"]), (&json!("kokuban.export.1"), &json!(stage.position().await)));
}

#[tokio::test]
async fn values_of_scratch_and_erased_ones_are_exported_by_hash_only() {
    let stage = Stage::new().await;
    stage.put("scratch/ra/draft", json!({"value": "dr4ft"})).await;
    stage.put("working/k", json!({"value": "s3cret"})).await;
    stage.put("working/k", json!({"value": "public", "version": 1})).await;
    let page = stage.get("/v1/boards/b/history/working/k?include=value").await.is(200);
    let sha256 = page["items"][1]["changes"][0]["after"]["sha256"].clone();
    let erasure = json!({"sha256": sha256, "reason": "a secret"});
    assert!(stage.ask("POST", "/v1/boards/b/erasures", &[], Some(&erasure)).await.status < 300);
    let text = export(&stage, "ra").await;
    for secret in ["dr4ft", "s3cret"] {
        assert!(!text.contains(secret), "{secret}");
    }
    let report = verify(&text);
    assert_eq!((report.absent_values, report.entries, report.withheld), (2, Some(2), 0));
}

#[tokio::test]
async fn a_commit_that_may_not_be_read_is_exported_by_its_hash_only() {
    let stage = Stage::new().await;
    let blueprint = json!({"name": "closed", "zones": {"open": {"access": "public"},
        "closed": {"access": "restricted", "owners": ["rb"], "readers": ["rb"]}}});
    stage.ask("PUT", "/v1/boards/b", &[], Some(&json!({"blueprint": blueprint}))).await.is(201);
    let rb = [("kokuban-agent", "rb")];
    stage.ask("PUT", "/v1/boards/b/entries/closed/plan", &rb, Some(&json!({"value": "s3cret"}))).await.is(201);
    stage.ask("POST", "/v1/boards/b/notes/closed/plan", &rb, Some(&json!({"text": "s3cret note"}))).await.is(201);
    stage.put("open/news", json!({"value": 1})).await;
    let text = export(&stage, "ra").await;
    assert!(!text.contains("s3cret") && !text.contains("plan") && !text.contains("closed"), "{text}");
    let report = verify(&text);
    assert_eq!((report.commits, report.withheld, report.entries), (4, 3, None));
    assert_eq!(verify(&export(&stage, "rb").await).entries, Some(2));
}

#[tokio::test]
async fn an_earlier_life_of_a_board_is_read_by_its_own_rules() {
    let stage = Stage::new().await;
    let closed =
        json!({"name": "closed", "zones": {"working": {"access": "restricted", "owners": ["rb"], "readers": ["rb"]}}});
    stage.ask("PUT", "/v1/boards/b", &[], Some(&json!({"blueprint": closed}))).await.is(201);
    let rb = [("kokuban-agent", "rb")];
    stage.ask("PUT", "/v1/boards/b/entries/working/plan", &rb, Some(&json!({"value": "s3cret"}))).await.is(201);
    stage.ask("DELETE", "/v1/boards/b", &[], None).await.is(204);
    stage.put("working/new", json!({"value": 1})).await;
    let text = export(&stage, "ra").await;
    assert!(!text.contains("s3cret") && text.contains("new"));
    let report = verify(&text);
    assert_eq!((report.commits, report.withheld), (4, 2));
    assert_eq!(verify(&export(&stage, "rb").await).entries, Some(1));
}

#[tokio::test]
async fn head_of_an_export_reads_nothing() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let head = stage.ask("HEAD", "/v1/boards/b/export", &[], None).await;
    assert_eq!((head.status, head.header("content-type"), head.text.as_str()), (200, "application/jsonl", ""));
    stage.get("/v1/boards/b/export?zone=working").await.refuses(400, "invalid_query");
}
