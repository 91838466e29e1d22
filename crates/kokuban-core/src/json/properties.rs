//! What holds for every value and every text, by generated ones.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(|n| json!(n)),
        any::<u64>().prop_map(|n| json!(n)),
        (-20_i64..20).prop_map(|n| json!(n)),
        (-20_i32..20).prop_map(|n| json!(f64::from(n) / 2.0)),
        prop::num::f64::NORMAL.prop_map(|n| json!(n)),
        prop::num::f64::SUBNORMAL.prop_map(|n| json!(n)),
        (any::<u64>(), 1_u64..4096).prop_map(|(n, by)| json!((n / by) as f64)),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any_number(),
        ".{0,8}".prop_map(Value::String),
        "[a-z\\x00-\\x1f\\\\\"\u{e000}\u{1f600}]{0,4}".prop_map(Value::String),
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((".{0,3}|[ab\u{e000}\u{ffff}\u{1f600}\u{d7ff}]{0,2}", inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn has_huge_double(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|d| d.abs() >= 9_007_199_254_740_992.0),
        Value::Array(items) => items.iter().any(has_huge_double),
        Value::Object(members) => members.values().any(has_huge_double),
        _ => false,
    }
}

proptest! {
    #[test]
    fn every_value_reads_back_equal_and_has_one_form(value in any_value()) {
        let json = Json::from_value(&value);
        let back = json.to_value();
        prop_assert!(equal(&value, &back));
        let again = Json::from_value(&back);
        prop_assert_eq!(json.as_str(), again.as_str());
        let loaded = Json::from_canonical_bytes(json.bytes());
        prop_assert_eq!(loaded.as_ref(), Ok(&json));
        prop_assert_eq!(loaded.map(|loaded| loaded.sha256()), Ok(json.sha256()));
        prop_assert_eq!(serde_json::from_slice::<Json>(json.bytes()).expect("reads"), json);
    }

    #[test]
    fn any_spelling_of_a_value_has_its_form(value in any_value()) {
        let spelled = serde_json::to_vec_pretty(&value).expect("serialises");
        let read = parse(&spelled, &Bounds::default()).expect("JSON");
        prop_assert!(equal(&read, &value));
        prop_assert_eq!(Json::from_value(&read), Json::from_value(&value));
        prop_assert_eq!(serde_json::from_slice::<Json>(&spelled).expect("reads"), Json::from_value(&value));
    }

    #[test]
    fn equality_is_symmetric_and_agrees_with_the_hash(a in any_value(), b in any_value()) {
        prop_assert!(equal(&a, &a));
        prop_assert_eq!(equal(&a, &b), equal(&b, &a));
        if !has_huge_double(&a) && !has_huge_double(&b) {
            prop_assert_eq!(equal(&a, &b), Json::from_value(&a).sha256() == Json::from_value(&b).sha256());
        }
    }

    #[test]
    fn equality_of_numbers_agrees_with_the_hash(a in any_number(), b in any_number()) {
        let alike = equal(&a, &b);
        prop_assert_eq!(alike, equal(&b, &a));
        if !has_huge_double(&a) && !has_huge_double(&b) {
            prop_assert_eq!(alike, Json::from_value(&a).sha256() == Json::from_value(&b).sha256());
        }
    }

    #[test]
    fn names_are_ordered_by_utf_16(a in ".{0,3}|[a\u{e000}\u{ffff}\u{1f600}]{0,3}", b in ".{0,3}|[a\u{e000}\u{ffff}\u{1f600}]{0,3}") {
        prop_assert_eq!(compare_names(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
    }

    #[test]
    fn any_bytes_are_read_or_refused_as_serde_json_does(text in r#"[\[\]{},:"\\u0dea.+\-1E \n]{0,24}"#) {
        let ours = parse(text.as_bytes(), &Bounds::default());
        let theirs = serde_json::from_str::<Value>(&text);
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert!(equal(ours, theirs)),
            (Err(Error::Malformed { .. }), Err(_)) | (Err(Error::NumberNotRepresentable { .. } | Error::DuplicateMember { .. }), _) => {}
            _ => prop_assert!(false, "{:?} {:?}", ours, theirs),
        }
    }

    #[test]
    fn a_number_is_refused_or_the_nearest(text in r"-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?") {
        match parse(text.as_bytes(), &Bounds::default()) {
            Ok(value) if !text.contains(['.', 'e', 'E']) => {
                prop_assert_eq!(value.to_string(), if text == "-0" { "0" } else { text.as_str() });
            }
            Ok(value) => prop_assert_eq!(value.as_f64(), text.parse::<f64>().ok()),
            Err(error) => prop_assert_eq!(error, Error::NumberNotRepresentable { pointer: String::new() }),
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        drop(parse(&bytes, &Bounds::default()));
        drop(Json::from_canonical_bytes(&bytes));
    }
}
