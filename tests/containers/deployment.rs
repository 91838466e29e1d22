//! The compose file of this checkout, as somebody starts it who has nothing but Docker: it sets itself up, takes calls
//! from outside, keeps what it acknowledged, stops when told, and may do nothing but serve.
//!
//! Not known here: how the images came to be.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kokuban_tests::{Caller, EventStream, server_binary, until, until_some};
use serde_json::json;
use tempfile::TempDir;

use super::docker::{Project, docker, must};
use super::images::{built, root};
use super::outside::Outside;

const SOON: Duration = Duration::from_secs(30);
/// Of the compose file.
const GRACE: Duration = Duration::from_secs(15);

/// The compose file, started, and those who call it.
fn start() -> (Project, Outside, TempDir) {
    let project = Project::new(&root().join("docker/compose.yaml"), built().variables());
    project.up();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let tokens = dir.path().join("tokens");
    let setup = project.run(&["ps", "--all", "--quiet", "setup"]);
    docker(&["cp", &format!("{setup}:/etc/kokuban/tokens"), tokens.to_str().expect("a path in UTF-8")]);
    let outside = Outside::new(project.address(), &tokens);
    (project, outside, dir)
}

/// What a server has: of each board its entries and position, and its whole history, which is verified.
fn everything(outside: &Outside, dir: &Path) -> Vec<(String, String, String)> {
    let boards = outside.json("admin", "/v1/boards?limit=1000");
    let boards = boards["items"].as_array().expect("items").iter();
    let found = boards.map(|board| {
        let name = board["board"].as_str().expect("a name");
        let entries = outside.json("admin", &format!("/v1/boards/{name}/entries?include=value&limit=1000"));
        let history = outside.kokuban("admin", &["export", "-b", name]);
        let file = dir.join(format!("{name}.jsonl"));
        fs::write(&file, history.clone() + "\n").expect("written");
        let verified = must(Command::new(server_binary()).arg("verify").arg(&file));
        assert!(verified.contains("whole"), "{name}: {verified}");
        (name.to_owned(), entries.to_string(), history)
    });
    found.collect()
}

/// Counts up as fast as it is answered, until nobody answers; the last number acknowledged.
fn count(caller: &Caller, counted: &AtomicU64) {
    for n in 1.. {
        let body = json!({"value": n, "version": n - 1});
        let answer = caller.ask("PUT", "/v1/boards/counted/entries/working/n").json(&body).try_send();
        match answer {
            Ok(answer) if answer.status < 300 => counted.store(n, Ordering::SeqCst),
            Ok(answer) => panic!("{}: {}", answer.status, answer.text()),
            Err(_) => return,
        }
    }
}

