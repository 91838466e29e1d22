//! The table of `docs/merging.md`, row by row: before, patch, after.

use kokuban_core::blueprint::Blueprint;
use kokuban_tests::Setup;
use serde_json::{Value, json};

use super::document;

/// The code in the three cells of each row.
fn rows(text: &str) -> Vec<[String; 3]> {
    let table = text.lines().skip_while(|line| !line.starts_with("| before ")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    let cell = |cell: &str| cell.trim().trim_matches('`').to_owned();
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(cell).collect();
        cells.try_into().expect("three cells")
    })
    .collect()
}

#[test]
fn every_row_of_the_table_of_merging_is_so() {
    let text = document("docs/merging.md");
    let toml = text.split("```toml profiles.toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let blueprint = Blueprint::from_toml(toml.expect("the blueprint")).expect("a blueprint").to_value();
    let server = Setup::memory().start();
    let ra = server.as_agent("ra");
    ra.put("/v1/boards/b", &json!({"blueprint": blueprint})).must(201);
    let rows = rows(&text);
    assert!(rows.len() >= 14, "the table is there");
    for (index, [before, patch, after]) in rows.iter().enumerate() {
        let read = |cell: &str| serde_json::from_str::<Value>(cell).unwrap_or_else(|_| panic!("{cell} is no JSON"));
        let entry = format!("/v1/boards/b/entries/facts/row{index}");
        ra.put(&entry, &json!({"value": read(before)})).must(201);
        let answer = ra.patch(&entry, &read(patch));
        match after.split_once(' ').and_then(|(status, code)| Some((status.parse::<u16>().ok()?, code))) {
            Some((status, code)) => {
                assert_eq!((answer.status, answer.json()["code"].as_str()), (status, Some(code)), "{patch}")
            }
            None => {
                assert_eq!(answer.status, 200, "{patch}: {}", answer.json());
                assert_eq!(ra.get(&entry).json()["value"], read(after), "{before} and {patch}");
            }
        }
    }
}
