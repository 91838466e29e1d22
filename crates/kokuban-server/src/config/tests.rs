//! What a configuration may say, and what is said about one that is wrong.

use std::path::Path;

use super::*;

mod example;
mod shown;
mod succession;

fn read(text: &str) -> Result<Config, ConfigError> {
    both(Some((Path::new("/etc/kokuban.toml"), text)), &Sources::default())
}

fn both(file: Option<(&Path, &str)>, sources: &Sources) -> Result<Config, ConfigError> {
    Effective::read(file, sources).map(|effective| effective.config)
}

fn env(pairs: &[(&str, &str)]) -> Sources {
    Sources { env: pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(), ..Sources::default() }
}

fn flaws(result: Result<Config, ConfigError>) -> Vec<String> {
    result.expect_err("a flaw").flaws.iter().map(ToString::to_string).collect()
}

/// The one flaw of a text has all of these words.
#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let found = flaws(read(text));
    assert_eq!(found.len(), 1, "{found:?}");
    for word in words {
        assert!(found[0].contains(word), "`{word}` is missing in: {}", found[0]);
    }
}

#[test]
fn every_key_can_be_set_by_its_variable() {
    for key in KEYS {
        let accepted = ["1024", "true", "disk", "open", "text", "info", "all", "127.0.0.1:1", "http://a.example"]
            .iter()
            .any(|value| both(None, &env(&[(&key.variable(), value)])).is_ok_and(|c| c.warnings.is_empty()));
        assert!(accepted, "{} takes none of the values", key.name);
    }
}

#[test]
fn a_flag_beats_a_variable_beats_the_file_beats_the_default() {
    let file = Some((Path::new("k.toml"), "listen = \"127.0.0.1:1\"\ndata = \"d\"\n[limits]\nboards_max = 1"));
    let mut sources = env(&[("KOKUBAN_LISTEN", "127.0.0.1:2"), ("KOKUBAN_LIMITS_BOARDS_MAX", "2"), ("HOME", "/")]);
    sources.flags = vec![Flag { key: "listen".into(), flag: "--listen", value: "127.0.0.1:3".into() }];
    let config = both(file, &sources).unwrap();
    assert_eq!((config.listen.port(), config.limits.boards_max), (3, 2));
    assert_eq!((config.data, config.durability), (PathBuf::from("d"), Durability::Disk));
}

