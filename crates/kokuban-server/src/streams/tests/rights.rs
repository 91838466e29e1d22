//! New rules of a board, as far as they concern a reader.

use kokuban_api::query::StreamFilter;
use kokuban_core::blueprint::Blueprint;
use kokuban_core::caller::Actor;
use serde_json::{Value, json};

use crate::streams::Scope;

fn rules(zones: &Value) -> Blueprint {
    Blueprint::from_value(&json!({"name": "x", "zones": zones})).unwrap()
}

fn reader(zones: &[&str]) -> Scope {
    let filter =
        StreamFilter { zones: zones.iter().map(|zone| zone.parse().unwrap()).collect(), ..StreamFilter::default() };
    let actor = Actor { agent: "ra".parse().unwrap(), named: true, admin: true, observer: false };
    Scope { actor, filter, include_value: false }
}

#[test]
fn a_change_of_readers_touches_the_streams_that_asked_for_the_zone() {
    let before = rules(&json!({"a": {"access": "public"}, "b": {"access": "public"}}));
    let taken =
        rules(&json!({"a": {"access": "public"}, "b": {"access": "restricted", "owners": ["rb"], "readers": ["rb"]}}));
    assert!(reader(&[]).loses_or_gains(&before, &taken));
    assert!(reader(&["b"]).loses_or_gains(&before, &taken));
    assert!(reader(&["b"]).loses_or_gains(&taken, &before));
    assert!(!reader(&["a"]).loses_or_gains(&before, &taken));
    let gone = rules(&json!({"a": {"access": "public"}}));
    assert!(reader(&["b"]).loses_or_gains(&before, &gone));
    assert!(!reader(&[]).loses_or_gains(&gone, &before), "a zone that is new takes nothing away");
    assert!(!reader(&[]).loses_or_gains(&before, &before));
}
