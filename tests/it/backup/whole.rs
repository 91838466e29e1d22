//! A backup while writers write, a kill, and everything again: each entry, the chain, and nothing given twice.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kokuban_tests::{BoardAt, EventStream, Setup, TestServer, until_some};
use serde_json::{Value, json};

use super::given::{Given, revision_of, write};
use super::kept::{State, by_export, by_server};
use super::program::{backup, kokuban, restore, revisions, verify};

const WRITERS: u64 = 4;
const BOUND: Duration = Duration::from_secs(60);

/// Runs writers while `meanwhile` runs.
fn under_load<T>(
    server: &TestServer,
    board: &BoardAt,
    given: &Given,
    least: u64,
    meanwhile: impl FnOnce(&dyn Fn() -> u64) -> T,
) -> T {
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..WRITERS {
            let (caller, ends) = (server.as_agent(&format!("w{number}")), &ends);
            scope.spawn(move || write(&caller, board, number, given, ends, least));
        }
        let caller = server.as_agent("lin");
        let revision = || {
            let summary = caller.get(&format!("/v1/boards/{}", board.name)).expect(200).json();
            summary["revision"].as_u64().expect("a revision")
        };
        let done = meanwhile(&revision);
        ends.store(true, Ordering::Relaxed);
        done
    })
}

/// Waits until the writers got this far.
fn reached(revision: &dyn Fn() -> u64, least: u64) -> u64 {
    let found = || Some(revision()).filter(|revision| *revision >= least);
    until_some("enough writes", BOUND, found)
}

struct Story {
    dir: tempfile::TempDir,
    server: TestServer,
    board: BoardAt,
    given: Given,
    file: std::path::PathBuf,
    /// Revision of the board before the backup began, and after it was there.
    around: (u64, u64),
    position: String,
    /// A lease that was live in the backup.
    held: Value,
}

/// A backup in the midst of writes, more writes, a kill.
fn backed_up_and_killed() -> Story {
    let dir = tempfile::tempdir().expect("a directory");
    let mut server = Setup::disk().data(&dir.path().join("data")).config("[snapshot]\ntail_bytes_min = 20000").start();
    let (board, given) = (server.board("b"), Given::default());
    let lin = server.as_agent("lin");
    lin.put(&board.entry("working/steady"), &json!({"value": "as it was"})).must(201);
    lin.ask("PUT", &board.entry("working/once")).key("once").json(&json!({"value": 1})).send().must(201);
    let held = lin.post(&board.lease("working/steady"), &json!({"ttl_ms": 3_600_000})).expect(201).json();
    let (file, around) = under_load(&server, &board, &given, 60, |revision| {
        let before = reached(revision, 150);
        let file = backup(&server, dir.path(), "now.backup");
        let after = revision();
        reached(revision, after + 50);
        (file, (before, after))
    });
    lin.put(&board.entry("working/lost"), &json!({"value": "after the backup"})).must(201);
    let position = lin.get("/v1/boards/b").expect(200).json()["position"].as_str().expect("a position").to_owned();
    let lost = server.board("unknown-to-the-backup");
    lin.put(&lost.entry("working/k"), &json!({"value": 1})).must(201);
    server.kill();
    Story { dir, server, board, given, file, around, position, held }
}

fn chain_holds(path: &Path) {
    let said = verify(path).well();
    let boards = said.json();
    assert!(boards.as_array().expect("boards").iter().all(|board| board["ok"] == true), "{boards:#}");
}

