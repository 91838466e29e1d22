//! What a running server takes over, and what it refuses to.

use super::*;

fn next(text: &str, sources: &Sources) -> Effective {
    Effective::read(Some((Path::new("/etc/k.toml"), text)), sources).unwrap()
}

fn token(agent: &str, secret: &str) -> String {
    format!("[[tokens]]\nagent = \"{agent}\"\nsha256 = \"{}\"\n", Sha256::of(secret.as_bytes()))
}

/// From the first file to the second.
fn succession(before: &str, after: &str) -> Result<Succession, ConfigError> {
    read(before).unwrap().succeeded_by(next(after, &Sources::default()))
}

#[test]
fn what_can_be_taken_over_is_and_the_rest_stays_and_is_named() {
    let after = "listen = \"127.0.0.1:9\"\nhosts = [\"a\"]\nlog_level = \"debug\"\n[limits]\nboards_max = 5\nbody_bytes_max = 2048\n\
                 [boards.\"*\"]\nblueprint = \"default\"";
    let next = succession("", after).unwrap();
    assert_eq!(next.taken, ["hosts", "log_level", "limits.body_bytes_max", "boards"]);
    assert_eq!(next.left, ["listen", "limits.boards_max"]);
    assert_eq!(next.config.listen, Config::default().listen);
    assert_eq!(next.config.limits.boards_max, Config::default().limits.boards_max);
    assert_eq!((next.config.log_level, next.config.limits.body_bytes_max), (LogLevel::Debug, 2048));
}

#[test]
fn every_key_is_taken_over_or_kept_and_named() {
    let values = ["2048", "true", "memory", "token", "json", "debug", "all", "127.0.0.1:1", "http://a.example"];
    for key in KEYS {
        let was =
            Config { tokens: read(&token("ra", "s")).unwrap().tokens, auth: AuthMode::Token, ..Config::default() };
        let other = |value: &&str| {
            let mut sources = env(&[(&key.variable(), value)]);
            sources.flags = vec![Flag { key: "auth".into(), flag: "--set", value: "token".into() }];
            let next = Effective::read(Some((Path::new("/etc/k.toml"), &token("ra", "s"))), &sources).ok()?;
            (key.name == "auth" || next.config.value(key.name) != was.value(key.name)).then_some(next)
        };
        let next = values.iter().find_map(other).unwrap_or_else(|| panic!("{} takes no other value", key.name));
        let wanted = next.config.value(key.name);
        let succession = was.succeeded_by(next).unwrap();
        let now = succession.config.value(key.name);
        match key.change {
            Change::AtOnce if key.name == "auth" => {}
            Change::AtOnce => assert_eq!((&succession.taken[..], now), (&[key.name][..], wanted)),
            Change::AtStart => assert_eq!((&succession.left[..], now), (&[key.name][..], was.value(key.name))),
        }
    }
}

#[test]
fn tokens_come_and_go() {
    let (ra, rv) = (token("ra", "secret-1"), token("rv", "secret-2"));
    let next = succession(&ra, &rv).unwrap();
    assert_eq!((next.taken, next.config.tokens[0].agent.as_str()), (vec!["tokens"], "rv"));
    assert_eq!(succession(&ra, &ra).unwrap().taken, Vec::<&str>::new());
}

#[test]
fn the_last_token_does_not_go_unless_everybody_is_to_be_let_in() {
    let ra = token("ra", "secret-1");
    let refused = succession(&ra, "").unwrap_err().to_string();
    assert!(refused.contains("auth = \"open\"") && refused.contains("/etc/k.toml"), "{refused}");
    assert_eq!(succession(&ra, "auth = \"open\"").unwrap().config.auth, AuthMode::Open);
    assert_eq!(succession("", &ra).unwrap().config.auth, AuthMode::Token);
}

#[test]
fn a_file_that_is_right_by_itself_may_be_wrong_for_the_address_in_use() {
    let everywhere = format!("listen = \"0.0.0.0:7411\"\n{}", token("ra", "secret-1"));
    let refused = succession(&everywhere, "auth = \"open\"").unwrap_err().to_string();
    assert!(refused.contains("0.0.0.0:7411") && refused.contains("insecure_open"), "{refused}");
    let meant = succession(&everywhere, "auth = \"open\"\ninsecure_open = true").unwrap();
    assert!(meant.config.warnings.iter().any(|w| w.contains("NO AUTHENTICATION")), "{:?}", meant.config.warnings);
}

#[test]
fn a_warning_is_given_once() {
    let open = "listen = \"0.0.0.0:7411\"\ninsecure_open = true";
    assert_eq!(succession(open, open).unwrap().config.warnings.len(), 1);
}
