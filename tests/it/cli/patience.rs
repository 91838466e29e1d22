//! What takes long: progress for whoever waits at a terminal, and streams that outlive their connections.

use std::process::Command;

use kokuban_tests::{Reader, Setup, ShellCommand, server_binary};

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// An export of a board with some entries.
fn export() -> String {
    let server = Setup::memory().start();
    let url = server.url();
    let mut line = "kokuban board create shop".to_owned();
    for n in 0..5 {
        line += &format!(" && kokuban put -b shop working/k{n} {n}");
    }
    line += " >&2 && kokuban board export shop";
    let said = ShellCommand::start(&line, dir().path(), &[("KOKUBAN_URL", &url)], Reader::Pipe).ended();
    assert_eq!(said.code, 0, "{}", said.stderr);
    let at = said.stdout.find("{\"format\"").expect("an export");
    said.stdout[at..].to_owned()
}

#[test]
fn long_work_shows_its_progress_on_a_terminal_and_cleans_up() {
    let dir = dir();
    let export = export();
    let (first, rest) = export.split_at(export.find('\n').expect("lines") + 1);
    std::fs::write(dir.path().join("first"), first).expect("written");
    std::fs::write(dir.path().join("rest"), rest).expect("written");
    // The input comes slowly until the progress is seen, then all at once.
    let line = "{ cat first; while ! [ -e seen ]; do sleep 0.7; head -n 1 rest; sed -i 1d rest; [ -s rest ] || break; \
                done; cat rest; } | kokuban verify - -o jsonl > result";
    let mut command = ShellCommand::start(line, dir.path(), &[], Reader::Terminal(80));
    command.wait_for("verified");
    std::fs::write(dir.path().join("seen"), "").expect("written");
    let said = command.ended();
    assert_eq!(said.code, 0, "{}", said.stdout);
    let result = std::fs::read_to_string(dir.path().join("result")).expect("written");
    assert!(result.contains("\"ok\":true") && !result.contains('\u{1b}'), "{result}");
}

#[test]
fn short_work_and_work_in_a_pipe_are_silent() {
    let dir = dir();
    std::fs::write(dir.path().join("export"), export()).expect("written");
    let said = ShellCommand::start("kokuban verify export", dir.path(), &[], Reader::Terminal(80)).ended();
    assert!(said.stdout.starts_with("shop: whole: ") && said.stdout.lines().count() <= 2, "{:?}", said.stdout);
    let said = ShellCommand::start("kokuban verify export", dir.path(), &[], Reader::Pipe).ended();
    assert_eq!((said.stderr.as_str(), said.code), ("", 0));
}

#[test]
fn a_watch_tells_that_its_connection_broke_and_that_it_is_back() {
    let data = dir();
    let mut server = Setup::disk().data(&data.path().join("data")).start();
    let url = server.url();
    let variables = [("KOKUBAN_URL", url.as_str()), ("KOKUBAN_BOARD", "shop")];
    let here = dir();
    let done = |line: &str| {
        let said = ShellCommand::start(line, here.path(), &variables, Reader::Pipe).ended();
        assert_eq!(said.code, 0, "{line}: {}", said.stderr);
    };
    done("kokuban board create && kokuban put working/before 1");
    let mut watch =
        ShellCommand::start("kokuban watch --after start --count 3", here.path(), &variables, Reader::Terminal(80));
    watch.wait_for("working/before");
    server.kill();
    watch.wait_for("── the connection broke");
    server.start();
    watch.wait_for("── connected again");
    done("kokuban put working/after 1");
    let said = watch.ended();
    assert!(said.stdout.contains("working/after"), "{}", said.stdout);
    assert_eq!((said.code, said.stdout.matches("connected again").count()), (0, 1), "{}", said.stdout);
}

#[test]
fn a_value_that_nobody_reads_to_its_end_ends_quietly() {
    let server = Setup::memory().start();
    let url = server.url();
    let here = dir();
    let variables = [("KOKUBAN_URL", url.as_str()), ("KOKUBAN_BOARD", "shop")];
    // Larger than a pipe, so that the writer is there when the reader goes.
    let value = format!("\"{}\"", "x".repeat(200_000));
    std::fs::write(here.path().join("large.json"), value).expect("written");
    let make = "kokuban board create; for n in 1 2 3; do kokuban put working/k$n @large.json; done >&2";
    assert_eq!(ShellCommand::start(make, here.path(), &variables, Reader::Pipe).ended().code, 0);
    for command in [
        "get working/k1",
        "get working/k1 --value -o table",
        "list --values",
        "list --values -o jsonl",
        "history --values",
        "watch --after start --values",
        "board export",
        "completions bash",
        "completions zsh",
    ] {
        let line = format!("kokuban {command} | head -c 1");
        let said = ShellCommand::start(&line, here.path(), &variables, Reader::Pipe).ended();
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{command}");
    }
}

#[test]
fn a_full_disk_is_no_closed_pipe() {
    let output = Command::new(server_binary())
        .args(["completions", "bash"])
        .stdout(std::fs::File::options().write(true).open("/dev/full").expect("Linux has it"))
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{output:?}");
}
