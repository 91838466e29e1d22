//! The questions of `check-config`: what raises each, and what answers it.

use super::*;

fn asked(value: &Value) -> Vec<String> {
    questions(&read(value)).into_iter().map(|finding| finding.pointer).collect()
}

fn slot(name: &str, slot: Value) -> Vec<String> {
    asked(&json!({"name": "a", "schema_version": 1, "limits": {"state_bytes_max": 1000},
        "zones": {"z": {}, "own": {"access": "restricted", "owners": ["ra"]}}, "slots": {name: slot}}))
}

#[test]
fn two_producers_of_one_scalar_are_asked_about() {
    assert_eq!(slot("z/draft", json!({})), ["/slots/z~1draft/producers"]);
    assert_eq!(slot("z/draft", json!({"producers": ["ra", "rb"]})), ["/slots/z~1draft/producers"]);
    assert!(slot("z/draft", json!({"producers": ["ra"]})).is_empty());
    assert!(slot("z/draft/*", json!({"per_producer": true})).is_empty());
    assert!(slot("own/draft", json!({})).is_empty());
}

#[test]
fn unbounded_lists_are_asked_about() {
    assert_eq!(slot("z/log", json!({"kind": "list"})), ["/slots/z~1log/max_items"]);
    assert!(slot("z/log", json!({"kind": "list", "max_items": 9})).is_empty());
    let document =
        json!({"kind": "document", "fields": {"tags": {"kind": "set"}, "log": {"schema": {"type": "array"}}}});
    assert_eq!(slot("z/doc", document), ["/slots/z~1doc/fields/log/schema", "/slots/z~1doc/fields/tags/max_items"]);
}

#[test]
fn outside_content_and_current_scalars_are_asked_about() {
    assert_eq!(slot("own/web/page", json!({})), ["/slots/own~1web~1page"]);
    assert_eq!(slot("own/notes", json!({"title": "检索摘要"})), ["/slots/own~1notes"]);
    assert!(slot("own/web/page", json!({"trusted_only": true})).is_empty());
    assert_eq!(slot("own/current_order", json!({})), ["/slots/own~1current_order"]);
    assert_eq!(slot("own/当前订单", json!({})), ["/slots/own~1当前订单"]);
    assert_eq!(slot("own/current_user/name", json!({})), ["/slots/own~1current_user~1name"]);
    assert!(slot("own/concurrent_users", json!({})).is_empty());
}

#[test]
fn a_zone_that_sanitizes_has_answered_for_the_outside_content_in_it() {
    let asked = |zone: Value| {
        asked(&json!({"name": "a", "schema_version": 1, "limits": {"state_bytes_max": 1000}, "zones": {"z": zone},
            "slots": {"z/web/page": {"producers": ["ra"]}}}))
    };
    assert_eq!(asked(json!({})), ["/slots/z~1web~1page"]);
    assert!(asked(json!({"sanitize": "strip"})).is_empty());
}

#[test]
fn fields_of_fields_and_arrays_inside_schemas_are_asked_about_too() {
    let field = json!({"kind": "document", "fields": {"current_order": {}, "web": {}, "tags": {"kind": "list"}}});
    let document = json!({"kind": "document", "fields": {"deep": field}});
    let found = slot("z/doc", document);
    let wanted =
        ["current_order", "tags/max_items", "web"].map(|rest| format!("/slots/z~1doc/fields/deep/fields/{rest}"));
    assert_eq!(found, wanted);
    let schema = json!({"type": "object", "properties": {
        "log": {"type": ["array", "null"], "items": {"type": "array", "maxItems": 2}},
        "either": {"anyOf": [{"type": "string"}, {"type": "array"}]},
        "short": {"type": "array", "maxItems": 3}}});
    let found = slot("own/doc", json!({"schema": schema}));
    let wanted = ["either/anyOf/1", "log"].map(|rest| format!("/slots/own~1doc/schema/properties/{rest}"));
    assert_eq!(found, wanted);
}

#[test]
fn a_missing_schema_version_and_missing_people_are_asked_about() {
    let value = json!({"name": "a", "limits": {"state_bytes_max": 1000},
        "zones": {"r": {"tier": "result"}, "s": {"access": "shared"}, "t": {"access": "restricted"},
            "u": {"owners": ["role:user"]}, "web": {}},
        "lifecycles": {"l": {"initial": ["a"], "transitions": [{"from": "b", "to": "a"}]}}});
    assert_eq!(
        asked(&value),
        [
            "/schema_version",
            "/roles/arbiter",
            "/lifecycles/l",
            "/lifecycles/l/transitions",
            "/zones/s/owners",
            "/zones/t/owners",
            "/zones/u/owners",
            "/zones/web/sanitize",
        ]
    );
}
