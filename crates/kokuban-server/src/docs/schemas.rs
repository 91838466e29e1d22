//! The schemas of bodies and answers, by name.
//!
//! **Invariant**: the members of a body here are those that its reader in `kokuban_api` takes (a test sends each).
//! Bodies are closed, because readers refuse unknown members; answers are open, because servers grow.
//! Not known here: which route takes which.

use kokuban_api::problem::ErrorCode;
use kokuban_api::{ChangeKind, NextAction};
use serde_json::{Map, Value, json};

/// All of them.
pub(super) fn schemas() -> Value {
    let mut all = Map::new();
    for part in [names(), bodies(), writing_answers(), reading_answers(), stream_answers(), problem()] {
        if let Value::Object(part) = part {
            all.extend(part);
        }
    }
    Value::Object(all)
}

fn to(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn list_of(item: Value) -> Value {
    json!({"type": "array", "items": item})
}

fn closed(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

fn open(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn integer() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn boolean() -> Value {
    json!({"type": "boolean"})
}

fn nullable_text() -> Value {
    json!({"type": ["string", "null"]})
}

/// Any JSON value.
fn anything() -> Value {
    json!({})
}

fn names() -> Value {
    json!({
        "Name": {"type": "string", "minLength": 1, "maxLength": 128, "description": "Letters, marks and digits of any script in NFC, and `. _ : @ = + , ~ -`"},
        "Key": {"type": "string", "minLength": 1, "maxLength": 512, "description": "1 to 8 names joined by `/`"},
        "AgentName": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
        "Version": {"type": "integer", "minimum": 0, "description": "Raised by one with each change of the entry; 0 as a condition: must not exist"},
        "Revision": {"type": "integer", "minimum": 0, "description": "Raised by one with each commit of the board"},
        "Position": {"type": "string", "pattern": "^[0-9a-f]{16}\\.[0-9]+$", "description": "Epoch and revision"},
        "Timestamp": {"type": "string", "format": "date-time"},
        "Sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "TtlMs": {"type": "integer", "minimum": 100, "maximum": 3_600_000, "default": 60_000},
        "WaitMs": {"type": "integer", "minimum": 0, "maximum": 30_000, "default": 0},
        "Source": closed(&["kind", "ref"], json!({
            "kind": {"type": "string", "enum": ["user", "agent", "tool", "web", "file"]}, "ref": text()
        })),
        "DerivedFrom": closed(&["zone", "key", "version"], json!({"zone": to("Name"), "key": to("Key"), "version": to("Version")})),
        "Blueprint": {"type": "object", "description": "The rules of a board: roles, zones, lifecycles, slots, limits", "required": ["name"], "properties": {"name": text()}},
    })
}

/// What a write says beside its content.
fn terms() -> Map<String, Value> {
    let terms = json!({
        "version": to("Version"),
        "status": nullable_text(),
        "lease_token": integer(),
        "lease_ttl_ms": to("TtlMs"),
        "confidence": text(),
        "trust": {"type": "string", "enum": ["untrusted"]},
        "source": to("Source"),
        "derived_from": list_of(to("DerivedFrom")),
        "require_fresh": boolean(),
        "schema_version": integer(),
        "summary": {"type": "string", "maxLength": 200},
        "reason": {"type": "string", "maxLength": 1000},
        "on_conflict": {"type": "string", "enum": ["arbitrate", "yield"]},
    });
    let Value::Object(terms) = terms else { unreachable!("an object literal") };
    terms
}

fn with_terms(properties: Value) -> Value {
    let mut all = terms();
    if let Value::Object(properties) = properties {
        all.extend(properties);
    }
    Value::Object(all)
}

/// Members that only the server sets may be sent back as read.
fn may_be_sent_back(mut schema: Value) -> Value {
    if let Some(properties) = schema["properties"].as_object_mut() {
        for name in kokuban_api::bodies::ECHOED {
            properties.entry(name).or_insert_with(|| json!({"description": "As read; only the server sets it"}));
        }
    }
    schema
}

fn short_form() -> Value {
    json!({
        "unset": list_of(text()),
        "reset": {"type": "object"}, "remove": {"type": "object"}, "add": {"type": "object"},
        "append": {"type": "object"}, "increment": {"type": "object"}, "set": {"type": "object"}, "merge": {"type": "object"},
        "operations": list_of(to("Operation")),
    })
}

fn bodies() -> Value {
    json!({
        "CreateBoard": closed(&["blueprint"], json!({
            "blueprint": {"oneOf": [text(), to("Blueprint")]},
            "title": nullable_text(),
            "labels": {"type": "object", "additionalProperties": text()},
            "inputs": {"type": "object", "description": "Values by `zone/key`", "additionalProperties": anything()},
        })),
        "Put": may_be_sent_back(closed(&["value"], with_terms(json!({"value": anything(), "replace": boolean()})))),
        "Patch": may_be_sent_back(closed(&[], with_terms(short_form()))),
        "Operation": closed(&["op", "path"], json!({
            "op": {"type": "string", "enum": ["unset", "reset", "remove", "add", "append", "increment", "set", "merge"]},
            "path": {"type": "string", "description": "Empty for the whole value, a JSON Pointer, or names joined by dots"},
            "value": anything(), "values": list_of(anything()), "confidence": text(), "source": to("Source"),
            "reason": text(), "intent": {"type": "string", "enum": ["overwrite", "append", "ignore"]}, "unchanged_since": to("Version"),
        })),
        "Transaction": closed(&["writes"], json!({"checks": list_of(to("Check")), "writes": list_of(to("TransactionWrite"))})),
        "Check": closed(&["zone", "key", "version"], json!({"zone": to("Name"), "key": to("Key"), "version": to("Version")})),
        "TransactionWrite": open(&["method", "zone", "key"], json!({
            "method": {"type": "string", "enum": ["put", "patch", "delete", "lease"]}, "zone": to("Name"), "key": to("Key")
        })),
        "LeaseRequest": closed(&[], json!({"ttl_ms": to("TtlMs"), "wait_ms": to("WaitMs"), "takeover": boolean()})),
        "LeaseRenewal": closed(&["lease_token"], json!({"lease_token": integer(), "ttl_ms": to("TtlMs")})),
        "Claim": closed(&["zone"], json!({
            "zone": to("Name"), "status": nullable_text(), "prefix": text(), "ttl_ms": to("TtlMs"),
            "to_status": nullable_text(), "wait_ms": to("WaitMs"),
        })),
        "Erasure": closed(&["sha256", "reason"], json!({"sha256": to("Sha256"), "reason": {"type": "string", "maxLength": 1000}})),
        "NoteBody": closed(&["text"], json!({"text": {"type": "string", "maxLength": 8192}, "refers_to_version": to("Version")})),
    })
}

fn writing_answers() -> Value {
    json!({
        "Warning": open(&["code", "detail"], json!({"code": text(), "detail": text()})),
        "OperationReceipt": open(&["op", "path", "outcome"], json!({
            "op": text(), "path": text(), "outcome": {"type": "string", "enum": ["applied", "ignored", "noted"]},
            "reason": text(), "note": text()
        })),
        "Receipt": open(&["zone", "key", "version", "position", "etag", "outcome", "warnings"], json!({
            "zone": to("Name"), "key": to("Key"), "version": to("Version"), "position": to("Position"), "etag": text(),
            "status": nullable_text(), "owner": nullable_text(), "sha256": to("Sha256"),
            "outcome": {"type": "string", "enum": ["created", "updated", "deleted", "unchanged"]},
            "operations": list_of(to("OperationReceipt")), "value": anything(), "warnings": list_of(to("Warning")),
            "lease": to("Lease"), "dry_run": boolean(),
        })),
        "TransactionReceipt": open(&["revision", "position", "receipts"], json!({
            "revision": to("Revision"), "position": to("Position"), "receipts": list_of(to("Receipt")), "dry_run": boolean()
        })),
        "Lease": open(&["holder", "ttl_ms", "remaining_ms"], json!({
            "holder": to("AgentName"), "lease_token": integer(), "ttl_ms": integer(), "remaining_ms": integer(),
            "dry_run": boolean()
        })),
        "Claimed": open(&["entry", "lease"], json!({"entry": to("Entry"), "lease": to("Lease"), "dry_run": boolean()})),
        "Erased": open(&["sha256", "records"], json!({"sha256": to("Sha256"), "records": integer(), "dry_run": boolean()})),
        "NoteCreated": open(&["id"], json!({"id": text(), "dry_run": boolean()})),
    })
}

fn reading_answers() -> Value {
    json!({
        "ServerInfo": open(&["name", "version", "limits", "durability", "auth", "clock", "caller", "links"], json!({
            "name": text(), "version": text(), "limits": {"type": "object", "additionalProperties": integer()},
            "durability": {"type": "string", "enum": ["disk", "memory"]}, "auth": {"type": "string", "enum": ["open", "token"]},
            "clock": open(&["time", "uptime_ms", "stepped_ms"], json!({
                "time": to("Timestamp"), "uptime_ms": integer(), "stepped_ms": integer(),
            })),
            "caller": open(&["agent", "roles", "boards"], json!({
                "agent": to("AgentName"), "roles": list_of(text()), "boards": list_of(text()),
            })),
            "links": {"type": "object", "additionalProperties": text()},
        })),
        "Health": open(&["status"], json!({"status": text(), "boards_quarantined": integer()})),
        "BoardSummary": open(&["board", "blueprint", "epoch", "revision", "position", "zones", "state"], json!({
            "board": to("Name"), "title": text(), "labels": {"type": "object", "additionalProperties": text()},
            "blueprint": text(), "schema_version": integer(), "epoch": text(), "revision": to("Revision"),
            "position": to("Position"), "created_at": to("Timestamp"), "created_by": to("AgentName"),
            "zones": {"type": "object", "additionalProperties": open(&["entries"], json!({"entries": integer(), "statuses": {"type": "object"}}))},
            "state": open(&["bytes", "level"], json!({
                "bytes": integer(), "level": {"type": "string", "enum": ["ok", "warn", "full"]},
                "largest": list_of(open(&["zone", "key", "bytes"], json!({"zone": to("Name"), "key": to("Key"), "bytes": integer()})))
            })),
            "leases": integer(), "conflicts": integer(), "proposals": integer(), "warnings": list_of(to("Warning")), "dry_run": boolean(),
        })),
        "Entry": open(&["zone", "key", "version", "updated_by", "updated_at"], json!({
            "zone": to("Name"), "key": to("Key"), "value": anything(), "version": to("Version"),
            "status": nullable_text(), "owner": nullable_text(), "updated_by": to("AgentName"), "updated_at": to("Timestamp"),
            "held_by": to("AgentName"), "conflict": boolean(), "trust": text(), "confidence": text(), "notes": integer(),
            "attempts": integer(), "summary": text(), "board": to("Name"), "href": text(), "etag": text(),
            "revision": to("Revision"), "created_by": to("AgentName"), "created_at": to("Timestamp"),
            "value_version": to("Version"), "value_by": to("AgentName"), "source": to("Source"),
            "derived_from": list_of(to("DerivedFrom")), "schema_version": integer(), "sha256": to("Sha256"),
            "bytes": integer(), "ticket": text(), "reason": text(),
        })),
        "Note": open(&["id", "by", "at", "text"], json!({
            "id": text(), "by": to("AgentName"), "at": to("Timestamp"), "text": text(), "refers_to_version": to("Version")
        })),
        "Refusal": open(&["at", "by", "call", "status", "code", "request_id"], json!({
            "at": to("Timestamp"), "by": to("AgentName"), "call": text(), "zone": to("Name"), "key": to("Key"),
            "status": integer(), "code": to("ErrorCode"), "version": to("Version"), "request_id": text(),
        })),
    })
}

fn stream_answers() -> Value {
    let kinds: Vec<_> = ChangeKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let change = json!({
        "kind": {"type": "string", "enum": kinds}, "zone": to("Name"), "key": to("Key"), "version": to("Version"),
        "status": open(&[], json!({"from": nullable_text(), "to": nullable_text()})), "owner": nullable_text(),
        "held_by": to("AgentName"), "trust": text(), "match": {"type": "string", "enum": ["enter", "stay", "leave", "gone"]},
        "value": anything(), "by": to("AgentName"), "at": to("Timestamp"),
        "reason": text(), "before": {"type": "object"}, "after": {"type": "object"}, "operations": list_of(json!({"type": "object"})),
    });
    let commit = json!({
        "revision": to("Revision"), "at": to("Timestamp"), "by": to("AgentName"), "ticket": text(), "request_id": text(),
        "trace_id": text(), "cause": text(), "hash": text(), "changes": list_of(to("Change")),
    });
    json!({
        "Change": open(&["kind"], change),
        "HistoryCommit": open(&["revision", "at", "request_id", "changes"], commit),
        "Coalesced": open(&["revisions", "changes"], json!({
            "revisions": open(&["first", "last"], json!({"first": to("Revision"), "last": to("Revision")})),
            "changes": list_of(to("Change")),
        })),
        "Changes": open(&["commits", "position", "more"], json!({
            "commits": list_of(json!({"anyOf": [to("HistoryCommit"), to("Coalesced")]})), "position": to("Position"), "more": boolean(),
        })),
    })
}

fn problem() -> Value {
    let codes: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let meanings: Vec<_> = ErrorCode::ALL.iter().map(|code| format!("`{code}`: {}", code.explain())).collect();
    let actions: Vec<_> = [
        NextAction::Reread,
        NextAction::Wait,
        NextAction::Propose,
        NextAction::Comment,
        NextAction::Yield,
        NextAction::Escalate,
        NextAction::FixRequest,
        NextAction::Authenticate,
        NextAction::Stop,
    ]
    .into_iter()
    .map(|action| serde_json::to_value(action).unwrap_or_default())
    .collect();
    json!({
        "ErrorCode": {"type": "string", "enum": codes, "description": meanings.join("\n\n")},
        "Problem": open(&["type", "title", "status", "detail", "code", "request_id", "retryable", "side_effects", "next"], json!({
            "type": {"type": "string", "format": "uri"}, "title": text(), "status": integer(), "detail": text(),
            "code": to("ErrorCode"), "request_id": text(), "retryable": boolean(),
            "side_effects": {"type": "string", "enum": ["none", "unknown"]},
            "next": open(&["action"], json!({"action": {"type": "string", "enum": actions}, "method": text(), "path": text(), "body": anything()})),
            "current": {"type": "object", "description": "The entry as it stands"},
            "changed": list_of(text()), "allowed": list_of(text()),
            "errors": list_of(open(&["code", "detail"], json!({"code": to("ErrorCode"), "pointer": text(), "detail": text()}))),
            "retry_after_ms": integer(), "held_by": to("AgentName"), "held_by_you": boolean(), "remaining_ms": integer(),
            "reason": text(), "limit": open(&["name", "max"], json!({"name": text(), "max": integer()})), "nearest": text(),
            "oldest": to("Position"), "head": to("Position"),
        })),
    })
}