#[test]
fn paths_of_the_file_start_from_its_folder_and_others_from_here() {
    let config = read("blueprints = [\"b/one.toml\", \"/abs.toml\"]").unwrap();
    assert_eq!(config.blueprints, [PathBuf::from("/etc/b/one.toml"), PathBuf::from("/abs.toml")]);
    assert_eq!(both(None, &env(&[("KOKUBAN_DATA", "d")])).unwrap().data, PathBuf::from("d"));
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_nearest_name() {
    refused("\nlisen = \"x\"", &["line 2", "`lisen`", "`listen`"]);
    refused("[limits]\nbody_byte_max = 1", &["line 2", "`body_bytes_max`"]);
    refused("[limit]\nboards_max = 1", &["line 1", "`limits`"]);
    refused("[boards.\"a\"]\nbluprint = \"x\"\nblueprint = \"y\"", &["line 2", "`blueprint`"]);
    refused("zzz = 1", &["line 1", "known are", "`listen`"]);
    let token = "agent = \"ra\"\nsha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"";
    refused(&format!("[[tokens]]\nrole = []\n{token}"), &["line 2", "`roles`"]);
}

#[test]
fn a_value_of_the_wrong_kind_or_range_is_refused_with_what_would_be_right() {
    refused("listen = 7411", &["line 1", "`listen`", "a text", "a number"]);
    refused("listen = \"example.com\"", &["no address", "127.0.0.1:7411"]);
    refused("durability = \"dsk\"", &["`disk`", "`memory`", "did you mean `disk`"]);
    refused("[limits]\nboards_max = 0", &["line 2", "from 1 to"]);
    refused("[limits]\nboards_max = -5", &["from 1 to"]);
    refused("[limits]\nboards_max = 1.5", &["a whole number", "a fraction"]);
    refused("limits = 3", &["[limits]"]);
    refused("hosts = \"a\"", &["a list of texts"]);
    refused("hosts = [1]", &["a list"]);
    refused("hosts = [\"http://a\"]", &["no host"]);
    refused("origins = [\"*\"]", &["no web origin"]);
    refused("origins = [\"https://a.example/\"]", &["no web origin"]);
    refused("[roles]\nadmin = [\"no way\"]", &["`roles.admin`", "agent name"]);
    refused("[boards.\"a b\"]\nblueprint = \"x\"", &["can match no board"]);
    refused("boards = 1", &["[boards."]);
    refused("tokens = 1", &["[[tokens]]"]);
}

#[test]
fn text_that_is_no_toml_is_refused_with_its_line() {
    refused("a = 1\nb = = 2", &["line 2"]);
    refused("log_level = \"info\"\nlog_level = \"warn\"", &["line 2"]);
    refused("x", &["line 1"]);
}

#[test]
fn all_flaws_are_reported_at_once() {
    let mut sources = env(&[("KOKUBAN_AUTH", "maybe")]);
    sources.flags = vec![Flag { key: "log_format".into(), flag: "--log-format", value: "xml".into() }];
    let text = "listen = 1\nunknown_key = 2\n[limits]\nboards_max = \"many\"";
    let error = both(Some((Path::new("k.toml"), text)), &sources).unwrap_err();
    let text = error.to_string();
    for word in ["k.toml", "line 1", "line 2", "line 4", "KOKUBAN_AUTH", "--log-format"] {
        assert!(text.contains(word), "{word} is missing in {text}");
    }
}

#[test]
fn a_server_open_to_other_machines_needs_tokens_or_an_explicit_word() {
    refused("listen = \"0.0.0.0:7411\"", &["0.0.0.0:7411", "KOKUBAN_TOKENS", "127.0.0.1", "--insecure-open"]);
    refused("listen = \"[::]:7411\"", &["insecure_open"]);
    let open = read("listen = \"0.0.0.0:7411\"\ninsecure_open = true").unwrap();
    assert!(open.warnings.iter().any(|w| w.contains("NO AUTHENTICATION")), "{:?}", open.warnings);
    let tokens = both(
        Some((Path::new("k.toml"), "listen = \"0.0.0.0:7411\"")),
        &env(&[("KOKUBAN_TOKENS", "ra:a-secret-of-some-length")]),
    );
    assert_eq!(tokens.unwrap().auth, AuthMode::Token);
}

#[test]
fn tokens_are_never_configured_in_vain() {
    refused("auth = \"token\"", &["KOKUBAN_TOKENS"]);
    let ignored =
        both(Some((Path::new("k.toml"), "auth = \"open\"")), &env(&[("KOKUBAN_TOKENS", "ra:a-secret-of-some-length")]));
    assert!(flaws(ignored)[0].contains("ignores them"));
    let twice = both(None, &env(&[("KOKUBAN_TOKENS", "ra:a-secret-of-some-length,rv:a-secret-of-some-length")]));
    assert!(flaws(twice)[0].contains("same secret"));
}

#[test]
fn a_secret_is_hashed_and_never_shown_even_when_its_entry_is_wrong() {
    let config = both(None, &env(&[("KOKUBAN_TOKENS", "ra:hunter2-hunter2-hunter2, rv:short")])).unwrap();
    assert_eq!(config.tokens[0].sha256, Sha256::of(b"hunter2-hunter2-hunter2"));
    assert!(config.warnings[0].contains("`rv`"), "{:?}", config.warnings);
    assert!(!format!("{config:?}").contains("hunter2"));
    for value in ["hunter2-hunter2", "-bad-:hunter2", "ra:hunter2 hunter2", "ra:"] {
        let found = flaws(both(None, &env(&[("KOKUBAN_TOKENS", value)])));
        assert!(found[0].starts_with("KOKUBAN_TOKENS") && !found[0].contains("hunter2"), "{found:?}");
    }
    let in_file = flaws(read("[[tokens]]\nagent = \"ra\"\nsha256 = \"hunter2-hunter2\""));
    assert!(in_file[0].contains("never the secret") && !in_file[0].contains("hunter2"), "{in_file:?}");
}

#[test]
fn a_token_of_the_file_has_all_its_parts() {
    let found = flaws(read("[[tokens]]\nroles = [\"arbiter\"]\nboards = [\"a b\"]"));
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found.iter().any(|f| f.contains("blueprint of a board")), "{found:?}");
}

#[test]
fn a_misspelt_variable_is_pointed_out_but_does_not_refuse_the_start() {
    let others: Vec<_> = OTHER_VARIABLES.iter().map(|name| (*name, "x")).collect();
    let of_kubernetes =
        ["PORT", "SERVICE_HOST", "SERVICE_PORT_HTTP", "PORT_7411_TCP_ADDR"].map(|n| format!("KOKUBAN_{n}"));
    let of_kubernetes = of_kubernetes.iter().map(|name| (name.as_str(), "x"));
    let all: Vec<_> = others.into_iter().chain(of_kubernetes).chain([("KOKUBAN_LISTN", "x")]).collect();
    let config = both(None, &env(&all)).unwrap();
    assert_eq!(config.warnings.len(), 1);
    assert!(config.warnings[0].contains("KOKUBAN_LISTEN"), "{:?}", config.warnings);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let sources = Sources { file: Some("/nowhere/k.toml".into()), ..Sources::default() };
    assert!(Config::load(&sources).unwrap_err().to_string().contains("/nowhere/k.toml"));
}

#[test]
fn blueprints_are_loaded_with_the_start_or_refuse_it() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let good = write("good.toml", "name = \"orders\"\n[zones.work]\n");
    let same = write("same.toml", "name = \"orders\"\n[zones.work]\n");
    let bad = write("bad.toml", "name = \"bad\"\n[zones.work]\nacces = \"public\"\n");
    let rule = |blueprint: &str| {
        vec![BoardRule { pattern: Pattern::any(), blueprint: BlueprintName::new(blueprint).unwrap() }]
    };
    let config = Config { blueprints: vec![good.clone()], boards: rule("orders"), ..Config::default() };
    let loaded = load_blueprints(&config).unwrap();
    assert_eq!(loaded.keys().map(BlueprintName::as_str).collect::<Vec<_>>(), ["default", "orders", "pipeline"]);

    let absent = dir.path().join("absent.toml");
    let config = Config { blueprints: vec![good, same, bad, absent], boards: rule("oders"), ..Config::default() };
    let text = load_blueprints(&config).unwrap_err().to_string();
    for word in ["same.toml", "bad.toml", "line 3", "access", "absent.toml", "did you mean `orders`"] {
        assert!(text.contains(word), "{word} is missing in {text}");
    }
}
