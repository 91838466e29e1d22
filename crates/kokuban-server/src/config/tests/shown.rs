//! What `config show` has to show: every value, where it comes from, and no secret.

use super::*;

const FILE: &str = "listen = \"127.0.0.1:1\"\nlog_level = \"warn\"\nblueprints = [\"b/one.toml\"]\n\n[limits]\nboards_max = 7\n\n\
                    [[tokens]]\nsha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"\nagent = \"rv\"\n\
                    roles = [\"admin\"]\nboards = [\"order-*\"]\n\n[boards.\"order-*\"]\nblueprint = \"pipeline\"\n";

fn sources() -> Sources {
    let mut sources = env(&[("KOKUBAN_TIMEOUTS_IDLE_MS", "5000"), ("KOKUBAN_TOKENS", "ra:a-secret-of-some-length")]);
    let flag = |key: &str, flag, value: &str| Flag { key: key.into(), flag, value: value.into() };
    sources.flags =
        vec![flag("listen", "--listen", "127.0.0.1:2"), flag("hosts", "--set", "kokuban.internal,other:7411")];
    sources
}

fn effective() -> Effective {
    Effective::read(Some((Path::new("/etc/k.toml"), FILE)), &sources()).unwrap()
}

#[test]
fn every_key_is_shown_with_its_value_and_where_it_comes_from() {
    let settings = effective().settings();
    assert_eq!(
        settings.iter().map(|shown| shown.key).collect::<Vec<_>>(),
        KEYS.iter().map(|k| k.name).collect::<Vec<_>>()
    );
    for (key, value, origin) in [
        ("listen", "\"127.0.0.1:2\"", "--listen"),
        ("hosts", "[\"kokuban.internal\", \"other:7411\"]", "--set"),
        ("log_level", "\"warn\"", "/etc/k.toml:2"),
        ("blueprints", "[\"/etc/b/one.toml\"]", "/etc/k.toml:3"),
        ("limits.boards_max", "7", "/etc/k.toml:6"),
        ("timeouts.idle_ms", "5000", "KOKUBAN_TIMEOUTS_IDLE_MS"),
        ("auth", "\"token\"", "default with tokens"),
        ("insecure_open", "false", "default"),
    ] {
        let shown = settings.iter().find(|shown| shown.key == key).unwrap();
        assert_eq!((shown.value.to_string().as_str(), shown.origin.as_str()), (value, origin), "{key}");
    }
}

#[test]
fn tokens_are_shown_without_what_could_be_used_as_one() {
    let effective = effective();
    let tokens = effective.tokens();
    let shown: Vec<_> = tokens.iter().map(|t| (t.agent.as_str(), t.boards.join(","), t.origin.as_str())).collect();
    assert_eq!(shown, [("rv", "order-*".into(), "/etc/k.toml:8"), ("ra", "*".into(), "KOKUBAN_TOKENS")]);
    assert_eq!(effective.rules()[0].origin, "/etc/k.toml:14");
    let all = format!("{tokens:?}{:?}{}", effective.settings(), effective.to_toml());
    let secret = Sha256::of(b"a-secret-of-some-length").to_string();
    for hidden in ["9f86d081", "a-secret", &secret[..12]] {
        assert!(!all.contains(hidden), "{hidden}: {all}");
    }
}

#[test]
fn the_file_that_is_written_says_the_same_when_it_is_read() {
    let effective = effective();
    let text = effective.to_toml();
    assert!(text.contains("boards_max = 7 # /etc/k.toml:6") && text.contains("#agent = \"rv\""), "{text}");
    // The tokens are all that has to be given again.
    let tokens = "\n[[tokens]]\nsha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"\nagent = \"rv\"\n\
                  roles = [\"admin\"]\nboards = [\"order-*\"]\n";
    let again = both(
        Some((Path::new("/elsewhere/k.toml"), &(text + tokens))),
        &env(&[("KOKUBAN_TOKENS", "ra:a-secret-of-some-length")]),
    );
    let data = std::path::absolute("kokuban-data").unwrap();
    assert_eq!(again.unwrap(), Config { data, ..effective.config });
}

#[test]
fn the_defaults_written_as_a_file_are_the_defaults() {
    let text = Effective::read(None, &Sources::default()).unwrap().to_toml();
    let data = std::path::absolute("kokuban-data").unwrap();
    assert_eq!(read(&text).unwrap(), Config { data, ..Config::default() });
    assert!(text.lines().filter(|line| line.contains(" = ")).all(|line| line.ends_with("# default")), "{text}");
}

#[test]
fn a_server_for_development_says_so() {
    let dev = |flags: Vec<Flag>| {
        let sources = Sources { dev: true, flags, ..env(&[("KOKUBAN_DURABILITY", "disk")]) };
        Effective::read(None, &sources).unwrap()
    };
    let durability = |effective: &Effective| {
        let shown = effective.settings().into_iter().find(|shown| shown.key == "durability").unwrap();
        (shown.value.as_str().unwrap().to_owned(), shown.origin)
    };
    let plain = dev(Vec::new());
    assert_eq!(durability(&plain), ("memory".into(), "kokuban dev".into()));
    assert_eq!((plain.rules()[0].boards.as_str(), plain.rules()[0].origin.as_str()), ("*", "kokuban dev"));
    let data = Flag { key: "data".into(), flag: "--data", value: "d".into() };
    assert_eq!(durability(&dev(vec![data])), ("disk".into(), "KOKUBAN_DURABILITY".into()));
}

#[test]
fn a_flag_for_an_unknown_key_is_refused_with_the_nearest() {
    let flags = vec![Flag { key: "limits.board_max".into(), flag: "--set", value: "1".into() }];
    let sources = Sources { flags, ..Sources::default() };
    let found = flaws(both(None, &sources));
    assert!(found[0].starts_with("--set") && found[0].contains("`limits.boards_max`"), "{found:?}");
}

#[test]
fn a_directory_that_is_not_used_is_pointed_out() {
    let flag = |key: &str, flag, value: &str| Flag { key: key.into(), flag, value: value.into() };
    let flags = vec![flag("data", "--data", "d"), flag("durability", "--durability", "memory")];
    let sources = Sources { flags, ..Sources::default() };
    assert!(both(None, &sources).unwrap().warnings[0].contains("--data is not used"));
}
