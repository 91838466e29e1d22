//! What each flaw is called and where it is reported, and that nothing grows without bound.

use super::*;

/// Every kind of flaw: what is written where, and the kind and place that are reported.
#[test]
fn each_flaw_is_reported_at_its_place() {
    use FlawKind as K;
    let unknown = |name: &str| K::UnknownMember { nearest: Some(name.to_owned()) };
    let missing = |name: &str| K::UnknownReference { nearest: Some(name.to_owned()) };
    let no_such = || K::UnknownReference { nearest: None };
    let word = |nearest: Option<&str>| K::InvalidValue { nearest: nearest.map(str::to_owned) };
    let review = "/lifecycles/review";
    let cases: Vec<(String, Value, &str, K)> = vec![
        (String::new(), json!([]), "", K::WrongType { expected: "an object" }),
        ("/name".into(), json!("no spaces"), "/name", K::InvalidName),
        ("/name".into(), json!(7), "/name", K::WrongType { expected: "a text" }),
        ("/title".into(), json!(""), "/title", K::OutOfRange { min: 1, max: 200 }),
        ("/title".into(), json!("a\u{7}b"), "/title", word(None)),
        ("/zoness".into(), json!({}), "/zoness", unknown("zones")),
        ("/schema-version".into(), json!(1), "/schema-version", unknown("schema_version")),
        ("/xyzzy".into(), json!(1), "/xyzzy", K::UnknownMember { nearest: None }),
        ("/schema_version".into(), json!(0), "/schema_version", K::OutOfRange { min: 1, max: u64::MAX }),
        ("/schema_version".into(), json!(1.5), "/schema_version", K::WrongType { expected: "an integer" }),
        ("/prompt_zones".into(), json!(["analysi"]), "/prompt_zones/0", missing("analysis")),
        ("/prompt_zones".into(), json!(["analysis", "analysis"]), "/prompt_zones/1", K::Duplicate),
        ("/prompt_zones".into(), json!("analysis"), "/prompt_zones", K::WrongType { expected: "a list" }),
        ("/roles/admin".into(), json!(["ra"]), "/roles/admin", K::Contradiction),
        ("/roles/agent".into(), json!([]), "/roles/agent", K::Contradiction),
        ("/roles/a b".into(), json!([]), "/roles/a b", K::InvalidName),
        ("/roles/arbiter".into(), json!(["rä"]), "/roles/arbiter/0", K::InvalidName),
        ("/roles/arbiter".into(), json!("rv"), "/roles/arbiter", K::WrongType { expected: "a list" }),
        ("/zones".into(), json!({}), "/zones", K::OutOfRange { min: 1, max: 128 }),
        ("/zones/a b".into(), json!({}), "/zones/a b", K::InvalidName),
        ("/zones/a~1b".into(), json!({}), "/zones/a~1b", K::InvalidName),
        ("/zones/analysis/acces".into(), json!("public"), "/zones/analysis/acces", unknown("access")),
        ("/zones/analysis/access".into(), json!("readonly"), "/zones/analysis/access", word(Some("read_only"))),
        ("/zones/analysis/tier".into(), json!("golden"), "/zones/analysis/tier", word(None)),
        ("/zones/analysis/owners/2".into(), json!("role:analist"), "/zones/analysis/owners/2", missing("analyst")),
        ("/zones/analysis/owners/2".into(), json!("ra"), "/zones/analysis/owners/2", K::Duplicate),
        ("/zones/analysis/readers/0".into(), json!("role:"), "/zones/analysis/readers/0", K::InvalidName),
        ("/zones/analysis/lifecycle".into(), json!("reviev"), "/zones/analysis/lifecycle", missing("review")),
        (
            "/zones/analysis/hold_ms".into(),
            json!(99),
            "/zones/analysis/hold_ms",
            K::OutOfRange { min: 100, max: 3_600_000 },
        ),
        (
            "/zones/analysis/hold_ms".into(),
            json!(-1),
            "/zones/analysis/hold_ms",
            K::OutOfRange { min: 100, max: 3_600_000 },
        ),
        ("/zones/analysis/max_hold_ms".into(), json!(400), "/zones/analysis/max_hold_ms", K::Contradiction),
        ("/zones/final/access".into(), json!("public"), "/zones/final/access", K::Contradiction),
        ("/zones/desk/access".into(), json!("shared"), "/zones/desk/access", K::Contradiction),
        ("/zones/desk/lifecycle".into(), json!("review"), "/zones/desk/lifecycle", K::Contradiction),
        ("/zones/desk/hold_ms".into(), json!(100), "/zones/desk/hold_ms", K::Contradiction),
        (format!("{review}/initial"), json!([]), "/lifecycles/review/initial", K::OutOfRange { min: 1, max: 64 }),
        (format!("{review}/initial/0"), json!("a b"), "/lifecycles/review/initial/0", K::InvalidName),
        (
            format!("{review}/transitions/4"),
            json!({"from": "raw"}),
            "/lifecycles/review/transitions/4/to",
            K::MissingMember,
        ),
        (
            format!("{review}/transitions/4"),
            json!({"from": "raw", "to": "processing", "by": ["owner"]}),
            "/lifecycles/review/transitions/4",
            K::Duplicate,
        ),
        (
            format!("{review}/transitions/4"),
            json!({"from": "raw", "to": "raw"}),
            "/lifecycles/review/transitions/4",
            K::Contradiction,
        ),
        (
            format!("{review}/transitions/0/by"),
            json!("owner"),
            "/lifecycles/review/transitions/0/by",
            K::WrongType { expected: "a list" },
        ),
        (
            format!("{review}/transitions/0/by"),
            json!([]),
            "/lifecycles/review/transitions/0/by",
            K::OutOfRange { min: 1, max: 64 },
        ),
        (
            format!("{review}/transitions/0/by"),
            json!(["zone-owner"]),
            "/lifecycles/review/transitions/0/by/0",
            word(Some("zone_owner")),
        ),
        (format!("{review}/transitions/0/via"), json!("early"), "/lifecycles/review/transitions/0/via", word(None)),
        (format!("{review}/locked"), json!(["confirmd"]), "/lifecycles/review/locked/0", missing("confirmed")),
        (format!("{review}/on_edit/confirmed"), json!("raww"), "/lifecycles/review/on_edit/confirmed", missing("raw")),
        (format!("{review}/on_edit/zzz"), json!("raw"), "/lifecycles/review/on_edit/zzz", no_such()),
        (format!("{review}/on_edit/raw"), json!("raw"), "/lifecycles/review/on_edit/raw", K::Contradiction),
        (
            format!("{review}/on_lease_expired/raw"),
            json!(1),
            "/lifecycles/review/on_lease_expired/raw",
            K::WrongType { expected: "a text" },
        ),
        ("/slots/profile".into(), json!({}), "/slots/profile", K::InvalidName),
        ("/slots/analysys~1x".into(), json!({}), "/slots/analysys~1x", missing("analysis")),
        ("/slots/analysis~1a*".into(), json!({}), "/slots/analysis~1a*", K::InvalidName),
        ("/slots/analysis~1log/kind".into(), json!("lists"), "/slots/analysis~1log/kind", word(Some("list"))),
        (
            "/slots/analysis~1log/schema".into(),
            json!(true),
            "/slots/analysis~1log/schema",
            K::WrongType { expected: "an object" },
        ),
        (
            "/slots/analysis~1log/weight".into(),
            json!(1.5),
            "/slots/analysis~1log/weight",
            K::OutOfRange { min: 0, max: 1 },
        ),
        ("/slots/analysis~1log/weight".into(), json!(0.123_456_7), "/slots/analysis~1log/weight", word(None)),
        (
            "/slots/analysis~1log/trim".into(),
            json!(1),
            "/slots/analysis~1log/trim",
            K::WrongType { expected: "true or false" },
        ),
        ("/slots/analysis~1log/candidates".into(), json!(true), "/slots/analysis~1log/candidates", K::Contradiction),
        ("/slots/analysis~1log/fields".into(), json!({"a": {}}), "/slots/analysis~1log/fields", K::Contradiction),
        (
            "/slots/analysis~1profile/fields/gpa/max_items".into(),
            json!(3),
            "/slots/analysis~1profile/fields/gpa/max_items",
            K::Contradiction,
        ),
        (
            "/slots/analysis~1profile/fields/gpa/wieght".into(),
            json!(1),
            "/slots/analysis~1profile/fields/gpa/wieght",
            unknown("weight"),
        ),
        ("/confidence/levels".into(), json!(["a", "a"]), "/confidence/levels/1", K::Duplicate),
        ("/confidence/levels".into(), json!([]), "/confidence/levels", K::OutOfRange { min: 1, max: 16 }),
        ("/confidence/cap/agent".into(), json!("gues"), "/confidence/cap/agent", missing("guess")),
        ("/confidence/cap/analist".into(), json!("guess"), "/confidence/cap/analist", missing("analyst")),
        (
            "/arbitration/difference".into(),
            json!("half"),
            "/arbitration/difference",
            K::WrongType { expected: "a number between 0 and 1" },
        ),
        ("/arbitration/on_conflict".into(), json!("yeild"), "/arbitration/on_conflict", word(Some("yield"))),
        ("/triggers/a b".into(), json!({"agent": "ra", "on": {}}), "/triggers/a b", K::InvalidName),
        ("/triggers/t".into(), json!({"on": {}}), "/triggers/t/agent", K::MissingMember),
        ("/triggers/t".into(), json!({"agent": "ra", "on": {"zones": ["zz"]}}), "/triggers/t/on/zones/0", no_such()),
        ("/triggers/on-ready/webhook".into(), json!("ftp://x"), "/triggers/on-ready/webhook", word(None)),
        ("/messages/report/schemas".into(), json!({}), "/messages/report/schemas", K::OutOfRange { min: 1, max: 16 }),
        ("/messages/report/schemas/01".into(), json!({}), "/messages/report/schemas/01", K::InvalidName),
        ("/retention/revisions".into(), json!(0), "/retention/revisions", K::OutOfRange { min: 1, max: u64::MAX }),
        (
            "/limits/value_bytes_max".into(),
            json!(262_145),
            "/limits/value_bytes_max",
            K::RaisesLimit { server: 262_144 },
        ),
        (
            "/limits/value_bytes_max".into(),
            json!(0),
            "/limits/value_bytes_max",
            K::OutOfRange { min: 1, max: u64::MAX },
        ),
        ("/limits/value_byte_max".into(), json!(1), "/limits/value_byte_max", unknown("value_bytes_max")),
    ];
    for (pointer, value, place, kind) in cases {
        let flaws = flaws_with(&pointer, value.clone());
        let found: Vec<(&str, &FlawKind)> = flaws.iter().map(|flaw| (flaw.pointer.as_str(), &flaw.kind)).collect();
        assert!(
            found.contains(&(place, &kind)),
            "{pointer} = {value}: expected {kind:?} at {place:?}, found {flaws:#?}"
        );
        assert!(pointer.is_empty() || pointer == "/zones" || flaws.len() == 1, "{pointer} = {value}: {flaws:#?}");
    }
}

