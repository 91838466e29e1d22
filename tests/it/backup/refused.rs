//! What is not restored, and says why: damaged files, directories that hold something, servers that run.

use std::fs;
use std::path::{Path, PathBuf};

use kokuban_tests::{Random, Setup, TestServer};
use serde_json::json;
use tempfile::TempDir;

use super::program::{backup, kokuban, restore, verify};

fn server_with_entries(dir: &Path) -> TestServer {
    let server = Setup::disk().data(&dir.join("data")).start();
    for name in ["a", "b"] {
        let board = server.board(name);
        for n in 0..20 {
            let body = json!({"value": format!("value {n} of {name}")});
            server.as_agent("ra").put(&board.entry(&format!("working/k{n}")), &body).must(201);
        }
    }
    server
}

fn backed_up() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let server = server_with_entries(dir.path());
    let file = backup(&server, dir.path(), "whole.backup");
    drop(server);
    (dir, file)
}

#[test]
fn a_backup_that_was_cut_off_or_changed_is_refused_with_the_place() {
    let (dir, file) = backed_up();
    let whole = fs::read(&file).expect("a backup");
    verify(&file).well();
    let mut random = Random::new(3);
    let damaged = dir.path().join("damaged.backup");
    let to = dir.path().join("new");
    for _ in 0..25 {
        let length = random.index(whole.len());
        fs::write(&damaged, &whole[..length]).expect("written");
        for said in [verify(&damaged), restore(&damaged, &to, &[])] {
            let said = said.ended_with(1);
            assert!(said.contains("cut off") || length < 20, "{length}: {said}");
        }
        let mut changed = whole.clone();
        let place = random.index(whole.len());
        changed[place] ^= 1 << random.below(8);
        fs::write(&damaged, &changed).expect("written");
        for said in [verify(&damaged), restore(&damaged, &to, &[])] {
            let said = said.ended_with(1);
            let told = said.split("begins at byte ").nth(1).and_then(|rest| rest.split(' ').next());
            let told: Option<usize> =
                told.and_then(|digits| digits.trim_end_matches(|c: char| !c.is_numeric()).parse().ok());
            assert!(place < 20 || told.is_some_and(|told| told <= place), "{place}: {said}");
        }
    }
    let longer = [&whole[..], b"x"].concat();
    fs::write(&damaged, longer).expect("written");
    assert!(restore(&damaged, &to, &[]).ended_with(1).contains("something follows the end"));
    let left: Vec<_> = fs::read_dir(&to).expect("made").map(|file| file.expect("readable").file_name()).collect();
    assert_eq!(left, ["lock"], "nothing was put into the directory");
}

#[test]
fn data_is_not_replaced_unless_asked_for() {
    let (dir, file) = backed_up();
    let data = dir.path().join("data");
    let before = fs::read(data.join("kokuban.db")).expect("data");
    let said = restore(&file, &data, &[]).ended_with(2);
    assert!(said.contains("--replace"), "{said}");
    assert_eq!(fs::read(data.join("kokuban.db")).expect("data"), before);
    assert!(restore(&dir.path().join("nosuch.backup"), &data, &[]).ended_with(2).contains("nosuch.backup"));
    // Old data that cannot be read tells nothing: it has to be moved away, and is left alone.
    fs::write(data.join("kokuban.db"), "no database").expect("written");
    let _ = fs::remove_file(data.join("kokuban.db-wal"));
    let said = restore(&file, &data, &["--replace"]).ended_with(1);
    assert!(said.contains("move it away"), "{said}");
    assert_eq!(fs::read(data.join("kokuban.db")).expect("data"), b"no database");
}

#[test]
fn the_directory_of_a_running_server_is_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = server_with_entries(dir.path());
    let file = backup(&server, dir.path(), "whole.backup");
    let data = dir.path().join("data");
    for said in [restore(&file, &data, &["--replace"]), verify(&data)] {
        let said = said.ended_with(1);
        assert!(said.contains("a server is running on") && said.contains("kokuban backup"), "{said}");
    }
    server.as_agent("ra").get("/v1/boards/a/entries/working/k1").must(200);
}

#[test]
fn a_file_is_not_written_over_and_appears_only_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = server_with_entries(dir.path());
    let file = backup(&server, dir.path(), "one.backup");
    let before = fs::read(&file).expect("a backup");
    let path = file.to_str().expect("UTF-8");
    let url = server.url();
    let said = kokuban(&["backup", path, "--url", &url]).ended_with(2);
    assert!(said.contains("--replace"), "{said}");
    assert_eq!(fs::read(&file).expect("a backup"), before);
    kokuban(&["backup", path, "--url", &url, "--replace"]).well();
    assert_ne!(fs::read(&file).expect("a backup"), before, "taken at another time");
    let folder = dir.path().join("many");
    fs::create_dir(&folder).expect("made");
    let said = kokuban(&["backup", folder.to_str().expect("UTF-8"), "--url", &url]).well();
    let named = said.json()["file"].as_str().expect("a file").to_owned();
    assert!(named.contains("/many/kokuban-2") && named.ends_with(".backup"), "{named}");
    verify(Path::new(&named)).well();
    let nobody = kokuban(&["backup", dir.path().join("x").to_str().expect("UTF-8"), "--url", "http://127.0.0.1:1"]);
    nobody.ended_with(5);
    let left = fs::read_dir(dir.path()).expect("listed").filter(|file| {
        let name = file.as_ref().expect("readable").file_name();
        name.to_string_lossy().starts_with(".kokuban") || name == "x"
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn only_an_admin_gets_a_backup_and_is_told_so() {
    let setup = Setup::memory().config("auth = \"token\"").env("KOKUBAN_TOKENS", "ra:a-secret-of-ra-0123456789");
    let server = setup.start();
    let said = kokuban(&["backup", "-", "--url", &server.url(), "--token", "a-secret-of-ra-0123456789"]).ended_with(4);
    assert!(said.contains("admin"), "{said}");
}
