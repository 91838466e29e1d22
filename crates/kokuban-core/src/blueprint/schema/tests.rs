//! Which schemas are taken, and what a violation says.

use serde_json::{Value, json};

use super::{Schema, WEIGHT_MAX};
use crate::blueprint::Blueprint;

fn read(schema: &Value) -> Result<Schema, Vec<(String, String)>> {
    let blueprint = json!({"name": "n", "zones": {"z": {}}, "slots": {"z/k": {"kind": "document", "schema": schema}}});
    match Blueprint::from_value(&blueprint) {
        Ok(blueprint) => Ok(blueprint.slots["z/k"].schema.clone().expect("a schema")),
        Err(flaws) => Err(flaws
            .into_iter()
            .map(|flaw| (flaw.pointer.trim_start_matches("/slots/z~1k/schema").to_owned(), flaw.detail))
            .collect()),
    }
}

fn refused(schema: &Value) -> (String, String) {
    read(schema).expect_err("a flaw").remove(0)
}

#[test]
fn violations_name_the_place_and_not_the_value() {
    let schema = read(&json!({"type": "object", "properties": {"name": {}, "gpa": {"type": "number", "maximum": 4}},
        "required": ["name"], "additionalProperties": false}))
    .expect("a schema");
    assert!(schema.admits(&json!({"name": "x", "gpa": 3.9})));
    let found = schema.violations(&json!({"gpa": "secret words", "zzz": 1}));
    let places: Vec<_> = found.iter().map(|violation| violation.pointer.as_str()).collect();
    assert!(places.contains(&"/gpa") && places.contains(&""), "{found:?}");
    assert!(found.iter().all(|violation| !violation.detail.contains("secret")), "{found:?}");
}

#[test]
fn references_lead_inwards_only() {
    let local = json!({"$defs": {"a": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/a"}}});
    assert!(!read(&local).expect("a schema").admits(&json!({"x": "1"})));
    for target in ["http://127.0.0.1:9/s.json", "file:///etc/passwd", "other.json", "#anchor", "//h/p", "#/%24defs/a"] {
        let (pointer, detail) = refused(&json!({"properties": {"x": {"$ref": target}}}));
        assert_eq!(pointer, "/properties/x/$ref", "{detail}");
    }
    let (pointer, _) = refused(&json!({"properties": {"x": {"$ref": "#/$defs/none"}}}));
    assert_eq!(pointer, "/properties/x/$ref");
    for word in ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor"] {
        assert_eq!(refused(&json!({word: "#x"})).0, format!("/{word}"));
    }
    assert_eq!(refused(&json!({"$schema": "http://json-schema.org/draft-07/schema#"})).0, "/$schema");
}

#[test]
fn a_schema_that_refers_to_itself_is_refused() {
    let tree = json!({"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"});
    assert!(refused(&tree).1.contains("refers to itself"));
    assert!(refused(&json!({"properties": {"x": {"$ref": "#"}}})).1.contains("refers to itself"));
}

#[test]
fn doubling_references_are_counted_as_often_as_they_are_used() {
    let mut defs = serde_json::Map::new();
    defs.insert("d0".into(), json!({"type": "string"}));
    for i in 1..=20 {
        let below = json!({"$ref": format!("#/$defs/d{}", i - 1)});
        defs.insert(format!("d{i}"), json!({"allOf": [below, below]}));
    }
    let (_, detail) = refused(&json!({"$defs": defs, "$ref": "#/$defs/d20"}));
    assert!(detail.contains(&WEIGHT_MAX.to_string()), "{detail}");
}

#[test]
fn patterns_run_in_linear_time() {
    let nested = read(&json!({"properties": {"x": {"pattern": "^(a+)+$"}}})).expect("a schema");
    assert!(!nested.admits(&json!({"x": format!("{}!", "a".repeat(100_000))})), "and at once");
    assert!(refused(&json!({"properties": {"x": {"pattern": "(a)\\1"}}})).1.contains("linear"));
    assert!(read(&json!({"properties": {"x": {"pattern": "(((a{100}){100}){100}){100}"}}})).is_err());
}

#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    assert_eq!(refused(&json!({"properties": {"x": {"type": "strin"}}})).0, "/properties/x/type");
    assert_eq!(refused(&json!({"properties": {"x": 7}})).0, "/properties/x");
    let mut deep = json!({});
    for _ in 0..40 {
        deep = json!({"items": deep});
    }
    assert!(refused(&deep).1.contains("levels deep"));
}