#[test]
fn everything_is_found_again_after_the_container_was_killed() {
    let (project, outside, dir) = start();
    let path = "/v1/boards/first/entries/working/plan";
    let plan = ["--request", "PUT", "--json", r#"{"value": {"step": 1}, "version": 0}"#];
    assert_eq!(outside.curl("ra", "/v1/boards/first", &["-X", "PUT", "--json", r#"{"blueprint": "team"}"#]).0, 201);
    assert_eq!(outside.curl("ra", path, &plan).0, 201);
    let (status, conflict) = outside.curl("ta", path, &plan);
    assert!(status == 409 && conflict.contains("version_conflict"), "{status}: {conflict}");
    assert_eq!(outside.curl("observer", path, &plan).0, 403);
    let url = format!("http://{}", outside.address);
    let played = outside.kokuban("ra", &["demo", "--url", &url, "--tokens", outside.tokens()]);
    assert!(played.contains("As it should be"), "{played}");

    let before = everything(&outside, dir.path());
    assert_eq!(before.len(), 2, "the first board, and that of the demonstration");
    let (counted, ra) = (AtomicU64::new(0), outside.caller("ra"));
    ra.put("/v1/boards/counted", &json!({"blueprint": "team"})).must(201);
    std::thread::scope(|scope| {
        scope.spawn(|| count(&ra, &counted));
        until("some writes", SOON, || counted.load(Ordering::SeqCst) >= 50);
        docker(&["kill", "--signal", "KILL", &project.server()]);
    });
    assert_eq!(project.inspect(".State.ExitCode"), "137");

    project.up();
    let outside = Outside::new(project.address(), Path::new(outside.tokens()));
    let n = outside.json("ra", "/v1/boards/counted/entries/working/n")["value"].as_u64().expect("a number");
    let acknowledged = counted.load(Ordering::SeqCst);
    assert!(n == acknowledged || n == acknowledged + 1, "{n} is there, {acknowledged} was acknowledged");
    let mut after = everything(&outside, dir.path());
    after.retain(|(name, ..)| name != "counted");
    assert_eq!(after, before);
}

#[test]
fn it_stops_within_its_grace_period_and_comes_back_by_itself_from_a_crash() {
    let (project, outside, _dir) = start();
    let ra = outside.caller("ra");
    ra.put("/v1/boards/b", &json!({"blueprint": "team"})).must(201);
    let pid = project.inspect(".State.Pid");
    must(Command::new("kill").args(["-KILL", &pid]));
    until_some("a restart", SOON, || (project.inspect(".RestartCount") == "1").then_some(()));
    project.wait_until_healthy();
    let outside = Outside::new(project.address(), Path::new(outside.tokens()));
    let mut stream = EventStream::open(&outside.caller("ra"), "/v1/boards/b/events", &[]);
    let _ = stream.next_event("hello", SOON);
    let began = Instant::now();
    project.run(&["stop", "kokuban"]);
    assert!(began.elapsed() < GRACE, "it took {:?}", began.elapsed());
    assert_eq!(project.inspect(".State.ExitCode"), "0");
    let bye = stream.next_event("bye", SOON);
    assert!(bye.data.as_ref().is_some_and(|data| data.contains("shutdown")), "{bye:?}");
}

#[test]
fn the_server_may_do_no_more_than_serve() {
    let (project, outside, _dir) = start();
    let (_, status) = project.inside(&["cat", "/proc/1/status"]);
    for line in ["Uid:\t10001\t10001\t10001\t10001", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"] {
        assert!(status.contains(line), "{line} is not in\n{status}");
    }
    for path in ["/x", "/usr/local/bin/x", "/etc/kokuban/x", "/tmp/x"] {
        let (done, told) = project.inside(&["touch", path]);
        assert!(!done && told.contains("Read-only file system"), "{path}: {told}");
    }
    let (_, tokens) = project.inside(&["ls", "-A", "/etc/kokuban/tokens"]);
    let known = docker(&["inspect", &project.server()]) + &tokens + &project.run(&["logs", "kokuban"]);
    for name in ["admin", "ra"] {
        assert!(!known.contains(&outside.secret(name)), "the server's container knows the secret of {name}");
    }
    assert!(!tokens.contains(".env"), "{tokens}");
    let told = project.run(&["run", "--rm", "-T", "--entrypoint", "cat", "setup", "tokens/ra.env"]);
    assert!(told.contains(&outside.secret("ra")), "as the compose file says how to get one");
}

#[test]
fn the_image_is_the_base_and_the_program() {
    let size = |tag: &str| {
        let bytes = docker(&["image", "inspect", "--format", "{{.Size}}", tag]);
        bytes.parse::<u64>().expect("a number")
    };
    let added = size(&built().server) - size(built().base());
    assert!(added < 40 << 20, "{added} bytes come on top of the base");
    let version = docker(&["run", "--rm", "--network", "none", &built().server, "--version"]);
    assert!(version.starts_with("kokuban "), "{version}");
    let open = Command::new("docker").args(["run", "--rm", "--network", "none", &built().server]).output();
    let open = open.expect("docker is there");
    let told = String::from_utf8_lossy(&open.stderr);
    assert!(!open.status.success() && told.contains("KOKUBAN_TOKENS"), "without tokens it refuses: {told}");
}
