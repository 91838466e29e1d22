//! The server itself: what it is, whether it is well, what it counts, how it is called.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use kokuban_api::answers::{AuthMode, Clock, Durability, ServerInfo};
use kokuban_api::query::PlainQuery;
use kokuban_api::{ErrorCode, limits};
use kokuban_core::blueprint::{self, Limits};
use serde::Serialize;

use crate::app::AppState;
use crate::call::Call;
use crate::config;
use crate::docs;
use crate::error::{ApiError, ApiResult};
use crate::metrics::{self, Process};
use crate::reply::Reply;

/// Less than this is no step of the clock, but the work of keeping it right.
const STEP_MS_MIN: i64 = 1_000;

pub(crate) fn router() -> Router<AppState> {
    Router::new()
        .route("/v1", get(info))
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .route("/metrics", get(count))
        .merge(docs::router())
}

async fn info(call: Call) -> ApiResult<Response> {
    let query = PlainQuery::read(call.query())?;
    let config = call.config();
    let links = [
        ("docs", "/docs"),
        ("llms", "/llms.txt"),
        ("openapi", "/openapi.json"),
        ("boards", "/v1/boards"),
        ("health", "/readyz"),
        ("metrics", "/metrics"),
    ];
    let info = ServerInfo {
        name: "kokuban".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        limits: bounds(config),
        durability: match config.durability {
            config::Durability::Disk => Durability::Disk,
            config::Durability::Memory => Durability::Memory,
        },
        auth: match config.auth {
            config::AuthMode::Open => AuthMode::Open,
            config::AuthMode::Token => AuthMode::Token,
        },
        clock: clock(call.app.engine.clock()),
        caller: call.caller.info(),
        links: links.into_iter().map(|(name, href)| (name.to_owned(), href.to_owned())).collect(),
    };
    Ok(Reply::json(StatusCode::OK, &info, query.pretty).send())
}

fn clock(clock: kokuban_engine::Clock) -> Clock {
    let time = clock.wall();
    let (uptime_ms, stepped_ms) = (clock.uptime_ms(), clock.stepped_ms());
    Clock { time, uptime_ms, stepped_ms: if stepped_ms.abs() < STEP_MS_MIN { 0 } else { stepped_ms } }
}

/// Every bound of the server, by name.
fn bounds(config: &config::Config) -> BTreeMap<String, u64> {
    let n = |count: usize| count as u64;
    let bounds: [(&str, u64); 28] = [
        ("list_limit_max", *limits::LIST_LIMIT.end()),
        ("ttl_ms_min", *limits::TTL_MS.start()),
        ("ttl_ms_max", *limits::TTL_MS.end()),
        ("wait_ms_max", *limits::WAIT_MS.end()),
        ("coalesce_ms_max", *limits::COALESCE_MS.end()),
        ("summary_chars_max", n(limits::SUMMARY_CHARS_MAX)),
        ("reason_chars_max", n(limits::REASON_CHARS_MAX)),
        ("idempotency_key_bytes_max", n(limits::IDEMPOTENCY_KEY_BYTES_MAX)),
        ("key_bytes_max", n(kokuban_core::ids::KEY_BYTES_MAX)),
        ("key_segments_max", n(kokuban_core::ids::KEY_SEGMENTS_MAX)),
        ("name_chars_max", n(kokuban_core::ids::NAME_CHARS_MAX)),
        ("agent_name_bytes_max", n(kokuban_core::ids::AGENT_BYTES_MAX)),
        ("value_depth_max", n(kokuban_core::json::DEPTH_MAX)),
        ("value_nodes_max", n(kokuban_core::json::NODES_MAX)),
        ("member_name_bytes_max", n(kokuban_core::json::MEMBER_NAME_BYTES_MAX)),
        ("title_chars_max", n(limits::TITLE_CHARS_MAX)),
        ("label_chars_max", n(limits::LABEL_CHARS_MAX)),
        ("source_ref_chars_max", n(limits::SOURCE_REF_CHARS_MAX)),
        ("prefix_bytes_max", n(limits::PREFIX_BYTES_MAX)),
        ("query_members_max", n(limits::QUERY_MEMBERS_MAX)),
        ("idempotency_keys_per_board_max", n(kokuban_core::board::KEYS_MAX)),
        ("blueprint_bytes_max", n(blueprint::BLUEPRINT_BYTES_MAX)),
        ("zones_max", n(blueprint::ZONES_MAX)),
        ("lifecycles_max", n(blueprint::LIFECYCLES_MAX)),
        ("slots_max", n(blueprint::SLOTS_MAX)),
        ("roles_max", n(blueprint::ROLES_MAX)),
        ("role_members_max", n(blueprint::ROLE_MEMBERS_MAX)),
        ("refusals_per_board_max", 1_000),
    ];
    let of_server = config.limits.named().into_iter();
    let mut bounds: BTreeMap<_, _> = of_server.chain(bounds).map(|(name, max)| (name.to_owned(), max)).collect();
    let board = Limits::SERVER.members().into_iter().map(|(name, max)| (name.to_owned(), max));
    bounds.extend(board);
    bounds
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    boards_quarantined: Option<u64>,
}

async fn live() -> Response {
    Reply::json(StatusCode::OK, &Health { status: "ok", boards_quarantined: None }, false).send()
}

/// Whether the server takes work: not while it stops, nor while nothing can be written.
async fn ready(State(app): State<AppState>) -> ApiResult<Response> {
    if let Some(why) = app.not_ready() {
        return Err(ApiError::new(ErrorCode::Unavailable, why));
    }
    let boards_quarantined = Some(app.engine.stats().boards_quarantined);
    Ok(Reply::json(StatusCode::OK, &Health { status: "ok", boards_quarantined }, false).send())
}

async fn count(State(app): State<AppState>) -> Response {
    // Files are looked at.
    let read = tokio::task::spawn_blocking(move || app.metrics.render(app.readings(), Process::now())).await;
    let mut response = Response::new(read.expect("reading does not panic").into());
    let content_type = metrics::CONTENT_TYPE.parse().expect("a valid header value");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
