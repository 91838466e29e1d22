//! Who gets a backup, how many at a time, and that one which breaks off cannot be taken for a whole one.

use http_body_util::BodyExt as _;
use kokuban_core::ids::Sha256;
use kokuban_journal::backup::{Check, CheckedBoard, Found, Parser};
use serde_json::json;

use super::*;
use crate::config::{AuthMode, Config, ServerRole, Token};
use crate::pattern::Pattern;
use crate::settings::Settings;
use crate::streams::tests::stage::Stage;

async fn ask(stage: &Stage, method: &str, secret: Option<&str>) -> Response {
    let bearer = secret.map(|secret| format!("Bearer {secret}"));
    let agent = secret.map_or("ra", |secret| secret.trim_start_matches("secret-of-"));
    let mut headers = vec![("kokuban-agent", agent)];
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    stage.send(method, "/v1/backup", &headers, None).await
}

/// The boards of a backup; `None`: it has no end.
fn checked(bytes: &[u8]) -> Option<Vec<CheckedBoard>> {
    let (mut parser, mut check, mut boards) = (Parser::new(), Check::new(), Vec::new());
    parser.feed(bytes);
    while let Some(frame) = parser.next_frame().expect("whole as far as it goes") {
        if let Some(Found::Board(board)) = check.take(&frame).expect("in order") {
            boards.push(*board);
        }
    }
    check.has_ended().then_some(boards)
}

/// All that comes until the end or the break.
async fn taken(body: Body) -> (Vec<u8>, bool) {
    let mut body = body;
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => bytes.extend_from_slice(frame.data_ref().expect("data")),
            Err(_) => return (bytes, false),
        }
    }
    (bytes, true)
}

fn token(agent: &str, roles: &[ServerRole], boards: &[&str]) -> Token {
    Token {
        sha256: Sha256::of(format!("secret-of-{agent}").as_bytes()),
        agent: agent.parse().expect("a name"),
        roles: roles.to_vec(),
        boards: boards.iter().map(|board| Pattern::new(board).expect("a pattern")).collect(),
    }
}

fn with_tokens(config: &mut Config) {
    config.auth = AuthMode::Token;
    config.tokens = vec![
        token("admin", &[ServerRole::Admin], &["x", "**"]),
        token("some", &[ServerRole::Admin], &["order-*"]),
        token("ra", &[], &["*"]),
        token("ob", &[ServerRole::Observer], &["*"]),
    ];
}

#[tokio::test]
async fn a_backup_holds_every_board_and_checks() {
    let stage = Stage::new().await;
    for n in 0..50 {
        stage.put(&format!("working/k{n}"), json!({"value": n})).await;
    }
    let response = ask(&stage, "GET", None).await;
    let header = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
    assert_eq!((response.status(), header("content-type")), (StatusCode::OK, CONTENT.to_owned()));
    assert!(header("content-disposition").starts_with("attachment; filename=\"kokuban-2"));
    assert_eq!(header("cache-control"), "no-store");
    let (bytes, ended) = taken(response.into_body()).await;
    assert!(ended);
    let boards = checked(&bytes).expect("an end");
    let report = boards[0].outcome.report.as_ref().expect("whole");
    assert_eq!((boards.len(), report.revision.0, report.entries), (1, 51 - 1, Some(50)));
}

#[tokio::test]
async fn only_an_admin_of_all_boards_gets_one() {
    let stage = Stage::with(with_tokens).await;
    for (secret, status) in
        [("secret-of-admin", 200), ("secret-of-some", 403), ("secret-of-ra", 403), ("secret-of-ob", 403), ("x", 401)]
    {
        assert_eq!(ask(&stage, "HEAD", Some(secret)).await.status(), status, "{secret}");
        assert_eq!(ask(&stage, "GET", Some(secret)).await.status(), status, "{secret}");
    }
}

#[tokio::test]
async fn few_are_made_at_a_time_and_one_that_is_left_makes_room() {
    let stage = Stage::new().await;
    stage.put("working/k", json!({"value": 1})).await;
    let open = [ask(&stage, "GET", None).await, ask(&stage, "GET", None).await];
    let refused = ask(&stage, "GET", None).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(ask(&stage, "HEAD", None).await.status(), StatusCode::OK, "HEAD makes none");
    drop(open);
    while ask(&stage, "GET", None).await.status() != StatusCode::OK {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn it_breaks_off_without_an_end_when_the_credential_ends_or_the_server_stops() {
    for stops in [false, true] {
        let stage = Stage::with(with_tokens).await;
        let headers = [("authorization", "Bearer secret-of-admin"), ("kokuban-agent", "admin")];
        for n in 0..20 {
            let path = format!("/v1/boards/b/entries/working/k{n}");
            stage.ask("PUT", &path, &headers, Some(&json!({"value": "x".repeat(50_000)}))).await.is(201);
        }
        let mut body = ask(&stage, "GET", Some("secret-of-admin")).await.into_body();
        let first = body.frame().await.expect("a part").expect("no break yet").into_data().expect("data");
        if stops {
            stage.app.shutdown.begin();
        } else {
            let mut config = Config::default();
            with_tokens(&mut config);
            config.tokens.remove(0);
            stage.app.settings.replace(Settings::of(config).expect("valid"));
        }
        let (rest, ended) = taken(body).await;
        assert!(!ended, "stops: {stops}");
        assert!(checked(&[&first[..], &rest].concat()).is_none());
    }
}
