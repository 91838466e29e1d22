//! What is found out about the copy of a board, and what of it can be brought back.

use bytes::Bytes;
use serde_json::json;

use super::*;
use crate::scenario::{Stage, bytes_of, create, put};
use crate::verify::Fault;

/// Eight records, and the states after each: `work` has entries, `desk` is scratch.
struct Source {
    stage: Stage,
    states: Vec<Bytes>,
}

impl Source {
    fn new() -> Self {
        let mut stage = Stage::empty();
        stage.ok("ra", create("[zones.work]\n[zones.desk]\ntier = \"scratch\""));
        let mut states = vec![Bytes::new(), bytes_of(&stage.board)];
        for i in 0..7 {
            let place = if i % 2 == 0 { format!("work/k{i}") } else { "desk/ra/draft".to_owned() };
            stage.ok("ra", put(&place, json!({"n": i})));
            states.push(bytes_of(&stage.board));
        }
        Self { stage, states }
    }

    /// The copy with the state at `state`, the records from `oldest` on, and what `change` makes of them.
    fn copy(&self, oldest: usize, state: Option<usize>, change: impl Fn(usize, Bytes) -> Bytes) -> Outcome {
        let log = self.stage.log();
        let mut copy = Copy::new(self.stage.board.name().clone(), Revision(oldest as u64));
        if let Some(at) = state {
            let bytes = change(0, self.states[at].clone());
            let chunks = vec![Bytes::copy_from_slice(&crate::ids::Sha256::of(&self.states[at]).0), bytes];
            copy.state(Revision(at as u64), log[at - 1].1, chunks);
        }
        for (i, (body, chain)) in log.iter().enumerate().skip(oldest - 1) {
            copy.record(Revision(i as u64 + 1), *chain, &change(i + 1, body.clone()));
        }
        let (_, chain) = log.last().expect("records");
        copy.finish(self.stage.board.revision(), *chain)
    }
}

fn same(_: usize, bytes: Bytes) -> Bytes {
    bytes
}

/// One bit of the last byte of the record at `place` is another; 0 is the state.
fn flipped(place: usize) -> impl Fn(usize, Bytes) -> Bytes {
    move |at, bytes| {
        let mut bytes = bytes.to_vec();
        if at == place {
            *bytes.last_mut().expect("bytes") ^= 1;
        }
        bytes.into()
    }
}

fn kept(outcome: &Outcome) -> Option<(u64, u64, bool)> {
    outcome.kept.as_ref().map(|kept| (kept.from.0, kept.board.revision().0, kept.state))
}

#[test]
fn a_whole_copy_is_kept_whole_with_and_without_a_stored_state() {
    let source = Source::new();
    for (oldest, state) in [(1, None), (1, Some(4)), (1, Some(8)), (5, Some(5)), (8, Some(8))] {
        let outcome = source.copy(oldest, state, same);
        let report = outcome.report.as_ref().expect("whole");
        assert_eq!((report.revision, report.entries), (Revision(8), Some(5)), "{oldest} {state:?}");
        assert_eq!(kept(&outcome), Some((oldest as u64, 8, state.is_some())));
        let board = outcome.kept.expect("kept").board;
        assert_eq!(bytes_of(&board), source.states[8]);
    }
}

#[test]
fn behind_a_damage_nothing_is_kept_but_what_a_later_state_holds() {
    let source = Source::new();
    for (damaged, state, left) in [
        (5, None, Some((1, 4, false))),
        (5, Some(3), Some((1, 4, true))),
        (5, Some(6), Some((6, 8, true))),
        (5, Some(5), Some((1, 4, false))),
        (1, None, None),
        (1, Some(2), Some((2, 8, true))),
    ] {
        let outcome = source.copy(1, state, flipped(damaged));
        let flaw = outcome.report.as_ref().expect_err("damaged");
        assert_eq!(flaw.revision, Some(Revision(damaged as u64)), "{state:?}: {flaw}");
        if state != Some(damaged) {
            assert_eq!(kept(&outcome), left, "{damaged} {state:?}");
        }
    }
}

