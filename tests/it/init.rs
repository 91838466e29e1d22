//! `kokuban init`: what it writes works as it is, for each caller as far as that should reach, and harms nothing.
//!
//! Not known here: containers; see the tests of those.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kokuban_tests::{Setup, TestServer, server_binary};
use serde_json::json;
use tempfile::TempDir;

const CALLERS: [&str; 8] = ["admin", "observer", "lin", "ra", "ta", "w1", "w2", "rv"];

fn kokuban(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(server_binary());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KOKUBAN_")) {
        command.env_remove(name);
    }
    command.args(args).current_dir(dir).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A deployment in the folder `a b` of a temporary one, and what was printed.
fn deployment() -> (TempDir, PathBuf, String) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let made = kokuban(home.path(), &["init", "a b"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let dir = home.path().join("a b");
    (home, dir, text(&made.stdout))
}

fn secret(dir: &Path, name: &str) -> String {
    let path = dir.join(format!("tokens/{name}.env"));
    let file = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let secret = file.lines().find_map(|line| line.strip_prefix("KOKUBAN_TOKEN="));
    secret.expect("the file holds a token").to_owned()
}

fn server_of(dir: &Path) -> TestServer {
    Setup::disk().config_file(&dir.join("kokuban.toml")).start()
}

#[test]
fn the_configuration_raises_no_warning_and_the_server_takes_it_as_it_is() {
    let (_home, dir, _) = deployment();
    let checked = kokuban(&dir, &["check-config", "--strict", "kokuban.toml"]);
    let told = text(&checked.stdout);
    assert!(checked.status.success() && !told.contains("warning"), "{told}{}", text(&checked.stderr));
    assert!(told.contains("blueprints/team.toml: the blueprint `team` is valid"), "{told}");
    let server = server_of(&dir);
    assert!(!server.log().contains("WARN"), "{}", server.log());
    assert!(dir.join("data/kokuban.db").is_file(), "the data is beside the configuration");
}

#[test]
fn each_token_opens_what_it_should_and_nothing_else() {
    let (_home, dir, _) = deployment();
    let server = server_of(&dir);
    let caller = |name| server.with_token(&secret(&dir, name));
    server.anonymous().get("/v1/boards").refused(401, "unauthenticated");
    server.with_token("kb_guessed").get("/v1/boards").refused(401, "unauthenticated");
    caller("ra").put("/v1/boards/first", &json!({"blueprint": "team"})).must(201);
    for name in ["lin", "ra", "ta", "w1", "w2", "rv"] {
        let answer = caller(name).put(&format!("/v1/boards/first/entries/working/{name}"), &json!({"value": name}));
        assert_eq!(answer.expect(201).json()["owner"], name);
        caller(name).delete("/v1/boards/first").refused(403, "forbidden");
    }
    let plan = "/v1/boards/first/entries/result/plan";
    caller("ra").put(plan, &json!({"value": 1})).refused(403, "arbiter_only");
    caller("rv").put(plan, &json!({"value": 1})).must(201);
    caller("observer").get(plan).must(200);
    caller("observer").put(plan, &json!({"value": 2, "version": 1})).refused(403, "forbidden");
    caller("ra").with("Kokuban-Agent", "rv").get(plan).refused(403, "forbidden");
    caller("admin").delete("/v1/boards/first").must(204);
}

#[test]
fn the_commands_that_it_shows_work_as_they_stand() {
    let (home, dir, told) = deployment();
    let server = server_of(&dir);
    let commands: Vec<_> = told.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let here = |command: &&&str| !command.starts_with("kokuban serve") && !command.starts_with("docker");
    let script: Vec<_> = commands.iter().filter(here).copied().collect();
    assert_eq!((commands.len(), script.len()), (7, 5), "{told}");
    let folder = server_binary().parent().expect("a file is in a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let script = script.join("\n").replace("127.0.0.1:7411", &server.addr().to_string());
    let ran = Command::new("bash")
        .args(["-eu", "-c", &script])
        .current_dir(home.path())
        .env("PATH", path)
        .env("KOKUBAN_URL", server.url())
        .output()
        .expect("bash starts");
    let said = text(&ran.stdout);
    assert!(ran.status.success(), "{script}\n{said}{}", text(&ran.stderr));
    assert!(said.contains("the configuration is valid") && said.contains("As it should be"), "{said}");
    let plan = server.with_token(&secret(&dir, "rv")).get("/v1/boards/first/entries/working/plan").expect(200).json();
    assert_eq!((&plan["updated_by"], &plan["value"]), (&json!("lin"), &json!({"step": 1})));
}

#[test]
fn secrets_are_in_files_of_their_owner_and_nowhere_else() {
    let (_home, dir, told) = deployment();
    let public = ["kokuban.toml", "compose.yaml", "blueprints/team.toml"].map(|name| dir.join(name));
    for name in CALLERS {
        let secret = secret(&dir, name);
        assert!(!told.contains(&secret), "the secret of {name} is on the screen");
        for path in &public {
            assert!(!fs::read_to_string(path).expect("written").contains(&secret), "{name} in {}", path.display());
        }
        let mode = dir.join(format!("tokens/{name}.env")).metadata().expect("written").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let tokens = dir.join("tokens");
    assert_eq!(tokens.metadata().expect("made").permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::read_to_string(tokens.join(".gitignore")).expect("written"), "*\n");
}

#[test]
fn what_is_there_is_never_overwritten_and_all_of_it_is_listed() {
    let (home, dir, _) = deployment();
    let before = secret(&dir, "ra");
    let again = kokuban(home.path(), &["init", "a b"]);
    let complaint = text(&again.stderr);
    assert_eq!(again.status.code(), Some(1));
    for name in ["kokuban.toml", "compose.yaml", "tokens/ra.env", "blueprints/team.toml"] {
        assert!(complaint.contains(name), "{name}: {complaint}");
    }
    let kept = kokuban(home.path(), &["init", "a b", "--keep"]);
    assert!(kept.status.success(), "{}", text(&kept.stderr));
    assert_eq!(secret(&dir, "ra"), before);
}

#[test]
fn a_disk_that_is_full_half_way_leaves_nothing_behind() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" init new/deployment";
    let bash = Command::new("bash").args(["-c", script]).arg(server_binary()).current_dir(home.path()).output();
    let ran = bash.expect("bash starts");
    assert_eq!(ran.status.code(), Some(1), "a file of more than a block cannot be written");
    assert!(text(&ran.stderr).contains("nothing was left behind"), "{}", text(&ran.stderr));
    assert_eq!(fs::read_dir(home.path()).expect("listed").count(), 0);
}

#[test]
fn agents_of_ones_own_get_tokens_and_one_of_them_the_last_word() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let made = kokuban(home.path(), &["init", "d", "--agents", "anna,bert", "--arbiter", "anna"]);
    assert!(made.status.success() && !text(&made.stdout).contains("kokuban demo"), "{}", text(&made.stdout));
    let dir = home.path().join("d");
    assert_ne!(secret(&dir, "anna"), secret(&dir, "bert"));
    let server = server_of(&dir);
    let caller = |name| server.with_token(&secret(&dir, name));
    caller("bert").put("/v1/boards/b", &json!({"blueprint": "team"})).must(201);
    caller("bert").put("/v1/boards/b/entries/result/x", &json!({"value": 1})).refused(403, "arbiter_only");
    caller("anna").put("/v1/boards/b/entries/result/x", &json!({"value": 1})).must(201);
    for args in [
        &["init", "e", "--agents", "anna,anna"][..],
        &["init", "e", "--agents", "a b"],
        &["init", "e", "--arbiter", "x"],
    ] {
        assert_eq!(kokuban(home.path(), args).status.code(), Some(2), "{args:?}");
    }
    assert!(!home.path().join("e").exists());
}
