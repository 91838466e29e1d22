//! `/openapi.json`: the table of routes as OpenAPI 3.1.
//!
//! **Invariant**: built from the table and the closed list of problem codes alone, so it cannot lag behind them.
//! Not known here: the router.

use std::collections::BTreeMap;

use kokuban_api::ChangeKind;
use kokuban_api::problem::CONTENT_TYPE as PROBLEM_TYPE;
use serde_json::{Map, Value, json};

use super::query::{QuerySpec, Takes};
use super::schemas::schemas;
use super::spec::{AnswerSpec, Content, RouteSpec};
use super::table::ROUTES;

/// The whole document.
#[must_use]
pub fn document() -> Value {
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES {
        paths.entry(route.openapi_path()).or_default().insert(route.method.to_ascii_lowercase(), operation(route));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kokuban",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "description": "A blackboard for teams of agents: versioned entries, leases, transactions, streams."
        },
        "servers": [{"url": "/"}],
        "tags": tags(),
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "parameters": header_parameters(),
            "responses": {"Problem": {
                "description": "The request was refused; `code` says why and `next` what to do",
                "headers": {"Kokuban-Request-Id": request_id()},
                "content": {PROBLEM_TYPE: {"schema": reference("Problem")}}
            }},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}
        },
        "security": [{}, {"token": []}]
    })
}

fn tags() -> Value {
    let mut names: Vec<&str> = Vec::new();
    for route in ROUTES {
        if !names.contains(&route.tag) {
            names.push(route.tag);
        }
    }
    names.into_iter().map(|name| json!({"name": name})).collect()
}

fn operation(route: &RouteSpec) -> Value {
    let mut operation = json!({
        "operationId": route.operation_id,
        "tags": [route.tag],
        "summary": route.summary,
        "parameters": parameters(route),
        "responses": responses(route),
    });
    if let Some(body) = route.body {
        operation["requestBody"] = json!({
            "required": body.required,
            "content": {"application/json": {"schema": reference(body.schema)}}
        });
        if body.schema == "Patch" {
            let content = &mut operation["requestBody"]["content"];
            content["application/json-patch+json"] = json!({"schema": reference("JsonPatch")});
            content["application/merge-patch+json"] = json!({"schema": {}});
        }
    }
    if route.public {
        operation["security"] = json!([{}]);
    }
    operation
}

fn parameters(route: &RouteSpec) -> Vec<Value> {
    let path = route.parameters().map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}}),
    );
    let header = |name: &str| json!({"$ref": format!("#/components/parameters/{name}")});
    let mut all: Vec<Value> = path.chain(route.query.iter().map(query)).collect();
    if !route.public {
        all.push(header("KokubanAgent"));
    }
    if route.mutates {
        all.push(header("IdempotencyKey"));
    }
    match route.operation_id {
        "get_entry" => all.push(header("IfNoneMatch")),
        "put_entry" | "patch_entry" | "delete_entry" => {
            all.extend([header("IfMatch"), header("IfNoneMatch"), header("Prefer")]);
        }
        "stream_events" => all.push(header("LastEventId")),
        _ => {}
    }
    all
}

fn query(spec: &QuerySpec) -> Value {
    let one = match spec.takes {
        Takes::Text => json!({"type": "string"}),
        Takes::Integer => json!({"type": "integer", "minimum": 0}),
        Takes::Flag => json!({"type": "boolean"}),
        Takes::Choice(words) => json!({"type": "string", "enum": words}),
        Takes::Kind => {
            let kinds: Vec<_> = ChangeKind::ALL.iter().map(|kind| kind.as_str()).collect();
            json!({"type": "string", "enum": kinds})
        }
    };
    let schema = if spec.repeatable { json!({"type": "array", "items": one}) } else { one };
    json!({"name": spec.name, "in": "query", "required": spec.required, "description": spec.summary, "schema": schema})
}

fn header_parameters() -> Value {
    let header = |name: &str, summary: &str| json!({"name": name, "in": "header", "required": false, "description": summary, "schema": {"type": "string"}});
    json!({
        "KokubanAgent": header("Kokuban-Agent", "Who calls, where the server runs without tokens"),
        "IdempotencyKey": header("Idempotency-Key", "Makes a repeat of the request have one effect and one answer"),
        "IfMatch": header("If-Match", "The ETag that the entry must have"),
        "IfNoneMatch": header("If-None-Match", "`*`: the entry must not exist; an ETag: answer 304 if it is current"),
        "Prefer": header("Prefer", "`return=minimal` or `return=representation`"),
        "LastEventId": header("Last-Event-ID", "The position after which to go on"),
    })
}

fn responses(route: &RouteSpec) -> Map<String, Value> {
    let mut all: Map<String, Value> =
        route.answers.iter().map(|answer| (answer.status.to_string(), response(route, answer))).collect();
    all.insert("default".into(), json!({"$ref": "#/components/responses/Problem"}));
    all
}

fn response(route: &RouteSpec, answer: &AnswerSpec) -> Value {
    let mut headers = json!({"Kokuban-Request-Id": request_id()});
    if route.path.contains("{board}") {
        headers["Kokuban-Position"] = json!({"description": "The position of the board", "schema": {"type": "string"}});
    }
    if route.operation_id == "get_entry" {
        headers["ETag"] = json!({"description": "The version", "schema": {"type": "string"}});
    }
    let mut response = json!({"description": answer.summary, "headers": headers});
    if let Some(content) = content(answer.content) {
        response["content"] = content;
    }
    response
}

fn content(content: Content) -> Option<Value> {
    Some(match content {
        Content::Nothing => return None,
        Content::Json(schema) => json!({"application/json": {"schema": reference(schema)}}),
        Content::ListOf(item) => json!({"application/json": {"schema": {
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": {"type": "array", "items": reference(item)},
                "position": reference("Position"),
                "next_page": {"type": "string"}
            }
        }}}),
        Content::Other("application/json") => json!({"application/json": {"schema": {"type": "object"}}}),
        Content::Other(media_type) => json!({media_type: {"schema": {"type": "string"}}}),
    })
}

fn request_id() -> Value {
    json!({"description": "Names the request in the log and in the history", "schema": {"type": "string", "format": "uuid"}})
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}
