//! `config/kokuban.example.toml`: every key with its true default, a reason, its unit, and whether it needs a restart.

use super::*;

const EXAMPLE: &str = include_str!("../../../../../config/kokuban.example.toml");

/// The comments above the line of a key, and above its table.
fn words_about(key: &Key) -> (String, String) {
    let (table, member) = key.name.split_once('.').unwrap_or(("", key.name));
    let (mut comments, mut of_table) = (String::new(), String::new());
    let mut at = String::new();
    for line in EXAMPLE.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            comments += comment;
            comments.push(' ');
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            at = name.to_owned();
            of_table = std::mem::take(&mut comments);
        } else if at == table && line.split(" =").next() == Some(member) {
            return (comments, of_table);
        }
        comments.clear();
    }
    panic!("{} is missing in the example", key.name);
}

#[test]
fn it_says_the_defaults_and_leaves_no_key_out() {
    let config = read(EXAMPLE).unwrap();
    let data = PathBuf::from("/etc/kokuban-data");
    assert_eq!(config, Config { data, ..Config::default() });
    let given = Effective::read(Some((Path::new("/etc/kokuban.toml"), EXAMPLE)), &Sources::default()).unwrap();
    for shown in given.settings() {
        assert!(shown.origin.starts_with("/etc/kokuban.toml:"), "{} is missing in the example", shown.key);
    }
}

#[test]
fn every_key_has_its_reason_and_unit_and_says_whether_it_needs_a_restart() {
    for key in KEYS {
        let (words, of_table) = words_about(key);
        assert!(words.len() + of_table.len() > 25, "{}: why would one change it? {words}", key.name);
        for (part, unit) in
            [("_ms", "milliseconds"), ("_bytes_", "bytes"), ("_percent_", "percent"), ("_per_s_", "second")]
        {
            if key.name.contains(part) {
                assert!(format!("{words}{of_table}").to_lowercase().contains(unit), "{}: {words}", key.name);
            }
        }
        assert_eq!(words.contains("Restart."), key.change == Change::AtStart, "{}: {words}", key.name);
    }
}

#[test]
fn what_it_shows_commented_out_is_valid_too() {
    let text: Vec<_> = EXAMPLE
        .lines()
        .map(|l| l.strip_prefix('#').filter(|r| !r.is_empty() && !r.starts_with(' ')).unwrap_or(l))
        .collect();
    let config = read(&text.join("\n").replace("auth = \"open\"", "auth = \"token\"")).unwrap();
    assert_eq!((config.tokens.len(), config.boards.len()), (1, 1));
    assert_eq!(config.tokens[0].roles, [ServerRole::Observer]);
    assert_eq!(config.rule_for("order-7").unwrap().blueprint.as_str(), "pipeline");
    assert!(config.rule_for("other").is_none());
}

#[test]
fn variables_that_are_no_settings_are_documented() {
    let guide = include_str!("../../../../../docs/operations.md");
    for name in OTHER_VARIABLES.iter().chain([&TOKENS_VARIABLE]) {
        assert!(guide.contains(&format!("`{name}`")), "{name} is missing in docs/operations.md");
    }
}
