//! What an earlier Kokuban stored is read, and comes to the same board in every form.

use bytes::Bytes;

use super::*;
use crate::event::Commit;
use crate::ids::{ChainHash, Sha256};
use crate::record::decode;
use crate::scenario::id;

/// The records of a board with a bit of everything, and its snapshot, as Kokuban stored them before snapshots had their
/// present form: each a line of hexadecimal digits. The value `"secret"` was erased.
const FIRST_FORM: &str = include_str!("../../../fixtures/first-form.hex");

fn lines() -> Vec<Bytes> {
    let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal");
    FIRST_FORM.lines().map(|line| line.as_bytes().chunks(2).map(digits).collect()).collect()
}

#[test]
fn records_and_snapshots_of_the_first_form_come_to_the_same_board() {
    let mut lines = lines();
    let snapshot = lines.pop().expect("the last line");
    let mut board = Board::absent(BoardName::new("fixture").expect("a name"));
    let mut chain = ChainHash::GENESIS;
    for line in &lines {
        let record = decode::<Commit>(line).expect("a record reads back");
        chain = chain.extend(&record.head);
        board.apply(&record.content).expect("it applies");
    }
    board.check();
    let stored = Board::from_snapshot(&snapshot).expect("it is read");
    stored.check();
    assert!(stored == board);
    assert_eq!(stored.to_snapshot(), board.to_snapshot());
    let again = Board::from_snapshot(&stored.to_snapshot()).expect("it is read");
    assert!(again == board);
    assert_eq!(chain.to_string(), "2f3e4555c51b213d95e6073d1bb42cd5");

    let parts = |place: &str| board.entry(&id(place)).expect("it stands").parts();
    let patched = parts("意向/国家/1");
    assert_eq!(patched.value.json.expect("a value").as_str(), r#"{"a":[null,1e+300],"b":["x"]}"#);
    assert_eq!(patched.reason.as_deref(), Some("found it"));
    assert_eq!(parts("work/a").marks.expect("some").derived_from.len(), 1);
    let erased = parts("work/b");
    assert_eq!((erased.value.json, erased.value.bytes), (None, 8));
    assert_eq!(erased.created.by.as_str(), "a-very-long-name-of-an-agent-that-is-not-inline");
    assert_eq!((board.n_entries(), board.n_places(), board.n_leases()), (5, 6, 2));
}

#[test]
fn a_snapshot_that_was_cut_or_changed_is_refused_or_another_board() {
    let snapshot = Board::from_snapshot(lines().last().expect("a snapshot")).expect("it is read").to_snapshot();
    for end in 0..snapshot.len() {
        assert!(Board::from_snapshot(&snapshot.slice(..end)).is_err(), "cut at {end}");
    }
    for at in 0..snapshot.len() {
        let mut changed = snapshot.to_vec();
        changed[at] ^= 0x40;
        // Nothing here panics; what is stored is also covered by a hash.
        if let Ok(board) = Board::from_snapshot(&changed.into()) {
            assert_ne!(Sha256::of(&board.to_snapshot()), Sha256::of(&snapshot), "byte {at}");
        }
    }
}
