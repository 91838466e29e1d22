//! The commands that a refusal proposes, run as they stand.
//!
//! **Invariant**: a proposed command is taken from what was said, never written by the test.

use kokuban_tests::{Reader, Said, Setup, ShellCommand, TestServer};

/// A server, and commands against it.
#[derive(Debug)]
struct Desk {
    server: TestServer,
    dir: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { server: Setup::memory().start(), dir: tempfile::tempdir().expect("a temporary directory") };
        desk.done("kokuban board create shop");
        desk
    }

    fn said(&self, line: &str) -> Said {
        let url = self.server.url();
        ShellCommand::start(line, self.dir.path(), &[("KOKUBAN_URL", &url)], Reader::Pipe).ended()
    }

    fn done(&self, line: &str) {
        let said = self.said(line);
        assert_eq!(said.code, 0, "{line}: {}", said.stderr);
    }

    /// What the refusal of `line` proposes.
    fn proposed(&self, line: &str) -> Vec<String> {
        let said = self.said(line);
        assert_ne!(said.code, 0, "{line} was to be refused");
        let lines = said.stderr.lines().filter_map(|line| line.strip_prefix("    ")).map(str::to_owned);
        let lines: Vec<_> = lines.collect();
        assert!(!lines.is_empty(), "{line} proposes nothing: {}", said.stderr);
        lines
    }

    /// Runs what the refusal of `line` proposes, in that order.
    fn obey(&self, line: &str) {
        self.proposed(line).iter().for_each(|proposed| self.done(proposed));
    }
}

#[test]
fn a_conflict_ends_with_the_write_that_goes_on_from_it() {
    let desk = Desk::new();
    desk.done("kokuban put -b shop 'working/需求' '{\"a\": 1}' --agent ra");
    desk.done("kokuban put -b shop 'working/需求' '{\"a\": 2}' --version 1 --agent ra");
    desk.obey("kokuban put -b shop 'working/需求' '{\"a\": \"it'\\''s\"}' --version 1 --agent ta --reason $'so\\n!'");
    desk.obey("kokuban patch -b shop 'working/需求' --set 'a=\"$HOME\"' --agent rv");
    let said = desk.said("kokuban get -b shop 'working/需求' --value -o jsonl");
    assert_eq!(said.stdout, "{\"a\":\"$HOME\"}\n");
    let history = desk.said("kokuban history -b shop 'working/需求' -o jsonl --limit 2").stdout;
    assert!(history.contains("\"by\":\"rv\"") && history.contains("\"reason\":\"so\\n!\""), "{history}");
    desk.obey("kokuban delete -b shop 'working/需求'");
}

#[test]
fn a_name_that_was_not_found_ends_with_the_one_that_was_meant() {
    let desk = Desk::new();
    desk.done("kokuban put -b shop working/plan 1 --agent ra");
    for line in [
        "kokuban get -b shop working/paln",
        "kokuban get -b shop wroking/plan",
        "kokuban get -b shopp working/plan",
        "kokuban move -b shop working/plan procesing --version 1 --agent ra",
        "kokuban move -b shop working/plan confirmed --version 2 --agent ra",
    ] {
        desk.obey(line);
    }
}

#[test]
fn a_lease_ends_with_the_way_to_it_or_around_it() {
    let desk = Desk::new();
    desk.done("kokuban put -b shop working/plan 1 --agent ra && kokuban put -b shop working/other 1 --agent ra");
    desk.done("kokuban lease acquire -b shop working/plan --agent ra --ttl-ms 400");
    // Waits, gets it, and finds other work.
    desk.obey("kokuban put -b shop working/plan 2 --version 1 --agent ta");
    // It is ta's now.
    desk.obey("kokuban put -b shop working/plan 2 --version 1 --agent ta");
    let lost = desk.proposed("kokuban put -b shop working/plan 2 --version 1 --lease-token 1 --agent ra");
    desk.done(&lost[0]);
    assert!(lost[1].contains("lease acquire working/plan"), "{lost:?}");
}

#[test]
fn who_may_not_write_leaves_the_note_that_is_proposed() {
    let desk = Desk::new();
    desk.done("kokuban put -b shop result/plan 1 --agent arbiter");
    desk.obey("kokuban put -b shop result/plan 2 --version 1 --agent ta");
    let notes = desk.said("kokuban note list -b shop result/plan -o jsonl").stdout;
    assert!(notes.contains("\"by\":\"ta\""), "{notes}");
}

#[test]
fn a_board_that_is_not_there_is_made_by_the_command_that_is_proposed() {
    let desk = Desk::new();
    desk.obey("kokuban put -b 黑板 working/plan 1 --agent ra");
    desk.done("kokuban put -b 黑板 working/plan 1 --agent ra");
    desk.obey("kokuban board create 黑板 --blueprint pipeline");
}
