//! The pictures of the documents: whole, readable by everybody, used, and in the words of the server.
//!
//! **Invariant**: a picture loads nothing, tells in words what it shows, and has colours for light and dark.
//! Not known here: whether those of blueprints are up to date; the crate that draws them compares them.

use std::collections::BTreeSet;
use std::fs;

use super::{document, root};

const FOLDER: &str = "docs/pictures";

fn pictures() -> Vec<(String, String)> {
    let files = fs::read_dir(root().join(FOLDER)).expect("the folder is there");
    let names = files.map(|file| file.expect("a folder can be listed").file_name().to_string_lossy().into_owned());
    names.map(|name| (name.clone(), document(&format!("{FOLDER}/{name}")))).collect()
}

fn parse<'t>(name: &str, text: &'t str) -> roxmltree::Document<'t> {
    roxmltree::Document::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_picture_is_whole_and_loads_nothing() {
    for (name, text) in pictures() {
        let xml = parse(&name, &text);
        let root = xml.root_element();
        for part in ["title", "desc"] {
            let told = root.children().find(|node| node.has_tag_name(part)).and_then(|node| node.text());
            assert!(told.is_some_and(|told| told.len() > 20), "{name}: {part} says nothing");
        }
        assert_eq!((root.tag_name().name(), root.attribute("role")), ("svg", Some("img")), "{name}");
        assert!(text.contains("@media (prefers-color-scheme: dark)"), "{name}: cannot be read on dark");
        for foreign in ["href", "url(", "@import", "<script", "<image", "<foreignObject", "onload"] {
            assert!(!text.contains(foreign), "{name}: {foreign}");
        }
    }
}

#[test]
fn every_picture_is_shown_with_words_for_who_cannot_see_it() {
    let folder = fs::read_dir(root().join("docs")).expect("the folder is there");
    let names = folder.map(|file| file.expect("a folder can be listed").file_name().to_string_lossy().into_owned());
    let documents: String =
        names.filter(|name| name.ends_with(".md")).map(|name| document(&format!("docs/{name}"))).collect();
    for (name, _) in pictures() {
        let shown = documents.lines().find(|line| line.contains(&format!("](pictures/{name})")));
        let words = shown.and_then(|line| line.strip_prefix("![")?.split_once(']')).map(|(words, _)| words);
        assert!(words.is_some_and(|words| words.len() > 20), "{name} is not shown, or without words");
    }
}

#[test]
fn what_a_picture_says_in_the_words_of_the_server_the_server_knows() {
    let known = ["docs/http.md", "docs/blueprints.md", "config/blueprints/default.toml"].map(document).join("\n");
    let mut seen = BTreeSet::new();
    for (name, text) in pictures() {
        for node in parse(&name, &text).descendants().filter(roxmltree::Node::is_text) {
            if node.parent().is_some_and(|parent| parent.has_tag_name("style")) {
                continue;
            }
            let words = node.text().unwrap_or_default().split(|c: char| !c.is_alphanumeric() && c != '_');
            for word in words.filter(|word| word.contains('_')) {
                assert!(known.contains(word), "{name}: nothing is called {word}");
                seen.insert(word.to_owned());
            }
        }
    }
    assert!(seen.contains("version_conflict") && seen.contains("lease_lost"), "{seen:?}");
}
