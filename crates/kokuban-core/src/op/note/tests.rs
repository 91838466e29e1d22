//! Scenarios of notes: anybody's remarks, which touch nothing.

use serde_json::json;

use crate::rejection::{Forbidden, Rejection};
use crate::reply::Reply;
use crate::scenario::{Stage, close, delete, id, note, put};

const RULES: &str = r#"
[roles]
arbiter = ["rv"]
[zones.work]
owners = ["rz"]
[limits]
notes_per_entry_max = 3
note_bytes_max = 8
"#;

fn stage() -> Stage {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("work/a", json!(1)));
    stage
}

fn add(stage: &mut Stage, agent: &str) -> String {
    match stage.ok(agent, note("work/a", "hm")).reply {
        Reply::Noted { note, .. } => note.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_note_touches_neither_value_nor_version_nor_owner() {
    let mut stage = stage();
    let before = stage.entry("work/a");
    let done = stage.ok("rb", note("work/a", "why?").about(1));
    assert_eq!((done.tags(), done.revision.map(|revision| revision.0)), (vec!["noted".to_owned()], Some(3)));
    assert_eq!(stage.entry("work/a"), before);
    let notes = stage.board.notes(&id("work/a")).expect("one");
    assert_eq!((notes[0].id.as_str(), notes[0].by.as_str(), notes[0].text.as_str()), ("n3-0", "rb", "why?"));
    assert_eq!(notes[0].refers_to_version.map(|version| version.0), Some(1));
}

#[test]
fn a_note_refers_to_a_version_that_was() {
    let mut stage = stage();
    for version in [0, 2, u64::MAX] {
        let refusal = stage.refusal("rb", note("work/a", "?").about(version));
        assert!(matches!(refusal.first(), Rejection::InvalidValue { .. }), "{refusal:?}");
        assert_eq!(refusal.failures[0].pointer.as_deref(), Some("/refers_to_version"));
    }
}

#[test]
fn notes_need_an_entry_and_are_bounded() {
    let mut stage = stage();
    assert_eq!(stage.refused("rb", note("work/b", "?")), Rejection::NotFound { id: id("work/b") });
    let limit = |limit, max| Rejection::LimitReached { limit, max };
    assert_eq!(stage.refused("rb", note("work/a", "123456789")), limit("note_bytes_max", 8));
    for _ in 0..3 {
        add(&mut stage, "rb");
    }
    assert_eq!(stage.refused("rb", note("work/a", "?")), limit("notes_per_entry_max", 3));
    stage.ok("rb", close("work/a", "n3-0"));
    add(&mut stage, "rb");
}

#[test]
fn a_note_is_closed_by_its_author_the_owners_and_arbiters() {
    for agent in ["rb", "ra", "rz", "rv"] {
        let mut stage = stage();
        let open = add(&mut stage, "rb");
        let done = stage.ok(agent, close("work/a", &open));
        assert_eq!(done.tags(), ["note_closed"]);
        assert_eq!(stage.board.notes(&id("work/a")), None);
    }
    let mut stage = stage();
    let open = add(&mut stage, "rb");
    assert_eq!(stage.refused("rc", close("work/a", &open)), Rejection::Forbidden { why: Forbidden::NotYourNote });
}

#[test]
fn closing_what_is_not_open_says_so() {
    let mut stage = stage();
    let open = add(&mut stage, "rb");
    assert_eq!(stage.refused("rb", close("work/a", "n9-0")), Rejection::NoteNotFound { note: "n9-0".into() });
    assert_eq!(stage.refused("rb", close("work/b", &open)), Rejection::NotFound { id: id("work/b") });
    stage.ok("rb", close("work/a", &open));
    assert_eq!(stage.refused("rb", close("work/a", &open)), Rejection::NoteNotFound { note: open.as_str().into() });
    stage.ok("ra", delete("work/a").version(1));
    assert_eq!(stage.refused("rb", close("work/a", &open)), Rejection::NotFound { id: id("work/a") });
}
