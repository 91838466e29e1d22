//! Names of any script and sign are the same text everywhere (H10): in lists, receipts, history, streams, links.
//!
//! Not known here: names that are refused; see the transcript `names`.

use std::time::Duration;

use kokuban_tests::{EventStream, Setup};
use serde_json::{Value, json};

const NAMES: [(&str, &str); 6] = [
    ("a%2Fb", "a/b"),
    ("%E6%84%8F%E5%90%91%E5%9B%BD%E5%AE%B6", "意向国家"),
    ("x:y@1=2", "x:y@1=2"),
    ("%78%3Ay%401%3D3", "x:y@1=3"),
    ("a+b,c~d-e_f.g", "a+b,c~d-e_f.g"),
    ("%41/%42", "A/B"),
];

#[test]
fn a_key_is_the_same_text_wherever_it_is_shown() {
    let mut server = Setup::disk().start();
    let board = server.board("%E6%9D%BF");
    let ra = server.as_agent("ra");
    let mut stream = EventStream::open(&ra, &board.at("events"), &[]);
    let _ = stream.next_event("hello", Duration::from_secs(10));
    for (sent, key) in NAMES {
        let path = board.entry(&format!("working/{sent}"));
        let created = ra.put(&path, &json!({"value": key})).expect(201);
        let location = created.header("location").expect("where it is").to_owned();
        assert_eq!(created.json()["key"], key);
        assert_eq!(stream.next_event("commit", Duration::from_secs(10)).json()["changes"][0]["key"], key);
        let full = ra.get(&format!("{location}?view=full")).expect(200).json();
        assert_eq!((&full["key"], &full["value"]), (&json!(key), &json!(key)));
        assert_eq!(full["href"], location, "a link leads back");
        let history = ra.get(&board.at(&format!("history/working/{sent}"))).expect(200).json();
        assert_eq!(history["items"][0]["changes"][0]["key"], key);
    }
    server.restart_after_kill();
    let list = server.as_agent("ra").get(&board.at("entries")).expect(200).json();
    let mut keys: Vec<&str> = NAMES.iter().map(|(_, key)| *key).collect();
    keys.sort_unstable();
    let mut listed: Vec<&str> =
        list["items"].as_array().expect("items").iter().filter_map(|item: &Value| item["key"].as_str()).collect();
    listed.sort_unstable();
    assert_eq!(listed, keys);
    for (sent, _) in NAMES {
        server.as_agent("ra").delete(&format!("{}?version=1", board.entry(&format!("working/{sent}")))).must(200);
    }
}