#[test]
fn a_stored_state_that_is_damaged_is_told_and_the_log_is_kept() {
    let outcome = Source::new().copy(1, Some(4), flipped(0));
    assert!(matches!(outcome.report.as_ref().expect_err("damaged").fault, Fault::Record(_)));
    assert_eq!(kept(&outcome), Some((1, 8, false)));
}

#[test]
fn a_log_that_begins_late_needs_its_state() {
    let outcome = Source::new().copy(5, None, same);
    assert_eq!(outcome.report.as_ref().expect_err("no state").fault, Fault::NoState);
    assert!(outcome.kept.is_none());
}

#[test]
fn values_that_left_the_log_are_kept_from_the_state_and_missed_without_it() {
    let source = Source::new();
    let stripped = |at: usize, bytes: Bytes| match at {
        0 => bytes,
        _ => crate::record::without_values(&bytes, &|commit, _| {
            commit.events.iter().filter_map(crate::event::Event::entry).any(|id| id.zone.as_str() == "desk")
        })
        .expect("whole")
        .unwrap_or(bytes),
    };
    let outcome = source.copy(1, Some(8), stripped);
    assert_eq!(outcome.report.as_ref().expect("whole").absent_values, 3);
    assert_eq!(bytes_of(&outcome.kept.expect("kept").board), source.states[8]);
    let without = source.copy(1, None, stripped);
    assert!(without.kept.is_none());
    assert_eq!(without.report.expect_err("the state lacks a value").fault, Fault::NoState);
}

#[test]
fn a_copy_that_ends_early_or_could_not_be_read_says_where() {
    let source = Source::new();
    let log = source.stage.log();
    let copy = |n: usize| {
        let mut copy = Copy::new(source.stage.board.name().clone(), Revision(1));
        log[..n].iter().zip(1..).for_each(|((body, chain), at)| copy.record(Revision(at), *chain, body));
        copy
    };
    let outcome = copy(6).finish(Revision(8), log[7].1);
    let flaw = outcome.report.as_ref().expect_err("cut off");
    assert_eq!((flaw.revision, &flaw.fault), (Some(Revision(6)), &Fault::Missing));
    assert_eq!(kept(&outcome), Some((1, 6, false)));
    let mut unreadable = copy(6);
    unreadable.unreadable(Some(Revision(7)), "a bad sector".to_owned());
    let outcome = unreadable.finish(Revision(8), log[7].1);
    assert!(outcome.report.as_ref().expect_err("unreadable").to_string().contains("a bad sector"));
    assert_eq!(kept(&outcome), Some((1, 6, false)));
}

#[test]
fn a_board_that_was_restored_and_one_that_began_late_are_whole() {
    let mut source = Source::new();
    source.stage.restore(6);
    source.stage.ok("ra", put("work/after", json!(1)));
    let log = source.stage.log();
    let mut copy = Copy::new(source.stage.board.name().clone(), Revision(1));
    for (body, chain) in log {
        let commit = crate::record::decode::<crate::event::Commit>(body).expect("whole").content;
        copy.record(commit.revision, *chain, body);
    }
    let outcome = copy.finish(source.stage.board.revision(), log.last().expect("records").1);
    assert_eq!(outcome.report.expect("the chain proves the gap").revision, source.stage.board.revision());

    let mut stage = Stage::empty();
    stage.base = Revision(41);
    stage.ok("ra", create("[zones.work]"));
    stage.ok("ra", put("work/k", json!(1)));
    let mut copy = Copy::new(stage.board.name().clone(), Revision(42));
    stage.log().iter().zip(42..).for_each(|((body, chain), at)| copy.record(Revision(at), *chain, body));
    let report = copy.finish(Revision(43), stage.log()[1].1).report.expect("its log begins where it does");
    assert_eq!((report.first, report.entries), (Revision(42), Some(1)));
}
