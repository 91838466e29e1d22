//! Starts that must be refused: configurations with mistakes, addresses that need credentials, files that are none.
//!
//! Not known here: data directories; see `damage`.

use std::net::TcpListener;

use kokuban_tests::{Setup, fixture_path};

fn refused(setup: Setup) -> String {
    let (code, said) = setup.refused();
    assert!(matches!(code, 1 | 2), "exit code {code}: {said}");
    said
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_nearest_name() {
    let said = refused(Setup::memory().config("log_level = \"info\"\nlog_fromat = \"text\""));
    assert!(said.contains("log_fromat") && said.contains("log_format"), "{said}");
    assert!(said.contains(":2") || said.contains("line 2"), "{said}");
}

#[test]
fn an_unknown_key_of_a_table_is_refused_too() {
    let said = refused(Setup::memory().config("[limits]\nboards_max = 5\nbody_byte_max = 5000"));
    assert!(said.contains("body_byte_max") && said.contains("body_bytes_max"), "{said}");
}

#[test]
fn every_mistake_is_named_at_once() {
    let said = refused(Setup::memory().config("auth = \"maybe\"\nhosts = 7\n[timeouts]\nhead_ms = -1"));
    for word in ["auth", "hosts", "head_ms"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn what_is_no_toml_is_refused_with_its_place() {
    let said = refused(Setup::memory().config("listen = = 3"));
    assert!(said.contains(":1") || said.contains("line 1"), "{said}");
}

#[test]
fn a_blueprint_with_a_mistake_is_refused_with_its_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("rules.toml");
    std::fs::write(&file, "name = \"rules\"\n[zones.work]\nacess = \"public\"\n").expect("written");
    let said = refused(Setup::memory().config(&format!("blueprints = [{file:?}]")));
    assert!(said.contains("rules.toml") && said.contains("acess") && said.contains("access"), "{said}");
}

#[test]
fn a_blueprint_that_is_not_there_is_refused() {
    let missing = fixture_path("nosuch.toml");
    let said = refused(Setup::memory().config(&format!("blueprints = [{missing:?}]")));
    assert!(said.contains("nosuch.toml"), "{said}");
}

#[test]
fn a_rule_for_boards_names_a_blueprint_that_there_is() {
    let said = refused(Setup::memory().config("[boards.\"order-*\"]\nblueprint = \"nosuch\""));
    assert!(said.contains("nosuch"), "{said}");
}

#[test]
fn others_are_not_let_in_without_credentials() {
    let said = refused(Setup::memory().listen("0.0.0.0:0"));
    assert!(said.contains("token") || said.contains("insecure"), "it says what to do: {said}");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = taken.local_addr().expect("bound").to_string();
    let said = refused(Setup::memory().listen(&addr));
    assert!(said.contains(&addr), "{said}");
}

#[test]
fn a_secret_is_not_shown_when_it_is_wrong() {
    let said = refused(Setup::memory().env("KOKUBAN_TOKENS", "ra:very-secret-word,ra b:other-secret-word"));
    assert!(!said.contains("very-secret") && !said.contains("other-secret"), "{said}");
}
