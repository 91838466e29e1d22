//! What paths, differences and assignments promise, one sentence each.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn path(text: &str) -> Path {
    Path::parse(text).expect(text)
}

#[test]
fn the_three_spellings_of_a_path_are_read() {
    assert!(path("").is_root());
    assert_eq!(path("/a/b"), path("a.b"));
    assert_eq!(path(r"a\.b.c\\d").segments(), ["a.b", r"c\d"]);
    assert_eq!(path("/a~1b/~01").segments(), ["a/b", "~1"]);
    assert_eq!(path("/").segments(), [""]);
    assert_eq!(path("意向.国家").to_string(), "/意向/国家");
    assert_eq!(path("a/b").segments(), ["a/b"], "without a slash in front it is a dotted path");
}

#[test]
fn a_wrong_path_says_which_rule_it_breaks() {
    let refused = |text: &str| Path::parse(text).expect_err(text);
    for text in [".", "a.", ".a", "a..b"] {
        assert_eq!(refused(text), InvalidPath::EmptySegment);
    }
    for text in ["/~", "/~2", "/a~"] {
        assert_eq!(refused(text), InvalidPath::Tilde);
    }
    for text in [r"a\b", r"a\"] {
        assert_eq!(refused(text), InvalidPath::Backslash);
    }
    assert!(Path::parse(&"/a".repeat(32)).is_ok());
    assert_eq!(refused(&"/a".repeat(33)), InvalidPath::TooManySegments);
    assert!(Path::parse(&"a".repeat(256)).is_ok());
    assert_eq!(refused(&"a".repeat(257)), InvalidPath::SegmentTooLong);
}

#[test]
fn a_path_starts_with_itself_and_its_parents_only() {
    assert!(path("a.b").starts_with(&Path::ROOT));
    assert!(path("a.b").starts_with(&path("a")) && path("a.b").starts_with(&path("a.b")));
    assert!(!path("ab").starts_with(&path("a")) && !path("a").starts_with(&path("a.b")));
}

#[test]
fn an_index_has_one_spelling() {
    let value = json!({"l": [10, 20], "01": 1});
    assert_eq!(path("l.1").get(&value), Some(&json!(20)));
    for text in ["/l/01", "/l/-", "/l/2", "/l/+1", "/l/", "/l/99999999999999999999", "/l/0/x"] {
        assert_eq!(path(text).get(&value), None, "{text}");
    }
    assert_eq!(path("01").get(&value), Some(&json!(1)));
    assert_eq!(path("").get(&value), Some(&value));
}

#[test]
fn setting_creates_the_objects_on_the_way_and_touches_no_sibling() {
    let mut value = json!({"a": 1});
    assert_eq!(assign(&mut value, &path("b.c.0"), Some(json!(2))), Ok(Assigned::Added));
    assert_eq!(value, json!({"a": 1, "b": {"c": {"0": 2}}}));
    assert_eq!(assign(&mut value, &path("b.c"), Some(json!([1, 2]))), Ok(Assigned::Replaced));
    assert_eq!(assign(&mut value, &path("b.c.1"), Some(json!({"x": 1}))), Ok(Assigned::Replaced));
    assert_eq!(assign(&mut value, &path("b.c.1.y"), Some(json!(2))), Ok(Assigned::Added));
    assert_eq!(value, json!({"a": 1, "b": {"c": [1, {"x": 1, "y": 2}]}}));
    assert_eq!(assign(&mut value, &Path::ROOT, Some(json!(7))), Ok(Assigned::Replaced));
    assert_eq!(value, json!(7));
}

#[test]
fn what_is_in_the_way_is_named_and_nothing_changes() {
    let before = json!({"n": 1, "z": null, "l": [1]});
    let refused = |text: &str| {
        let mut value = before.clone();
        let error = assign(&mut value, &path(text), Some(json!(0))).expect_err(text);
        assert_eq!(value, before);
        error
    };
    assert_eq!(refused("n.x.y"), PathError::ThroughScalar { at: path("n") });
    assert_eq!(refused("z.x"), PathError::ThroughScalar { at: path("z") });
    assert_eq!(refused("l.0.x"), PathError::ThroughScalar { at: path("l.0") });
    for text in ["/l/1", "/l/-", "/l/00", "/l/name"] {
        assert_eq!(refused(text), PathError::IndexOutOfRange { at: path(text) });
    }
    assert_eq!(refused("/l/1/x"), PathError::IndexOutOfRange { at: path("/l/1") });
}

