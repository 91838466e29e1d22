//! What the guide to the calls and the text for agents must contain.
//!
//! **Invariant**: every call of the server stands in the guide and is made by one of its commands; every code that occurs
//! stands in the text for agents, which fits into a context.
//! Not known here: whether what they say is true; they are executed.

use std::collections::{BTreeMap, BTreeSet};

use kokuban_api::ErrorCode;
use kokuban_server::docs::{LLMS_TXT, ROUTES};
use kokuban_tests::document::{Step, steps};

use super::document;
use crate::coverage::is_of_route;

const GUIDE: &str = "docs/http.md";
const LLMS_TXT_BYTES_MAX: usize = 8 * 1024;

/// `METHOD path` as the guide writes it.
fn call(method: &str, path: &str) -> String {
    format!("{method} {}", path.replace("/v1/boards/{board}", "…").replace("{*key}", "{key}"))
}

#[test]
fn the_guide_has_every_call_and_no_other() {
    let guide = document(GUIDE);
    let rows = guide.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let methods = ["GET ", "PUT ", "POST ", "PATCH ", "DELETE "];
    let told: BTreeSet<_> = rows
        .map(|(call, _)| call.to_owned())
        .filter(|call| methods.iter().any(|method| call.starts_with(method)))
        .collect();
    let there: BTreeSet<_> = ROUTES.iter().map(|route| call(route.method, route.path)).collect();
    assert_eq!(told, there);
}

/// Method and path of what a command of curl asks, with the variables of the document in their places.
fn asked(command: &str, variables: &BTreeMap<String, String>) -> Option<(String, String)> {
    let command =
        variables.iter().fold(command.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value));
    let words: Vec<_> = command.split(' ').collect();
    let curl = words.iter().position(|word| word.ends_with("curl"))?;
    let after = |flag| words.iter().position(|word| *word == flag).and_then(|at| words.get(at + 1));
    let method = match after("-X") {
        Some(method) => (*method).to_owned(),
        None if words.contains(&"--json") => "POST".to_owned(),
        None => "GET".to_owned(),
    };
    let url =
        words[curl..].iter().find_map(|word| word.trim_matches(['"', '\'']).strip_prefix("http://127.0.0.1:7411"))?;
    Some((method, url.to_owned()))
}

#[test]
fn every_call_is_made_by_a_command_of_the_guide() {
    let (mut variables, mut made) = (BTreeMap::new(), Vec::new());
    for command in steps(&document(GUIDE)).iter().filter_map(Step::command) {
        made.extend(asked(command, &variables));
        if !command.contains("curl") {
            let set = command.split(' ').filter_map(|word| word.split_once('='));
            variables.extend(set.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
    }
    let is_made = |(method, path): (&str, &str)| made.iter().any(|(m, url)| m == method && is_of_route(path, url));
    let missing: Vec<_> = ROUTES.iter().filter(|route| !is_made((route.method, route.path))).collect();
    let missing: Vec<_> = missing.iter().map(|route| call(route.method, route.path)).collect();
    assert!(missing.is_empty(), "{GUIDE} shows no command for {missing:#?}");
}

#[test]
fn the_text_for_agents_has_every_code_that_occurs_and_fits_into_a_context() {
    let missing: Vec<_> =
        ErrorCode::ALL.iter().filter(|code| code.comes_later() == LLMS_TXT.contains(&format!("`{code}`"))).collect();
    assert!(missing.is_empty(), "not told, or told too early: {missing:?}");
    assert!(LLMS_TXT.len() <= LLMS_TXT_BYTES_MAX, "{} bytes", LLMS_TXT.len());
    assert_eq!(LLMS_TXT, document("docs/llms.txt"), "the server tells what the repository does");
}