#[test]
fn a_blueprint_without_name_or_zones_is_told_both() {
    let flaws = Blueprint::from_value(&json!({})).expect_err("empty");
    let found: Vec<(&str, &FlawKind)> = flaws.iter().map(|flaw| (flaw.pointer.as_str(), &flaw.kind)).collect();
    assert_eq!(found, [("/name", &FlawKind::MissingMember), ("/zones", &FlawKind::MissingMember)]);
}

#[test]
fn every_flaw_is_reported_up_to_a_bound() {
    let many: serde_json::Map<String, Value> = (0..500).map(|i| (format!("x{i}"), json!(1))).collect();
    let flaws = Blueprint::from_value(&Value::Object(many)).expect_err("unknown");
    assert_eq!(flaws.len(), flaw::FLAWS_MAX);
    let flaws = flaws_with("/xyzzy", json!("\u{1b}[31m"));
    assert!(flaws[0].detail.is_ascii() && !flaws[0].detail.contains('\u{1b}'));
}

#[test]
fn every_collection_is_bounded() {
    let keyed = |n: usize, value: Value| -> Value { (0..n).map(|i| (format!("n{i}"), value.clone())).collect() };
    let slots: Value = (0..513).map(|i| (format!("analysis/n{i}"), json!({}))).collect();
    let lifecycle = json!({"initial": ["a"], "transitions": []});
    let chain: Vec<Value> = (0..70).map(|i| json!({"from": format!("s{i}"), "to": format!("s{}", i + 1)})).collect();
    let star: Vec<Value> = (0..1_025).map(|i| json!({"from": format!("s{i}"), "to": "x"})).collect();
    let cases = [
        ("/roles", keyed(65, json!([])), "/roles", ROLES_MAX),
        ("/zones", keyed(129, json!({})), "/zones", ZONES_MAX),
        ("/lifecycles", keyed(65, lifecycle), "/lifecycles", LIFECYCLES_MAX),
        ("/slots", slots, "/slots", SLOTS_MAX),
        ("/triggers", keyed(257, json!({"agent": "ra", "on": {}})), "/triggers", TRIGGERS_MAX),
        ("/lifecycles/review", json!({"initial": ["s0"], "transitions": chain}), "/lifecycles/review", 64),
        ("/lifecycles/review", json!({"initial": ["x"], "transitions": star}), "/lifecycles/review/transitions", 1_024),
    ];
    for (pointer, value, place, max) in cases {
        let flaws = flaws_with(pointer, value);
        let found = flaws.iter().any(|flaw| flaw.pointer == place && flaw.kind == FlawKind::TooMany { max });
        assert!(found, "{pointer}: {flaws:?}");
    }
    let flaws = flaws_with("/slots/analysis~1profile/schema", json!({"description": "x".repeat(262_144)}));
    assert_eq!((flaws[0].pointer.as_str(), &flaws[0].kind), ("", &FlawKind::TooLarge { bytes_max: 262_144 }));
}

#[test]
fn a_blueprint_that_its_defaults_make_too_large_is_refused_at_once_and_not_when_it_is_read_back() {
    let fields: serde_json::Map<String, Value> = (0..250).map(|i| (format!("f{i}"), json!({}))).collect();
    let slots: serde_json::Map<String, Value> =
        (0..20).map(|i| (format!("z/{i}"), json!({"kind": "document", "fields": fields}))).collect();
    let blueprint = json!({"name": "a", "zones": {"z": {}}, "slots": slots});
    assert!(blueprint.to_string().len() < BLUEPRINT_BYTES_MAX);
    let flaws = Blueprint::from_value(&blueprint).expect_err("too large");
    assert_eq!((flaws.len(), &flaws[0].kind), (1, &FlawKind::TooLarge { bytes_max: BLUEPRINT_BYTES_MAX }));
}
