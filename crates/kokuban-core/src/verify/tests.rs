//! What verifying finds, one sentence each.

use std::collections::BTreeMap;

use serde_json::json;
use smol_str::SmolStr;

use super::*;
use crate::blueprint::builtin;
use crate::caller::Actor;
use crate::command::{Command, Context, CreateBoard, Decision, decide};
use crate::ids::{BoardTime, Epoch, Timestamp};
use crate::record::{Encoded, encode};
use crate::scenario::{agent, delete, put};

/// A board with some history, and the records of it.
struct Kept {
    board: Board,
    records: Vec<(Commit, Encoded, ChainHash)>,
}

fn context() -> Context {
    Context {
        now: BoardTime(1_000),
        at: Timestamp(0),
        actor: Some(Actor { agent: agent("ra"), named: true, admin: true, observer: false }),
        request_id: SmolStr::new_static("r"),
        trace_id: None,
        repeat: None,
        fresh_epoch: Epoch(7),
        base: Revision::ZERO,
        create_with: None,
    }
}

impl Kept {
    fn new() -> Self {
        let mut kept = Self { board: Board::absent(BoardName::new("b").expect("a name")), records: Vec::new() };
        let blueprint = builtin("default").expect("built in");
        kept.decide(&Command::CreateBoard(CreateBoard {
            blueprint,
            title: None,
            labels: BTreeMap::new(),
            inputs: Vec::new(),
        }));
        kept.decide(&put("working/a", json!({"x": [1.5, "\u{2028}\n", null]})).into());
        kept.decide(&put("working/b", json!(null)).into());
        kept.decide(&put("working/c", json!("to be deleted")).into());
        kept.decide(&Command::Delete(delete("working/c").version(1)));
        kept
    }

    fn decide(&mut self, command: &Command) {
        let Ok(Decision::Commit { mut commit, .. }) = decide(&self.board, command, &context()) else {
            panic!("accepted: {command:?}")
        };
        self.board = self.board.advance(&mut commit).expect("applies");
        let encoded = encode(&commit);
        let chain = encoded.chain_after(self.records.last().map_or(ChainHash::GENESIS, |(_, _, chain)| *chain));
        self.records.push((commit, encoded, chain));
    }

    fn lines(&self) -> Vec<String> {
        let position = self.board.position().expect("exists");
        let after = After { revision: Revision::ZERO, hash: Some(ChainHash::GENESIS) };
        let header = Header { format: FORMAT.to_owned(), board: self.board.name().clone(), position, after };
        let mut lines = vec![text(&header)];
        for (commit, encoded, chain) in &self.records {
            let head = std::str::from_utf8(encoded.head()).expect("JSON");
            let mut values = Vec::new();
            commit.payloads(&mut |payload| {
                let json = payload.json.as_ref().expect("nothing is erased yet");
                values.push(Some(serde_json::from_str(json.as_str()).expect("JSON")));
            });
            let commit = Some(serde_json::from_str(head).expect("JSON"));
            lines.push(text(&CommitLine { revision: Revision(lines.len() as u64), hash: *chain, commit, values }));
        }
        let hash = self.records.last().expect("commits").2;
        let end = End { revision: position.revision, hash, entries: Some(self.board.n_entries() as u64) };
        lines.push(text(&EndLine { end }));
        lines
    }
}

fn text<T: Serialize>(content: &T) -> String {
    serde_json::to_string(content).expect("serialises")
}

fn verify(lines: &[String]) -> Result<Report, Flaw> {
    let mut verifier = Verifier::new();
    lines.iter().try_for_each(|line| verifier.line(line))?;
    verifier.finish()
}

#[test]
fn a_whole_export_comes_to_the_board_it_was_made_of() {
    let kept = Kept::new();
    let report = verify(&kept.lines()).expect("whole");
    assert_eq!((report.first, report.revision, report.commits), (Revision(1), Revision(5), 5));
    assert_eq!((report.entries, report.withheld, report.absent_values), (Some(2), 0, 0));
    assert_eq!(report.hash, kept.records[4].2);
}

