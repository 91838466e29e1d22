//! What reading, comparing and storing promise, one sentence each.

use serde_json::json;

use super::*;
use crate::ids::Sha256;

fn read(text: &str) -> Result<Value, Error> {
    parse(text.as_bytes(), &Bounds::default())
}

fn refused(text: &str) -> Error {
    read(text).expect_err(text)
}

fn stored(text: &str) -> String {
    Json::from_value(&read(text).expect(text)).as_str().to_owned()
}

fn unrepresentable(pointer: &str) -> Error {
    Error::NumberNotRepresentable { pointer: pointer.into() }
}

fn too_complex(pointer: &str, what: Bound, max: usize) -> Error {
    Error::TooComplex { pointer: pointer.into(), what, max }
}

#[test]
fn a_member_named_twice_is_refused_however_it_is_spelled() {
    assert_eq!(refused(r#"{"a":1,"\u0061":2}"#), Error::DuplicateMember { pointer: "/a".into() });
    assert_eq!(refused(r#"{"l":[0,{"x/y":1,"x/y":1}]}"#), Error::DuplicateMember { pointer: "/l/1/x~1y".into() });
    assert!(read(r#"{"a":{"a":1},"A":2}"#).is_ok());
}

#[test]
fn what_is_not_json_is_malformed() {
    let texts: &[&[u8]] = &[
        b"",
        b" ",
        b"{",
        b"[1,]",
        b"{\"a\":1,}",
        b"[1] x",
        b"1 2",
        b"NaN",
        b"[Infinity]",
        b"-",
        b"01",
        b"+1",
        b".5",
        b"1.",
        b"1e",
        b"\"\\ud800\"",
        b"\"\\udc00\"",
        b"\"\\ud800\\u0041\"",
        b"{\"\\ud800\":1}",
        b"\"\x01\"",
        b"\"\\x\"",
        b"\"\xff\"",
        b"{\"\xc3\":1}",
        b"\xef\xbb\xbf1",
        b"'a'",
        b"{a:1}",
        b"[1 2]",
        b"tru",
        b"//\n1",
        b"\"\xed\xa0\x80\"",
    ];
    for text in texts {
        let outcome = parse(text, &Bounds::default());
        assert!(matches!(outcome, Err(Error::Malformed { .. })), "{}: {outcome:?}", String::from_utf8_lossy(text));
    }
    assert!(read(r#""\ud83d\ude00""#).is_ok());
}

#[test]
fn a_malformed_text_is_told_its_place() {
    let Error::Malformed { line, column, what } = refused("{\n  \"a\": nux\n}") else { panic!("another error") };
    assert_eq!((line, column, what.as_str()), (2, 10, "expected ident"));
    let Err(Error::Malformed { line, column, .. }) = parse(b"{\n\"\xff\"}", &Bounds::default()) else { panic!() };
    assert_eq!((line, column), (2, 2));
}

#[test]
fn integers_are_kept_exactly_or_refused() {
    for text in ["0", "-1", "9007199254740993", "-9223372036854775808", "18446744073709551615"] {
        assert_eq!(stored(text), text);
    }
    for text in ["18446744073709551616", "-9223372036854775809", "1000000000000000000000000"] {
        assert_eq!(refused(text), unrepresentable(""));
        assert_eq!(refused(&format!(r#"{{"s":"1e400","a":[1,{text}]}}"#)), unrepresentable("/a/1"));
    }
    assert_eq!(stored("-0"), "0");
}

#[test]
fn doubles_are_kept_exactly_or_refused() {
    for text in ["1e400", "-1e400", "1e-400", "0.000001e-400", "1e99999999999", "1.7976931348623159e308"] {
        assert_eq!(refused(&format!("[0, {text}]")), unrepresentable("/1"), "{text}");
    }
    for text in ["0e-999", "0.0", "-0.0", "0e5", "-0.00E+7"] {
        assert_eq!(stored(text), "0", "{text}");
    }
    assert!(read("1.7976931348623157e308").is_ok() && read("5e-324").is_ok() && read("1e20").is_ok());
    let value = read("[1.0, 1e2, 1]").expect("numbers");
    assert!(value[0].is_f64() && value[1].is_f64() && value[2].is_u64());
}

/// Field case H11.
#[test]
fn doubles_that_other_stores_changed_read_back_the_same() {
    let doubles: [f64; 5] = [117.63331139400017, 9007199254740991.0, -8.990567403888024e-203, 0.1, 5e-324];
    let text = stored("[117.63331139400017, 9007199254740991.0, -8.990567403888024e-203, 0.1, 5e-324]");
    assert_eq!(text, "[117.63331139400017,9007199254740991,-8.990567403888024e-203,0.1,5e-324]");
    let back = read(&text).expect("stored");
    for (index, double) in doubles.iter().enumerate() {
        assert_eq!(back[index].as_f64().map(f64::to_bits), Some(double.to_bits()));
    }
}

#[test]
fn another_fault_is_told_before_a_number_wherever_it_stands() {
    assert!(matches!(refused("[1e400, }"), Error::Malformed { column: 9, .. }));
    assert!(matches!(refused("[18446744073709551616, \"\\ud800\"]"), Error::Malformed { .. }));
    assert!(matches!(refused("[1e-400] x"), Error::Malformed { column: 10, .. }));
    assert!(matches!(refused("[1e400, 01]"), Error::Malformed { .. }));
    assert_eq!(refused(r#"{"n":1e400,"a":1,"a":2}"#), Error::DuplicateMember { pointer: "/a".into() });
    assert_eq!(refused(&format!("[1e400,{}{}]", "[".repeat(32), "]".repeat(32))), {
        too_complex(&format!("/1{}", "/0".repeat(31)), Bound::Depth, 32)
    });
    assert_eq!(refused(r#"{"a":"\"1e999","b":[2e999,3e999]}"#), unrepresentable("/b/0"));
}

#[test]
fn depth_ends_at_the_bound_and_not_at_the_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(32)).is_ok());
    assert_eq!(refused(&nested(33)), too_complex(&"/0".repeat(32), Bound::Depth, 32));
    assert!(matches!(refused(&"[".repeat(100_000)), Error::TooComplex { what: Bound::Depth, .. }));
    assert!(matches!(refused(&"{\"a\":".repeat(100_000)), Error::TooComplex { what: Bound::Depth, .. }));
    assert!(read(&format!("{}1{}", "[".repeat(32), "]".repeat(32))).is_ok(), "a scalar adds no depth");
    let body = parse(nested(36).as_bytes(), &Bounds::body()).expect("a body may be deeper");
    assert!(check(&body, &Bounds::default(), "").is_err());
}

#[test]
fn nodes_and_names_are_bounded() {
    let items = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    assert!(read(&items(9_999)).is_ok());
    assert_eq!(refused(&items(10_000)), too_complex("/9999", Bound::Nodes, 10_000));
    let named = |len: usize| format!(r#"{{"o":{{"{}":1}}}}"#, "n".repeat(len));
    assert!(read(&named(256)).is_ok());
    assert_eq!(refused(&named(257)), too_complex("/o", Bound::MemberNameBytes, 256));
}

#[test]
fn a_read_value_is_judged_like_a_text() {
    let strict = Bounds::default();
    let judged = |text: &str| {
        let value = parse(text.as_bytes(), &Bounds::UNBOUNDED).expect("JSON");
        (check(&value, &strict, ""), parse(text.as_bytes(), &strict).map(drop))
    };
    let texts = [
        format!("{}{}", "[".repeat(33), "]".repeat(33)),
        format!("{}1{}", "[".repeat(32), "]".repeat(32)),
        format!("[{}]", vec!["1"; 10_000].join(",")),
        format!(r#"{{"o~":{{"{}":1}}}}"#, "n".repeat(257)),
    ];
    for text in &texts {
        let (checked, parsed) = judged(text);
        assert_eq!(checked, parsed);
    }
    let value = json!([[[[]]]]);
    let bounds = Bounds { depth_max: 3, ..strict };
    assert_eq!(check(&value, &bounds, "/value"), Err(too_complex("/value/0/0/0", Bound::Depth, 3)));
}

#[test]
fn names_that_serde_json_reserves_are_data() {
    for name in ["$serde_json::private::RawValue", "$serde_json::private::Number", "__proto__"] {
        let text = format!(r#"{{"{name}":"[1,"}}"#);
        let json = Json::from_value(&read(&text).expect("an object"));
        assert_eq!(json.as_str(), text);
        assert_eq!(Json::from_canonical_bytes(json.bytes()), Ok(json.clone()));
        assert_eq!(serde_json::from_str::<Json>(&text).expect("an object"), json);
        assert!(equal(&json.to_value(), &read(&text).expect("an object")));
    }
}

#[test]
fn equality_is_by_number_and_ignores_the_order_of_members() {
    let same = |a: &str, b: &str| equal(&read(a).expect(a), &read(b).expect(b));
    for (a, b) in [
        ("1", "1.0"),
        ("0", "-0.0"),
        ("100", "1e2"),
        ("9007199254740992", "9007199254740992.0"),
        ("-9223372036854775808", "-9223372036854775808.0"),
        ("9223372036854775808", "9.223372036854775808e18"),
        (r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1e0}"#),
    ] {
        assert!(same(a, b), "{a} {b}");
    }
    for (a, b) in [
        ("9007199254740993", "9007199254740992.0"),
        ("18446744073709551615", "18446744073709551616.0"),
        ("1", "true"),
        ("-1", "1"),
        ("1", "1.5"),
        ("0", "null"),
        ("[1,2]", "[2,1]"),
        ("[1]", "[1,1]"),
        ("{}", "[]"),
        ("1", r#""1""#),
        (r#"{"a":1}"#, r#"{"b":1}"#),
        (r#"{"a":null}"#, "{}"),
        ("-9223372036854775807", "-9223372036854775808.0"),
    ] {
        assert!(!same(a, b) && !same(b, a), "{a} {b}");
    }
}

#[test]
fn the_stored_form_sorts_escapes_and_shortens() {
    assert_eq!(stored(r#" { "b" : 1 , "a" : [ true , null , 1.50 ] } "#), r#"{"a":[true,null,1.5],"b":1}"#);
    assert_eq!(
        stored(r#""\u0000\u001F\b\t\n\f\r\"\\\/\u007f\u20ac\ud83d\ude00""#),
        "\"\\u0000\\u001f\\b\\t\\n\\f\\r\\\"\\\\/\u{7f}€😀\""
    );
    // RFC 8785 §3.2.3: by UTF-16 code units, which puts U+FB33 behind U+1F600.
    assert_eq!(
        stored(r#"{"\ufb33":1,"\ud83d\ude00":2,"\u0080":3,"1":4}"#),
        "{\"1\":4,\"\u{80}\":3,\"😀\":2,\"\u{fb33}\":1}"
    );
}

#[test]
fn doubles_from_2_pow_53_on_carry_an_exponent() {
    for (text, form) in [
        ("1e20", "1e+20"),
        ("9007199254740992.0", "9.007199254740992e+15"),
        ("-1.5e18", "-1.5e+18"),
        ("1e21", "1e+21"),
        ("123456789012345678901.0", "1.2345678901234568e+20"),
        ("9007199254740991.0", "9007199254740991"),
        ("1e0", "1"),
        ("1e-7", "1e-7"),
        ("0.000001", "0.000001"),
    ] {
        assert_eq!(stored(text), form);
        assert_eq!(stored(form), form);
    }
}

#[test]
fn the_hash_is_over_rfc_8785_with_integers_in_full() {
    let hash = |text: &str| Json::from_value(&read(text).expect(text)).sha256();
    assert_eq!(hash(r#"{"b":1.0,"a":"x"}"#), Sha256::of(br#"{"a":"x","b":1}"#));
    assert_eq!(hash("[1e20,1e21]"), Sha256::of(b"[100000000000000000000,1e+21]"));
    assert_eq!(hash("9007199254740993"), Sha256::of(b"9007199254740993"));
    assert_eq!(hash("9007199254740992"), hash("9007199254740992.0"));
}

#[test]
fn only_the_stored_form_is_taken_as_such() {
    let taken = |text: &'static str| Json::from_canonical_bytes(text.as_bytes());
    assert!(taken(r#"{"a":[1,1e+20,"é"],"b":{}}"#).is_ok());
    for text in [
        "",
        "[1",
        r#"{"b":1,"a":2}"#,
        r#"{"a":1,"a":2}"#,
        "[1, 2]",
        "1.0",
        "1e20",
        r#""\u0061""#,
        "18446744073709551616",
        "1e400",
        r#""\ud800""#,
        "1 ",
        "1 1",
        "-0",
    ] {
        assert_eq!(taken(text), Err(NotCanonical), "{text}");
    }
}

#[test]
fn stored_bytes_of_any_depth_do_not_reach_the_end_of_the_stack() {
    assert_eq!(Json::from_canonical_bytes("[".repeat(1_000_000).as_bytes()), Err(NotCanonical));
    assert!(serde_json::from_str::<Json>(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn a_stored_value_is_inline_json_in_a_record() {
    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    #[serde(tag = "kind")]
    enum Event {
        Written { key: String, value: Option<Json> },
    }
    let value = Json::from_value(&json!({"z": [1e20, 18446744073709551615_u64], "a": "\n"}));
    let event = Event::Written { key: "k".into(), value: Some(value.clone()) };
    let text = serde_json::to_string(&event).expect("serialises");
    assert_eq!(text, format!(r#"{{"kind":"Written","key":"k","value":{}}}"#, value.as_str()));
    assert_eq!(serde_json::from_str::<Event>(&text).expect("reads"), event);
    let pretty =
        serde_json::from_str::<Json>("{ \"z\": [100000000000000000000.0, 18446744073709551615], \"a\": \"\\u000a\" }");
    assert_eq!(pretty.expect("reads"), value);
    assert!(serde_json::from_str::<Json>(r#"{"b":1,"a":2,"b":3}"#).is_err());
    let through_tree = serde_json::to_value(&value).expect("a tree");
    assert_eq!(serde_json::from_value::<Json>(through_tree).expect("reads"), value);
}

#[test]
fn a_stored_value_never_shows_in_debug_output() {
    assert_eq!(format!("{:?}", Json::from_value(&json!("secret"))), "Json(<8 bytes>)");
}
