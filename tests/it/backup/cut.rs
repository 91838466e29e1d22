//! A restore that is killed: the directory holds the old data or the new, and is fit for a server and for another try.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use kokuban_tests::{Setup, until_some};
use serde_json::json;

use super::program::{backup, command, restore, verify};

const ENTRIES: u64 = 120;

fn bytes_in(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
}

/// The values under `working/mark` that tell old data from new.
fn mark(data: &Path) -> String {
    let server = Setup::disk().data(data).start();
    let entry = server.as_agent("ra").get("/v1/boards/b/entries/working/mark").expect(200).json();
    entry["value"].as_str().expect("a text").to_owned()
}

fn killed_when(restore: &mut Child, what: &str, mut so: impl FnMut() -> bool) -> bool {
    let ended = until_some(what, Duration::from_secs(60), || {
        if restore.try_wait().expect("a child").is_some() {
            return Some(true);
        }
        so().then_some(false)
    });
    restore.kill().expect("a child can be killed");
    restore.wait().expect("a child can be waited for");
    ended
}

#[test]
fn a_restore_that_is_killed_anywhere_leaves_the_old_data_or_the_new() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let mut server = Setup::disk().data(&data).start();
    let (ra, board) = (server.as_agent("ra"), server.board("b"));
    ra.put(&board.entry("working/mark"), &json!({"value": "new"})).must(201);
    for n in 0..ENTRIES {
        ra.put(&board.entry(&format!("working/k{n}")), &json!({"value": "x".repeat(30_000)})).must(201);
    }
    let file = backup(&server, dir.path(), "large.backup");
    ra.put(&board.entry("working/mark"), &json!({"value": "old", "version": 1})).must(200);
    server.stop();
    let building = data.join("restoring");
    let (mut olds, mut news) = (0, 0);
    let size = fs::metadata(&file).expect("a backup").len();
    let mut points: Vec<Box<dyn Fn() -> bool>> =
        vec![Box::new(|| true), Box::new(|| building.exists()), Box::new(|| data.join("replaced-1").exists())];
    for tenth in 1..10 {
        // The log of the new file is made long before anything is written to it.
        let building = &building;
        points.push(Box::new(move || bytes_in(building) > 24_000_000 + size * tenth / 10));
    }
    for (n, point) in points.iter().enumerate() {
        let args = ["restore", file.to_str().expect("UTF-8"), "--data", data.to_str().expect("UTF-8"), "--replace"];
        let mut restore = command(&args);
        let mut child = restore.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        killed_when(&mut child, "a point to kill at", point);
        verify(&data).well();
        match mark(&data).as_str() {
            "old" => olds += 1,
            "new" => {
                news += 1;
                // Back to how it was, for the next point.
                let server = Setup::disk().data(&data).start();
                let ra = server.as_agent("ra");
                let version = ra.get(&board.entry("working/mark")).expect(200).json()["version"].clone();
                ra.put(&board.entry("working/mark"), &json!({"value": "old", "version": version})).must(200);
            }
            other => panic!("point {n}: {other}"),
        }
    }
    println!("killed restores: {olds} left the old data, {news} the new");
    assert!(olds > 0, "no restore was killed before its end");
    let replaced = restore(&file, &data, &["--replace"]).well().json();
    assert_eq!(mark(&data), "new");
    let old = replaced["replaced"].as_str().expect("kept").to_owned();
    assert_eq!(mark(Path::new(&old).parent().expect("a folder")), "old");
    assert!(!building.exists(), "nothing of the killed ones is left");
}