#[test]
fn a_value_may_be_absent_but_not_another() {
    let lines = Kept::new().lines();
    let mut erased = lines.clone();
    erased[4] = erased[4].replace(r#""values":["to be deleted"]"#, r#""values":[null]"#);
    assert_ne!(erased, lines);
    assert_eq!(verify(&erased).expect("known by its hash").absent_values, 1);
    let mut forged = lines;
    forged[4] = forged[4].replace(r#""values":["to be deleted"]"#, r#""values":["forged"]"#);
    let flaw = verify(&forged).expect_err("forged");
    assert_eq!((flaw.line, flaw.revision, flaw.fault), (5, Some(Revision(4)), Fault::Value(0)));
}

#[test]
fn any_byte_that_is_changed_is_found() {
    let lines = Kept::new().lines();
    let line = lines[2].clone();
    for at in 0..line.len() {
        let mut bytes = line.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(changed) = String::from_utf8(bytes) else { continue };
        let mut damaged = lines.clone();
        damaged[2] = changed;
        assert!(verify(&damaged).is_err(), "byte {at} of {line}");
    }
}

#[test]
fn commits_that_are_missing_doubled_or_swapped_are_found() {
    let lines = Kept::new().lines();
    let mut missing = lines.clone();
    missing.remove(3);
    assert_eq!(verify(&missing).expect_err("missing").fault, Fault::Revision { expected: Revision(3) });
    let mut doubled = lines.clone();
    doubled.insert(3, lines[2].clone());
    assert_eq!(verify(&doubled).expect_err("doubled").fault, Fault::Revision { expected: Revision(3) });
    let mut swapped = lines.clone();
    swapped.swap(2, 3);
    assert_eq!(verify(&swapped).expect_err("swapped").fault, Fault::Revision { expected: Revision(2) });
}

#[test]
fn an_export_that_is_cut_off_or_goes_on_is_found() {
    let lines = Kept::new().lines();
    for n in 1..lines.len() {
        assert_eq!(verify(&lines[..n]).expect_err("cut off").fault, Fault::CutOff);
    }
    assert_eq!(verify(&[]).expect_err("empty").fault, Fault::Format);
    let mut longer = lines.clone();
    longer.push(lines[2].clone());
    assert_eq!(verify(&longer).expect_err("goes on").fault, Fault::AfterEnd);
    assert_eq!(verify(&["{}".to_owned()]).expect_err("no export").fault, Fault::Format);
    let mut torn = lines;
    torn[3].truncate(20);
    assert!(matches!(verify(&torn).expect_err("torn").fault, Fault::Line(_)));
}

#[test]
fn the_last_line_must_say_what_the_commits_say() {
    let kept = Kept::new();
    let lines = kept.lines();
    for (from, to, what) in [
        (r#""entries":2"#, r#""entries":3"#, "number of entries"),
        (r#""revision":5"#, r#""revision":6"#, "revision"),
        (&*kept.records[4].2.to_string(), "00000000000000000000000000000000", "hash"),
    ] {
        let mut changed = lines.clone();
        changed[6] = changed[6].replace(from, to);
        assert_eq!(verify(&changed).expect_err(what).fault, Fault::End(what));
    }
}

#[test]
fn a_commit_that_is_withheld_breaks_nothing_and_is_counted() {
    let kept = Kept::new();
    let mut lines = kept.lines();
    let hash = kept.records[2].2;
    lines[3] = text(&CommitLine { revision: Revision(3), hash, commit: None, values: Vec::new() });
    let report = verify(&lines).expect("the links hold");
    assert_eq!((report.withheld, report.entries, report.commits), (1, None, 5));
    lines[3] = text(&CommitLine { revision: Revision(3), hash: ChainHash([1; 16]), commit: None, values: Vec::new() });
    assert_eq!(verify(&lines).expect_err("another hash").fault, Fault::Chain);
}

#[test]
fn an_export_may_begin_where_the_log_does() {
    let kept = Kept::new();
    let mut lines = kept.lines();
    lines.drain(1..3);
    lines[0] = lines[0].replace(
        &text(&After { revision: Revision(0), hash: Some(ChainHash::GENESIS) }),
        r#"{"revision":2,"hash":null}"#,
    );
    let report = verify(&lines).expect("the links hold");
    assert_eq!((report.first, report.entries, report.commits), (Revision(3), None, 3));
}

#[test]
fn records_are_checked_against_their_chain_and_the_stored_state() {
    let kept = Kept::new();
    let mut records = Records::new(kept.board.name().clone(), Revision(1));
    for (commit, encoded, chain) in &kept.records {
        records.record(commit.revision, *chain, &encoded.bytes).expect("whole");
    }
    let snapshot = kept.board.to_snapshot();
    let chain = kept.records[4].2;
    records.snapshot(chain, &snapshot).expect("the same state");
    let mut other = kept.board.clone();
    other.apply(&Commit { revision: Revision(6), events: Vec::new(), ..kept.records[4].0.clone() }).expect("applies");
    let other = other.to_snapshot();
    assert_eq!(records.snapshot(chain, &other).expect_err("another state").fault, Fault::Snapshot);
    assert_eq!(records.report().entries, Some(2));
    let mut damaged = kept.records[1].1.bytes.to_vec();
    damaged[40] ^= 1;
    let mut records = Records::new(kept.board.name().clone(), Revision(1));
    let (commit, encoded, chain) = &kept.records[0];
    records.record(commit.revision, *chain, &encoded.bytes).expect("whole");
    let flaw = records.record(Revision(2), kept.records[1].2, &damaged.into()).expect_err("damaged");
    assert_eq!(flaw.revision, Some(Revision(2)));
}

#[test]
fn later_records_are_applied_to_the_state_where_earlier_ones_are_gone() {
    let kept = Kept::new();
    let mut at_three = Board::absent(kept.board.name().clone());
    kept.records[..3].iter().for_each(|(commit, _, _)| at_three.apply(commit).expect("applies"));
    let mut records = Records::new(kept.board.name().clone(), Revision(3));
    for (commit, encoded, chain) in &kept.records[2..] {
        records.record(commit.revision, *chain, &encoded.bytes).expect("whole");
        if commit.revision == Revision(3) {
            records.snapshot(*chain, &at_three.to_snapshot()).expect("adopted");
        }
    }
    assert_eq!(records.report().entries, Some(2));
}

#[test]
fn the_stored_state_may_hold_values_that_left_the_log_but_not_lack_any() {
    let kept = Kept::new();
    let a = |commit: &Commit, _| commit.revision == Revision(2);
    let chain = kept.records[4].2;
    let mut records = Records::new(kept.board.name().clone(), Revision(1));
    for (commit, encoded, chain) in &kept.records {
        let without = crate::record::without_values(&encoded.bytes, &a).expect("whole");
        records.record(commit.revision, *chain, &without.unwrap_or(encoded.bytes.clone())).expect("whole");
    }
    records.snapshot(chain, &kept.board.to_snapshot()).expect("`working/a` stands in the state alone");
    let without = kept.board.without_values().to_snapshot();
    let flaw = records.snapshot(chain, &without).expect_err("`working/b` is in the log alone");
    assert_eq!(flaw.fault, Fault::Snapshot);
    assert_eq!(records.report().absent_values, 1);
}