#[test]
fn everything_comes_back_as_it_was_and_nothing_is_given_twice() {
    let Story { dir, mut server, board, given, file, around, position, held } = backed_up_and_killed();
    let (server, board) = (&mut server, &board);
    // The oracle: what an export of the server says of that revision.
    server.start();
    let lin = server.as_agent("lin");
    let boards = verify(&file).well().json();
    let was = boards[0]["revision"].as_u64().expect("a revision");
    assert!((around.0..=around.1).contains(&was), "{was} in {around:?}");
    let expected = by_export(&lin, board, was);
    assert!(expected.len() > 20, "{} entries", expected.len());
    server.kill();
    chain_holds(&file);

    let data = dir.path().join("data");
    let done = restore(&file, &data, &["--replace"]).well().json();
    let (stood, goes_on) = revisions(&done, "b");
    assert_eq!(stood, was);
    assert!(goes_on > given.highest_revision(), "{goes_on} is behind all that was given");
    assert!(done["replaced"].as_str().is_some_and(|old| Path::new(old).is_file()), "{done}");
    chain_holds(&data);
    chain_holds(&data.join("replaced-1"));

    server.start();
    let lin = server.as_agent("lin");
    let shown = by_server(&lin, board, Some(was));
    let without_scratch = |place: &String| !place.starts_with("scratch/");
    let then: State = expected.clone().into_iter().filter(|(place, _)| without_scratch(place)).collect();
    assert_eq!(shown, then, "every entry, as it stood then");
    let now = by_server(&lin, board, None);
    assert_eq!(now.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (place, kept) in &now {
        // Of work that was leased then, nobody knows what became.
        let freed = kept.version > stood;
        assert!(*kept == expected[place] || (freed && kept.sha256 == expected[place].sha256), "{place}: {kept:?}");
    }
    old_words_mean_nothing_new(server, board, &position, &held);
    let before = given.n_versions();
    under_load(server, board, &given, 60, |revision| reached(revision, goes_on + 100));
    assert!(given.n_versions() > before + 100);
    // What was made after the backup and is gone counts on too, whoever makes it again.
    let again = server.board("unknown-to-the-backup");
    let made = lin.put(&again.entry("working/k"), &json!({"value": 2})).expect(201).json();
    assert!(made["version"].as_u64().is_some_and(|version| version > 1), "{made}");
    server.stop();
    chain_holds(&data);
}

/// Versions, tags, tokens, positions and keys of before the restore.
fn old_words_mean_nothing_new(server: &TestServer, board: &BoardAt, position: &str, held: &Value) {
    let lin = server.as_agent("lin");
    let steady = board.entry("working/steady");
    let standing = lin.get(&steady).expect(200);
    let tag = standing.header("etag").expect("a tag").to_owned();
    let epoch = position.split('.').next().expect("an epoch");
    assert!(!tag.contains(epoch), "{tag}: another epoch");
    // The tag of then, the token of then, a version that was lost.
    let body = json!({"value": "new"});
    let old_tag = format!("\"1-{epoch}\"");
    lin.ask("PUT", &steady).header("If-Match", &old_tag).json(&body).send().refused(412, "version_conflict");
    let token = &held["lease_token"];
    let late = json!({"value": "late", "version": 1, "lease_token": token});
    let refused = lin.put(&steady, &late).refused(409, "lease_lost");
    assert_eq!(refused["reason"], "expired");
    lin.put(&steady, &json!({"value": "new", "version": 2})).refused(409, "version_conflict");
    // The version of then stands, so it admits one write, and what that makes was never given before.
    let written = lin.put(&steady, &json!({"value": "new", "version": 1})).expect(200).json();
    assert!(written["version"].as_u64().expect("a version") > revision_of(position), "{written}");
    lin.put(&steady, &json!({"value": "newer", "version": 1})).refused(409, "version_conflict");
    // What was not in the backup is not there.
    lin.get(&board.entry("working/lost")).refused(404, "not_found");
    // A repeat of before is known.
    let repeat = lin.ask("PUT", &board.entry("working/once")).key("once").json(&json!({"value": 1})).send();
    assert_eq!((repeat.status, repeat.header("idempotency-replayed")), (201, Some("true")));
    // Readers who come with a position of before.
    lin.get(&format!("{steady}?min_position={position}")).refused(409, "unknown_epoch");
    lin.get(&board.at(&format!("changes?after={position}"))).refused(409, "unknown_epoch");
    let mut stream = EventStream::open(&lin, &board.at("events"), &[("Last-Event-ID", position)]);
    let reset = stream.next_event("reset", BOUND).json();
    assert_eq!(reset["reason"], "epoch");
    // The history is whole, and shows the restore.
    let history = board.history(&lin);
    let kinds = |commit: &Value| commit["changes"][0]["kind"].as_str().unwrap_or_default().to_owned();
    assert_eq!(kinds(&history[0]), "board_created");
    assert_eq!(history.iter().filter(|commit| kinds(commit) == "board_restored").count(), 1);
}

#[test]
fn data_that_is_gone_comes_back_far_behind_what_it_may_have_got_to() {
    let mut story = backed_up_and_killed();
    std::fs::remove_dir_all(story.dir.path().join("data")).expect("gone");
    let done = restore(&story.file, &story.dir.path().join("data"), &[]).well().json();
    let (was, goes_on) = revisions(&done, "b");
    assert!(goes_on > was + (1 << 20), "{was} {goes_on}");
    assert_eq!(done["replaced"], Value::Null);
    story.server.start();
    let lin = story.server.as_agent("lin");
    under_load(&story.server, &story.board, &story.given, 30, |revision| reached(revision, goes_on + 60));
    // Of a board that nobody knows any more neither.
    let again = story.server.board("unknown-to-the-backup");
    let made = lin.put(&again.entry("working/k"), &json!({"value": 2})).expect(201).json();
    assert!(made["version"].as_u64().is_some_and(|version| version > 1 << 20), "{made}");
    story.server.stop();
    chain_holds(&story.dir.path().join("data"));
}

#[test]
fn a_restored_server_is_backed_up_and_restored_again() {
    let mut story = backed_up_and_killed();
    let data = story.dir.path().join("data");
    let mut last = 0;
    for round in 0..3 {
        let more: &[&str] = if round == 0 { &["--replace"] } else { &[] };
        let to = story.dir.path().join(format!("data-{round}"));
        let to = if round == 0 { &data } else { &to };
        let done = restore(&story.file, to, more).well().json();
        let (_, goes_on) = revisions(&done, "b");
        assert!(goes_on > last, "round {round}: {goes_on} after {last}");
        let mut server = Setup::disk().data(to).start();
        under_load(&server, &story.board, &story.given, 20, |revision| reached(revision, goes_on + 30));
        let file = story.dir.path().join(format!("{round}.backup"));
        story.file = backup(&server, story.dir.path(), &format!("{round}.backup"));
        assert_eq!(story.file, file);
        last = story.given.highest_revision();
        let history = story.board.history(&server.as_agent("lin"));
        assert_eq!(history.iter().filter(|commit| commit["changes"][0]["kind"] == "board_restored").count(), round + 1);
        let export = kokuban(&["board", "export", "b", "--url", &server.url()]).well();
        std::fs::write(story.dir.path().join("export"), export.out).expect("written");
        chain_of_export(&story.dir.path().join("export"));
        server.stop();
    }
}

fn chain_of_export(path: &Path) {
    let said = verify(path).well();
    assert_eq!(said.json()["ok"], true, "{said:?}");
}

#[test]
fn what_a_server_keeps_in_memory_only_can_be_kept_by_a_backup() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut server = Setup::memory().start();
    let board = server.board("b");
    server.as_agent("ra").put(&board.entry("working/k"), &json!({"value": [1, null, "意"]})).must(201);
    let file = backup(&server, dir.path(), "memory.backup");
    server.kill();
    let data = dir.path().join("data");
    restore(&file, &data, &[]).well();
    let server = Setup::disk().data(&data).start();
    let entry = server.as_agent("ra").get(&board.entry("working/k")).expect(200).json();
    assert_eq!((&entry["value"], &entry["version"]), (&json!([1, null, "意"]), &json!(1)));
}