#[test]
fn removing_takes_the_leaf_and_is_no_error_when_there_is_none() {
    let mut value = json!({"a": {"b": 1}, "l": [1, 2, 3]});
    for text in ["x", "a.x", "a.b.c", "/l/3", "/l/-", "x.y.z"] {
        assert_eq!(assign(&mut value, &path(text), None), Ok(Assigned::Unchanged), "{text}");
    }
    assert_eq!(assign(&mut value, &path("a.b"), None), Ok(Assigned::Removed));
    assert_eq!(assign(&mut value, &path("l.1"), None), Ok(Assigned::Removed));
    assert_eq!(value, json!({"a": {}, "l": [1, 3]}));
    assert_eq!(assign(&mut value, &Path::ROOT, None), Err(PathError::RemovesWhole));
}

#[test]
fn names_with_a_meaning_elsewhere_are_plain_data() {
    let mut value = json!({});
    for name in ["__proto__", "constructor", "$ref", "$serde_json::private::RawValue"] {
        let at = Path::ROOT.join(name).join("x");
        assert_eq!(assign(&mut value, &at, Some(json!(1))), Ok(Assigned::Added));
        assert_eq!(at.get(&value), Some(&json!(1)));
    }
}

#[test]
fn a_difference_names_the_smallest_places_and_takes_an_array_as_one() {
    let old = json!({"a": {"x": 1, "y": 2}, "l": [1, 2], "gone": {"z": 1}, "same": 1, "t": {}});
    let new = json!({"a": {"x": 1.0, "y": 3}, "l": [1, 3], "new": [], "same": 1, "t": 1});
    let shown: Vec<_> = diff(&old, &new, 10).iter().map(Path::to_string).collect();
    assert_eq!(shown, ["/a/y", "/gone", "/l", "/new", "/t"]);
    assert_eq!(diff(&old, &new, 2).len(), 2);
    assert_eq!(diff(&old, &new, 0), []);
    assert_eq!(diff(&old, &old, 10), []);
    assert_eq!(diff(&json!(1), &json!("1"), 10), [Path::ROOT]);
}

#[test]
fn a_path_is_serialised_as_its_pointer() {
    let text = serde_json::to_string(&path(r"a.b\.c")).expect("serialises");
    assert_eq!(text, r#""/a/b.c""#);
    assert_eq!(serde_json::from_str::<Path>(&text).expect("reads"), path(r"a.b\.c"));
    assert!(serde_json::from_str::<Path>(r#""a..b""#).is_err());
}

proptest! {
    #[test]
    fn every_path_reads_back_from_its_pointer(segments in prop::collection::vec(".{0,8}|[~/.0-9\\\\]{0,3}", 0..6)) {
        let mut path = Path::ROOT;
        segments.iter().for_each(|segment| path.push(segment));
        prop_assert_eq!(Path::parse(&path.to_string()), Ok(path));
    }

    #[test]
    fn reading_a_path_never_panics(text in "[a~/.\\\\0-9é]{0,12}") {
        drop(Path::parse(&text));
    }

    #[test]
    fn what_was_set_is_there_and_is_the_only_difference(segments in prop::collection::vec("[ab]", 1..4), leaf in any::<i64>()) {
        let mut value = json!({"a": {"a": {"b": 1}}, "b": {}});
        let before = value.clone();
        let mut path = Path::ROOT;
        segments.iter().for_each(|segment| path.push(segment));
        if assign(&mut value, &path, Some(json!(leaf))).is_ok() {
            prop_assert_eq!(path.get(&value), Some(&json!(leaf)));
            for changed in diff(&before, &value, 10) {
                prop_assert!(changed.starts_with(&path) || path.starts_with(&changed));
            }
        } else {
            prop_assert_eq!(before, value);
        }
    }
}
