//! Blueprint files: where in the text a flaw is reported, and what is no blueprint at all.

use super::*;

fn first(text: &str) -> (usize, usize, String) {
    let flaws = Blueprint::from_toml(text).expect_err("flawed");
    (flaws[0].line, flaws[0].column, flaws[0].flaw.pointer.clone())
}

#[test]
fn a_flaw_has_the_line_and_column_of_its_member() {
    let head = "name = \"a\"\n\n[zones.z]\n";
    assert_eq!(first(&format!("{head}acces = \"public\"\n")), (4, 1, "/zones/z/acces".into()));
    assert_eq!(first(&format!("{head}owners = [\"ra\",\n  \"r b\"]\n")), (5, 3, "/zones/z/owners/1".into()));
    assert_eq!(first(&format!("{head}[lifecycles.l]\ninitial = []")), (5, 1, "/lifecycles/l/initial".into()));
    assert_eq!(first(&format!("{head}[slots.\"z/ü\"]\nkind = \"x\"")), (5, 1, "/slots/z~1ü/kind".into()));
    let inline = "name = \"a\"\nzones = { \"区\" = { tier = \"scratch\", access = \"shared\" } }";
    assert_eq!(first(inline), (2, 37, "/zones/区/access".into()));
}

#[test]
fn a_missing_member_has_the_place_of_what_should_contain_it() {
    let text = "name = \"a\"\n[zones.z]\n[lifecycles.l]\ninitial = [\"a\"]\ntransitions = [\n  { from = \"a\" },\n]\n";
    assert_eq!(first(text), (6, 3, "/lifecycles/l/transitions/0/to".into()));
    assert_eq!(first("# nothing\n[zones.z]\n"), (1, 1, "/name".into()));
}

#[test]
fn what_is_not_toml_is_told_with_its_line() {
    let flaws = Blueprint::from_toml("name = \"a\"\nzones = {\n\n[x\n").expect_err("syntax");
    assert!(flaws.iter().all(|flaw| flaw.flaw.kind == FlawKind::Syntax && flaw.line >= 2), "{flaws:?}");
    let flaws = Blueprint::from_toml("name = \"a\"\nname = \"b\"\n").expect_err("twice");
    assert_eq!((flaws[0].line, &flaws[0].flaw.kind), (2, &FlawKind::Syntax));
    assert!(flaws[0].flaw.detail.contains("duplicate"), "{flaws:?}");
}

#[test]
fn a_value_that_json_does_not_have_is_refused() {
    for (value, kind) in [
        ("2024-01-01", FlawKind::WrongType { expected: "a text" }),
        ("nan", FlawKind::WrongType { expected: "a number" }),
        ("99999999999999999999", FlawKind::OutOfRange { min: 0, max: u64::MAX }),
    ] {
        let flaws = Blueprint::from_toml(&format!("name = \"a\"\nschema_version = {value}\n")).expect_err(value);
        assert_eq!((flaws.len(), flaws[0].line, &flaws[0].flaw.kind), (1, 2, &kind), "{value}");
    }
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    let dotted = vec!["a"; 100_000].join(".");
    let lists = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let tables = format!("{}1{}", "{a=".repeat(50_000), "}".repeat(50_000));
    let sources = [format!("{dotted} = 1"), format!("[{dotted}]"), format!("x = {lists}"), format!("x = {tables}")];
    for text in sources.iter().chain(&["x = ".to_owned() + &"[".repeat(40) + &"]".repeat(40)]) {
        assert!(Blueprint::from_toml(text).is_err());
    }
    let large = "#".repeat(2_000_000);
    assert!(matches!(Blueprint::from_toml(&large).expect_err("large")[0].flaw.kind, FlawKind::TooLarge { .. }));
}

#[test]
fn toml_and_json_say_the_same() {
    let text = r#"
name = "a"
[zones.z]
hold_ms = 0x3E8
[slots."z/a"]
weight = 0.3
[limits]
labels_max = 3_0
"#;
    let value = json!({"name": "a", "zones": {"z": {"hold_ms": 1000}}, "slots": {"z/a": {"weight": 0.3}},
        "limits": {"labels_max": 30}});
    assert_eq!(Blueprint::from_toml(text).expect("valid"), read(&value));
}

#[test]
fn the_line_of_any_pointer_can_be_asked_for() {
    let text = "name = \"a\"\n[zones.z]\ntier = \"scratch\"\n";
    for (pointer, line) in [("/zones/z/tier", 3), ("/zones/z/owners", 2), ("/limits/x", 1), ("", 1)] {
        assert_eq!(toml_line_of(text, pointer), line, "{pointer}");
    }
}

#[test]
fn a_value_may_nest_as_deep_as_any_value_of_ours() {
    let nested = |levels: usize| {
        let schema = format!("{}1{}", "{a=".repeat(levels), "}".repeat(levels));
        Blueprint::from_toml(&format!("name = \"a\"\n[zones.z]\n[slots.\"z/a\"]\nschema = {schema}\n"))
    };
    assert!(nested(29).is_ok());
    let flaws = nested(30).expect_err("too deep");
    assert_eq!((flaws[0].line, &flaws[0].flaw.kind), (4, &FlawKind::TooMany { max: 32 }));
}
